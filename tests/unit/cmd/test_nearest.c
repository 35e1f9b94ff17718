/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that find out who lacks what next to them, each with tables of its own
 * and messages to others: their plan is that of somebody who knows all.
 */
#include "cmd/stage/nearest.c"

#include "spread/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 40, CHUNKS = 61, ROOM = CHUNKS + 1 };

/* What is true, and what each node has found out of it. */
struct game {
	struct hpdsl_stage_plan *plan;
	uint32_t nodes, parts, rounds;
	size_t n; /* chunks of a part, at most */
	bool held[NODES][CHUNKS];
	uint32_t before[NODES][ROOM], after[NODES][ROOM];
	uint32_t asks; /* the node that asks */
};

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((seed >> 33) % below);
}

/* ---- The nodes find out ----------------------------------------------- */

static uint32_t at(const struct game *g, uint32_t node, uint32_t places)
{
	uint32_t part = node % g->parts;
	uint32_t members = hp_spread_group(g->plan, part);

	return part + (node / g->parts + places) % members * g->parts;
}

static void mark(const struct game *g, uint32_t node, bool *ret)
{
	for (size_t i = 0; i < g->n; i++) {
		size_t c = i * g->parts + node % g->parts;

		ret[i] = c < CHUNKS && !g->held[node][c];
	}
}

/* What all tell is told before any of them hears. */
static bool play_round(struct game *g, uint32_t reach)
{
	static uint32_t on[NODES][ROOM], back[NODES][ROOM];
	bool mine[ROOM], any = false;
	uint32_t members, step;

	for (uint32_t n = 0; n < g->nodes; n++) {
		mark(g, n, mine);
		nearest_tell(g->before[n], mine, n, g->n, on[n]);
		nearest_tell(g->after[n], mine, n, g->n, back[n]);
	}
	for (uint32_t n = 0; n < g->nodes; n++) {
		members = hp_spread_group(g->plan, n % g->parts);
		step = nearest_step(reach, members);
		if (!step)
			continue;
		any = true;
		nearest_hear(g->before[n], on[at(g, n, members - step)], g->n);
		nearest_hear(g->after[n], back[at(g, n, step)], g->n);
	}
	return any;
}

static void find_out(struct game *g)
{
	uint32_t reach = 0, most = 0;

	memset(g->before, 0xff, sizeof g->before);
	memset(g->after, 0xff, sizeof g->after);
	for (g->rounds = 0; play_round(g, reach); g->rounds++)
		reach = 2 * reach + 1;
	while (UINT32_C(1) << most < hp_spread_group(g->plan, 0))
		most++;
	assert_int_equal(g->rounds, most);
}

/* ---- What follows from it --------------------------------------------- */

static bool knows(void *arg, uint32_t node, uint64_t chunk)
{
	const struct game *g = arg;

	return !g->held[node][chunk];
}

static bool heard(void *arg, uint32_t node, uint64_t chunk)
{
	const struct game *g = arg;
	uint64_t i = chunk / g->parts;

	if (node == g->asks)
		return !g->held[node][chunk];
	return node == g->before[g->asks][i] || node == g->after[g->asks][i];
}

static uint32_t holder_of(const struct game *g, uint32_t chunk)
{
	for (uint32_t i = 0, n = draw(g->nodes); i < g->nodes; i++)
		if (g->held[(n + i) % g->nodes][chunk])
			return (n + i) % g->nodes;
	return UINT32_MAX;
}

static void compare(struct game *g, uint32_t chunk)
{
	const struct hpdsl_stage_plan *p = g->plan;
	uint32_t holder = holder_of(g, chunk);

	for (uint32_t n = chunk % g->parts; n < g->nodes; n += g->parts) {
		uint32_t from = hp_spread_from(p, n, chunk, holder, knows, g);

		g->asks = n;
		assert_int_equal(hp_spread_from(p, n, chunk, holder, heard, g),
				 from);
		if (from != UINT32_MAX)
			assert_int_equal(
				hp_spread_asked(p, n, chunk, holder, heard, g),
				hp_spread_asked(p, n, chunk, holder, knows, g));
	}
}

static void hold(struct game *g)
{
	uint32_t of_ten = draw(11);

	for (uint32_t n = 0; n < g->nodes; n++)
		for (uint32_t c = 0; c < CHUNKS; c++)
			g->held[n][c] = draw(10) < of_ten;
	/* a chunk that nobody has, one that all have */
	for (uint32_t n = 0; n < g->nodes; n++) {
		g->held[n][0] = false;
		g->held[n][1] = true;
	}
}

static void play(uint32_t nodes, uint32_t copies)
{
	struct game *g = calloc(1, sizeof *g);
	uint64_t weight[CHUNKS], capacity[NODES];
	uint32_t order[CHUNKS];
	struct hpdsl_stage_wish w = { .mode = HPDSL_STAGE_COPIES,
				      .copies = copies,
				      .nodes = nodes,
				      .capacity = capacity,
				      .chunks = CHUNKS,
				      .weight = weight,
				      .order = order };

	assert_non_null(g);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		order[c] = (c * 7 + 3) % CHUNKS;
		weight[c] = 1;
	}
	for (uint32_t n = 0; n < nodes; n++)
		capacity[n] = CHUNKS;
	assert_int_equal(hpdsl_stage_plan_new(&w, &g->plan, NULL), 0);
	g->nodes = nodes;
	g->parts = hpdsl_stage_plan_parts(g->plan);
	g->n = CHUNKS / g->parts + 1;
	hold(g);
	find_out(g);
	for (uint32_t c = 0; c < CHUNKS; c++)
		compare(g, c);
	hpdsl_stage_plan_free(g->plan);
	free(g);
}

static void neighbours_suffice(void **state)
{
	(void)state;
	for (uint32_t nodes = 1; nodes <= NODES; nodes++)
		for (uint32_t copies = 1; copies <= nodes; copies++)
			for (int i = 0; i < 3; i++)
				play(nodes, copies);
}

static void rounds_are_few(void **state)
{
	uint32_t rounds = 0, step;

	(void)state;
	for (uint32_t reach = 0; (step = nearest_step(reach, 10000));
	     reach += step) {
		assert_true(step < 10000);
		rounds++;
	}
	assert_int_equal(rounds, 14);
	assert_int_equal(nearest_step(0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_suffice),
		cmocka_unit_test(rounds_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
