/* SPDX-License-Identifier: Apache-2.0 */
/* How well the steps of a sequence are mixed, counted. */
#ifndef HP_MIXING_H
#define HP_MIXING_H

#include "order/lists.h"

/*
 * Chunk-mates are two samples of one chunk.  Over the steps first .. first +
 * steps - 1, or as many of them, spread evenly, as have a million samples.
 */
struct hp_mixing {
	/* How much more often than in a full shuffle two of them meet in a
	 * step; NAN where no chunk has two, or no step. */
	double mates;
	/* That a step has samples of, on average. */
	double chunks, stretches;
};

/* steps: at least 1, all of which the sequence has.  -ENOMEM. */
int hp_seq_mixing(const struct hp_seq *s, const struct hp_lists *l,
		  uint64_t first, uint64_t steps, struct hp_mixing *ret,
		  struct hpdsl_error *err);

#endif
