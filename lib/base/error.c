/* SPDX-License-Identifier: Apache-2.0 */
/* Setting struct hpdsl_error, and names made fit to print. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void format(struct hpdsl_error *err, int code, const char *fmt,
		   va_list ap)
{
	err->code = code;
	vsnprintf(err->msg, sizeof err->msg, fmt, ap);
}

int hp_fail(struct hpdsl_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		format(err, code, fmt, ap);
		va_end(ap);
	}
	return code;
}

int hp_fail_errno(struct hpdsl_error *err, int code, const char *fmt, ...)
{
	char text[128];
	va_list ap;
	size_t n;

	if (!err)
		return code;
	va_start(ap, fmt);
	format(err, code, fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	if (code > -4096)
		snprintf(err->msg + n, sizeof err->msg - n, ": %s",
			 strerror_r(-code, text, sizeof text));
	return code;
}

int hp_fail_nomem(struct hpdsl_error *err)
{
	return hp_fail(err, -ENOMEM, "out of memory");
}

/* One byte as it is printed; returns how many characters went to out. */
static size_t escape_byte(unsigned char c, char out[5])
{
	if (c == '\n' || c == '\\') {
		out[0] = '\\';
		out[1] = c == '\n' ? 'n' : '\\';
		return 2;
	}
	if (c < 0x20 || c == 0x7f)
		return (size_t)snprintf(out, 5, "\\x%02x", c);
	out[0] = (char)c;
	return 1;
}

const char *hp_printable(const char *name, size_t len, char buf[HP_PRINTABLE])
{
	/* A long name keeps both ends: 100 bytes, dots, the last 100. */
	size_t head = len > HP_PRINTABLE / 4 * 3 ? 100 : len;
	size_t n = 0;
	char one[5];

	for (size_t i = 0; i < len; i++) {
		size_t k = escape_byte((unsigned char)name[i], one);
		size_t left = HP_PRINTABLE - 1 - n;

		if (i == head && left > 3) {
			memcpy(buf + n, "...", 3);
			n += 3;
			left -= 3;
			i = len - 100;
			k = escape_byte((unsigned char)name[i], one);
		}
		if (k > left)
			break;
		memcpy(buf + n, one, k);
		n += k;
	}
	buf[n] = '\0';
	return buf;
}
