/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a job's steps are alike, and from this which schedule its ranks are to
 * play.  Pure.
 */
#ifndef HP_STALL_START_H
#define HP_STALL_START_H

#include "stall/record.h"

#include "hpdsl/core.h"

/* The last steps, which are compared. */
#define HP_STALL_LAST 10
/* Steps before any counts, for compilers and allocators; and after so many
 * seconds and three times as many steps, what is not alike never will be. */
#define HP_STALL_FIRST 20
#define HP_STALL_PATIENCE 60
/* All steps, the same number in each sum but the last. */
#define HP_STALL_SUMS 32

struct hp_stall_steady {
	uint64_t steps;
	double seconds; /* of all of them */
	double early;	/* of the first HP_STALL_LAST */
	double took[HP_STALL_LAST], computed[HP_STALL_LAST];
	double sum[HP_STALL_SUMS]; /* seconds */
	uint64_t in_sum;	   /* steps; 0: one */
};

/* A step took so long, of which so long until its batch was there. */
void hp_stall_steady_add(struct hp_stall_steady *s, double took, double waited);
/*
 * Are they?  At least so many steps are over, and either a straight line
 * through the last ones (least squares) rises or falls by less than a twentieth
 * of them, or the last quarter of all steps took what the quarter before it
 * took, but for a twentieth: batches that some workers make side by side come
 * in bursts, which tilt any line through a few. *ret_unsteady: no, but they
 * never will be.
 */
bool hp_stall_steady_is(const struct hp_stall_steady *s, uint64_t least,
			bool *ret_unsteady);
/* In the middle of the last ones: what a step takes; without its batch. */
double hp_stall_steady_step(const struct hp_stall_steady *s);
double hp_stall_steady_computed(const struct hp_stall_steady *s);
/* The mean of all but the first ones: how long steps come to take, with what is
 * only now and then. */
double hp_stall_steady_pace(const struct hp_stall_steady *s);

/* A rank's start, on a node that so many ranks are on, and for how long it has
 * gone on since it was written. */
struct hp_stall_ready {
	struct hp_stall_start s;
	uint32_t on_node;
	double since;
};

#define HP_STALL_IS(phase) (1U << (phase))

struct hp_stall_wish {
	uint32_t rounds, blocks; /* 0: as many as make sense */
	uint32_t steps;		 /* of a block; 0: as many as make sense */
	bool load;		 /* interference is told from preparation */
	unsigned phases;	 /* HP_STALL_IS() of those to play; 0: all */
	double margin;		 /* seconds until all ranks have seen it */
};

/* Phases, as HP_STALL_IS() has them, of the runs of a job that is started anew
 * for each: what replay keeps load hands out. */
#define HP_STALL_RUNS 4
extern const unsigned hp_stall_run[HP_STALL_RUNS];

/*
 * A block of warm, cold and real steps lasts as long as what is read of a lane
 * at a time, or five seconds, whichever is less.  HPDSL_EUSAGE: the steps that
 * a phase from memory takes do not fit into a third of it.
 */
int hp_stall_decide(const struct hp_stall_ready *of, size_t n,
		    const struct hp_stall_wish *wish,
		    struct hp_stall_schedule *ret, struct hpdsl_error *err);

#endif
