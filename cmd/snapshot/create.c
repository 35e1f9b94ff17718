/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot create: from a folder or a packed dataset to one file. */
#include "snapshot.h"

struct create {
	struct snapshot_walk walk;
	const char *source, *file;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "The snapshot to write; needed", 0 }, { 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "SOURCE" };
	struct create *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->walk;
		return 0;
	case 'o':
		c->file = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!c->file)
			argp_error(state, "-o FILE is missing");
		return 0;
	default:
		return snapshot_take(key, arg, state, names, &c->source, 1);
	}
}

const struct argp snapshot_create_argp = {
	options,
	parse,
	"SOURCE -o FILE",
	"Write the snapshot of a folder or of a packed dataset.\v"
	"A folder is walked, by several threads; symbolic links are recorded, "
	"not followed. Of a packed dataset nothing but its index is read. "
	"FILE appears whole, or not at all if anything cannot be read, and "
	"replaces an older snapshot. A GLOB is as in hpdsl-pack.",
	snapshot_walk_children,
	NULL,
	NULL
};

int snapshot_create(int argc, char **argv)
{
	struct create c = { 0 };
	struct hpdsl_snapshot_report report = { 0 };
	struct hpdsl_error err;
	int code;

	argp_parse(&snapshot_create_argp, argc, argv, 0, NULL, &c);
	cmd_signals(c.source, "; no snapshot was written");
	snapshot_walk_begin(&c.walk);
	code = hpdsl_snapshot_create(c.source, c.file, &c.walk.opt, &report,
				     &err);
	cmd_progress_end();
	free(c.walk.exclude.v);
	if (code < 0)
		return cmd_tell(&err);
	snapshot_made(&c.walk.common, &report);
	return CMD_DONE;
}
