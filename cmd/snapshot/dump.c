/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot dump: a snapshot's text twin, which load reads back. */
#include "snapshot.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "FILE" };

	return cmd_take_arguments(key, arg, state, names, state->input, 1);
}

const struct argp snapshot_dump_argp = {
	NULL,
	parse,
	"FILE",
	"Print a snapshot as text, a line an entry.\v"
	"The fields are type, mode, size, time, member, checksum, path, and "
	"behind a tab the target of a symbolic link; hpdsl-format(5) defines "
	"them. 'hpdsl-snapshot load' makes the same snapshot of it again.",
	NULL,
	NULL,
	NULL
};

static int sink(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)arg;
	(void)err;
	cmd_write(buf, n);
	return 0;
}

int snapshot_dump(int argc, char **argv)
{
	struct hpdsl_snapshot *s = NULL;
	struct hpdsl_error err;
	const char *file = NULL;
	int status;

	argp_parse(&snapshot_dump_argp, argc, argv, 0, NULL, &file);
	status = snapshot_open(file, &s);
	if (status == CMD_DONE && hpdsl_snapshot_dump(s, sink, NULL, &err) < 0)
		status = cmd_tell(&err);
	snapshot_close(s);
	return status;
}
