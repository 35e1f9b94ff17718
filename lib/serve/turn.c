/* SPDX-License-Identifier: Apache-2.0 */
/* Order, pace, room and patience of those who fetch chunks. */
#include "serve/turn.h"

#include <stddef.h>

#define AGAIN_MOST 600 /* seconds */
#define QUIET HP_TURN_SECOND

/* ---- Pace ------------------------------------------------------------- */

static uint64_t later(uint64_t at, uint64_t now)
{
	return at > now ? at : now;
}

static uint64_t time_for(uint64_t n, uint64_t rate)
{
	return rate ? n * HP_TURN_SECOND / rate : 0;
}

void hp_turn_owe(struct hp_turn_pace *p, uint64_t n, uint64_t now)
{
	p->next = later(p->next, now) + time_for(n, p->rate);
}

bool hp_turn_take(struct hp_turn_pace *p, uint64_t n, uint64_t now)
{
	if (p->rate && p->next > now)
		return false;
	hp_turn_owe(p, n, now);
	return true;
}

/* When what nobody has asked for may be fetched. */
static uint64_t slow_at(const struct hp_turn_pace *p)
{
	uint64_t quiet = p->asked ? p->asked + QUIET : 0;
	uint64_t next = p->rate ? later(p->next, p->next_slow) : p->next_slow;

	return later(quiet, next);
}

/* ---- The next one ----------------------------------------------------- */

static struct hp_turn give(struct hp_turn_chunk *c, uint32_t piece,
			   struct hp_turn_pace *p, uint64_t now)
{
	if (piece != HP_NO_PIECE) {
		uint64_t n = hp_pieces_length(&c->pieces, piece);

		if (!c->held)
			hp_turn_owe(p, n, now);
		if (c->unasked)
			p->next_slow = now + time_for(n, p->slow);
	}
	return (struct hp_turn){ c, 0, piece };
}

static struct hp_turn nothing(uint64_t until)
{
	return (struct hp_turn){ NULL, until, HP_NO_PIECE };
}

static struct hp_turn_chunk *to_open(struct hp_turn_chunk *list, bool unasked)
{
	for (struct hp_turn_chunk *c = list; c; c = c->next)
		if (!c->open && !c->busy && c->unasked == unasked)
			return c;
	return NULL;
}

static struct hp_turn_chunk *to_fetch(struct hp_turn_chunk *list, bool unasked,
				      bool awaited, bool held, uint32_t *ret)
{
	for (struct hp_turn_chunk *c = list; c; c = c->next) {
		if (!c->open || c->unasked != unasked || (held && !c->held))
			continue;
		*ret = hp_pieces_next(&c->pieces, awaited);
		if (*ret != HP_NO_PIECE)
			return c;
	}
	return NULL;
}

static bool is_any(const struct hp_turn_chunk *list, bool unasked)
{
	for (const struct hp_turn_chunk *c = list; c; c = c->next)
		if (c->unasked == unasked &&
		    (c->open ? hp_pieces_left(&c->pieces) : !c->busy))
			return true;
	return false;
}

/* What somebody has asked for. */
static struct hp_turn demand(struct hp_turn_chunk *list, struct hp_turn_pace *p,
			     uint64_t now)
{
	bool early = p->rate && p->next > now;
	struct hp_turn_chunk *c = to_open(list, false);
	uint32_t piece = HP_NO_PIECE;

	if (c)
		return give(c, HP_NO_PIECE, p, now);
	c = to_fetch(list, false, true, early, &piece);
	if (!c)
		c = to_fetch(list, false, false, early, &piece);
	if (c)
		return give(c, piece, p, now);
	return nothing(early && is_any(list, false) ? p->next : UINT64_MAX);
}

struct hp_turn hp_turn_next(struct hp_turn_chunk *list, struct hp_turn_pace *p,
			    uint64_t now)
{
	struct hp_turn t = demand(list, p, now);
	struct hp_turn_chunk *c;
	uint32_t piece = HP_NO_PIECE;

	if (t.of || t.until != UINT64_MAX || !is_any(list, true))
		return t;
	if (slow_at(p) > now)
		return nothing(slow_at(p));
	c = to_open(list, true);
	if (!c)
		c = to_fetch(list, true, false, false, &piece);
	return c ? give(c, piece, p, now) : t;
}

/* ---- Again ------------------------------------------------------------ */

void hp_again_failed(struct hp_again *a, bool wrong, uint64_t now)
{
	uint64_t seconds = 1;

	if (wrong) {
		seconds = a->wrong < 10 ? UINT64_C(1) << a->wrong : AGAIN_MOST;
		a->wrong++;
	}
	if (seconds > AGAIN_MOST)
		seconds = AGAIN_MOST;
	a->at = now + seconds * HP_TURN_SECOND;
}

bool hp_again_may(const struct hp_again *a, uint64_t now)
{
	return now >= a->at;
}

/* ---- Room ------------------------------------------------------------- */

bool hp_room_for(uint64_t bytes, uint64_t unused, uint64_t reserved)
{
	if (reserved >= unused)
		return false;
	unused -= reserved;
	return bytes <= unused - unused / 20;
}
