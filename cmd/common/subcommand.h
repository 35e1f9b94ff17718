/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of a command, as "hpdsl-snapshot ls": which one it is, and what
 * --help says of them, out of the tables that they parse with.
 */
#ifndef CMD_SUBCOMMAND_H
#define CMD_SUBCOMMAND_H

#include "option_table.h"

struct cmd_subcommand {
	const char *name;
	/* Gives an exit status; argv[0] is "hpdsl-snapshot ls". */
	int (*run)(int argc, char **argv);
	/* Its doc, up to \v, is one line that says what the command does. */
	const struct argp *argp;
	/* Its own, and those it shares with others. */
	const struct cmd_option *options[2];
};

/* For main(), behind cmd_start(): the table ends with a row of zeros.  Gives an
 * exit status. */
int cmd_subcommand(const struct cmd_subcommand *commands, const char *doc,
		   int argc, char **argv);

#endif
