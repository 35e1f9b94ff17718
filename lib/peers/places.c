/* SPDX-License-Identifier: Apache-2.0 */
/* The best one of those that wait, and who is passed by for it. */
#include "peers/places.h"

enum rank {
	RANK_LONG, /* it has waited for long, and may */
	RANK_FREE, /* nothing of it is under way */
	RANK_MAY,
	RANK_MANY, /* its node has half of the places */
	RANK_NOT   /* or as much as all */
};

struct way {
	const struct hp_under_way *of;
	unsigned n;
};

static unsigned asked_of(const struct way *w, uint32_t node)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n; i++)
		n += w->of[i].node == node;
	return n;
}

/* Of the holder that is asked for least. */
static unsigned least(const struct way *w, const struct hp_waiting *p)
{
	unsigned least = UINT32_MAX;

	/* Of more than are asked one is not. */
	if (p->first > p->last || p->last - p->first >= w->n)
		return 0;
	for (uint32_t i = p->first; i <= p->last; i++) {
		const unsigned n = asked_of(w, i);

		least = n < least ? n : least;
	}
	return least;
}

static bool is_chunk_under_way(const struct way *w, uint32_t chunk)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->of[i].chunk == chunk)
			return true;
	return false;
}

static enum rank rank(const struct way *w, const struct hp_waiting *p)
{
	const unsigned n = least(w, p);

	if (n >= HP_PLACES / 2)
		return n < HP_PLACES ? RANK_MANY : RANK_NOT;
	if (p->passed >= HP_PASSED_BY)
		return RANK_LONG;
	return n || is_chunk_under_way(w, p->chunk) ? RANK_MAY : RANK_FREE;
}

unsigned hp_places_next(struct hp_waiting *const *waits, unsigned n,
			const struct hp_under_way *under_way, unsigned n_way)
{
	const struct way w = { under_way, n_way };
	enum rank best = RANK_NOT;
	unsigned at = n;

	for (unsigned i = 0; i < n && best != RANK_LONG; i++) {
		const enum rank r = rank(&w, waits[i]);

		if (r < best) {
			best = r;
			at = i;
		}
	}
	for (unsigned i = 0; at < n && i < at; i++)
		waits[i]->passed++;
	return at;
}
