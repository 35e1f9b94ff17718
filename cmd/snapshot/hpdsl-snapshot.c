/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-snapshot COMMAND: a name space frozen in one file.  Here is the
 * list of them; NAME.c has each.
 */
#include "snapshot.h"

#define COMMAND(name, ...)                                       \
	{                                                        \
#name, snapshot_##name, &snapshot_##name##_argp, \
		{                                                \
			__VA_ARGS__                              \
		}                                                \
	}

static const struct cmd_subcommand commands[] = {
	COMMAND(create, snapshot_create_options, snapshot_walk_options),
	COMMAND(check, snapshot_check_options, snapshot_walk_options),
	COMMAND(diff, snapshot_diff_options),
	COMMAND(ls, snapshot_ls_options),
	COMMAND(stat, snapshot_stat_options),
	COMMAND(find, snapshot_find_options),
	COMMAND(du, snapshot_du_options),
	COMMAND(dump, NULL),
	COMMAND(load, snapshot_load_options),
	COMMAND(verify, snapshot_verify_options),
	{ 0 },
};

int main(int argc, char **argv)
{
	cmd_start(argv);
	cmd_progress_counts("entries");
	return cmd_subcommand(
		commands,
		"Freeze the name space of a folder or of a packed "
		"dataset in one file, and ask that.",
		argc, argv);
}
