/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of a command: the choice, and what --help says of them: a line on
 * what each does, and the names of its options.
 */
#include "subcommand.h"

#include <errno.h>
#include <string.h>

#define INDENT 6
#define WIDTH 76

static void put_word(FILE *out, int *column, const char *word)
{
	int n = (int)strlen(word);

	if (*column && *column + 1 + n > WIDTH) {
		fputs("\n", out);
		*column = 0;
	}
	*column += fprintf(out, "%*s%s", *column ? 1 : INDENT, "", word);
}

/* "-j,--threads=N" */
static void put_options(FILE *out, int *column, const struct cmd_option *o)
{
	for (; o && o->text; o++) {
		char word[80], letter[8] = "";

		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c,", o->letter);
		snprintf(word, sizeof(word), "%s--%s%s%s", letter, o->name,
			 o->arg ? "=" : "", o->arg ? o->arg : "");
		put_word(out, column, word);
	}
}

static void put_command(FILE *out, const struct cmd_subcommand *c)
{
	const char *doc = c->argp->doc;
	int column = 0;

	fprintf(out, "  %s %s\n", c->name, c->argp->args_doc);
	fprintf(out, "%*s%.*s\n", INDENT, "", (int)strcspn(doc, "\v"), doc);
	for (int i = 0; i < 2; i++)
		put_options(out, &column, c->options[i]);
	if (column)
		fputs("\n", out);
}

static char *list(const struct cmd_subcommand *commands)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	fputs("Commands:\n", out);
	for (const struct cmd_subcommand *c = commands; c->name; c++)
		put_command(out, c);
	fprintf(out, "\n'%s COMMAND --help' says more of each.",
		program_invocation_short_name);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}

struct choice {
	const struct cmd_subcommand *commands, *command;
	int first; /* of argv: its name */
};

static const struct cmd_subcommand *find(const struct cmd_subcommand *c,
					 const char *name)
{
	while (c->name && strcmp(c->name, name) != 0)
		c++;
	return c->name ? c : NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		choice->command = find(choice->commands, arg);
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
	const struct choice *choice = input;

	return key == ARGP_KEY_HELP_POST_DOC && choice ?
		       list(choice->commands) :
		       (char *)text;
}

int cmd_subcommand(const struct cmd_subcommand *commands, const char *doc,
		   int argc, char **argv)
{
	const struct argp argp = { .parser = parse,
				   .args_doc = "COMMAND [OPTION...] "
					       "ARGUMENT...",
				   .doc = doc,
				   .help_filter = help };
	struct choice choice = { .commands = commands };
	char name[128];

	/* in order: what follows COMMAND is not for us */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	snprintf(name, sizeof(name), "%.100s %s", argv[0],
		 choice.command->name);
	argv[choice.first] = name;
	return choice.command->run(argc - choice.first, argv + choice.first);
}
