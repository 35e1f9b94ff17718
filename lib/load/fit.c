/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimate looks at the table of chunks alone, as if all samples of a chunk
 * were of one size.
 */
#include "load/fit.h"

#include "dataset/fetch.h"

/* Runs of a lane that are looked at: more tell nothing new. */
enum { LOOK = 4096 };

/* An index may say anything: from here on all sums are equal. */
#define MOST (UINT64_C(1) << 62)

double hp_load_part(const struct hp_load_share *s, uint32_t lane)
{
	uint64_t period = s->step_runs * s->stride, mine = 0;
	uint64_t n = period < LOOK ? period : LOOK;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t run = lane + i * s->lanes, step = run / s->step_runs;

		/* As if the epoch had no end. */
		mine += run % s->step_runs % s->ranks == s->rank &&
			step % s->stride == s->first % s->stride;
	}
	return (double)mine / (double)n;
}

static double piece_bytes(const struct hp_piece *p,
			  const struct hp_load_sizes *sizes, double part)
{
	uint64_t bytes, samples;
	double mean, all, wanted, dense = part * sizes->chosen;

	sizes->chunk(sizes->arg, p->chunk, &bytes, &samples);
	mean = (double)bytes / (double)(samples ? samples : 1);
	wanted = (double)p->samples * part * mean;
	all = wanted / dense;
	/* What lies between is read, too, where it is little. */
	if (mean / dense - mean <= HP_FETCH_GAP)
		wanted = all;
	return wanted < (double)bytes ? wanted : (double)bytes;
}

static uint64_t window_bytes(const struct hp_window *w,
			     const struct hp_load_sizes *sizes, double part)
{
	double sum = 0;

	for (uint32_t i = 0; i < w->pieces; i++)
		sum += piece_bytes(&w->piece[i], sizes, part);
	return sum < (double)MOST ? (uint64_t)sum : MOST;
}

static uint64_t largest_window(const struct hpdsl_epoch *e, uint32_t lane,
			       const struct hp_load_sizes *sizes, double part)
{
	uint64_t n = hp_epoch_windows(e, lane), max = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct hp_window w;
		uint64_t bytes;

		hp_epoch_window(e, lane, i, &w);
		bytes = window_bytes(&w, sizes, part);
		max = bytes > max ? bytes : max;
	}
	return max;
}

void hp_load_windows(const struct hpdsl_epoch *e, const struct hp_load_share *s,
		     const struct hp_load_sizes *sizes, struct hp_load_fit *ret)
{
	struct hp_load_fit fit = { 0 };

	for (uint32_t lane = 0; lane < hp_epoch_lanes(e); lane++) {
		double part = hp_load_part(s, lane);
		uint64_t bytes;

		if (part <= 0)
			continue;
		bytes = largest_window(e, lane, sizes, part);
		fit.lanes++;
		fit.bytes = bytes < MOST - fit.bytes ? fit.bytes + bytes : MOST;
		if (bytes > fit.largest)
			fit.largest = bytes;
	}
	*ret = fit;
}
