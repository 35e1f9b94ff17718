/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <stddef.h>
#include <string.h>

/* When one was last of use: of one that has proven nothing, when it came. */
static uint64_t age(const struct serve_connection *c)
{
	return c->proven ? c->used : c->came;
}

/* Is a the one to go rather than b? */
static bool goes_before(const struct serve_connection *a,
			const struct serve_connection *b)
{
	if (!b || a->proven != b->proven)
		return !b || !a->proven;
	return age(a) < age(b);
}

struct count {
	unsigned n;
	struct serve_connection *idle; /* that goes first */
};

static void take(struct count *to, struct serve_connection *k,
		 const struct serve_connection *c)
{
	to->n++;
	if (k != c && !k->busy && goes_before(k, to->idle))
		to->idle = k;
}

struct serve_connection *serve_crowd(struct serve_connection *first,
				     struct serve_connection *c)
{
	struct count all = { 0, NULL }, same = { 0, NULL };
	unsigned most = c->proven ? SERVE_PROVEN : SERVE_UNPROVEN;

	for (struct serve_connection *k = first; k; k = k->next) {
		if (k->shut)
			continue;
		take(&all, k, c);
		if (k->proven == c->proven &&
		    memcmp(k->ip, c->ip, sizeof k->ip) == 0)
			take(&same, k, c);
	}
	if (same.n > most)
		return same.idle ? same.idle : c;
	if (all.n > SERVE_CONNECTIONS - SERVE_SPARE)
		return all.idle ? all.idle : c;
	return NULL;
}
