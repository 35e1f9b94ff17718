/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an epoch up to its lanes, and which chunks it wants first.  Pure
 * functions of how many samples of each chunk the epoch has, and of the
 * order's parameters.  hpdsl-order(7) defines it; the names are those there.
 */
#ifndef HP_ORDER_H
#define HP_ORDER_H

#include "hpdsl/order.h"

/* The defaults, as hpdsl.h has them, for what is zero. */
struct hpdsl_order hp_order_filled(const struct hpdsl_order *o);

/* With these: 0, or HPDSL_EUSAGE where D does not divide L. */
int hp_order_check(const struct hpdsl_order *o, struct hpdsl_error *err);

/* Lanes: lanes.c */

/* A stretch of one chunk in a lane: occurrences of its samples, in order. */
struct hp_piece {
	uint32_t chunk;
	uint64_t begin;	  /* samples of the lane before it */
	uint64_t skip;	  /* occurrences of the chunk before it */
	uint64_t samples; /* at least 1 */
};

/* A lane that has samples, with its pieces, which are one or more. */
struct hp_lane {
	uint32_t number;
	uint64_t samples;
	const struct hp_piece *piece;
	uint32_t pieces;
};

/*
 * Deals the samples to the lanes (steps 1 to 4) and shows each lane that has
 * any, once, in order of the parts and within a part in order of the lanes.
 * samples[c] of n chunks; o is filled.  see() returns 0 or a code that ends it,
 * *err set.  A few numbers a chunk are held, however many lanes there are.
 * HPDSL_EUSAGE: 2^63 samples or more; -ENOMEM.
 */
int hp_order_lanes(const struct hpdsl_order *o, const uint64_t *samples,
		   uint32_t n,
		   int (*see)(void *arg, const struct hp_lane *lane,
			      struct hpdsl_error *err),
		   void *arg, struct hpdsl_error *err);

/* B, of N samples. */
static inline uint64_t hp_order_runs(const struct hpdsl_order *o,
				     uint64_t samples)
{
	return samples / o->run + (samples % o->run > 0);
}

/* The run that holds sample x of a lane. */
static inline uint64_t hp_order_run(const struct hpdsl_order *o, uint32_t lane,
				    uint64_t x)
{
	return x / o->run * o->lanes + lane;
}

/* v of a lane of so many pieces, and the first piece of window i, 0 .. v. */
static inline uint64_t hp_lane_windows(const struct hpdsl_order *o,
				       uint32_t pieces)
{
	return ((uint64_t)pieces + o->window - 1) / o->window;
}

static inline uint32_t hp_window_first(uint32_t pieces, uint64_t windows,
				       uint64_t i)
{
	return (uint32_t)(i * pieces / windows);
}

/* What is wanted first: order.c */

/*
 * The chunks in the order in which the epoch, from step o->step on, first wants
 * them: by the first run, from that step on, of the window that holds them,
 * then by place in the lane; those that are wanted no more in this epoch come
 * last, by the run that first wanted them.  samples[c] of n chunks; those
 * without samples come behind all others, by number.  ret: n numbers.  -ENOMEM,
 * HPDSL_EUSAGE.
 */
int hp_order_first_use(const struct hpdsl_order *o, const uint64_t *samples,
		       uint32_t n, uint32_t *ret, struct hpdsl_error *err);

#endif
