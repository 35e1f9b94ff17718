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

/* A block of a rank. */
struct hp_stall_of_rank {
	uint32_t rank;
	struct hpdsl_stall_block b;
};

/* Of fewer blocks of a phase an interval says nothing. */
#define HP_STALL_ENOUGH 3

/*
 * Of n blocks, in any order.  Replay, warm and cold must be there; without load
 * blocks interference is part of the preparation stall.  HPDSL_EUSAGE: a phase
 * has no blocks; -ENOMEM.
 */
int hp_stall_split(const struct hp_stall_of_rank *of, size_t n,
		   struct hpdsl_stall_split *ret, struct hpdsl_error *err);

/*
 * Of steps from memory so many seconds went into opening files and asking for
 * their status, which memory does not have: as far as that is waited for, it is
 * no preparation.
 */
void hp_stall_move_names(struct hpdsl_stall_split *s, double seconds);

#endif
