/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Five steps, each a bijection that is undone as fast as it is done:
 *
 *     position - (lane, x) - place in S of the part - in A - in Z - sample
 *
 * S is what a part's lanes are dealt; A its own samples, pieces shuffled, and
 * what it has over goes to parts that lack some; Z its lists, shuffled and
 * turned.
 */
#include "order/sequence_private.h"

#include <assert.h>

typedef unsigned __int128 wide;

const struct hp_deal *hp_seq_deal(const struct hp_seq *s)
{
	return &s->deal;
}

/* ---- Parts: what one has over, others take ---------------------------- */

/* A place in S, A or Z of a part. */
struct at {
	uint32_t part;
	uint64_t i;
};

/* The last part whose sum is at most i. */
static uint32_t last_part(const struct hp_seq *s, uint64_t i, bool lacks)
{
	uint32_t low = 0, high = s->o.parts;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		const struct hp_seq_part *p = &s->part[middle];

		if ((lacks ? p->lacks_before : p->over_before) <= i)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* From S to A, of the part that has it. */
static struct at from_share(const struct hp_seq *s, struct at at)
{
	const struct hp_seq_part *p = &s->part[at.part];
	uint64_t i;

	if (at.i < p->has)
		return at;
	i = p->lacks_before + (at.i - p->has);
	at.part = last_part(s, i, false);
	p = &s->part[at.part];
	return (struct at){ at.part, p->need + (i - p->over_before) };
}

static struct at to_share(const struct hp_seq *s, struct at at)
{
	const struct hp_seq_part *p = &s->part[at.part];
	uint64_t i;

	if (at.i < p->need)
		return at;
	i = p->over_before + (at.i - p->need);
	at.part = last_part(s, i, true);
	p = &s->part[at.part];
	return (struct at){ at.part, p->has + (i - p->lacks_before) };
}

/* ---- Pieces ----------------------------------------------------------- */

/* The window that a piece of a part is in; *ret_first: its first piece. */
static uint64_t window_of(const struct hp_seq *s, const struct hp_seq_part *p,
			  uint64_t piece, uint64_t *ret_first, uint64_t *ret_n)
{
	uint64_t v = s->o.windows;
	uint64_t w = (uint64_t)((((wide)piece + 1) * v - 1) / p->pieces);

	*ret_first = hp_seq_floor(w, p->pieces, v);
	*ret_n = hp_seq_floor(w + 1, p->pieces, v) - *ret_first;
	return w;
}

static const struct hp_perm *window_perm(const struct hp_seq *s,
					 struct hp_seq_memo *memo,
					 uint32_t part, uint64_t w, uint64_t n)
{
	uint64_t id = (uint64_t)part * s->o.windows + w + 1;
	size_t room = sizeof memo->window / sizeof *memo->window;
	struct hp_seq_window *window = &memo->window[id % room];
	uint64_t numbers[] = { s->o.epoch, part, w };

	if (window->id != id) {
		hp_perm_init(&window->perm, n,
			     hp_perm_key(s->o.seed, "pieces", numbers, 3));
		window->id = id;
	}
	return &window->perm;
}

/* From A to Z, or back. */
static struct at move_piece(const struct hp_seq *s, struct hp_seq_memo *memo,
			    struct at at, bool back)
{
	const struct hp_seq_part *p = &s->part[at.part];
	uint64_t piece = at.i / s->o.piece, first, n, w;
	const struct hp_perm *perm;

	if (piece >= p->pieces)
		return at; /* what is left behind the last whole one */
	w = window_of(s, p, piece, &first, &n);
	perm = window_perm(s, memo, at.part, w, n);
	piece = first + (back ? hp_perm_inverse(perm, piece - first) :
				hp_perm_at(perm, piece - first));
	at.i = piece * s->o.piece + at.i % s->o.piece;
	return at;
}

/* ---- Lists ------------------------------------------------------------ */

/* The last list of a part that begins at i or before. */
static size_t list_at(const struct hp_seq *s, const struct hp_seq_part *p,
		      uint64_t i)
{
	size_t low = p->first, high = p->first + p->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->before[middle] <= i)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* From Z. */
static struct hp_seq_spot from_turned(const struct hp_seq *s, struct at at)
{
	const struct hp_seq_part *p = &s->part[at.part];
	uint64_t left = p->has - p->turn;
	uint64_t i = at.i < left ? at.i + p->turn : at.i - left;
	size_t k = list_at(s, p, i);

	return (struct hp_seq_spot){ s->list[k], i - s->before[k] };
}

static struct at to_turned(const struct hp_seq *s, struct hp_seq_spot spot)
{
	size_t k = s->place[spot.list];
	uint32_t low = 0, high = s->o.parts;
	const struct hp_seq_part *p;
	uint64_t i;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s->part[middle].first <= k)
			low = middle;
		else
			high = middle;
	}
	p = &s->part[low];
	i = s->before[k] + spot.index;
	return (struct at){ low, i < p->turn ? i + (p->has - p->turn) :
					       i - p->turn };
}

/* ---- All together ----------------------------------------------------- */

/* The place of a lane's sample in S of its part. */
static struct at from_lane(const struct hp_seq *s, struct hp_deal_place place)
{
	uint32_t part =
		(uint32_t)hp_seq_floor(place.lane, s->o.parts, s->o.lanes);

	return (struct at){ part, hp_deal_given(&s->deal, &s->part[part].lanes,
						place) };
}

struct hp_seq_spot hp_seq_at(const struct hp_seq *s, struct hp_seq_memo *memo,
			     uint64_t position)
{
	struct at at;

	assert(position < s->deal.samples);
	at = from_share(s, from_lane(s, hp_deal_place(&s->deal, position)));
	return from_turned(s, move_piece(s, memo, at, false));
}

uint64_t hp_seq_where(const struct hp_seq *s, struct hp_seq_memo *memo,
		      struct hp_seq_spot spot)
{
	struct at at;

	assert(spot.list < s->n && spot.index < s->has[spot.list]);
	at = move_piece(s, memo, to_turned(s, spot), true);
	at = to_share(s, at);
	return hp_deal_position(
		&s->deal,
		hp_deal_taker(&s->deal, &s->part[at.part].lanes, at.i));
}

/* How far it is in A to the end of the piece, or of what is behind them. */
static uint64_t left_of_piece(const struct hp_seq *s, struct at at)
{
	const struct hp_seq_part *p = &s->part[at.part];

	if (at.i / s->o.piece < p->pieces)
		return s->o.piece - at.i % s->o.piece;
	return p->has - at.i;
}

struct hp_seq_stretch hp_seq_stretch(const struct hp_seq *s,
				     struct hp_seq_memo *memo,
				     struct hp_deal_place place)
{
	struct at at = from_lane(s, place);
	struct hp_seq_stretch ret;
	uint64_t left;

	ret.samples = hp_deal_run(&s->deal, &s->part[at.part].lanes, place);
	at = from_share(s, at);
	left = left_of_piece(s, at);
	if (left < ret.samples)
		ret.samples = left;
	ret.first = from_turned(s, move_piece(s, memo, at, false));
	left = s->has[ret.first.list] - ret.first.index;
	if (left < ret.samples)
		ret.samples = left;
	return ret;
}
