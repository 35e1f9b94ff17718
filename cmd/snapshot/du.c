/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-snapshot du: bytes and entries below each folder.  Both, because a
 * quota is mostly one of the two.
 */
#include "tour.h"

#include <string.h>
#include <sys/stat.h>

#define LLU unsigned long long

struct sum {
	uint64_t bytes, entries;
};

struct du {
	struct snapshot_paths paths;
	bool all, total, human;
	uint64_t max_depth;
	bool has_depth;
	struct sum *sums; /* of the folders that the tour is in */
	struct hpdsl_error err;
};

static int take_depth(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct du *d = to;

	d->has_depth = true;
	if (cmd_parse_count(arg, &d->max_depth) < 0)
		return cmd_refuse(why, "%s: '%s' is no number", o->name, arg);
	return 0;
}

#define FLAG(member) CMD_FLAG(struct du, member)

const struct cmd_option snapshot_du_options[] = {
	{ "all", NULL, "Not only folders", FLAG(all), .letter = 'a' },
	{ "summarize", NULL, "Each PATH alone", FLAG(total), .letter = 's' },
	{ "max-depth", "N", "No more than N levels below PATH",
	  .take = take_depth, .letter = 'd' },
	{ "human-readable", NULL, "Bytes as 36.9 MiB", FLAG(human),
	  .letter = 'h' },
	{ "json", NULL, "One JSON object a line", FLAG(paths.json) },
	{ "null", NULL, "End lines with a NUL byte and do not escape paths",
	  FLAG(paths.null), .letter = '0' },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct du *d = state->input;

	if (key == ARGP_KEY_END) {
		if (d->total && (d->all || d->has_depth))
			argp_error(state, "-s goes with neither -a nor -d");
		if (d->total)
			d->max_depth = 0;
		else if (!d->has_depth)
			d->max_depth = UINT64_MAX;
	}
	return cmd_options_parse(snapshot_du_options, key, arg, state) ?
		       snapshot_take_paths(key, state, &d->paths) :
		       0;
}

const struct argp snapshot_du_argp = {
	NULL,
	parse,
	"FILE [PATH...]",
	"Count the bytes and the entries below each folder.\v"
	"A line has the bytes of all regular files and of the targets of "
	"symbolic links, the number of entries, the folder itself among them, "
	"and the path. Without PATH, all below the top.",
	NULL,
	NULL,
	NULL
};

static void print_json(const struct sum *sum, const char *path, size_t len)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "path", path, len);
	cmd_json_u64(&j, "bytes", sum->bytes);
	cmd_json_u64(&j, "entries", sum->entries);
	cmd_json_line(&j);
}

static void print(const struct du *d, const struct sum *sum, const char *path,
		  size_t len)
{
	path = snapshot_path_shown(path, &len);
	if (d->paths.json) {
		print_json(sum, path, len);
		return;
	}
	if (d->human)
		cmd_print("%s\t%s\t", cmd_bytes(sum->bytes).s,
			  cmd_thousands(sum->entries).s);
	else
		cmd_print("%llu\t%llu\t", (LLU)sum->bytes, (LLU)sum->entries);
	cmd_print_name(path, len, d->paths.null);
}

static struct sum of_entry(const struct hpdsl_entry *e)
{
	bool counts = S_ISREG(e->mode) || S_ISLNK(e->mode);

	return (struct sum){ .bytes = counts ? e->size : 0, .entries = 1 };
}

/* depth: of folders around what was met or left. */
static void step(struct du *d, const struct snapshot_tour *t,
		 const struct hpdsl_entry *e, bool met)
{
	size_t depth = t->depth;
	struct sum sum;

	if (met && S_ISDIR(e->mode)) {
		/* the tour is in it */
		d->sums = cmd_grow(d->sums, depth - 1, sizeof(*d->sums));
		d->sums[depth - 1] = of_entry(e);
		return;
	}
	sum = met ? of_entry(e) : d->sums[depth];
	if (depth) {
		d->sums[depth - 1].bytes += sum.bytes;
		d->sums[depth - 1].entries += sum.entries;
	}
	/* what PATH names is shown, whatever it is */
	if (depth <= d->max_depth && (!met || d->all || !depth))
		print(d, &sum, t->path, t->len);
}

static int measure(void *arg, const struct hpdsl_snapshot *s,
		   const struct hpdsl_entry *e, const char *path)
{
	struct du *d = arg;
	struct snapshot_tour t;
	struct hpdsl_entry at;
	int what;

	snapshot_tour_begin(&t, d->paths.file, s, e, path);
	while ((what = snapshot_tour_next(&t, &at, &d->err)) > 0)
		step(d, &t, &at, what == SNAPSHOT_TOUR_MEET);
	snapshot_tour_end(&t);
	return what < 0 ? cmd_tell(&d->err) : CMD_DONE;
}

int snapshot_du(int argc, char **argv)
{
	struct du d = { 0 };
	int status;

	cmd_parse(snapshot_du_options, &snapshot_du_argp, argc, argv, 0, &d);
	status = snapshot_each_path(&d.paths, measure, &d);
	free(d.sums);
	return status;
}
