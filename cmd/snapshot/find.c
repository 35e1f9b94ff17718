/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot find: paths of entries that meet all conditions. */
#include "tour.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#define OPT_NAME SNAPSHOT_OPT_PATHS
#define OPT_PATH (SNAPSHOT_OPT_PATHS + 1)
#define OPT_TYPE (SNAPSHOT_OPT_PATHS + 2)
#define OPT_SIZE (SNAPSHOT_OPT_PATHS + 3)
#define OPT_NEWER (SNAPSHOT_OPT_PATHS + 4)

struct find {
	struct snapshot_paths paths;
	struct cmd_strings names, globs;
	const char *types; /* NULL: any */
	uint64_t smallest, largest;
	bool no_size; /* smaller than nothing */
	bool has_newer;
	int64_t newer;
	uint32_t newer_nsec;
	struct hpdsl_error err;
};

static const struct argp_option options[] = {
	{ "name", OPT_NAME, "GLOB", 0,
	  "The base name matches; may be repeated, one match is enough", 0 },
	{ "path", OPT_PATH, "GLOB", 0,
	  "The whole path matches, * slashes too; may be repeated", 0 },
	{ "type", OPT_TYPE, "TYPES", 0,
	  "One of these letters: f file, d folder, l symbolic link, p FIFO, "
	  "c and b devices, s socket",
	  0 },
	{ "size", OPT_SIZE, "[+-]SIZE", 0,
	  "So many bytes, +: more, -: less; may be repeated", 0 },
	{ "newer", OPT_NEWER, "TIME", 0, "Modified after TIME", 0 },
	{ "json", CMD_OPT_JSON, NULL, 0, "One JSON object a line", 0 },
	{ "null", '0', NULL, 0,
	  "End paths with a NUL byte and do not escape them", 0 },
	{ 0 }
};

/* Each condition narrows the range that is left. */
static void set_size(struct find *f, const char *arg, struct argp_state *state)
{
	char sign = *arg == '+' || *arg == '-' ? *arg : '=';
	uint64_t n;

	if (cmd_parse_size(arg + (sign != '='), &n) < 0)
		argp_error(state, "--size: '%s' is no size such as 10, +64M",
			   arg);
	if ((sign == '-' && n == 0) || (sign == '+' && n == UINT64_MAX)) {
		f->no_size = true;
		return;
	}
	if (sign != '-' && n + (sign == '+') > f->smallest)
		f->smallest = n + (sign == '+');
	if (sign != '+' && n - (sign == '-') < f->largest)
		f->largest = n - (sign == '-');
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct find *f = state->input;

	switch (key) {
	case OPT_NAME:
		cmd_strings_add(&f->names, arg);
		return 0;
	case OPT_PATH:
		cmd_strings_add(&f->globs, arg);
		return 0;
	case OPT_TYPE:
		if (!*arg || arg[strspn(arg, "fdlpcbs")])
			argp_error(state,
				   "--type: '%s' is not of the letters "
				   "fdlpcbs",
				   arg);
		f->types = arg;
		return 0;
	case OPT_SIZE:
		set_size(f, arg, state);
		return 0;
	case OPT_NEWER:
		f->has_newer = true;
		if (cmd_parse_time(arg, &f->newer, &f->newer_nsec) < 0)
			argp_error(state, "--newer: '%s' is no time, no file",
				   arg);
		return 0;
	default:
		return snapshot_take_paths(key, state, &f->paths);
	}
}

const struct argp snapshot_find_argp = {
	options,
	parse,
	"FILE [PATH...]",
	"Print the paths of entries that meet all conditions.\v"
	"Without PATH, below the top. TIME is @SECONDS, a date such as "
	"2024-05-01 or 2024-05-01T12:00:00 (UTC), or a file whose time is "
	"meant. SIZE takes K, M, G and T, powers of 1024.",
	NULL,
	NULL,
	NULL
};

static bool matches(const struct cmd_strings *globs, const char *s)
{
	for (size_t i = 0; i < globs->n; i++)
		if (fnmatch(globs->v[i], s, 0) == 0)
			return true;
	return !globs->n;
}

/* What costs least first. */
static bool is_wanted(const struct find *f, const struct hpdsl_entry *e,
		      const char *path)
{
	if (f->types && !strchr(f->types, snapshot_type(e->mode)))
		return false;
	if (f->no_size || e->size < f->smallest || e->size > f->largest)
		return false;
	if (f->has_newer &&
	    (e->mtime < f->newer ||
	     (e->mtime == f->newer && e->mtime_nsec <= f->newer_nsec)))
		return false;
	/* the top is called by what is printed */
	return matches(&f->names, e->name_len ? e->name : ".") &&
	       matches(&f->globs, *path ? path : ".");
}

static void print_json(const struct hpdsl_entry *e, const char *path,
		       size_t len)
{
	struct cmd_json j = { .out = stdout };

	path = snapshot_path_shown(path, &len);
	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "path", path, len);
	snapshot_json_entry(&j, e);
	cmd_json_line(&j);
}

static int find(void *arg, const struct hpdsl_snapshot *s,
		const struct hpdsl_entry *e, const char *path)
{
	struct find *f = arg;
	struct snapshot_tour t;
	struct hpdsl_entry at;
	int step;

	snapshot_tour_begin(&t, f->paths.file, s, e, path);
	while ((step = snapshot_tour_next(&t, &at, &f->err)) > 0) {
		if (step == SNAPSHOT_TOUR_LEAVE || !is_wanted(f, &at, t.path))
			continue;
		if (f->paths.json)
			print_json(&at, t.path, t.len);
		else
			snapshot_print_path(t.path, t.len, f->paths.null);
	}
	snapshot_tour_end(&t);
	return step < 0 ? cmd_tell(&f->err) : CMD_DONE;
}

int snapshot_find(int argc, char **argv)
{
	struct find f = { .largest = UINT64_MAX };
	int status;

	argp_parse(&snapshot_find_argp, argc, argv, 0, NULL, &f);
	status = snapshot_each_path(&f.paths, find, &f);
	free(f.names.v);
	free(f.globs.v);
	return status;
}
