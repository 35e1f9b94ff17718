/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks that nobody has asked for yet: one at a time, and only while nobody
 * has to wait for others.
 */
#include "serve/adopt_private.h"

#include "peers/book.h"

#include <string.h>

enum { SHARE = 10 /* of the rate, or of the link: one part of so many */ };
#define LINK UINT64_C(125000000) /* bytes a second, if it is not known */

/* ---- What is seen ----------------------------------------------------- */

static bool same_book(struct hp_adopting *all, const struct hp_book_head *h)
{
	if (all->rehome.since && all->rehome.nodes == h->nodes &&
	    memcmp(all->rehome_book, h->id, sizeof h->id) == 0)
		return true;
	hp_rehome_end(&all->rehome);
	memcpy(all->rehome_book, h->id, sizeof h->id);
	return hp_rehome_begin(&all->rehome, h->nodes);
}

/* Who looks changes book and table, nobody else. */
static bool see(struct hpdsl_serve *s, uint64_t now)
{
	struct hp_rehome *r = &s->adoption->rehome;

	if (!s->book || !s->table.file ||
	    !same_book(s->adoption, &s->book->book.head))
		return false;
	for (uint32_t n = 0; n < r->nodes; n++)
		hp_rehome_see(r, n, hp_table_is_well(&s->table, n), now);
	hp_rehome_seen(r, now);
	return r->lost;
}

static uint64_t slow_rate(const struct hpdsl_serve *s)
{
	const struct hp_book *b = &s->book->book;
	uint64_t rate = __atomic_load_n(&s->rate, __ATOMIC_RELAXED);

	if (!rate && hp_book_addresses(b, b->head.node))
		rate = hp_book_address(b, b->head.node, 0).mbits *
		       UINT64_C(125000);
	if (!rate)
		rate = LINK;
	return rate < SHARE ? 1 : rate / SHARE;
}

/* ---- Taken ------------------------------------------------------------ */

/* Under the lock. */
static bool may(const struct hpdsl_serve *s, uint64_t now)
{
	const struct hp_adopting *all = s->adoption;

	if (all->quit || __atomic_load_n(&s->draining, __ATOMIC_RELAXED) ||
	    now < all->rehome_after ||
	    (all->pace.asked && now < all->pace.asked + HP_TURN_SECOND))
		return false;
	for (const struct hp_turn_chunk *c = all->coming; c; c = c->next)
		if (c->unasked)
			return false;
	return true;
}

static bool has(void *arg, uint32_t chunk)
{
	const struct hpdsl_serve *s = arg;

	return hp_have_get(s->have, chunk) != HP_HAVE_NOT ||
	       !hp_adoptee_may_begin(s->adoption, chunk);
}

bool hp_adopt_rehome(struct hpdsl_serve *s, uint64_t now,
		     struct hpdsl_chunk *ret)
{
	struct hp_adopting *all = s->adoption;
	uint32_t c;

	if (!see(s, now) || !may(s, now))
		return false;
	all->pace.slow = slow_rate(s);
	c = hp_rehome_next(&all->rehome, &s->book->book.head, s->chunks, has,
			   s);
	return c < s->chunks && hpdsl_chunk_get(s->ds, c, ret, NULL) == 0;
}
