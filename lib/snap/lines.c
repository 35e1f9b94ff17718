/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a snapshot's text, and the first of them. */
#include "snap/text.h"

#include "base/error.h"
#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int hp_snap_lines_fail(const struct hp_snap_lines *l, struct hpdsl_error *err,
		       const char *fmt, ...)
{
	char name[HP_PRINTABLE], reason[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof reason, fmt, ap);
	va_end(ap);
	return hp_fail(err, HPDSL_ECORRUPT, "%s: line %llu: %s",
		       hp_printable(l->text->name, strlen(l->text->name), name),
		       (unsigned long long)l->number, reason);
}

int hp_snap_lines_next(struct hp_snap_lines *l, struct hpdsl_error *err)
{
	const struct hp_snap_text *t = l->text;
	const char *end;

	l->number++;
	if (l->at == t->size)
		return 0;
	l->p = t->p + l->at;
	end = memchr(l->p, '\n', t->size - l->at);
	if (!end)
		return hp_snap_lines_fail(
			l, err, "no newline at its end: the text is cut short");
	l->len = (size_t)(end - l->p);
	l->at += l->len + 1;
	return 1;
}

/* "hpdsl-snapshot 12": some later version? */
static bool is_later(const char *s, size_t len)
{
	const size_t word = strlen(HP_SNAP_TEXT_FIRST) - 2;

	if (len <= word || memcmp(s, HP_SNAP_TEXT_FIRST, word) != 0 ||
	    s[word] == '0')
		return false;
	for (size_t i = word; i < len; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return true;
}

static int read_first(struct hp_snap_lines *l, struct hpdsl_error *err)
{
	static const char first[] = HP_SNAP_TEXT_FIRST;
	char name[HP_PRINTABLE];
	int r = hp_snap_lines_next(l, err);

	if (r < 0)
		return r;
	if (r && l->len == sizeof first - 2 && !memcmp(l->p, first, l->len))
		return 0;
	if (r && is_later(l->p, l->len))
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: line 1: the text of a later version than "
			       "this one reads",
			       hp_printable(l->text->name,
					    strlen(l->text->name), name));
	return hp_snap_lines_fail(
		l, err, "no text of a snapshot, which begins with '%.*s'",
		(int)sizeof first - 2, first);
}

/* Digits as the dump writes them. */
static bool take_hex(const char *s, uint8_t out[16])
{
	for (int i = 0; i < 32; i++)
		if (s[i] >= 'A' && s[i] <= 'F')
			return false;
	return hp_unhex128(s, 32, out) == 0;
}

/* "dataset ID PACK", if the next line is that. */
static int read_dataset(struct hp_snap_lines *l, struct hp_tree *t,
			struct hpdsl_error *err)
{
	static const char word[] = "dataset ";
	const size_t n = sizeof word - 1;
	struct hp_snap_lines next = *l;
	int r;

	if (l->text->size - l->at < n ||
	    memcmp(l->text->p + l->at, word, n) != 0)
		return 0;
	r = hp_snap_lines_next(&next, err);
	if (r < 0)
		return r;
	if (next.len != n + 65 || next.p[n + 32] != ' ' ||
	    !take_hex(next.p + n, t->dataset_id) ||
	    !take_hex(next.p + n + 33, t->pack))
		return hp_snap_lines_fail(
			&next, err,
			"not a dataset's id and pack in 32 hexadecimal digits "
			"each");
	*l = next;
	l->dataset = t->from_dataset = true;
	return 0;
}

int hp_snap_lines_begin(struct hp_snap_lines *l, struct hp_tree *t,
			struct hpdsl_error *err)
{
	int r = read_first(l, err);

	return r < 0 ? r : read_dataset(l, t, err);
}
