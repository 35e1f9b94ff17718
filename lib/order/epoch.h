/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An epoch's order, by windows: what a loader reads, and where in it each
 * sample is.  hpdsl-order(7) defines it.  All of it is pure; an epoch never
 * changes, and may be used by any number of threads.
 *
 * Only lanes below hp_epoch_lanes() have samples, and each of these has at
 * least one window.
 */
#ifndef HP_EPOCH_H
#define HP_EPOCH_H

#include "order/order.h"

struct hp_window {
	uint32_t lane;
	uint64_t number; /* in its lane */
	uint64_t begin;	 /* samples of the lane before it */
	uint64_t samples;
	const struct hp_piece *piece; /* the epoch's */
	uint32_t pieces;
};

/* Lanes that have samples: 0 .. that - 1. */
uint32_t hp_epoch_lanes(const struct hpdsl_epoch *e);
/* Samples of a lane, its windows, and one of these. */
uint64_t hp_epoch_lane_samples(const struct hpdsl_epoch *e, uint32_t lane);
uint64_t hp_epoch_windows(const struct hpdsl_epoch *e, uint32_t lane);
void hp_epoch_window(const struct hpdsl_epoch *e, uint32_t lane,
		     uint64_t number, struct hp_window *ret);
/* The number of the window that holds sample x of the lane. */
uint64_t hp_epoch_window_of(const struct hpdsl_epoch *e, uint32_t lane,
			    uint64_t x);

/*
 * Which samples of the window, counted over its pieces laid one behind the
 * other, its places first .. first + n - 1 hold.  Place y is sample
 * w->begin + y of the lane.
 */
void hp_epoch_shuffle(const struct hpdsl_epoch *e, const struct hp_window *w,
		      uint64_t first, size_t n, uint64_t *ret);

/* The piece's sample numbers in stored order: p->samples of them. */
void hp_epoch_samples(const struct hpdsl_epoch *e, const struct hp_piece *p,
		      uint64_t *ret);

/* HPDSL_EUSAGE: the epoch's steps cannot be shared that way. */
int hp_epoch_check_share(const struct hpdsl_epoch *e,
			 const struct hpdsl_share *s, struct hpdsl_error *err);

#endif
