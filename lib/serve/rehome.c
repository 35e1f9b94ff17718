/* SPDX-License-Identifier: Apache-2.0 */
/* Lost nodes, and what they held. */
#include "serve/rehome.h"

#include "peers/health.h"
#include "peers/holders.h"
#include "peers/whom.h"

#include <stdlib.h>

/* Nodes that are looked at in one go, over all chunks: milliseconds. */
enum { WORK = 1 << 18 };

/* In place of when it was first seen: it has been for so long. */
#define LOST 1

bool hp_rehome_begin(struct hp_rehome *r, uint32_t nodes)
{
	*r = (struct hp_rehome){ .nodes = nodes, .well = nodes };
	r->since = calloc(nodes + 1, sizeof *r->since);
	return r->since;
}

void hp_rehome_end(struct hp_rehome *r)
{
	free(r->since);
	*r = (struct hp_rehome){ 0 };
}

void hp_rehome_see(struct hp_rehome *r, uint32_t node, bool well, uint64_t now)
{
	if (well)
		r->since[node] = 0;
	else if (!r->since[node])
		r->since[node] = now > LOST ? now : LOST + 1;
}

void hp_rehome_seen(struct hp_rehome *r, uint64_t now)
{
	r->lost = r->well = 0;
	for (uint32_t n = 0; n < r->nodes; n++) {
		uint64_t *since = &r->since[n];

		if (*since && now > *since && now - *since >= HP_LOST_AFTER)
			*since = LOST;
		r->lost += *since == LOST;
		r->well += !*since;
	}
}

static struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct hp_rehome *r = arg;

	return (struct hp_peer_view){ .lives = !r->since[node] };
}

/* *work: what it costs is taken from it. */
static bool is_lost(const struct hp_rehome *r, const struct hp_whom *c,
		    uint32_t *work)
{
	for (uint32_t n = c->first; n <= c->last; n++) {
		if (*work)
			--*work;
		if (n == c->self || r->since[n] != LOST)
			return false;
	}
	return true;
}

static bool is_mine(const struct hp_rehome *r, const struct hp_whom *c,
		    uint32_t *work)
{
	*work -= *work < r->nodes ? *work : r->nodes;
	return hp_whom_adopter(c, HP_NO_NODE) == c->self;
}

uint32_t hp_rehome_next(struct hp_rehome *r, const struct hp_book_head *h,
			uint32_t chunks, bool (*has)(void *arg, uint32_t chunk),
			void *arg)
{
	struct hp_whom c = { .nodes = r->nodes,
			     .self = h->node,
			     .before = HP_NO_NODE,
			     .look = look,
			     .arg = r };
	uint32_t work = WORK;

	if (!r->lost || !hp_whom_quorum(&c))
		return UINT32_MAX;
	for (uint32_t i = 0; i < chunks && work; i++) {
		c.chunk = r->at < chunks ? r->at : 0;
		r->at = c.chunk + 1;
		hp_holders(h, c.chunk, &c.first, &c.last);
		if (is_lost(r, &c, &work) && !has(arg, c.chunk) &&
		    is_mine(r, &c, &work))
			return c.chunk;
	}
	return UINT32_MAX;
}
