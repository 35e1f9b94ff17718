/* SPDX-License-Identifier: Apache-2.0 */
/* What is told, in lines or as fields of one JSON object. */
#include "info.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

struct cmd_json *info_json(struct info *i)
{
	return i->common.json ? &i->json : NULL;
}

static char *format(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		cmd_no_memory();
	return text;
}

void info_says(struct info *i, const char *fmt, ...)
{
	const char *given = i->paths.v[0];
	cmd_auto_free char *text = NULL, *what = NULL, *name = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = format(fmt, ap);
	va_end(ap);
	if (asprintf(&text, "%s%s", i->front, what) < 0)
		cmd_no_memory();
	if (i->common.json) {
		cmd_json_open(&i->json, NULL, '{');
		cmd_json_name(&i->json, "path", given, strlen(given));
		cmd_json_string(&i->json, "kind", i->word);
		cmd_json_string(&i->json, "says", text);
		if (*i->front)
			cmd_json_name(&i->json, "directory", i->path,
				      strlen(i->path));
		return;
	}
	name = cmd_escape(given, strlen(given));
	cmd_print("%s: %s\n", name, text);
	if (*i->front)
		info_row(i, "directory", "%s", i->path);
}

void info_row(struct info *i, const char *label, const char *fmt, ...)
{
	cmd_auto_free char *text = NULL, *clean = NULL;
	va_list ap;

	if (i->common.json)
		return;
	va_start(ap, fmt);
	text = format(fmt, ap);
	va_end(ap);
	clean = cmd_escape(text, strlen(text));
	cmd_print("  %-12s %s\n", label, clean);
}

void info_name(struct info *i, const char *label, const char *field,
	       const char *name)
{
	info_row(i, label, "%s", name);
	if (i->common.json)
		cmd_json_name(&i->json, field, name, strlen(name));
}

void info_hex(struct info *i, const char *label, const char *field,
	      const uint8_t *bytes, size_t n)
{
	char text[65];

	cmd_hex(text, bytes, n);
	info_row(i, label, "%s", text);
	if (i->common.json)
		cmd_json_string(&i->json, field, text);
}

/* ---- What is not as it should be -------------------------------------- */

void info_wrong(struct info *i, const char *fmt, ...)
{
	va_list ap;

	i->status = cmd_worse(i->status, CMD_NO);
	if (i->wrong)
		return;
	va_start(ap, fmt);
	i->wrong = format(fmt, ap);
	va_end(ap);
}

void info_failed(struct info *i, const struct hpdsl_error *err)
{
	/* the last two: a FIFO or a folder in a file's place */
	if (err->code == HPDSL_ECORRUPT || err->code == HPDSL_ENOTOURS ||
	    err->code == -EINVAL || err->code == -EISDIR) {
		info_wrong(i, "%s", err->msg);
		return;
	}
	i->status = CMD_TROUBLE;
	if (i->unread)
		return;
	i->unread = strdup(err->msg);
	if (!i->unread)
		cmd_no_memory();
}

static void end_json(struct info *i)
{
	struct cmd_json *j = &i->json;

	cmd_json_bool(j, "damaged", i->wrong);
	if (i->wrong)
		cmd_json_name(j, "wrong", i->wrong, strlen(i->wrong));
	if (i->unread)
		cmd_json_name(j, "unread", i->unread, strlen(i->unread));
	if (i->next)
		cmd_json_string(j, "next", i->next);
	else
		cmd_json_null(j, "next");
	cmd_json_line(j);
}

int info_end(struct info *i)
{
	if (i->common.json) {
		end_json(i);
		return i->status;
	}
	if (i->wrong)
		info_row(i, "wrong", "%s", i->wrong);
	if (i->unread)
		info_row(i, "unread", "%s", i->unread);
	/* not escaped once more: it is to be typed as it is */
	if (i->next)
		cmd_print("  %-12s %s\n", "next", i->next);
	return i->status;
}
