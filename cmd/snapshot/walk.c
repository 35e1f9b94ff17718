/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands of hpdsl-snapshot that walk a tree. */
#include "snapshot.h"

#define FLAG(member) CMD_FLAG(struct snapshot_walk, member)

const struct cmd_option snapshot_walk_options[] = {
	{ "exclude", "GLOB", "No files or folders that match; may be repeated",
	  CMD_STRINGS(struct snapshot_walk, exclude) },
	{ "all-file-systems", NULL, "Enter what is mounted below SOURCE, too",
	  FLAG(opt.all_file_systems) },
	{ "as-tree", NULL,
	  "Take a packed dataset for a folder of files like any other",
	  FLAG(opt.as_tree) },
	{ "threads", "N",
	  "Names that are asked for at a time (default: 16); 0 does everything "
	  "in place, in one thread",
	  CMD_THREADS(struct snapshot_walk, common.threads), .letter = 'j' },
	{ "quiet", NULL, "No progress and no summary", FLAG(common.quiet),
	  .letter = 'q' },
	{ "json", NULL, "The summary as one JSON object on standard output",
	  FLAG(common.json) },
	{ "foreign-owner", NULL, CMD_FOREIGN_OWNER_TEXT,
	  FLAG(common.foreign_owner) },
	{ 0 }
};

/* As argp has it. */
static struct argp_option
	shown[sizeof(snapshot_walk_options) / sizeof(*snapshot_walk_options)];

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cmd_options_parse(snapshot_walk_options, key, arg, state);
}

static const struct argp argp = { shown, parse, NULL, NULL, NULL, NULL, NULL };

const struct argp_child snapshot_walk_children[] = {
	{ &argp, 0, NULL, 9 },
	{ 0 },
};

void snapshot_walk_parse(const struct cmd_option *rows, const struct argp *with,
			 int argc, char **argv, void *input)
{
	cmd_options_show(snapshot_walk_options, shown);
	cmd_parse(rows, with, argc, argv, 0, input);
}

void snapshot_walk_begin(struct snapshot_walk *w)
{
	w->opt.exclude = w->exclude.v;
	w->opt.n_exclude = w->exclude.n;
	w->opt.threads = w->common.threads;
	w->opt.foreign_owner = w->common.foreign_owner;
	cmd_watch(&w->opt.watch, w->common.quiet);
}
