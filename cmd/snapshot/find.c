/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot find: paths of entries that meet all conditions. */
#include "tour.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

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

static int take_types(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	if (!*arg || arg[strspn(arg, "fdlpcbs")])
		return cmd_refuse(why, "%s: '%s' is not of the letters fdlpcbs",
				  o->name, arg);
	((struct find *)to)->types = arg;
	return 0;
}

/* Each condition narrows the range that is left. */
static int take_size(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	struct find *f = to;
	char sign = *arg == '+' || *arg == '-' ? *arg : '=';
	uint64_t n;

	if (cmd_parse_size(arg + (sign != '='), &n) < 0)
		return cmd_refuse(why, "%s: '%s' is no size such as 10, +64M",
				  o->name, arg);
	if ((sign == '-' && n == 0) || (sign == '+' && n == UINT64_MAX)) {
		f->no_size = true;
		return 0;
	}
	if (sign != '-' && n + (sign == '+') > f->smallest)
		f->smallest = n + (sign == '+');
	if (sign != '+' && n - (sign == '-') < f->largest)
		f->largest = n - (sign == '-');
	return 0;
}

static int take_newer(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct find *f = to;

	f->has_newer = true;
	if (cmd_parse_time(arg, &f->newer, &f->newer_nsec) < 0)
		return cmd_refuse(why, "%s: '%s' is no time, no file", o->name,
				  arg);
	return 0;
}

const struct cmd_option snapshot_find_options[] = {
	{ "name", "GLOB",
	  "The base name matches; may be repeated, one match is enough",
	  CMD_STRINGS(struct find, names) },
	{ "path", "GLOB",
	  "The whole path matches, * slashes too; may be repeated",
	  CMD_STRINGS(struct find, globs) },
	{ "type", "TYPES",
	  "One of these letters: f file, d folder, l symbolic link, p FIFO, "
	  "c and b devices, s socket",
	  .take = take_types },
	{ "size", "[+-]SIZE",
	  "So many bytes, +: more, -: less; may be repeated",
	  .take = take_size },
	{ "newer", "TIME", "Modified after TIME", .take = take_newer },
	{ "json", NULL, "One JSON object a line",
	  CMD_FLAG(struct find, paths.json) },
	{ "null", NULL, "End paths with a NUL byte and do not escape them",
	  CMD_FLAG(struct find, paths.null), .letter = '0' },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct find *f = state->input;

	return cmd_options_parse(snapshot_find_options, key, arg, state) ?
		       snapshot_take_paths(key, state, &f->paths) :
		       0;
}

const struct argp snapshot_find_argp = {
	NULL,
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

	cmd_parse(snapshot_find_options, &snapshot_find_argp, argc, argv, 0,
		  &f);
	status = snapshot_each_path(&f.paths, find, &f);
	free(f.names.v);
	free(f.globs.v);
	return status;
}
