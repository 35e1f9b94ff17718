/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow at their end. */
#include "base/text.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct hp_text *t, size_t n)
{
	size_t need, cap = t->cap ? t->cap : 256;
	char *p;

	if (t->failed || __builtin_add_overflow(t->n, n, &need))
		return false;
	if (need <= t->cap)
		return true;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : 2 * cap;
	p = realloc(t->p, cap);
	if (!p)
		return false;
	t->p = p;
	t->cap = cap;
	return true;
}

void hp_text_add(struct hp_text *t, const void *p, size_t n)
{
	if (!n)
		return;
	if (!reserve(t, n)) {
		t->failed = true;
		return;
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
}

void hp_text_puts(struct hp_text *t, const char *s)
{
	hp_text_add(t, s, strlen(s));
}

void hp_text_u64(struct hp_text *t, uint64_t v)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%" PRIu64, v);

	hp_text_add(t, text, (size_t)n);
}

void hp_text_le64(struct hp_text *t, uint64_t v)
{
	uint8_t b[8];

	hp_put64(b, v);
	hp_text_add(t, b, sizeof b);
}

void hp_text_release(struct hp_text *t)
{
	free(t->p);
	*t = (struct hp_text){ .p = NULL };
}
