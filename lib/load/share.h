/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps and runs of an epoch are one reader's: every so many steps, and
 * of each of these the runs of its rank.  Its steps are counted over all epochs
 * that it reads: these numbers are turns.
 */
#ifndef HP_LOAD_SHARE_H
#define HP_LOAD_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct hp_load_share {
	uint64_t samples; /* N */
	uint32_t lanes, run, step_runs;
	uint32_t rank, ranks;
	/* Its steps: first, first + stride, .. below steps. */
	uint64_t first, stride, steps;
	uint64_t base; /* the turn of the first */
};

static inline uint64_t hp_load_turns(const struct hp_load_share *s)
{
	return s->first < s->steps ? (s->steps - s->first - 1) / s->stride + 1 :
				     0;
}

static inline uint64_t hp_load_step(const struct hp_load_share *s,
				    uint64_t turn)
{
	return s->first + (turn - s->base) * s->stride;
}

/* Is the run this reader's, and in which turn? */
static inline bool hp_load_mine(const struct hp_load_share *s, uint64_t run,
				uint64_t *ret_turn)
{
	uint64_t step = run / s->step_runs;

	if (run % s->step_runs % s->ranks != s->rank || step < s->first ||
	    step >= s->steps || (step - s->first) % s->stride)
		return false;
	*ret_turn = s->base + (step - s->first) / s->stride;
	return true;
}

/* Runs of a step that are its own; each has s->run places. */
static inline uint32_t hp_load_runs(const struct hp_load_share *s)
{
	return (s->step_runs - s->rank - 1) / s->ranks + 1;
}

/* Where one of these is. */
struct hp_load_run {
	uint64_t position; /* of its first place */
	uint32_t lane;
	uint64_t x;    /* sample of the lane that the first place holds */
	uint32_t real; /* places below N; those behind them fill the step up */
};

static inline struct hp_load_run hp_load_run_at(const struct hp_load_share *s,
						uint64_t step, uint32_t i)
{
	uint64_t j = step * s->step_runs + s->rank + (uint64_t)i * s->ranks;
	struct hp_load_run r = {
		.position = j * s->run,
		.lane = (uint32_t)(j % s->lanes),
		.x = j / s->lanes * s->run,
		.real = s->run,
	};

	if (r.position >= s->samples)
		r.real = 0;
	else if (s->samples - r.position < s->run)
		r.real = (uint32_t)(s->samples - r.position);
	return r;
}

#endif
