/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank's block of steps took, and what its loader did meanwhile. Pure:
 * times and counters are passed in.
 *
 * Nothing is emptied before a block.  What the loader has in hand is what it
 * has made less what it has handed out.  So what it makes a second is known
 * whatever it has in hand, and a block that lived on its stock is found out:
 * its steps took less than making their batches does.
 */
#ifndef HP_STALL_BLOCK_H
#define HP_STALL_BLOCK_H

#include "stall/schedule.h"

/* The most steps whose ready batches a block remembers. */
#define HP_STALL_READY 64

/* How many times as long as a usual step is an interruption: a validation, a
 * checkpoint. */
#define HP_STALL_PAUSE 10

/* A block that is going on. */
struct hp_stall_blocking {
	struct hpdsl_stall_block b;
	struct hpdsl_stall_counters at; /* when it began */
	uint32_t seen;			/* steps for which a batch was there */
	double ready[HP_STALL_READY];
};

void hp_stall_begin(struct hp_stall_blocking *g, struct hpdsl_stall_place place,
		    const struct hpdsl_stall_counters *at);

/* A step of it is over: it took so many seconds until it had its batch, which
 * was there before or not, and then so many; usual is what these are mostly, or
 * 0 if that is not known. */
void hp_stall_step(struct hp_stall_blocking *g, double waited, bool was_ready,
		   double computed, double usual);

void hp_stall_end(struct hp_stall_blocking *g,
		  const struct hpdsl_stall_counters *at,
		  struct hpdsl_stall_block *ret);

#endif
