/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which phase a step of a measured job is of.  All ranks must play the same
 * phase at the same step, or a barrier would mix them: so the schedule is fixed
 * by one of them, before its first step comes, and where a step is in it
 * depends on nothing but the step's number.
 *
 * A round plays each phase once, so that a drift of the machine is in all of
 * them.  A phase has steps that lead in, which do not count, and then blocks of
 * steps that do.
 */
#ifndef HP_STALL_SCHEDULE_H
#define HP_STALL_SCHEDULE_H

#include "hpdsl/stall.h"

struct hp_stall_schedule {
	uint64_t from; /* the first step of the first round */
	uint32_t rounds;
	uint32_t blocks; /* of a phase in a round */
	/* Steps of a phase that lead in, and of each of its blocks; 0: the
	 * phase is not played. */
	uint32_t lead[HPDSL_STALL_PHASES], steps[HPDSL_STALL_PHASES];
};

/* Steps of a phase in a round; 0: it is not played. */
uint64_t hp_stall_phase_steps(const struct hp_stall_schedule *s,
			      enum hpdsl_stall_phase phase);

/* Steps of all rounds. */
uint64_t hp_stall_steps(const struct hp_stall_schedule *s);

struct hpdsl_stall_place hp_stall_at(const struct hp_stall_schedule *s,
				     uint64_t step);

#endif
