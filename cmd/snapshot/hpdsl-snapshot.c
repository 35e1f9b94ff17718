/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-snapshot COMMAND: a name space frozen in one file.  Here is the choice
 * of the command; cmd/snapshot_NAME.c has each.
 */
#include "snapshot.h"

#include <string.h>

#define COMMAND(name, ...)                                       \
	{                                                        \
#name, snapshot_##name, &snapshot_##name##_argp, \
		{                                                \
			__VA_ARGS__                              \
		}                                                \
	}

static const struct snapshot_command commands[] = {
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

struct choice {
	const struct snapshot_command *command;
	int first; /* of argv: its name */
};

static const struct snapshot_command *find(const char *name)
{
	const struct snapshot_command *c = commands;

	while (c->name && strcmp(c->name, name) != 0)
		c++;
	return c->name ? c : NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		choice->command = find(arg);
		if (!choice->command)
			argp_error(state, "there is no command '%s'", arg);
		choice->first = state->next - 1;
		state->next = state->argc; /* the rest is the command's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		cmd_missing(state, "COMMAND");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *help(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_POST_DOC ? snapshot_help(commands) :
					       (char *)text;
}

static const struct argp argp = {
	NULL,
	parse,
	"COMMAND [OPTION...] ARGUMENT...",
	"Freeze the name space of a folder or of a packed dataset in one file, "
	"and ask that.",
	NULL,
	help,
	NULL
};

int main(int argc, char **argv)
{
	struct choice choice = { 0 };
	char name[128];

	cmd_start(argv);
	cmd_progress_counts("entries");
	/* in order: what follows COMMAND is not for us */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	snprintf(name, sizeof(name), "%.100s %s", argv[0],
		 choice.command->name);
	argv[choice.first] = name;
	return choice.command->run(argc - choice.first, argv + choice.first);
}
