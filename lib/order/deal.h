/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The positions of an epoch dealt to its lanes, and the samples of a part dealt
 * to the part's lanes.  Pure arithmetic: of lanes, of which there may be more
 * than samples, nothing is stored.
 */
#ifndef HP_DEAL_H
#define HP_DEAL_H

#include "hpdsl/order.h"

#include <stdbool.h>
#include <stdint.h>

struct hp_deal {
	uint64_t samples; /* N: positions are below it; 1 .. 2^62 - 1 */
	uint32_t batch;	  /* G: samples of a step, of all ranks together */
	uint64_t lanes;	  /* L: a multiple or a divisor of batch */
	uint64_t piece;	  /* b: samples in a row that a lane reads */
};

/* Sample x of a lane, from 0 in the order of the steps. */
struct hp_deal_place {
	uint64_t lane, x;
};

struct hp_deal_place hp_deal_place(const struct hp_deal *d, uint64_t position);
uint64_t hp_deal_position(const struct hp_deal *d, struct hp_deal_place place);

/* How many positions are those of lanes below this one; of this one (n_l). */
uint64_t hp_deal_before(const struct hp_deal *d, uint64_t lane);
uint64_t hp_deal_lane(const struct hp_deal *d, uint64_t lane);

/*
 * Lanes in rows of so many, each of which takes part in another step: m of
 * them.  Only the first rows, and of a row the first lanes, have samples; so
 * who goes through lanes goes through no more of them than there are samples.
 */
struct hp_deal_rows {
	uint64_t every; /* m: of a row */
	uint64_t turns; /* of these, that may have samples */
	uint64_t rows;	/* that may have some */
};

struct hp_deal_rows hp_deal_rows(const struct hp_deal *d);

struct hp_deal_part {
	uint64_t lane, lanes; /* the first, and how many */
	uint64_t rounds;      /* in which each of them gets a piece */
};

struct hp_deal_part hp_deal_part(const struct hp_deal *d, uint64_t lane,
				 uint64_t lanes);

/* The place among the part's samples that a lane's sample has; and back. */
uint64_t hp_deal_given(const struct hp_deal *d, const struct hp_deal_part *p,
		       struct hp_deal_place place);
struct hp_deal_place hp_deal_taker(const struct hp_deal *d,
				   const struct hp_deal_part *p, uint64_t i);

/*
 * How many samples of the lane, from this one on, lie one behind the other
 * among the part's: to the end of a piece, or of what is behind the rounds.
 */
uint64_t hp_deal_run(const struct hp_deal *d, const struct hp_deal_part *p,
		     struct hp_deal_place place);

uint64_t hp_deal_steps(const struct hp_deal *d, enum hpdsl_end end);

/* Is the last step, if samples do not fill it, filled with others? */
static inline bool hp_deal_fills(enum hpdsl_end end)
{
	return end == HPDSL_END_MASK || end == HPDSL_END_REPEAT;
}

/* Places of a step that count, of all ranks. */
uint64_t hp_deal_whole(const struct hp_deal *d, enum hpdsl_end end,
		       uint64_t step);

/*
 * The position that a slot of a step holds.  *ret_real: false where it came
 * before, which only HPDSL_END_REPEAT counts.
 */
uint64_t hp_deal_slot(const struct hp_deal *d, uint64_t step, uint32_t slot,
		      bool *ret_real);
/* What that is where there is none for it. */
uint64_t hp_deal_fill(const struct hp_deal *d, uint64_t step, uint32_t slot);

/* The first slot of a rank, 0 .. ranks; that behind the last is batch. */
static inline uint32_t hp_deal_rank(const struct hp_deal *d, uint32_t rank,
				    uint32_t ranks)
{
	return (uint32_t)((uint64_t)d->batch * rank / ranks);
}

/*
 * The slots of a step that are a rank's.  idle: that is a single one, and it
 * does not hold its own position but what would fill it up.
 */
struct hp_deal_slots {
	uint32_t first, end;
	bool idle;
};

struct hp_deal_slots hp_deal_slots(const struct hp_deal *d, enum hpdsl_end end,
				   uint64_t step, uint32_t rank,
				   uint32_t ranks);

#endif
