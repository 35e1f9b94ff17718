/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The defaults of an order.  All quotients are exact: what is compared with a
 * quotient is multiplied.
 */
#include "base/error.h"
#include "order/sequence.h"

#define MIB ((uint64_t)1 << 20)

typedef unsigned __int128 wide;

/* What differs where the chunks were not shuffled: more lanes, less in each. */
struct rule {
	uint64_t lanes;	      /* T: of a rank at least, where bytes allow */
	uint64_t lane_bytes;  /* A: of such a lane at least, or 8 samples */
	uint64_t piece_bytes; /* at most */
};

static const struct rule if_shuffled = { 64, MIB, 4 * MIB };
static const struct rule if_not = { 512, MIB / 8, MIB };

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Has the set bytes for so many lanes?  A few need little: where so little is
 * to be read, reads may be small. */
static bool bears(const struct hp_seq_set *set, const struct rule *rule,
		  uint64_t lanes)
{
	return (wide)lanes * 8 * MIB <= set->bytes ||
	       (lanes <= rule->lanes &&
		((wide)lanes * rule->lane_bytes <= set->bytes ||
		 lanes <= set->samples / 8));
}

/* Does it leave a rank 256 lanes at most, and each lane something to read? */
static bool suits(const struct hp_seq_set *set, const struct rule *rule,
		  uint64_t batch, uint64_t k)
{
	return set->batch_size % k == 0 && batch % k == 0 &&
	       set->batch_size / k <= 256 &&
	       (batch / k <= set->ranks || bears(set, rule, batch / k));
}

/* The least divisor of a rank's batch that does; or all of it. */
static uint64_t least_that_suits(const struct hp_seq_set *set,
				 const struct rule *rule, uint64_t batch)
{
	uint64_t size = set->batch_size, k = 1;

	for (; k * k <= size; k++)
		if (suits(set, rule, batch, k))
			return k;
	/* Divisors beyond the root are what those below leave. */
	while (--k > 1)
		if (size % k == 0 && suits(set, rule, batch, size / k))
			return size / k;
	return size;
}

/* K: the samples that a lane gives to a step. */
static uint64_t in_step(const struct hp_seq_set *set, const struct rule *rule,
			uint64_t batch)
{
	uint64_t k = least_that_suits(set, rule, batch);

	if (batch % k != 0 ||
	    (set->batch_size / k < 64 && bears(set, rule, batch)))
		return 1;
	return k;
}

static uint64_t lanes_of(const struct hp_seq_set *set, const struct rule *rule,
			 uint64_t batch)
{
	uint64_t k = in_step(set, rule, batch), most, m;
	uint64_t workers = max(1, set->workers);

	if (k > 1)
		return batch / k;
	most = max(set->bytes / (8 * MIB) / batch,
		   min(rule->lanes,
		       max(set->bytes / rule->lane_bytes, set->samples / 8)) /
			   batch);
	m = max(1, min((rule->lanes + batch - 1) / batch, most));
	/* So that no lane has two workers. */
	return batch * ((m + workers - 1) / workers * workers);
}

/* Bytes as a quotient. */
struct bytes {
	uint64_t n, by;
};

static bool less(struct bytes a, struct bytes b)
{
	return (wide)a.n * b.by < (wide)b.n * a.by;
}

/* u: what a piece is to have, an eighth of its lane within bounds. */
static struct bytes piece_bytes(const struct hp_seq_set *set,
				const struct rule *rule, uint64_t lanes)
{
	struct bytes u = { set->bytes, 8 * lanes };
	struct bytes least = { set->bytes, 8 * rule->lanes };
	struct bytes most = { rule->piece_bytes, 1 }, mib = { MIB, 1 };

	if (less(mib, least))
		least = mib;
	if (less(u, least))
		return least;
	return less(most, u) ? most : u;
}

/* p: pieces of a lane, rounded. */
static uint64_t pieces_of(const struct hp_seq_set *set, struct bytes u,
			  uint64_t lanes)
{
	wide lane = (wide)lanes * u.n;

	return max(1, (uint64_t)(((wide)set->bytes * u.by * 2 + lane) /
				 (2 * lane)));
}

int hp_seq_fill(const struct hp_seq_set *set, struct hp_seq_order *o,
		struct hpdsl_error *err)
{
	const struct rule *rule = set->shuffled ? &if_shuffled : &if_not;
	uint64_t batch = (uint64_t)set->batch_size * set->ranks, pieces;
	struct bytes u;

	if (!o->batch && batch > UINT32_MAX)
		return hp_fail(err, HPDSL_EUSAGE,
			       "order: a batch of 2^32 samples or more");
	if (!o->batch)
		o->batch = (uint32_t)batch;
	if (o->plain)
		o->lanes = o->piece = o->windows = o->parts = 1;
	if (!o->lanes)
		o->lanes = lanes_of(set, rule, o->batch);
	u = piece_bytes(set, rule, o->lanes);
	pieces = pieces_of(set, u, o->lanes);
	if (!o->piece)
		o->piece = max(1, min((uint64_t)((wide)u.n * set->samples /
						 ((wide)u.by * set->bytes)),
				      set->samples / o->lanes / pieces));
	if (!o->windows)
		o->windows = !set->shuffled ?
				     1 :
				     (uint32_t)max(1, min(min(16, pieces),
							  set->chunks / 32));
	if (!o->parts)
		o->parts = 1;
	return 0;
}
