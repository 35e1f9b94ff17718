/* SPDX-License-Identifier: Apache-2.0 */
#include "order/deal.h"

#define GOLDEN 0x9E3779B97F4A7C15u

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* K, of which a lane gives to a step it takes part in. */
static uint64_t in_step(const struct hp_deal *d)
{
	return d->batch > d->lanes ? d->batch / d->lanes : 1;
}

/* m: it takes part in every m-th. */
static uint64_t every(const struct hp_deal *d)
{
	return d->lanes > d->batch ? d->lanes / d->batch : 1;
}

struct hp_deal_place hp_deal_place(const struct hp_deal *d, uint64_t position)
{
	uint64_t k = in_step(d), m = every(d);
	uint64_t step = position / d->batch, slot = position % d->batch;

	return (struct hp_deal_place){
		.lane = slot / k * m + step % m,
		.x = step / m * k + slot % k,
	};
}

uint64_t hp_deal_position(const struct hp_deal *d, struct hp_deal_place place)
{
	uint64_t k = in_step(d), m = every(d);
	uint64_t step = place.x / k * m + place.lane % m;

	return step * d->batch + place.lane / m * k + place.x % k;
}

uint64_t hp_deal_before(const struct hp_deal *d, uint64_t lane)
{
	uint64_t k = in_step(d), m = every(d);
	uint64_t steps = d->samples / d->batch; /* whole ones */
	uint64_t rest = d->samples % d->batch;
	uint64_t slot = lane / m * k, turn = lane % m;
	uint64_t sum = slot * steps + min(rest, slot);

	/* Of the lanes of this slot, those whose turn is before. */
	sum += k * (steps / m * turn + min(steps % m, turn));
	if (steps % m < turn && rest > slot)
		sum += min(rest - slot, k);
	return sum;
}

uint64_t hp_deal_lane(const struct hp_deal *d, uint64_t lane)
{
	return hp_deal_before(d, lane + 1) - hp_deal_before(d, lane);
}

struct hp_deal_rows hp_deal_rows(const struct hp_deal *d)
{
	uint64_t steps = (d->samples + d->batch - 1) / d->batch;
	uint64_t k = in_step(d), m = every(d);

	return (struct hp_deal_rows){
		.every = m,
		.turns = min(m, steps),
		.rows = (min(d->batch, d->samples) + k - 1) / k,
	};
}

/* ---- What the lanes of a part get ------------------------------------- */

/*
 * n: the least that a lane of the part has.  Of lanes with the same turn the
 * last has least, so that the last m lanes tell; of these, one in whose turn
 * the last step is not, and of those behind it the same, or else the others.
 */
static uint64_t least(const struct hp_deal *d, uint64_t lane, uint64_t lanes)
{
	uint64_t m = every(d), end = lane + lanes;
	uint64_t turn = d->samples / d->batch % m; /* of the last step */
	uint64_t from = lanes > m ? end - m : lane;
	uint64_t slot = end - end % m; /* its first lane */
	uint64_t some[] = { from,
			    end - 1,
			    slot - 1,
			    slot - m + turn,
			    slot - m + turn + 1,
			    slot + turn,
			    slot + turn + 1 };
	uint64_t n = UINT64_MAX;

	for (unsigned i = 0; i < sizeof some / sizeof *some; i++)
		if (some[i] >= from && some[i] < end)
			n = min(n, hp_deal_lane(d, some[i]));
	return n;
}

struct hp_deal_part hp_deal_part(const struct hp_deal *d, uint64_t lane,
				 uint64_t lanes)
{
	return (struct hp_deal_part){
		.lane = lane,
		.lanes = lanes,
		.rounds = lanes ? least(d, lane, lanes) / d->piece : 0,
	};
}

/* By how much a lane of n samples is turned: it begins with that one. */
static uint64_t turned(const struct hp_deal *d, uint64_t lane, uint64_t n)
{
	unsigned __int128 t = (unsigned __int128)(lane * GOLDEN) * d->piece;

	return (uint64_t)(t >> 64) % n;
}

/* Sample x of a lane of n, in the order in which it got them. */
static uint64_t turn_back(const struct hp_deal *d, struct hp_deal_place place,
			  uint64_t n)
{
	uint64_t left = n - turned(d, place.lane, n);

	return place.x < left ? place.x + (n - left) : place.x - left;
}

/* What is behind the rounds, of the part's lanes before this one. */
static uint64_t rest_before(const struct hp_deal *d,
			    const struct hp_deal_part *p, uint64_t lane)
{
	return hp_deal_before(d, lane) - hp_deal_before(d, p->lane) -
	       (lane - p->lane) * p->rounds * d->piece;
}

uint64_t hp_deal_given(const struct hp_deal *d, const struct hp_deal_part *p,
		       struct hp_deal_place place)
{
	uint64_t b = d->piece, lane = place.lane;
	uint64_t y = turn_back(d, place, hp_deal_lane(d, lane));

	if (y / b < p->rounds)
		return (y / b * p->lanes + (lane - p->lane)) * b + y % b;
	return p->rounds * p->lanes * b + rest_before(d, p, lane) +
	       (y - p->rounds * b);
}

/* The last lane before which there is at most so much of the rest. */
static uint64_t rest_taker(const struct hp_deal *d,
			   const struct hp_deal_part *p, uint64_t rest)
{
	uint64_t low = p->lane, high = p->lane + p->lanes;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (rest_before(d, p, middle) <= rest)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct hp_deal_place hp_deal_taker(const struct hp_deal *d,
				   const struct hp_deal_part *p, uint64_t i)
{
	uint64_t b = d->piece, all = p->rounds * p->lanes * b;
	uint64_t lane, y, n, turn;

	if (i < all) {
		lane = p->lane + i / b % p->lanes;
		y = i / b / p->lanes * b + i % b;
	} else {
		lane = rest_taker(d, p, i - all);
		y = p->rounds * b + (i - all - rest_before(d, p, lane));
	}
	n = hp_deal_lane(d, lane);
	turn = turned(d, lane, n);
	y = y < turn ? y + (n - turn) : y - turn;
	return (struct hp_deal_place){ lane, y };
}

uint64_t hp_deal_run(const struct hp_deal *d, const struct hp_deal_part *p,
		     struct hp_deal_place place)
{
	uint64_t n = hp_deal_lane(d, place.lane), b = d->piece;
	uint64_t y = turn_back(d, place, n);
	uint64_t end = y / b < p->rounds ? (y / b + 1) * b : n;

	return min(end - y, n - place.x);
}

/* ---- Steps ------------------------------------------------------------ */

uint64_t hp_deal_steps(const struct hp_deal *d, enum hpdsl_end end)
{
	return d->samples / d->batch +
	       (end != HPDSL_END_DROP && d->samples % d->batch);
}

uint64_t hp_deal_whole(const struct hp_deal *d, enum hpdsl_end end,
		       uint64_t step)
{
	return end == HPDSL_END_REPEAT ?
		       d->batch :
		       min(d->batch, d->samples - step * d->batch);
}

uint64_t hp_deal_slot(const struct hp_deal *d, uint64_t step, uint32_t slot,
		      bool *ret_real)
{
	uint64_t position = step * d->batch + slot;

	*ret_real = position < d->samples;
	return *ret_real ? position : hp_deal_fill(d, step, slot);
}

uint64_t hp_deal_fill(const struct hp_deal *d, uint64_t step, uint32_t slot)
{
	/* The one before it in its own lane is still in memory. */
	if (step >= every(d))
		return (step - every(d)) * d->batch + slot;
	return slot % d->samples;
}

struct hp_deal_slots hp_deal_slots(const struct hp_deal *d, enum hpdsl_end end,
				   uint64_t step, uint32_t rank, uint32_t ranks)
{
	const struct hp_deal left = { .batch = (uint32_t)(d->samples %
							  d->batch) };
	struct hp_deal_slots is = { hp_deal_rank(d, rank, ranks),
				    hp_deal_rank(d, rank + 1, ranks), false };

	if (end != HPDSL_END_SHORT || step < d->samples / d->batch ||
	    !left.batch)
		return is;
	is.end = hp_deal_rank(&left, rank + 1, ranks);
	if (hp_deal_rank(&left, rank, ranks) == is.end)
		return (struct hp_deal_slots){ is.first, is.first + 1, true };
	is.first = hp_deal_rank(&left, rank, ranks);
	return is;
}
