/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word as a shell takes it for what was meant, whatever bytes it holds: one
 * line of printable characters.
 */
#include "common.h"

#include <string.h>

static bool is_plain(const char *s)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz"
				   "0123456789_@%+:,./-=";

	/* = at the beginning is a command's path for zsh */
	return *s && *s != '=' && !s[strspn(s, safe)];
}

/* Bytes that do not belong on a line: controls, and what is no UTF-8. */
static size_t printable(const unsigned char *s, size_t len)
{
	size_t n = cmd_utf8_length(s, len);

	if (s[0] < 0x20 || s[0] == 0x7f)
		return 0;
	return n == 2 && s[0] == 0xc2 && s[1] < 0xa0 ? 0 : n;
}

static bool is_printable(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = strlen(s);

	while (len) {
		size_t n = printable(p, len);

		if (!n)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static void put_quoted(FILE *out, const char *s)
{
	fputc('\'', out);
	for (; *s; s++)
		if (*s == '\'')
			fputs("'\\''", out);
		else
			fputc(*s, out);
	fputc('\'', out);
}

/* $'a\012b', which bash, zsh and ksh read. */
static void put_escaped(FILE *out, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = strlen(s);

	fputs("$'", out);
	while (len) {
		size_t n = printable(p, len);

		if (!n)
			fprintf(out, "\\%03o", *p);
		else if (*p == '\'' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else
			fwrite(p, 1, n, out);
		n = n ? n : 1;
		p += n;
		len -= n;
	}
	fputc('\'', out);
}

char *cmd_quoted(const char *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	if (is_plain(s))
		fputs(s, out);
	else if (is_printable(s))
		put_quoted(out, s);
	else
		put_escaped(out, s);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}

char *cmd_quoted_path(const char *path)
{
	cmd_auto_free char *safe = NULL;

	if (asprintf(&safe, "%s%s", *path == '-' ? "./" : "", path) < 0)
		cmd_no_memory();
	return cmd_quoted(safe);
}

char *cmd_python_string(const char *s)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!is_printable(s))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		cmd_no_memory();
	fputc('"', out);
	for (; *s; s++)
		fprintf(out, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
	fputc('"', out);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}
