/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands of hpdsl-snapshot that walk a tree. */
#include "snapshot.h"

static const struct argp_option options[] = {
	{ "exclude", SNAPSHOT_OPT_EXCLUDE, "GLOB", 0,
	  "No files or folders that match; may be repeated", 0 },
	{ "all-file-systems", SNAPSHOT_OPT_ALL_FILE_SYSTEMS, NULL, 0,
	  "Enter what is mounted below SOURCE, too", 0 },
	{ "as-tree", SNAPSHOT_OPT_AS_TREE, NULL, 0,
	  "Take a packed dataset for a folder of files like any other", 0 },
	{ "threads", 'j', "N", 0,
	  "Names that are asked for at a time (default: 16); 0 does everything "
	  "in place, in one thread",
	  0 },
	{ "quiet", 'q', NULL, 0, "No progress and no summary", 0 },
	{ "json", CMD_OPT_JSON, NULL, 0,
	  "The summary as one JSON object on standard output", 0 },
	CMD_FOREIGN_OWNER,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct snapshot_walk *w = state->input;
	struct cmd_why why;
	int ret;

	switch (key) {
	case SNAPSHOT_OPT_EXCLUDE:
		cmd_strings_add(&w->exclude, arg);
		return 0;
	case SNAPSHOT_OPT_ALL_FILE_SYSTEMS:
		w->opt.all_file_systems = true;
		return 0;
	case SNAPSHOT_OPT_AS_TREE:
		w->opt.as_tree = true;
		return 0;
	default:
		ret = cmd_common_set(&w->common, key, arg, &why);
		if (ret < 0)
			argp_error(state, "--%s", why.text);
		return ret == ARGP_ERR_UNKNOWN ? ARGP_ERR_UNKNOWN : 0;
	}
}

static const struct argp argp = {
	options, parse, NULL, NULL, NULL, NULL, NULL
};

const struct argp_child snapshot_walk_children[] = {
	{ &argp, 0, NULL, 9 },
	{ 0 },
};

void snapshot_walk_begin(struct snapshot_walk *w)
{
	w->opt.exclude = w->exclude.v;
	w->opt.n_exclude = w->exclude.n;
	w->opt.threads = w->common.threads;
	w->opt.foreign_owner = w->common.foreign_owner;
	cmd_watch(&w->opt.watch, w->common.quiet);
}
