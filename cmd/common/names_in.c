/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names, from a file or standard input, as hpdsl-ls and find print. */
#include "common.h"

#include <errno.h>
#include <string.h>

#define PIECE (1 << 16)

static int read_all(struct cmd_names *names, FILE *in, const char *what)
{
	size_t cap = 0, n;

	do {
		if (cap - names->size < PIECE + 1) {
			cap = cap ? cap * 2 : 4 * PIECE;
			names->bytes = realloc(names->bytes, cap);
			if (!names->bytes)
				cmd_no_memory();
		}
		n = fread(names->bytes + names->size, 1, PIECE, in);
		names->size += n;
	} while (n == PIECE);
	if (!ferror(in))
		return CMD_DONE;
	cmd_message("%s: %s", what, strerror(errno));
	return CMD_TROUBLE;
}

/* What is wrong with a line, or NULL; unescapes it in place. */
static const char *read_line(char *s, size_t *len)
{
	if (memchr(s, '\0', *len))
		return "a NUL byte (is --null meant?)";
	*len = hpdsl_name_unescape(s, *len);
	if (*len == (size_t)-1)
		return "a backslash is followed by neither n nor a backslash "
		       "(is --null meant?)";
	return NULL;
}

/* Brings lines into the form of names, in place: they never get longer. */
static int split_lines(struct cmd_names *names, const char *what)
{
	char *s = names->bytes, *end = s + names->size, *out = s;
	unsigned long line = 1;

	for (char *next; s < end; s = next, line++) {
		char *newline = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((newline ? newline : end) - s);
		const char *why = read_line(s, &len);

		next = newline ? newline + 1 : end;
		if (why) {
			cmd_message("%s: line %lu: %s", what, line, why);
			return CMD_USAGE;
		}
		if (!len)
			continue;
		memmove(out, s, len);
		out += len;
		*out++ = '\0';
		names->count++;
	}
	names->size = (size_t)(out - names->bytes);
	return CMD_DONE;
}

static int split_nulls(struct cmd_names *names)
{
	char *s = names->bytes, *end = s + names->size, *out = s;

	for (char *next; s < end; s = next) {
		size_t len = strnlen(s, (size_t)(end - s));

		next = s + len + 1;
		if (!len)
			continue;
		memmove(out, s, len);
		out += len;
		*out++ = '\0';
		names->count++;
	}
	names->size = (size_t)(out - names->bytes);
	return CMD_DONE;
}

int cmd_names_read(struct cmd_names *names, const char *file, bool null)
{
	bool is_stdin = strcmp(file, "-") == 0;
	const char *what = is_stdin ? "standard input" : file;
	FILE *in = is_stdin ? stdin : fopen(file, "re");
	int status;

	*names = (struct cmd_names){ 0 };
	if (!in) {
		cmd_message("%s: %s", what, strerror(errno));
		return CMD_TROUBLE;
	}
	status = read_all(names, in, what);
	if (!is_stdin)
		fclose(in);
	if (status)
		return status;
	return null ? split_nulls(names) : split_lines(names, what);
}
