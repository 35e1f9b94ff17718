/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples of the lanes one reader has: those of its rank's slots, in the
 * steps that are its own; and what fills the last step up.  Pure arithmetic.
 */
#ifndef HP_LOAD_OWN_H
#define HP_LOAD_OWN_H

#include "order/deal.h"

/* What a slot of the last step holds where there is no sample for it. */
enum hp_own_fill {
	HP_OWN_NO_FILL, /* nothing lacks, or it is not to be filled */
	HP_OWN_BEFORE,	/* the sample before in its lane, which is own, too */
	HP_OWN_APART,	/* one that is none of the own ones */
	/* Nothing fills it up: what it has is dealt anew, and is not read as
	 * the lanes' but by slots. */
	HP_OWN_DEALT,
};

struct hp_own {
	const struct hp_deal *d; /* borrowed */
	uint64_t in_step;	 /* samples of a lane in a step (K) .. */
	uint64_t every;		 /* .. every so many steps (m); one is 1 */
	uint32_t slot, slot_end; /* of each step */
	/* Steps first, first + stride, .. below end. */
	uint64_t first, stride, end;
	uint64_t until;		 /* lanes are read for those below it */
	uint64_t lane, lane_end; /* that have any of these slots, and samples */
	uint64_t turns;		 /* of every lanes from there so many have */
	/* The last step, if it is own and lacks samples, and the slots that
	 * do, or, where it is short, those that are dealt to this reader. */
	enum hp_own_fill fill;
	uint64_t fill_step;
	uint32_t fill_slot, fill_end;
	bool is_short; /* it has these slots alone .. */
	bool idle;     /* .. of which none has a sample of this step */
};

struct hp_own_options {
	uint32_t rank, ranks;
	uint64_t first, stride, end; /* 0 stride: 1 */
	bool fill;		     /* the last step is filled up */
	bool may_be_short;	     /* it has what is left */
};

void hp_own_init(struct hp_own *o, const struct hp_deal *d,
		 const struct hp_own_options *opt);

/* How many steps are own. */
static inline uint64_t hp_own_steps(const struct hp_own *o)
{
	return o->first < o->end ? (o->end - o->first - 1) / o->stride + 1 : 0;
}

/* Places of one of its steps. */
static inline uint32_t hp_own_places(const struct hp_own *o, uint64_t step)
{
	return o->is_short && step == o->fill_step ?
		       o->fill_end - o->fill_slot :
		       o->slot_end - o->slot;
}

/* How many lanes have own steps; of these some may be too short for them. */
uint64_t hp_own_lanes(const struct hp_own *o);

/* Own lanes that may have samples are numbered without those that have none. */
static inline uint64_t hp_own_lane_count(const struct hp_own *o)
{
	return (o->lane_end - o->lane) / o->every * o->turns;
}

static inline uint64_t hp_own_lane(const struct hp_own *o, uint64_t i)
{
	return o->lane + i / o->turns * o->every + i % o->turns;
}

static inline uint64_t hp_own_lane_number(const struct hp_own *o, uint64_t lane)
{
	return (lane - o->lane) / o->every * o->turns + lane % o->every;
}

static inline uint64_t hp_own_step(const struct hp_own *o, uint64_t lane,
				   uint64_t x)
{
	return x / o->in_step * o->every + lane % o->every;
}

/* The place of a slot of a step: of a sample, if there is one for it. */
static inline struct hp_deal_place hp_own_place(const struct hp_own *o,
						uint64_t step, uint32_t slot)
{
	return (struct hp_deal_place){
		.lane = slot / o->in_step * o->every + step % o->every,
		.x = step / o->every * o->in_step + slot % o->in_step,
	};
}

/* The first own sample of an own lane from x on; UINT64_MAX: none. */
uint64_t hp_own_from(const struct hp_own *o, uint64_t lane, uint64_t x);
bool hp_own_has(const struct hp_own *o, uint64_t lane, uint64_t x);

/* Has one of n samples of a lane, from x on, to fill the last step up? */
bool hp_own_fills(const struct hp_own *o, uint64_t lane, uint64_t x,
		  uint64_t n);

#endif
