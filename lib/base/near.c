/* SPDX-License-Identifier: Apache-2.0 */
/* The names that are nearest to one that there is not. */
#include "base/near.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Of no more than HP_FAR bytes each. */
static unsigned align(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[HP_FAR + 1][HP_FAR + 1];

	for (size_t i = 0; i <= na; i++)
		rows[i][0] = (unsigned)i;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++)
		for (size_t j = 1; j <= nb; j++) {
			char x = small(a[i - 1]), y = small(b[j - 1]);
			unsigned n = rows[i - 1][j - 1] + (x != y);

			n = least(n, rows[i - 1][j] + 1);
			n = least(n, rows[i][j - 1] + 1);
			if (i > 1 && j > 1 && x == small(b[j - 2]) &&
			    small(a[i - 2]) == y)
				n = least(n, rows[i - 2][j - 2] + 1);
			rows[i][j] = n;
		}
	return rows[na][nb];
}

unsigned hp_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t most;

	while (a_len && b_len && small(*a) == small(*b)) {
		a++, a_len--;
		b++, b_len--;
	}
	while (a_len && b_len && small(a[a_len - 1]) == small(b[b_len - 1])) {
		a_len--;
		b_len--;
	}
	most = a_len > b_len ? a_len : b_len;
	return most > HP_FAR ? (unsigned)most : align(a, a_len, b, b_len);
}

/* ---- The nearest of many ---------------------------------------------- */

void hp_near_begin(struct hp_near *near, const char *want, size_t len)
{
	near->want = want;
	near->want_len = len;
	near->n = 0;
	near->more = false;
}

static bool is_kept(const struct hp_near *near, const char *name, size_t len)
{
	for (size_t i = 0; i < near->n; i++)
		if (!near->v[i].name[len] &&
		    !memcmp(near->v[i].name, name, len))
			return true;
	return false;
}

/* Fits, with a NUL behind it: a long one is cut between two letters of UTF-8.
 * Returns the length. */
static size_t fit(char own[HP_NEAR_NAME], const char *name, size_t len)
{
	size_t n = len;

	if (len >= HP_NEAR_NAME) {
		n = HP_NEAR_NAME - sizeof "..";
		while (n && (name[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(own, name, n);
	own[n] = '\0';
	return strlen(n < len ? strcat(own, "..") : own);
}

void hp_near_add(struct hp_near *near, const char *name, size_t len)
{
	char own[HP_NEAR_NAME];
	size_t at = 0, own_len;
	unsigned far;

	if (len && memchr(name, '\0', len)) {
		near->more = true;
		return;
	}
	own_len = fit(own, name, len);
	if (is_kept(near, own, own_len))
		return;
	far = hp_distance(near->want, near->want_len, name, len);
	while (at < near->n &&
	       (near->v[at].far < far ||
		(near->v[at].far == far && strcmp(near->v[at].name, own) < 0)))
		at++;
	near->more |= near->n == HP_NEAR_NAMES;
	if (at == HP_NEAR_NAMES)
		return;
	near->n += near->n < HP_NEAR_NAMES;
	memmove(&near->v[at + 1], &near->v[at],
		(near->n - at - 1) * sizeof *near->v);
	memcpy(near->v[at].name, own, own_len + 1);
	near->v[at].far = far;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *hp_near_list(struct hp_near *near, char buf[HP_NEAR_TEXT])
{
	char shown[HP_PRINTABLE];
	size_t at = 0;

	*buf = '\0';
	if (near->n && !near->more)
		qsort(near->v, near->n, sizeof *near->v, by_bytes);
	for (size_t i = 0; i < near->n; i++) {
		size_t n = strlen(hp_printable(near->v[i].name,
					       strlen(near->v[i].name), shown));

		if (at + n + sizeof "'', and others" > HP_NEAR_TEXT) {
			near->more = true;
			break;
		}
		at += (size_t)snprintf(buf + at, HP_NEAR_TEXT - at, "%s'%s'",
				       i ? ", " : "", shown);
	}
	if (near->n && near->more)
		snprintf(buf + at, HP_NEAR_TEXT - at, " and others");
	return buf;
}
