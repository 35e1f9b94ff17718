/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar files of others: a directory of them, several, or one.  Their sizes, the
 * first names in the first of them, and what readers make of the first headers
 * of each.
 */
#include "info.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILES = 10000,	 /* of a directory that are asked for their size */
	NAMES = 4096,	 /* that are read of the first one */
	BYTES = 8 << 20, /* to be decompressed for that */
	LOOKED = 256,	 /* tars */
	MEMBERS = 4096,	 /* of all of these */
};

struct tars {
	char **v; /* names in the directory, or paths; in order */
	size_t n;
	size_t packed; /* that are compressed, or zip */
	size_t looked; /* of those kinds that are looked at for readers */
	const char *dir;
	bool cut; /* there are more */
	struct info_sizes sizes;
	/* Of the first one: */
	struct info_suffixes suffixes;
	char *first;
	uint64_t names;
	bool whole; /* they were all of it */
};

/* ---- Which ------------------------------------------------------------ */

struct ending {
	const char *text;
	bool looked; /* hpdsl_compat() looks at files of this kind */
};

/* NULL: it does not end like an archive. */
static const struct ending *ending(const char *name)
{
	static const struct ending ends[] = {
		{ ".tar", true },     { ".tar.gz", true }, { ".tgz", true },
		{ ".tar.bz2", true }, { ".tbz2", false },  { ".tbz", false },
		{ ".tar.xz", true },  { ".txz", false },   { ".zip", false },
		{ ".tar.zst", true }, { ".tzst", false },
	};
	size_t n = strlen(name);

	for (size_t k = 0; k < sizeof(ends) / sizeof(*ends); k++) {
		size_t e = strlen(ends[k].text);

		if (n > e && !strcasecmp(name + n - e, ends[k].text))
			return &ends[k];
	}
	return NULL;
}

static void add(struct tars *t, const char *name, uint64_t size)
{
	const struct ending *end = ending(name);

	t->v = cmd_grow(t->v, t->n, sizeof(*t->v));
	t->v[t->n] = strdup(name);
	if (!t->v[t->n++])
		cmd_no_memory();
	t->packed += end && strcmp(end->text, ".tar") != 0;
	t->looked += !end || end->looked;
	info_sizes_add(&t->sizes, size);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(struct info *i, struct tars *t)
{
	DIR *dir = opendir(i->path);
	const struct dirent *d;
	struct stat st;

	t->dir = i->path;
	while (dir && !t->cut && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || !ending(d->d_name) ||
		    fstatat(dirfd(dir), d->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		add(t, d->d_name, (uint64_t)st.st_size);
		t->cut = t->n == FILES;
	}
	if (dir)
		closedir(dir);
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_name);
}

static void take_paths(const struct info *i, struct tars *t)
{
	struct stat st = { 0 };

	for (size_t k = 0; k < i->paths.n; k++)
		if (stat(i->paths.v[k], &st) == 0)
			add(t, i->paths.v[k], (uint64_t)st.st_size);
}

static char *path_of(const struct tars *t, size_t k)
{
	char *path;

	if (asprintf(&path, "%s%s%s", t->dir ? t->dir : "", t->dir ? "/" : "",
		     t->v[k]) < 0)
		cmd_no_memory();
	return path;
}

/* ---- What is in the first --------------------------------------------- */

static bool take_name(void *arg, const char *name, size_t len, uint64_t size)
{
	struct tars *t = arg;

	(void)size;
	if (!t->first) {
		t->first = strndup(name, len);
		if (!t->first)
			cmd_no_memory();
	}
	info_suffixes_add(&t->suffixes, name, len);
	return ++t->names == NAMES;
}

static void look_in(struct info *i, struct tars *t)
{
	cmd_auto_free char *path = path_of(t, 0);
	struct hpdsl_error err;
	int r = hpdsl_tar_names(path, BYTES, take_name, t, &err);

	if (r < 0)
		info_failed(i, &err);
	t->whole = r == 0 && t->n == 1;
}

/* ---- Told ------------------------------------------------------------- */

static const char *what(const struct info *i, const struct tars *t)
{
	if (i->kind == HPDSL_KIND_CHUNK)
		return "a chunk, without an index that knows it";
	if (t->n == 1 && !t->dir)
		return t->packed ? "a compressed archive" : "a tar file";
	if (t->packed == t->n)
		return t->dir ? "a directory of compressed archives" :
				"compressed archives";
	return t->dir ? "a directory of tar files that are no dataset yet" :
			"tar files";
}

static void tell_names(struct info *i, struct tars *t)
{
	if (t->first)
		info_name(i, "first", "first_member", t->first);
	info_suffixes_tell(i, &t->suffixes, "members");
	if (t->first && !t->whole)
		info_row(i, "", "as far as looked at: %s%s",
			 cmd_many(t->names, "member").s,
			 t->n > 1 ? " of the first one" : "");
}

static void tell_counts(struct info *i, const struct tars *t,
			const struct hpdsl_compat_report *r)
{
	struct cmd_json *j = info_json(i);
	bool all = t->whole && !t->packed;

	if (j)
		cmd_json_bool(j, "at_least", !t->whole || t->cut);
	if (!all)
		return;
	info_row(i, "holds", "%s, %s", cmd_many(r->samples, "sample").s,
		 cmd_many(r->members, "member").s);
	if (!j)
		return;
	cmd_json_u64(j, "samples", r->samples);
	cmd_json_u64(j, "members", r->members);
}

static void tell_readers(struct info *i, const struct tars *t)
{
	size_t tars = t->n < LOOKED ? t->n : LOOKED;
	struct info_readers r = {
		.paths = t->dir ? &i->path : i->paths.v,
		.n = t->dir ? 1 : i->paths.n,
		.tars = t->whole ? 0 : LOOKED,
		.members = t->whole ? 0 : MEMBERS / (tars ? tars : 1),
	};
	struct hpdsl_compat_report report = { 0 };

	if (t->dir ? t->looked > 0 : t->looked == t->n)
		info_readers(i, &r, &report);
	tell_counts(i, t, &report);
}

/* ---- What comes next -------------------------------------------------- */

static void next_pack(struct info *i, const struct tars *t)
{
	cmd_auto_free char *glob = NULL;

	info_next(i, "hpdsl-pack");
	if (t->dir) {
		info_next_path(i, t->dir);
		if (asprintf(&glob, "/*%s", ending(t->v[0])->text) < 0)
			cmd_no_memory();
		info_next_more(i, glob);
	} else {
		for (size_t k = 0; k < t->n; k++)
			info_next_path(i, t->v[k]);
	}
	info_next_output(i, i->path);
}

static void set_next(struct info *i, const struct tars *t)
{
	cmd_auto_free char *folder = NULL;

	if (i->kind == HPDSL_KIND_CHUNK) {
		folder = info_folder(i->path);
		info_next(i, "hpdsl-index");
		info_next_path(i, folder ? folder : ".");
	} else if (i->wrong) {
		info_next(i, "hpdsl-verify --compat=all");
		for (size_t k = 0; k < i->paths.n; k++)
			info_next_path(i, i->paths.v[k]);
	} else if (t->packed == t->n) {
		next_pack(i, t);
	} else {
		info_next(i, "hpdsl-index");
		if (!t->dir || access(t->dir, W_OK) < 0) {
			info_next_more(i, " -o");
			info_next_output(i, i->path);
		}
		for (size_t k = 0; k < i->paths.n; k++)
			info_next_path(i, i->paths.v[k]);
	}
}

static void release(struct tars *t)
{
	for (size_t k = 0; k < t->n; k++)
		free(t->v[k]);
	free(t->v);
	free(t->first);
	info_sizes_free(&t->sizes);
	info_suffixes_free(&t->suffixes);
}

void info_tars(struct info *i)
{
	struct tars t = { 0 };
	struct stat st;

	if (stat(i->path, &st) == 0 && S_ISDIR(st.st_mode))
		list(i, &t);
	else
		take_paths(i, &t);
	if (!t.n) { /* names of tars, but no files */
		info_tree(i);
		return;
	}
	info_says(i, "%s", what(i, &t));
	info_sizes_tell(i, t.cut ? "at least" : "tars", "tar", &t.sizes);
	if (info_json(i))
		cmd_json_u64(info_json(i), "compressed", t.packed);
	look_in(i, &t);
	tell_names(i, &t);
	tell_readers(i, &t);
	set_next(i, &t);
	release(&t);
}
