/* SPDX-License-Identifier: Apache-2.0 */
#include "load/shares.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

/* A lane, and where it is. */
struct lane {
	uint64_t number;
	uint64_t x;    /* the next of its own samples */
	uint64_t need; /* the step of that */
	bool begun;
};

struct hp_shares {
	struct hp_shares_options opt;
	struct hp_own own;
	struct lane *lane; /* those that have samples left: a heap */
	uint64_t n, lanes;
	/* Slots of the last step, the next one of them and their end, whose
	 * samples are not read as the lanes'. */
	uint32_t apart, apart_end;
	struct hp_seq_memo memo;
};

enum { HEADERS = 4096 };

/* ---- The next share of a lane ----------------------------------------- */

/* A share that grows, and what it was when a frame began the last time. */
struct cut {
	struct hp_share share, whole;
	uint64_t most, samples, samples_most;
};

/* Of samples that have no bytes rows are not to take more than these. */
static uint64_t samples_of(uint64_t bytes)
{
	return bytes / 128 + 1;
}

/* Does it go with the others?  Else the share is what it is cut to. */
static bool goes_on(struct cut *c, struct hp_extent at)
{
	struct hp_share *s = &c->share;

	if (at.begin < s->at.begin || at.begin > s->at.end + HP_SHARE_GAP)
		return false;
	if (at.begin >= s->at.end)
		c->whole = *s;
	if (at.end <= s->at.end || at.end - s->at.begin <= c->most)
		return true;
	if (c->whole.samples)
		*s = c->whole;
	return false;
}

/* Its bytes, but for those of a frame that is had already. */
static void add_bytes(struct hp_share *s, struct hp_extent at)
{
	bool first = s->at.end == s->at.begin;
	uint64_t begin = at.begin;

	/* So much are headers, or a member that nobody wants. */
	if (!first && begin <= s->at.end + HEADERS)
		begin = s->at.end;
	if (at.end <= begin)
		return;
	s->wanted += at.end - begin;
	s->at.end = at.end;
	if (first)
		s->at.begin = at.begin;
}

/*
 * One sample more, the one at x: false if it does not go with the others.  Of
 * frames it has whole ones: it ends where another one begins, unless all that
 * fits is of one.
 */
static bool add(struct cut *c, uint64_t x, struct hp_extent at)
{
	struct hp_share *s = &c->share;
	bool first = s->at.end == s->at.begin;

	if (c->samples == c->samples_most)
		return false;
	if (!first && at.end > at.begin && !goes_on(c, at))
		return false;
	add_bytes(s, at);
	s->samples = x - s->x + 1;
	c->samples++;
	return true;
}

static uint64_t next_own(const struct hp_shares *s, const struct lane *lane,
			 uint64_t x)
{
	const struct hp_own *o = &s->own;

	/* What nearly all are like: this, and the end is looked at later. */
	if (o->in_step == 1 && o->stride == 1)
		return x + 1;
	return hp_own_from(o, lane->number, x + 1);
}

/* Of a lane that is one reader's: how many samples from x on are in its steps.
 */
static uint64_t in_steps(const struct hp_own *o, const struct lane *lane)
{
	uint64_t turn = lane->number % o->every;
	uint64_t end = (o->until - turn + o->every - 1) / o->every;

	return end - lane->x;
}

/*
 * How many of n neighbours, of which the share has the first, fit into most,
 * and where the last of them lies; 0: they are not in their order.  One of them
 * fits: it is the least that there can be.
 */
static uint64_t count_fitting(const struct hp_shares_options *o,
			      const struct hp_share *share, uint64_t n,
			      uint64_t most, struct hp_extent *ret_last)
{
	uint64_t begin = share->at.begin, lo = 1, hi = n;

	*ret_last = share->at;
	while (lo < hi) {
		uint64_t mid = hi == n ? n : lo + (hi - lo + 1) / 2;
		struct hp_extent at =
			o->extent(o->arg, share->list, share->index + mid - 1);

		if (at.end <= at.begin || at.begin < begin)
			return 0;
		if (at.end - begin <= most) {
			lo = mid;
			*ret_last = at;
		} else {
			hi = mid - 1;
		}
	}
	return lo;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Where the neighbours that fit into most end, in their order: as the first and
 * the last one that fits say.  False: they have to be gone through.
 */
static bool cut_dense(const struct hp_shares *s, const struct lane *lane,
		      uint64_t n, uint64_t most, struct hp_share *share)
{
	const struct hp_shares_options *o = &s->opt;
	struct hp_share cut = *share;
	struct hp_extent last;

	if (s->own.in_step > 1 || s->own.stride > 1)
		return false;
	n = min(n, min(samples_of(most), in_steps(&s->own, lane)));
	if (!o->dense(o->arg, cut.list, cut.index, n))
		return false;
	cut.at = o->extent(o->arg, cut.list, cut.index);
	if (cut.at.end <= cut.at.begin)
		return false;
	cut.samples = count_fitting(o, &cut, n, most, &last);
	if (!cut.samples)
		return false;
	cut.at.end = last.end;
	cut.wanted = last.end - cut.at.begin;
	*share = cut;
	return true;
}

/* Own samples from lane->x on, as far as they lie in one stretch and fit. */
static struct hp_share cut(struct hp_shares *s, const struct lane *lane,
			   uint64_t most)
{
	const struct hp_shares_options *o = &s->opt;
	struct hp_deal_place place = { lane->number, lane->x };
	struct hp_seq_stretch t = hp_seq_stretch(o->seq, &s->memo, place);
	struct cut c = { .most = most, .samples_most = samples_of(most) };
	uint64_t x = lane->x;

	c.share.lane = lane->number;
	c.share.x = x;
	c.share.list = t.first.list;
	c.share.index = t.first.index;
	if (cut_dense(s, lane, t.samples, most, &c.share))
		return c.share;
	while (x - lane->x < t.samples &&
	       hp_own_step(&s->own, lane->number, x) < s->own.until &&
	       add(&c, x,
		   o->extent(o->arg, t.first.list,
			     t.first.index + (x - lane->x))))
		x = next_own(s, lane, x);
	return c.share;
}

/* Finds the lane's next sample from x on; false: it has no more. */
static bool find_need(const struct hp_shares *s, struct lane *lane, uint64_t x)
{
	lane->x = hp_own_from(&s->own, lane->number, x);
	lane->need = hp_own_step(&s->own, lane->number, lane->x);
	return lane->x != UINT64_MAX;
}

static struct hp_share take(struct hp_shares *s, struct lane *lane)
{
	const struct hp_own *o = &s->own;
	uint64_t most = s->opt.bytes;
	struct hp_share share;

	if (!lane->begun && most > HP_SHARE_FIRST)
		most = HP_SHARE_FIRST;
	lane->begun = true;
	share = cut(s, lane, most);
	share.need = lane->need;
	share.until = hp_own_fills(o, lane->number, share.x, share.samples) ?
			      o->fill_step :
			      hp_own_step(o, lane->number,
					  share.x + share.samples - 1);
	return share;
}

/* ---- All lanes: a heap by need ---------------------------------------- */

static bool sooner(const struct lane *a, const struct lane *b)
{
	if (a->need != b->need)
		return a->need < b->need;
	return a->number < b->number;
}

static void sink(struct hp_shares *s, uint64_t i)
{
	struct lane moved = s->lane[i];

	for (;;) {
		uint64_t child = 2 * i + 1;

		if (child + 1 < s->n &&
		    sooner(&s->lane[child + 1], &s->lane[child]))
			child++;
		if (child >= s->n || !sooner(&s->lane[child], &moved))
			break;
		s->lane[i] = s->lane[child];
		i = child;
	}
	s->lane[i] = moved;
}

static int begin(struct hp_shares *s, struct hpdsl_error *err)
{
	const struct hp_own *o = &s->own;

	uint64_t lanes = hp_own_lane_count(o);

	s->lane = hp_array(lanes, sizeof *s->lane);
	if (!s->lane)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < lanes; i++) {
		struct lane lane = { .number = hp_own_lane(o, i) };

		if (find_need(s, &lane, 0))
			s->lane[s->n++] = lane;
	}
	s->lanes = s->n;
	for (uint64_t i = s->n / 2; i-- > 0;)
		sink(s, i);
	s->apart = s->apart_end = o->fill_end;
	if (o->fill == HP_OWN_APART || o->fill == HP_OWN_DEALT)
		s->apart = o->fill_slot;
	return 0;
}

int hp_shares_new(const struct hp_shares_options *opt, struct hp_shares **ret,
		  struct hpdsl_error *err)
{
	struct hp_shares *s = calloc(1, sizeof *s);
	int r;

	if (!s)
		return hp_fail_nomem(err);
	s->opt = *opt;
	hp_own_init(&s->own, hp_seq_deal(opt->seq), &opt->own);
	r = begin(s, err);
	if (r < 0)
		hp_shares_free(s);
	else
		*ret = s;
	return r;
}

void hp_shares_free(struct hp_shares *s)
{
	if (!s)
		return;
	free(s->lane);
	free(s);
}

/* ---- The next one ----------------------------------------------------- */

/* The sample that such a slot has. */
static struct hp_seq_spot spot_apart(struct hp_shares *s, uint32_t slot)
{
	const struct hp_own *o = &s->own;
	bool real;
	uint64_t at = hp_deal_slot(o->d, o->fill_step, slot, &real);

	if (o->idle)
		at = hp_deal_fill(o->d, o->fill_step, slot);
	return hp_seq_at(s->opt.seq, &s->memo, at);
}

/* They come last, for the last step is the last that needs anything.  Slots
 * whose samples are neighbours are read together, as those of a lane are. */
static struct hp_share take_apart(struct hp_shares *s)
{
	const struct hp_shares_options *o = &s->opt;
	uint32_t slot = s->apart;
	struct hp_seq_spot first = spot_apart(s, slot), spot = first;
	struct cut c = { .most = o->bytes,
			 .samples_most = samples_of(o->bytes),
			 .share = { .lane = HP_SHARE_APART,
				    .x = slot,
				    .list = first.list,
				    .index = first.index,
				    .need = s->own.fill_step,
				    .until = s->own.fill_step } };

	while (spot.list == first.list &&
	       spot.index == first.index + (slot - s->apart) &&
	       add(&c, slot, o->extent(o->arg, spot.list, spot.index)) &&
	       ++slot < s->apart_end)
		spot = spot_apart(s, slot);
	s->apart += (uint32_t)c.share.samples;
	return c.share;
}

uint64_t hp_shares_need(const struct hp_shares *s)
{
	if (s->n)
		return s->lane[0].need;
	return s->apart < s->apart_end ? s->own.fill_step : UINT64_MAX;
}

bool hp_shares_next(struct hp_shares *s, struct hp_share *ret)
{
	if (!s->n) {
		if (s->apart >= s->apart_end)
			return false;
		*ret = take_apart(s);
		return true;
	}
	*ret = take(s, &s->lane[0]);
	if (!find_need(s, &s->lane[0], ret->x + ret->samples))
		s->lane[0] = s->lane[--s->n];
	if (s->n)
		sink(s, 0);
	return true;
}

const struct hp_own *hp_shares_own(const struct hp_shares *s)
{
	return &s->own;
}

uint64_t hp_shares_lanes(const struct hp_shares *s)
{
	return s->lanes;
}

uint64_t hp_shares_bytes(uint64_t memory, uint64_t batch, uint64_t lanes)
{
	uint64_t left = batch < memory / 6 ? memory - 3 * batch : memory / 2;
	uint64_t bytes = lanes ? left / 3 * 2 / lanes : left;

	return bytes ? bytes : 1;
}
