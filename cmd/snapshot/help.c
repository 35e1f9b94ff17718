/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hpdsl-snapshot --help says of its commands: a line on what each does,
 * and the names of its options, out of the tables that the commands parse with.
 */
#include "snapshot.h"

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

static void put_command(FILE *out, const struct snapshot_command *c)
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

char *snapshot_help(const struct snapshot_command *commands)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	fputs("Commands:\n", out);
	for (const struct snapshot_command *c = commands; c->name; c++)
		put_command(out, c);
	fputs("\n'hpdsl-snapshot COMMAND --help' says more of each.", out);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}
