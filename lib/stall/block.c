/* SPDX-License-Identifier: Apache-2.0 */
/* What a block of steps took. */
#include "stall/block.h"

#include <stdlib.h>
#include <string.h>

void hp_stall_begin(struct hp_stall_blocking *g, struct hpdsl_stall_place place,
		    const struct hpdsl_stall_counters *at)
{
	memset(g, 0, sizeof *g);
	g->b.phase = place.phase;
	g->b.round = place.round;
	g->b.block = place.block;
	g->at = *at;
}

void hp_stall_step(struct hp_stall_blocking *g, double waited, bool was_ready,
		   double computed, double usual)
{
	g->b.steps++;
	g->b.waited += waited;
	if (usual > 0 && computed > HP_STALL_PAUSE * usual)
		g->b.interrupted += computed - usual;
	if (was_ready)
		g->ready[g->seen++ % HP_STALL_READY] = waited;
}

static int by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static double hand_over(struct hp_stall_blocking *g)
{
	uint32_t n = g->seen < HP_STALL_READY ? g->seen : HP_STALL_READY;

	if (!n)
		return -1;
	qsort(g->ready, n, sizeof *g->ready, by_size);
	return g->ready[n / 10];
}

void hp_stall_end(struct hp_stall_blocking *g,
		  const struct hpdsl_stall_counters *at,
		  struct hpdsl_stall_block *ret)
{
	double took = at->now - g->at.now;

	g->b.seconds = took - g->b.interrupted;
	g->b.made = at->made - g->at.made;
	g->b.out = at->out - g->at.out;
	g->b.making = took - (at->blocked - g->at.blocked);
	if (g->b.making < 0)
		g->b.making = 0;
	g->b.hand_over = hand_over(g);
	*ret = g->b;
}
