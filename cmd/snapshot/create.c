/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot create: from a folder or a packed dataset to one file. */
#include "snapshot.h"

struct create {
	struct snapshot_walk walk;
	const char *source, *file;
};

const struct cmd_option snapshot_create_options[] = {
	{ "output", "FILE", "The snapshot to write; needed",
	  CMD_STRING(struct create, file), .letter = 'o' },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "SOURCE" };
	struct create *c = state->input;

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = &c->walk;
	if (key == ARGP_KEY_SUCCESS && !c->file)
		cmd_missing(state, "-o FILE");
	return cmd_options_parse(snapshot_create_options, key, arg, state) ?
		       cmd_take_arguments(key, arg, state, names, &c->source,
					  1) :
		       0;
}

const struct argp snapshot_create_argp = {
	NULL,
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

	snapshot_walk_parse(snapshot_create_options, &snapshot_create_argp,
			    argc, argv, &c);
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
