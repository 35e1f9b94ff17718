/* SPDX-License-Identifier: Apache-2.0 */
/* Which schedule, and from when on. */
#include "stall/start.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 3,
	BLOCKS = 3,
	BLOCK_SECONDS = 5,
	BLOCK_LEAST = 4, /* steps */
	/* Batches are kept, compute gets used to them. */
	LEAD_REPLAY = 6,
	LEAD_LOAD = 3,
	STEPS_MOST = 1 << 20,
};

/* ---- Are they alike? -------------------------------------------------- */

/* Full, two sums become one. */
static void sum_up(struct hp_stall_steady *s, double took)
{
	if (!s->in_sum)
		s->in_sum = 1;
	if (s->steps == s->in_sum * HP_STALL_SUMS) {
		for (unsigned i = 0; i < HP_STALL_SUMS / 2; i++)
			s->sum[i] = s->sum[2 * i] + s->sum[2 * i + 1];
		memset(s->sum + HP_STALL_SUMS / 2, 0, sizeof s->sum / 2);
		s->in_sum *= 2;
	}
	s->sum[s->steps / s->in_sum] += took;
}

void hp_stall_steady_add(struct hp_stall_steady *s, double took, double waited)
{
	s->took[s->steps % HP_STALL_LAST] = took;
	s->computed[s->steps % HP_STALL_LAST] = took - waited;
	if (s->steps < HP_STALL_LAST)
		s->early += took;
	s->seconds += took;
	sum_up(s, took);
	s->steps++;
}

/* What the line through the last ones rises from its first to its last. */
static double rise(const struct hp_stall_steady *s, double *ret_mean)
{
	double middle = (HP_STALL_LAST - 1) / 2.0, mean = 0, top = 0, below = 0;

	for (unsigned i = 0; i < HP_STALL_LAST; i++)
		mean += s->took[i] / HP_STALL_LAST;
	for (unsigned i = 0; i < HP_STALL_LAST; i++) {
		double x = i - middle;

		top += x * s->took[(s->steps + i) % HP_STALL_LAST];
		below += x * x;
	}
	*ret_mean = mean;
	return fabs(top / below * (HP_STALL_LAST - 1));
}

/* The last quarter of them, of 20 and more, and the one before it. */
static bool quarters_are_alike(const struct hp_stall_steady *s)
{
	size_t end = s->in_sum ? (size_t)(s->steps / s->in_sum) : 0;
	size_t quarter = end / 4;
	double last = 0, before = 0;

	if (quarter * s->in_sum < 2 * HP_STALL_LAST)
		return false;
	for (size_t i = 1; i <= quarter; i++) {
		last += s->sum[end - i];
		before += s->sum[end - quarter - i];
	}
	return fabs(last - before) < last / 20;
}

bool hp_stall_steady_is(const struct hp_stall_steady *s, uint64_t least,
			bool *ret_unsteady)
{
	double mean, by;

	*ret_unsteady = false;
	if (least < HP_STALL_FIRST)
		least = HP_STALL_FIRST;
	if (s->steps < least)
		return false;
	by = rise(s, &mean);
	if (by < mean / 20 || quarters_are_alike(s))
		return true;
	*ret_unsteady =
		s->steps >= 3 * least && s->seconds >= HP_STALL_PATIENCE;
	return *ret_unsteady;
}

static int by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static double median(const double *of)
{
	double v[HP_STALL_LAST];

	memcpy(v, of, sizeof v);
	qsort(v, HP_STALL_LAST, sizeof *v, by_size);
	return (v[HP_STALL_LAST / 2 - 1] + v[HP_STALL_LAST / 2]) / 2;
}

double hp_stall_steady_step(const struct hp_stall_steady *s)
{
	return median(s->took);
}

double hp_stall_steady_computed(const struct hp_stall_steady *s)
{
	return median(s->computed);
}

double hp_stall_steady_pace(const struct hp_stall_steady *s)
{
	return (s->seconds - s->early) / (double)(s->steps - HP_STALL_LAST);
}

/* ---- The schedule ----------------------------------------------------- */

const unsigned hp_stall_run[HP_STALL_RUNS] = {
	HP_STALL_IS(HPDSL_STALL_REPLAY) | HP_STALL_IS(HPDSL_STALL_LOAD),
	HP_STALL_IS(HPDSL_STALL_WARM),
	HP_STALL_IS(HPDSL_STALL_COLD),
	HP_STALL_IS(HPDSL_STALL_REAL),
};

/* Of all ranks: the slowest, the longest, the least. */
struct all {
	double step, pace; /* seconds */
	uint32_t lead;
	uint64_t warm; /* steps that a third of the memory holds */
	uint64_t next; /* the step that none has passed */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Rounded up; ceil() may want -lm. */
static uint64_t up(double x)
{
	uint64_t n = (uint64_t)x;

	return n + ((double)n < x);
}

static void join(struct all *a, const struct hp_stall_ready *r)
{
	double step = larger(r->s.step_seconds, 1e-6);
	double pace = larger(r->s.pace, step);
	uint64_t bytes = r->s.batch_bytes ? r->s.batch_bytes : 1;
	uint64_t warm = r->s.room / 3 / (r->on_node ? r->on_node : 1) / bytes;
	uint64_t next = r->s.step + up(r->since / pace);

	a->step = larger(a->step, step);
	a->pace = larger(a->pace, pace);
	if (r->s.lead > a->lead)
		a->lead = r->s.lead;
	if (warm < a->warm)
		a->warm = warm;
	if (next > a->next)
		a->next = next;
}

/* Steps of a block. */
static uint32_t block_steps(const struct all *a, uint32_t wish)
{
	uint64_t n = up(BLOCK_SECONDS / a->step);

	if (wish)
		return wish;
	if (n > a->lead)
		n = a->lead;
	if (n < BLOCK_LEAST)
		n = BLOCK_LEAST;
	return n > STEPS_MOST ? STEPS_MOST : (uint32_t)n;
}

int hp_stall_decide(const struct hp_stall_ready *of, size_t n,
		    const struct hp_stall_wish *wish,
		    struct hp_stall_schedule *ret, struct hpdsl_error *err)
{
	struct hp_stall_schedule s = {
		.rounds = wish->rounds ? wish->rounds : ROUNDS,
		.blocks = wish->blocks ? wish->blocks : BLOCKS,
	};
	unsigned phases = wish->phases ? wish->phases : ~0U;
	struct all a = { .warm = UINT64_MAX };
	uint64_t fits;
	uint32_t steps;

	for (size_t i = 0; i < n; i++)
		join(&a, &of[i]);
	steps = block_steps(&a, wish->steps);
	fits = a.warm > a.lead ? (a.warm - a.lead) / s.blocks : 0;
	if (fits < BLOCK_LEAST && phases & HP_STALL_IS(HPDSL_STALL_WARM))
		return hp_fail(err, HPDSL_EUSAGE,
			       "steps from memory cannot be measured: they "
			       "take %" PRIu64 " batches, and a third of what "
			       "a node has free holds %" PRIu64,
			       a.lead + (uint64_t)s.blocks * BLOCK_LEAST,
			       a.warm);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		s.lead[i] = a.lead;
		s.steps[i] = phases & HP_STALL_IS(i) ? steps : 0;
	}
	s.lead[HPDSL_STALL_REPLAY] = LEAD_REPLAY;
	s.lead[HPDSL_STALL_LOAD] = LEAD_LOAD;
	if (!wish->load)
		s.steps[HPDSL_STALL_LOAD] = 0;
	if (s.steps[HPDSL_STALL_WARM] > fits)
		s.steps[HPDSL_STALL_WARM] = (uint32_t)fits;
	s.from = a.next + up(wish->margin / a.pace) + 2;
	*ret = s;
	return 0;
}
