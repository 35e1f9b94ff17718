/* SPDX-License-Identifier: Apache-2.0 */
/* $NAME, ${NAME} and $$, once, from left to right. */
#include "variables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static bool fail(struct hpdsl_error *err,
						       const char *text,
						       const char *fmt, ...)
{
	int n = snprintf(err->msg, sizeof(err->msg),
			 "LOCALDIR '%.400s': ", text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->msg + n, sizeof(err->msg) - (size_t)n, fmt, ap);
	va_end(ap);
	err->code = HPDSL_EUSAGE;
	return false;
}

/* By the bytes, in whatever locale. */
static size_t name_length(const char *s)
{
	static const char of[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "abcdefghijklmnopqrstuvwxyz_0123456789";

	return *s >= '0' && *s <= '9' ? 0 : strspn(s, of);
}

/* What stands behind a dollar; *s is set behind that. */
static bool put_value(FILE *out, const char *text, const char **s,
		      variables_get *get, struct hpdsl_error *err)
{
	bool braces = **s == '{';
	const char *begin = *s + braces, *value;
	size_t n = name_length(begin);
	char name[256];

	if (!n || n >= sizeof(name) || (braces && begin[n] != '}'))
		return fail(err, text,
			    "behind $ there has to be NAME, {NAME} or "
			    "another $");
	memcpy(name, begin, n);
	name[n] = '\0';
	*s = begin + n + braces;
	value = get(name);
	if (!value)
		return fail(err, text, "$%s is not set", name);
	if (!*value)
		return fail(err, text, "$%s is empty", name);
	fputs(value, out);
	return true;
}

static bool put_all(FILE *out, const char *text, variables_get *get,
		    struct hpdsl_error *err)
{
	const char *s = text;

	while (*s) {
		const char c = *s++;

		if (c != '$') {
			fputc(c, out);
		} else if (*s == '$') {
			fputc(*s++, out);
		} else if (!put_value(out, text, &s, get, err)) {
			return false;
		}
	}
	return true;
}

char *variables_expand(const char *text, variables_get *get,
		       struct hpdsl_error *err)
{
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);
	bool good = out && put_all(out, text, get, err);

	if (!out || fclose(out) != 0) {
		*err = (struct hpdsl_error){ -ENOMEM, "out of memory" };
		good = false;
	}
	if (good)
		return ret;
	free(ret);
	return NULL;
}
