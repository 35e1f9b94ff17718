/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall COMMAND: how much of a training step waits for data. */
#include "stall.h"

static const struct cmd_subcommand commands[] = {
	{ "run", stall_run, &stall_run_argp, { stall_run_options, NULL } },
	{ 0 },
};

int main(int argc, char **argv)
{
	cmd_start(argv);
	return cmd_subcommand(commands,
			      "Measure how much of a training step waits for "
			      "data, and for which reason.",
			      argc, argv);
}
