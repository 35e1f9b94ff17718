/* SPDX-License-Identifier: Apache-2.0 */
#include "load/shares.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

/* A lane, and where it is. */
struct lane {
	uint64_t number;
	uint64_t x, end; /* the next of its samples, and behind the last */
	bool begun;
	struct hp_share next;
};

struct hp_shares {
	struct hp_shares_options opt;
	struct lane *lane; /* those that have samples left: a heap */
	uint64_t n, lanes;
	struct hp_seq_memo memo;
};

/* ---- The rank's part of a lane ---------------------------------------- */

static uint64_t in_step(const struct hp_deal *d)
{
	return d->batch > d->lanes ? d->batch / d->lanes : 1;
}

static uint64_t every(const struct hp_deal *d)
{
	return d->lanes > d->batch ? d->lanes / d->batch : 1;
}

/* The first slot of a lane. */
static uint64_t slot_of(const struct hp_deal *d, uint64_t lane)
{
	return lane / every(d) * in_step(d);
}

bool hp_shares_own(const struct hp_shares_options *opt, uint64_t lane,
		   uint64_t x)
{
	const struct hp_deal *d = hp_seq_deal(opt->seq);
	uint64_t slot = slot_of(d, lane) + x % in_step(d);

	return slot >= hp_deal_rank(d, opt->rank, opt->ranks) &&
	       slot < hp_deal_rank(d, opt->rank + 1, opt->ranks);
}

static uint64_t step_of(const struct hp_deal *d, uint64_t lane, uint64_t x)
{
	return hp_deal_position(d, (struct hp_deal_place){ lane, x }) /
	       d->batch;
}

/* How many samples of the lane come in steps before this one. */
static uint64_t samples_until(const struct hp_deal *d, uint64_t lane,
			      uint64_t step)
{
	uint64_t m = every(d), turn = lane % m;
	uint64_t times = step > turn ? (step - turn - 1) / m + 1 : 0;
	uint64_t n = hp_deal_lane(d, lane);

	return times <= n / in_step(d) ? times * in_step(d) : n;
}

/* The first own sample from x on; end: there is none. */
static uint64_t own_from(const struct hp_shares *s, const struct lane *lane,
			 uint64_t x)
{
	while (x < lane->end && !hp_shares_own(&s->opt, lane->number, x))
		x++;
	return x < lane->end ? x : lane->end;
}

/* ---- The next share of a lane ----------------------------------------- */

/* With one more sample, the one at x. */
static struct hp_share with(struct hp_share share, uint64_t x,
			    struct hp_extent at)
{
	uint64_t begin = at.begin;

	if (begin < share.at.end)
		begin = share.at.end; /* of a frame that is had already */
	if (at.end > begin) {
		share.wanted += at.end - begin;
		share.at.end = at.end;
	}
	share.samples = x - share.x + 1;
	return share;
}

/*
 * Own samples from lane->x on, as far as they lie in one stretch and fit.  Of
 * frames it has whole ones: it ends where another one begins, unless all that
 * fits is of one.
 */
static struct hp_share cut(struct hp_shares *s, const struct lane *lane,
			   uint64_t most)
{
	const struct hp_shares_options *o = &s->opt;
	struct hp_deal_place place = { lane->number, lane->x };
	struct hp_seq_stretch t = hp_seq_stretch(o->seq, &s->memo, place);
	struct hp_share share = { .lane = lane->number,
				  .x = lane->x,
				  .list = t.first.list,
				  .index = t.first.index,
				  .at = o->extent(o->arg, t.first.list,
						  t.first.index) };
	struct hp_share whole = { .samples = 0 };
	uint64_t end = lane->end, x = lane->x;

	if (end - x > t.samples)
		end = x + t.samples;
	share.wanted = share.at.end - share.at.begin;
	share.samples = 1;
	while (++x < end) {
		struct hp_extent at;

		if (!hp_shares_own(o, lane->number, x))
			continue;
		at = o->extent(o->arg, share.list, share.index + (x - share.x));
		if (at.begin >= share.at.end)
			whole = share;
		if (at.begin > share.at.end + HP_SHARE_GAP)
			break;
		if (at.end - share.at.begin > most)
			return whole.samples ? whole : share;
		share = with(share, x, at);
	}
	return share;
}

/* False: the lane has no more. */
static bool advance(struct hp_shares *s, struct lane *lane)
{
	const struct hp_deal *d = hp_seq_deal(s->opt.seq);
	uint64_t most = s->opt.bytes;

	if (!lane->begun && most > HP_SHARE_FIRST)
		most = HP_SHARE_FIRST;
	lane->begun = true;
	lane->x = own_from(s, lane, lane->x);
	if (lane->x == lane->end)
		return false;
	lane->next = cut(s, lane, most);
	lane->x += lane->next.samples;
	lane->next.need = step_of(d, lane->number, lane->next.x);
	lane->next.until = step_of(d, lane->number, lane->x - 1);
	return true;
}

/* ---- All lanes: a heap by need ---------------------------------------- */

static bool sooner(const struct lane *a, const struct lane *b)
{
	if (a->next.need != b->next.need)
		return a->next.need < b->next.need;
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

/* The lanes that have any of the slots. */
static void find_lanes(const struct hp_shares_options *opt, uint64_t *ret_first,
		       uint64_t *ret_end)
{
	const struct hp_deal *d = hp_seq_deal(opt->seq);
	uint64_t from = hp_deal_rank(d, opt->rank, opt->ranks);
	uint64_t to = hp_deal_rank(d, opt->rank + 1, opt->ranks);
	uint64_t k = in_step(d), m = every(d);

	*ret_first = from / k * m;
	*ret_end = from < to ? ((to - 1) / k + 1) * m : *ret_first;
}

static int begin(struct hp_shares *s, struct hpdsl_error *err)
{
	const struct hp_deal *d = hp_seq_deal(s->opt.seq);
	uint64_t first, end;

	find_lanes(&s->opt, &first, &end);
	s->lane = hp_array(end - first, sizeof *s->lane);
	if (!s->lane)
		return hp_fail_nomem(err);
	for (uint64_t l = first; l < end; l++) {
		struct lane lane = {
			.number = l,
			.x = samples_until(d, l, s->opt.first),
			.end = samples_until(d, l, s->opt.steps),
		};

		if (advance(s, &lane))
			s->lane[s->n++] = lane;
	}
	s->lanes = s->n;
	for (uint64_t i = s->n / 2; i-- > 0;)
		sink(s, i);
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

bool hp_shares_next(struct hp_shares *s, struct hp_share *ret)
{
	if (!s->n)
		return false;
	*ret = s->lane[0].next;
	if (!advance(s, &s->lane[0]))
		s->lane[0] = s->lane[--s->n];
	if (s->n)
		sink(s, 0);
	return true;
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
