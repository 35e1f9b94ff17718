/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order's parameters; and, from its lanes, the first run that wants each
 * chunk.
 */
#include "order/order.h"

#include "base/error.h"
#include "base/mem.h"

#define LANES 8
#define WINDOW 16
#define RUN 32
#define STEP_RUNS 8

struct hpdsl_order hp_order_filled(const struct hpdsl_order *o)
{
	struct hpdsl_order f = *o;

	if (!f.parts)
		f.parts = 1;
	if (!f.lanes)
		f.lanes = f.parts >= LANES ?
				  f.parts :
				  (LANES + f.parts - 1) / f.parts * f.parts;
	if (!f.window)
		f.window = WINDOW;
	if (!f.run)
		f.run = RUN;
	if (!f.step_runs)
		f.step_runs = STEP_RUNS;
	return f;
}

int hp_order_check(const struct hpdsl_order *o, struct hpdsl_error *err)
{
	struct hpdsl_order f = hp_order_filled(o);

	if (f.lanes % f.parts)
		return hp_fail(err, HPDSL_EUSAGE,
			       "an order of %u lanes cannot have %u parts",
			       f.lanes, f.parts);
	return 0;
}

/* Whether, when, and where in its lane a chunk is first wanted. */
struct use {
	enum { WANTED, PAST, EMPTY } when;
	uint32_t chunk;
	uint64_t run, place;
};

struct uses {
	struct hpdsl_order o;
	uint64_t first_run; /* of the step */
	struct use *use;    /* of each chunk */
};

static bool earlier(const struct use *a, const struct use *b)
{
	if (a->when != b->when)
		return a->when < b->when;
	if (a->run != b->run)
		return a->run < b->run;
	if (a->place != b->place)
		return a->place < b->place;
	return a->chunk < b->chunk;
}

/* The window of pieces from .. to - 1. */
static void see_window(struct uses *u, const struct hp_lane *lane,
		       uint32_t from, uint32_t to)
{
	const struct hp_piece *end = &lane->piece[to - 1];
	uint64_t lanes = u->o.lanes;
	uint64_t first =
		hp_order_run(&u->o, lane->number, lane->piece[from].begin);
	uint64_t last = hp_order_run(&u->o, lane->number,
				     end->begin + end->samples - 1);
	struct use use = { .when = WANTED, .run = first };

	if (last < u->first_run)
		use.when = PAST;
	else if (first < u->first_run)
		use.run += (u->first_run - first + lanes - 1) / lanes * lanes;
	for (uint32_t i = from; i < to; i++) {
		use.chunk = lane->piece[i].chunk;
		use.place = i;
		if (earlier(&use, &u->use[use.chunk]))
			u->use[use.chunk] = use;
	}
}

static int see_lane(void *arg, const struct hp_lane *lane,
		    struct hpdsl_error *err)
{
	struct uses *u = arg;
	uint64_t v = hp_lane_windows(&u->o, lane->pieces);

	(void)err;
	for (uint64_t i = 0; i < v; i++)
		see_window(u, lane, hp_window_first(lane->pieces, v, i),
			   hp_window_first(lane->pieces, v, i + 1));
	return 0;
}

static int compare_use(const void *a, const void *b)
{
	return earlier(a, b) ? -1 : earlier(b, a);
}

int hp_order_first_use(const struct hpdsl_order *o, const uint64_t *samples,
		       uint32_t n, uint32_t *ret, struct hpdsl_error *err)
{
	hp_auto_free struct use *use = hp_array(n, sizeof *use);
	struct uses u = { .o = hp_order_filled(o), .use = use };
	int r = hp_order_check(o, err);

	if (r < 0)
		return r;
	if (!use)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < n; c++)
		use[c] = (struct use){ .when = EMPTY, .chunk = c };
	if (__builtin_mul_overflow(u.o.step, u.o.step_runs, &u.first_run))
		u.first_run = UINT64_MAX;
	r = hp_order_lanes(&u.o, samples, n, see_lane, &u, err);
	if (r < 0)
		return r;
	qsort(use, n, sizeof *use, compare_use);
	for (uint32_t i = 0; i < n; i++)
		ret[i] = use[i].chunk;
	return 0;
}
