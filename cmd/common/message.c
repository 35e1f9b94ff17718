/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: "hpdsl-pack: text" on standard error, a line each whatever bytes
 * the text holds, written with one call so that lines of several processes in
 * one log stay whole.
 */
#include "common.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Control characters in names would break the line, or the terminal. */
static size_t put_clean(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	for (; *text && n + 5 < cap; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\n')
			n += (size_t)sprintf(out + n, "\\n");
		else if (c < 0x20 || c == 0x7f)
			n += (size_t)sprintf(out + n, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	return n;
}

/* Of which of several processes a line is; threads talk while it changes. */
static char of[128];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void cmd_message_of(const char *whom)
{
	pthread_mutex_lock(&lock);
	snprintf(of, sizeof(of), "%s%s", whom, *whom ? ": " : "");
	pthread_mutex_unlock(&lock);
}

static size_t put_line(const char *kind, const char *said,
		       char line[CMD_LINE_MOST])
{
	const size_t cap = CMD_LINE_MOST;
	char text[6000], whom[sizeof(of)];
	int n;

	pthread_mutex_lock(&lock);
	memcpy(whom, of, sizeof(whom));
	pthread_mutex_unlock(&lock);
	snprintf(text, sizeof(text), "%s", said);
	cmd_advise(text, sizeof(text));
	/* exec gives a program any name, of any length */
	n = snprintf(line, cap, "%.100s: ", program_invocation_short_name);
	n += (int)put_clean(line + n, sizeof(whom) + 5, whom);
	n += snprintf(line + n, cap - (size_t)n, "%s", kind);
	n += (int)put_clean(line + n, cap - (size_t)n - 1, text);
	line[n++] = '\n';
	return (size_t)n;
}

size_t cmd_message_line(const char *text, char ret[CMD_LINE_MOST])
{
	return put_line("", text, ret);
}

static void say(const char *kind, const char *fmt, va_list ap)
{
	char text[6000], line[CMD_LINE_MOST];
	ssize_t done;
	size_t n;

	vsnprintf(text, sizeof(text), fmt, ap);
	n = put_line(kind, text, line);
	cmd_progress_clear();
	done = write(STDERR_FILENO, line, n);
	(void)done; /* there is nobody left to tell */
}

void cmd_message(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void cmd_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("warning: ", fmt, ap);
	va_end(ap);
}

int cmd_status_of(int code)
{
	switch (code) {
	case 0:
		return CMD_DONE;
	case HPDSL_ECORRUPT:
	case HPDSL_EDIFFERS:
		return CMD_NO;
	case HPDSL_EUSAGE:
		return CMD_USAGE;
	case HPDSL_ESTOPPED:
		return CMD_STOPPED;
	default:
		return CMD_TROUBLE;
	}
}

int cmd_tell(const struct hpdsl_error *err)
{
	cmd_message("%s", err->msg);
	return cmd_status_of(err->code);
}

int cmd_worse(int a, int b)
{
	return a > b ? a : b;
}
