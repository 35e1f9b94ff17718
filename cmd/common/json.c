/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON, RFC 8259: what is needed for one object on one line.  Output is
 * always UTF-8, whatever bytes a name holds.
 */
#include "common.h"

#include <string.h>

static void begin(struct cmd_json *j, const char *name)
{
	if (j->started)
		fputs(", ", j->out);
	if (name) {
		fputc('"', j->out);
		fputs(name, j->out);
		fputs("\": ", j->out);
	}
	j->started = true;
}

void cmd_json_open(struct cmd_json *j, const char *name, char bracket)
{
	begin(j, name);
	fputc(bracket, j->out);
	j->started = false;
}

void cmd_json_close(struct cmd_json *j, char bracket)
{
	fputc(bracket, j->out);
	j->started = true;
}

void cmd_json_line(struct cmd_json *j)
{
	cmd_json_close(j, '}');
	j->started = false;
	fputc('\n', j->out);
	if (ferror(j->out))
		cmd_output_failed();
}

void cmd_json_u64(struct cmd_json *j, const char *name, uint64_t value)
{
	begin(j, name);
	fprintf(j->out, "%llu", (unsigned long long)value);
}

void cmd_json_i64(struct cmd_json *j, const char *name, int64_t value)
{
	begin(j, name);
	fprintf(j->out, "%lld", (long long)value);
}

void cmd_json_real(struct cmd_json *j, const char *name, double value)
{
	begin(j, name);
	fprintf(j->out, "%.3f", value);
}

void cmd_json_bool(struct cmd_json *j, const char *name, bool value)
{
	begin(j, name);
	fputs(value ? "true" : "false", j->out);
}

void cmd_json_null(struct cmd_json *j, const char *name)
{
	begin(j, name);
	fputs("null", j->out);
}

void cmd_json_hex(struct cmd_json *j, const char *name, const uint8_t *bytes,
		  size_t n)
{
	static const char digit[] = "0123456789abcdef";

	begin(j, name);
	fputc('"', j->out);
	for (size_t i = 0; i < n; i++) {
		fputc(digit[bytes[i] >> 4], j->out);
		fputc(digit[bytes[i] & 15], j->out);
	}
	fputc('"', j->out);
}

static bool is_special(unsigned char c)
{
	return c < 0x20 || c == 0x7f || c == '"' || c == '\\';
}

static void put_special(FILE *out, unsigned char c)
{
	if (c == '"' || c == '\\')
		fprintf(out, "\\%c", c);
	else if (c == '\n')
		fputs("\\n", out);
	else
		fprintf(out, "\\u%04x", c);
}

/* Length of what may stand in a string as it is, at the beginning of s. */
static size_t plain_length(const unsigned char *s, size_t len)
{
	size_t at = 0, n;

	while (at < len && !is_special(s[at]) &&
	       !cmd_is_control(s + at, len - at)) {
		n = cmd_utf8_length(s + at, len - at);
		if (!n)
			break;
		at += n;
	}
	return at;
}

/* Writes the string; false: some of its bytes were no UTF-8. */
static bool put_string(FILE *out, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	const unsigned char *end = s + len;
	bool valid = true;

	fputc('"', out);
	for (;;) {
		size_t n = plain_length(s, (size_t)(end - s));

		fwrite(s, 1, n, out);
		s += n;
		if (s == end)
			break;
		if (is_special(*s)) {
			put_special(out, *s);
		} else if (cmd_utf8_length(s, (size_t)(end - s))) {
			put_special(out, *++s); /* U+0080 and so on */
		} else {
			fputs("\\ufffd", out);
			valid = false;
		}
		s++;
	}
	fputc('"', out);
	return valid;
}

static void put_base64(FILE *out, const char *text, size_t len)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)text;

	for (size_t i = 0; i < len; i += 3) {
		unsigned long v = (unsigned long)s[i] << 16;

		if (i + 1 < len)
			v |= (unsigned long)s[i + 1] << 8;
		if (i + 2 < len)
			v |= s[i + 2];
		fputc(set[v >> 18], out);
		fputc(set[v >> 12 & 63], out);
		fputc(i + 1 < len ? set[v >> 6 & 63] : '=', out);
		fputc(i + 2 < len ? set[v & 63] : '=', out);
	}
}

void cmd_json_string(struct cmd_json *j, const char *name, const char *s)
{
	begin(j, name);
	put_string(j->out, s, strlen(s));
}

void cmd_json_name(struct cmd_json *j, const char *name, const char *s,
		   size_t len)
{
	begin(j, name);
	if (put_string(j->out, s, len))
		return;
	fprintf(j->out, ", \"%s_base64\": \"", name);
	put_base64(j->out, s, len);
	fputc('"', j->out);
}
