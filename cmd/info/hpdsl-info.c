/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-info: what is this, and what comes next?  A table of kinds, with a
 * function each; what they tell goes out as it is found.
 */
#include "info.h"

#include "common/option_table.h"

#include <string.h>

static const struct kind {
	const char *word; /* stable: fields of JSON and the page have it */
	void (*tell)(struct info *i);
} kinds[HPDSL_KINDS] = {
	[HPDSL_KIND_NOTHING] = { "nothing", info_nothing },
	[HPDSL_KIND_DATASET] = { "dataset", info_dataset },
	[HPDSL_KIND_STAGE] = { "stage", info_stage },
	[HPDSL_KIND_UNFINISHED] = { "unfinished", info_unfinished },
	[HPDSL_KIND_TARS] = { "tars", info_tars },
	[HPDSL_KIND_TREE] = { "tree", info_tree },
	[HPDSL_KIND_EMPTY] = { "empty", info_empty },
	[HPDSL_KIND_CHUNK] = { "chunk", info_chunk },
	[HPDSL_KIND_TAR] = { "tar", info_tars },
	[HPDSL_KIND_INDEX] = { "index", info_part },
	[HPDSL_KIND_MANIFEST] = { "manifest", info_part },
	[HPDSL_KIND_JOURNAL] = { "journal", info_part },
	[HPDSL_KIND_STATE] = { "state", info_part },
	[HPDSL_KIND_SNAPSHOT] = { "snapshot", info_snapshot },
	[HPDSL_KIND_FILE] = { "file", info_file },
	[HPDSL_KIND_SPECIAL] = { "special", info_special },
	[HPDSL_KIND_SIDE] = { "side", info_side },
	[HPDSL_KIND_BOOK] = { "book", info_part },
};

static bool is_tar(enum hpdsl_kind kind)
{
	return kind == HPDSL_KIND_TAR || kind == HPDSL_KIND_CHUNK;
}

/* ---- Options ---------------------------------------------------------- */

static const struct cmd_option options[] = { { 0 } };

/* Several are told of together, if they can be. */
static void check_paths(const struct info *i, const struct argp_state *state)
{
	enum hpdsl_kind kind;

	if (!i->paths.n)
		cmd_missing(state, "PATH");
	for (size_t k = 0; i->paths.n > 1 && k < i->paths.n; k++)
		if (hpdsl_kind_of(i->paths.v[k], NULL, &kind, NULL) == 0 &&
		    kind != HPDSL_KIND_NOTHING && !is_tar(kind))
			argp_error(state, "TAR files, not also '%s'",
				   i->paths.v[k]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info *i = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &i->common;
		return 0;
	case ARGP_KEY_ARG:
		cmd_strings_add(&i->paths, arg);
		return 0;
	case ARGP_KEY_END:
		check_paths(i, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"PATH\nTAR...",
	"Say what PATH is: a packed dataset, a chunk, a stage directory, an "
	"unfinished pack, a snapshot, tar files of others, a tree.\v"
	"Names, headers and indexes are read, no contents. At the end comes "
	"the next command to type. Exit status: 0 it was told, 1 something is "
	"damaged or nothing is there, 3 it cannot be read.",
	cmd_common_children,
	NULL,
	NULL
};

/* ---- All of it -------------------------------------------------------- */

/* Several: chunks, or any tar files; none of them may be nothing. */
static int find_kind(struct info *i)
{
	struct hpdsl_error err;
	bool chunks = true;

	for (size_t k = 0; k < i->paths.n; k++) {
		if (hpdsl_kind_of(i->paths.v[k], NULL, &i->kind, &err) < 0)
			return cmd_tell(&err);
		chunks = chunks && i->kind == HPDSL_KIND_CHUNK;
		if (i->paths.n == 1 || i->kind != HPDSL_KIND_NOTHING)
			continue;
		cmd_message("%s: nothing is there", i->paths.v[k]);
		return CMD_NO;
	}
	if (i->paths.n > 1)
		i->kind = chunks ? HPDSL_KIND_CHUNK : HPDSL_KIND_TARS;
	return CMD_DONE;
}

static int run(struct info *i)
{
	int status = find_kind(i);

	if (status != CMD_DONE)
		return status;
	i->word = kinds[i->kind].word;
	kinds[i->kind].tell(i);
	return info_end(i);
}

int main(int argc, char **argv)
{
	struct info i = { .front = "" };
	int status;

	cmd_start(argv);
	cmd_parse(options, &argp, argc, argv, 0, &i);
	i.path = i.paths.v[0];
	i.json.out = stdout;
	cmd_signals(i.path, "");
	cmd_allow_open_files();
	status = run(&i);
	free(i.paths.v);
	free(i.wrong);
	free(i.unread);
	free(i.next);
	return status;
}
