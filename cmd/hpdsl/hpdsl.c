/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl: lists the commands, runs one, shows its manual. */
#include "front.h"

#include <string.h>

struct front {
	const char *command; /* NULL: list them */
	bool help;	     /* of the command, or of all */
	int first;	     /* of argv: the command, or "help" */
};

static void take_command(struct front *f, const char *name,
			 struct argp_state *state)
{
	const char *nearest = front_nearest(name, f->help);

	f->command = name;
	if (front_word(name, f->help))
		return;
	argp_error(state, "there is no command '%s'%s%s%s", name,
		   nearest ? "; the nearest is '" : "", nearest ? nearest : "",
		   nearest ? "'" : "");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct front *f = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (f->command)
		cmd_not_also(state, "COMMAND", arg);
	if (!f->help && strcmp(arg, "help") == 0) {
		f->help = true;
		return 0;
	}
	take_command(f, arg, state);
	if (f->help)
		return 0;
	f->first = state->next - 1;
	state->next = state->argc; /* the rest is the command's */
	return 0;
}

static char *help(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_POST_DOC ? front_list() : (char *)text;
}

static const struct argp argp = {
	NULL,
	parse,
	"[COMMAND [ARGUMENT...]]\nhelp [COMMAND]",
	"Without arguments list the commands of HPDSL; else run one, or show "
	"its manual.",
	NULL,
	help,
	NULL
};

int main(int argc, char **argv)
{
	struct front f = { 0 };
	char *list;

	cmd_start(argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &f);
	if (f.help && f.command)
		return front_help(front_word(f.command, true));
	if (f.command)
		return front_run(f.command, argv + f.first);
	list = front_list();
	cmd_print("The commands of HPDSL:\n\n%s\n", list);
	free(list);
	return CMD_DONE;
}
