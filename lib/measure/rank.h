/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of a measured job, in the folder that hpdsl-stall made: what it says
 * there, and which phase each of its steps is of.  Of a process one loader is
 * measured, the first whose steps are alike.
 *
 * Once a second the folder is looked at, between two steps; the rest of the
 * time a step costs some arithmetic.
 */
#ifndef HP_MEASURE_RANK_H
#define HP_MEASURE_RANK_H

#include "hpdsl/core.h"
#include "stall/block.h"

/* The longest time without a beat of hpdsl-stall, seconds. */
#define HP_MEASURE_DEAD 60

struct hp_measure;

struct hp_measure_options {
	uint32_t rank, ranks;
	const struct hp_io *io;
};

/*
 * *ret is NULL, and 0 is returned, where HPDSL_STALL is not set, or the program
 * has more rights than its caller.  HPDSL_EUSAGE: it names no folder of a
 * hpdsl-stall that is alive, and is this user's; -errno, -ENOMEM.
 */
int hp_measure_new(const struct hp_measure_options *opt,
		   struct hp_measure **ret, struct hpdsl_error *err);
/* It goes: if it was to be measured yet, that is said.  NULL is harmless. */
void hp_measure_free(struct hp_measure *m);

/* What a loader is like: steps until what it had in hand behind a seek is used
 * up; may be changed until a step is first entered. */
void hp_measure_lead(struct hp_measure *m, uint32_t lead);

/*
 * A batch is asked for: which phase its step is of.  If that is behind all of
 * them, it has to be asked again, until the process ends, by SIGKILL.  Asked
 * again before hp_measure_leave() it is the same step.  HPDSL_EUSAGE:
 * hpdsl-stall is no longer there, nothing may be played any more; -errno.
 */
int hp_measure_enter(struct hp_measure *m, const struct hp_stall_counters *at,
		     struct hp_stall_place *ret, struct hpdsl_error *err);
/* It was there, at once or not. */
void hp_measure_leave(struct hp_measure *m, double now, bool was_ready);
/* What the page cache had in blocks of a phase. */
int hp_measure_cache(struct hp_measure *m, enum hpdsl_stall_phase phase,
		     const struct hpdsl_stall_cache *c,
		     struct hpdsl_error *err);
/* How many steps a phase takes in a round. */
uint64_t hp_measure_steps(const struct hp_measure *m,
			  enum hpdsl_stall_phase phase);

#endif
