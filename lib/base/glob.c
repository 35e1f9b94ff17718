/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --include and --exclude.  A pattern with a slash is matched against the whole
 * member path, where "*" and "?" do not cross a slash; without one against the
 * base name.  A leading slash only ties the pattern to the top.  "name/" is for
 * folders of that name, "dir/" with two stars behind it for all below dir; "**"
 * has no other meaning than "*".  A pattern of over 4,095 bytes matches
 * nothing.
 */
#include "base/glob.h"

#include <fnmatch.h>
#include <string.h>

struct pattern {
	char text[HPDSL_PATH_MAX + 1];
	bool folder; /* never matches a file, only what is above it */
	bool whole;  /* against the path, not the base name */
};

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && memcmp(s + n - k, end, k) == 0;
}

static bool pattern_parse(const char *s, struct pattern *ret)
{
	size_t n = strlen(s);
	bool below = ends_with(s, n, "/**");

	ret->folder = below || ends_with(s, n, "/");
	n -= below ? 3 : ret->folder ? 1 : 0;
	ret->whole = below || memchr(s, '/', n);
	while (n && *s == '/') {
		s++;
		n--;
	}
	if (n == 0 || n >= sizeof ret->text)
		return false;
	memcpy(ret->text, s, n);
	ret->text[n] = '\0';
	return true;
}

static bool match(const struct pattern *p, const char *path)
{
	const char *slash = p->whole ? NULL : strrchr(path, '/');

	return fnmatch(p->text, slash ? slash + 1 : path, FNM_PATHNAME) == 0;
}

/* Does the pattern match a folder that path is in? */
static bool match_above(const struct pattern *p, const char *path)
{
	char folder[HPDSL_PATH_MAX + 1];
	size_t n = strlen(path);

	if (n >= sizeof folder)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (path[i] != '/')
			continue;
		memcpy(folder, path, i);
		folder[i] = '\0';
		if (match(p, folder))
			return true;
	}
	return false;
}

bool hp_glob_named(const char *const *patterns, size_t n, const char *path,
		   bool is_folder)
{
	struct pattern p;

	for (size_t i = 0; i < n; i++) {
		if (pattern_parse(patterns[i], &p) &&
		    (is_folder || !p.folder) && match(&p, path))
			return true;
	}
	return false;
}

bool hp_glob_excluded(const char *const *patterns, size_t n, const char *path,
		      bool is_folder)
{
	struct pattern p;

	if (hp_glob_named(patterns, n, path, is_folder))
		return true;
	for (size_t i = 0; i < n; i++) {
		if (pattern_parse(patterns[i], &p) && match_above(&p, path))
			return true;
	}
	return false;
}

bool hp_glob_pruned(const struct hpdsl_pack_options *opt, const char *path)
{
	return hp_glob_excluded(opt->exclude, opt->n_exclude, path, true);
}

bool hpdsl_glob_match(const char *pattern, const char *path)
{
	struct pattern p;

	if (!pattern_parse(pattern, &p))
		return false;
	return p.folder ? match_above(&p, path) : match(&p, path);
}

bool hp_glob_wanted(const struct hpdsl_pack_options *opt, const char *path)
{
	if (hp_glob_excluded(opt->exclude, opt->n_exclude, path, false))
		return false;
	for (size_t i = 0; i < opt->n_include; i++)
		if (hpdsl_glob_match(opt->include[i], path))
			return true;
	return opt->n_include == 0;
}
