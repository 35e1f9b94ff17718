/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step is made of: from blocks of all ranks to parts that add up to a
 * step of a first epoch.  With the seconds of a step of each phase,
 *
 *	cold = replay                     compute
 *	     + (load - replay)            interference
 *	     + h                          hand-over
 *	     + (warm - load - h)          preparation stall
 *	     + (cold - warm)              fetch stall
 *
 * where h is what it takes to hand over a batch that is there, at most warm -
 * load.  It is the differential analysis of DS-Analyzer (Mohan et al.,
 * Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021), with the
 * blocks interleaved in one run and what is in hand accounted for.
 *
 * Beside it, from other figures, what warm and cold would be: where read-ahead
 * hides all jitter, a step takes as long as the slowest of what it needs,
 *
 *	warm' = max(load + h, 1 / P)      cold' = max(load + h, 1 / Q)
 *
 * with P and Q the steps a second that the loader makes in warm and cold blocks
 * while it has room.
 */
#ifndef HP_STALL_SPLIT_H
#define HP_STALL_SPLIT_H

#include "hpdsl/core.h"
#include "stall/block.h"

#include <stddef.h>

enum hp_stall_part {
	HP_STALL_COMPUTE,
	HP_STALL_INTERFERENCE,
	HP_STALL_HAND_OVER,
	HP_STALL_PREPARATION,
	HP_STALL_FETCH,
	HP_STALL_PARTS
};

/* A block of a rank. */
struct hp_stall_of_rank {
	uint32_t rank;
	struct hp_stall_block b;
};

/* Of fewer blocks of a phase an interval says nothing. */
#define HP_STALL_ENOUGH 3

/* A figure, and between what it is with a probability of 95 %. */
struct hp_stall_figure {
	double is, low, high;
};

struct hp_stall_split {
	bool has[HP_STALL_PHASES];
	struct hp_stall_figure step[HP_STALL_PHASES]; /* seconds */
	struct hp_stall_figure part[HP_STALL_PARTS];  /* seconds; their sum is
							 the cold step */
	double hand_over;			      /* seconds */
	bool knows_hand_over;	     /* or no batch was ever there in time */
	double warm_rate, cold_rate; /* P and Q, steps a second; 0: not known */
	double warm_model, cold_model; /* seconds of a step, by these */
	bool enough; /* blocks of all phases that were played */
	/* What a cold step is as long as it is for: compute, preparation or
	 * fetch. It takes more than its interval and a hundredth of the step to
	 * be one of the latter two. */
	enum hp_stall_part bound;
	/* A part is less than nothing, beyond its interval: phases were not
	 * alike. */
	bool disagrees;
	uint32_t ranks;
	uint32_t slowest; /* the rank whose loader makes least in cold blocks */
	double slowness;  /* what ranks in the middle make, to what it makes */
};

/*
 * Of n blocks, in any order.  Replay, warm and cold must be there; without load
 * blocks interference is part of the preparation stall.  HPDSL_EUSAGE: a phase
 * has no blocks; -ENOMEM.
 */
int hp_stall_split(const struct hp_stall_of_rank *of, size_t n,
		   struct hp_stall_split *ret, struct hpdsl_error *err);

#endif
