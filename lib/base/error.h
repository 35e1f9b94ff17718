/* SPDX-License-Identifier: Apache-2.0 */
/* Setting struct hpdsl_error.  Text is written once, where the name is known.
 */
#ifndef HP_ERROR_H
#define HP_ERROR_H

#include "hpdsl/core.h"

/* Sets *err (if any) to code and the formatted text; returns code. */
int hp_fail(struct hpdsl_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for a negative errno: "text: No such file or directory".  Also
 * takes the codes of our own, which then get no second half.
 */
int hp_fail_errno(struct hpdsl_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int hp_fail_nomem(struct hpdsl_error *err);

/*
 * A name made fit to print: control characters and backslash as \n, \\ or
 * \x1b, cut in the middle to HP_PRINTABLE - 1 bytes.  Returns buf.
 */
#define HP_PRINTABLE 320
const char *hp_printable(const char *name, size_t len, char buf[HP_PRINTABLE]);

#endif
