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
#include "order/sequence.h"

#include "base/error.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

typedef unsigned __int128 wide;

struct part {
	struct hp_deal_part lanes;
	uint64_t need;	       /* samples of its lanes */
	uint64_t has;	       /* samples of its lists */
	uint64_t turn;	       /* Z begins with this one of them */
	uint64_t pieces;       /* whole ones */
	size_t first, n;       /* lists, in struct hp_seq's order */
	uint64_t over_before;  /* surplus of the parts before it */
	uint64_t lacks_before; /* what those lack */
};

struct hp_seq {
	struct hp_seq_order o;
	struct hp_deal deal;
	size_t n;
	struct part *part;
	/* The lists of each part in its order. */
	uint32_t *list;	  /* which */
	uint64_t *before; /* samples of the part before it */
	/* By list. */
	uint32_t *place; /* where it is in list[] */
	uint64_t *has;
};

/* floor(a * b / c) */
static uint64_t share(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)((wide)a * b / c);
}

/* ---- Making it -------------------------------------------------------- */

static int usage(struct hpdsl_error *err, const char *why)
{
	return hp_fail(err, HPDSL_EUSAGE, "order: %s", why);
}

static int check(const struct hp_seq_order *o, struct hpdsl_error *err)
{
	if (!o->batch || !o->lanes || !o->piece || !o->windows || !o->parts)
		return usage(err, "batch, lanes, piece, windows and parts are "
				  "at least 1");
	if (o->lanes % o->batch != 0 && o->batch % o->lanes != 0)
		return usage(err, "lanes have to be a multiple or a divisor of "
				  "batch");
	return 0;
}

static int allocate(struct hp_seq *s, struct hpdsl_error *err)
{
	s->part = calloc(s->o.parts, sizeof *s->part);
	s->list = hp_array(s->n, sizeof *s->list);
	s->before = hp_array(s->n, sizeof *s->before);
	s->place = hp_array(s->n, sizeof *s->place);
	s->has = hp_array(s->n, sizeof *s->has);
	return s->part && s->list && s->before && s->place && s->has ?
		       0 :
		       hp_fail_nomem(err);
}

/* How many samples there are, and how many lists each part has. */
static int count(struct hp_seq *s, const struct hp_seq_list *lists,
		 struct hpdsl_error *err)
{
	size_t first = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t n = lists[i].samples;

		if (n >= (uint64_t)1 << 62 ||
		    s->deal.samples + n >= (uint64_t)1 << 62)
			return usage(err, "2^62 samples or more");
		s->deal.samples += n;
		s->has[i] = n;
		s->part[lists[i].chunk % s->o.parts].n++;
	}
	for (uint32_t p = 0; p < s->o.parts; p++) {
		s->part[p].first = first;
		first += s->part[p].n;
	}
	return s->deal.samples ? 0 : usage(err, "there are no samples");
}

/* The lists of each part, shuffled; by_number: in the order of (c, t). */
static void shuffle_lists(struct hp_seq *s, const uint32_t *by_number)
{
	const struct hp_seq_order *o = &s->o;

	for (uint32_t p = 0; p < o->parts; p++) {
		struct part *part = &s->part[p];
		uint64_t numbers[] = { o->epoch, p };
		struct hp_perm perm;

		if (part->n == 0)
			continue;
		hp_perm_init(&perm, part->n,
			     hp_perm_key(o->seed, "chunks", numbers, 2));
		for (size_t i = 0; i < part->n; i++) {
			size_t at = part->first + i;
			uint32_t list =
				by_number[part->first + hp_perm_at(&perm, i)];

			s->list[at] = list;
			s->place[list] = (uint32_t)at;
			s->before[at] = part->has;
			part->has += s->has[list];
		}
		part->turn = (uint64_t)((wide)hp_perm_key(o->seed, "turn",
							  numbers, 2) *
						part->has >>
					64);
		part->pieces = part->has / o->piece;
	}
}

static int place_lists(struct hp_seq *s, const struct hp_seq_list *lists,
		       struct hpdsl_error *err)
{
	hp_auto_free uint32_t *by_number = hp_array(s->n, sizeof *by_number);
	hp_auto_free size_t *next = hp_array(s->o.parts, sizeof *next);

	if (!by_number || !next)
		return hp_fail_nomem(err);
	for (uint32_t p = 0; p < s->o.parts; p++)
		next[p] = s->part[p].first;
	for (size_t i = 0; i < s->n; i++)
		by_number[next[lists[i].chunk % s->o.parts]++] = (uint32_t)i;
	shuffle_lists(s, by_number);
	return 0;
}

/* Lanes of the parts, what they need, and who gives and takes. */
static void deal(struct hp_seq *s)
{
	const struct hp_seq_order *o = &s->o;
	uint64_t over = 0, lacks = 0, lane = 0;

	for (uint32_t p = 0; p < o->parts; p++) {
		struct part *part = &s->part[p];
		/* Lane l is in part floor(l D / L). */
		uint64_t end =
			share(p + UINT64_C(1), o->lanes, o->parts) +
			((wide)(p + UINT64_C(1)) * o->lanes % o->parts > 0);

		part->lanes = hp_deal_part(&s->deal, lane, end - lane);
		part->need = hp_deal_before(&s->deal, end) -
			     hp_deal_before(&s->deal, lane);
		lane = end;
		part->over_before = over;
		part->lacks_before = lacks;
		if (part->has > part->need)
			over += part->has - part->need;
		else
			lacks += part->need - part->has;
	}
	assert(over == lacks);
}

int hp_seq_new(const struct hp_seq_order *o, const struct hp_seq_list *lists,
	       size_t n, struct hp_seq **ret, struct hpdsl_error *err)
{
	struct hp_seq *s;
	int r = check(o, err);

	if (r < 0)
		return r;
	if (n >= UINT32_MAX)
		return usage(err, "too many chunks");
	s = calloc(1, sizeof *s);
	if (!s)
		return hp_fail_nomem(err);
	s->o = *o;
	s->deal = (struct hp_deal){ .batch = o->batch,
				    .lanes = o->lanes,
				    .piece = o->piece };
	s->n = n;
	r = allocate(s, err);
	if (r == 0)
		r = count(s, lists, err);
	if (r == 0)
		r = place_lists(s, lists, err);
	if (r < 0) {
		hp_seq_free(s);
		return r;
	}
	deal(s);
	*ret = s;
	return 0;
}

void hp_seq_free(struct hp_seq *s)
{
	if (!s)
		return;
	free(s->part);
	free(s->list);
	free(s->before);
	free(s->place);
	free(s->has);
	free(s);
}

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
		const struct part *p = &s->part[middle];

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
	const struct part *p = &s->part[at.part];
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
	const struct part *p = &s->part[at.part];
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
static uint64_t window_of(const struct hp_seq *s, const struct part *p,
			  uint64_t piece, uint64_t *ret_first, uint64_t *ret_n)
{
	uint64_t v = s->o.windows;
	uint64_t w = (uint64_t)((((wide)piece + 1) * v - 1) / p->pieces);

	*ret_first = share(w, p->pieces, v);
	*ret_n = share(w + 1, p->pieces, v) - *ret_first;
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
	const struct part *p = &s->part[at.part];
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
static size_t list_at(const struct hp_seq *s, const struct part *p, uint64_t i)
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
	const struct part *p = &s->part[at.part];
	uint64_t left = p->has - p->turn;
	uint64_t i = at.i < left ? at.i + p->turn : at.i - left;
	size_t k = list_at(s, p, i);

	return (struct hp_seq_spot){ s->list[k], i - s->before[k] };
}

static struct at to_turned(const struct hp_seq *s, struct hp_seq_spot spot)
{
	size_t k = s->place[spot.list];
	uint32_t low = 0, high = s->o.parts;
	const struct part *p;
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
	uint32_t part = (uint32_t)share(place.lane, s->o.parts, s->o.lanes);

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
	const struct part *p = &s->part[at.part];

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
