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
	uint32_t nodes, parts;
	size_t n; /* chunks of a part, at most */
	bool held[NODES][CHUNKS];
	/* of a node's first part, and of its last */
	uint32_t before[2][NODES][ROOM], after[2][NODES][ROOM];
	uint32_t asks; /* the node that asks */
};

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((seed >> 33) % below);
}

/* ---- The nodes find out ----------------------------------------------- */

static uint32_t members_of(const struct game *g, uint32_t part)
{
	struct hpdsl_stage_span s =
		hpdsl_stage_group_of(g->nodes, g->parts, part);

	return s.last - s.first + 1;
}

static uint32_t at(const struct game *g, uint32_t part, uint32_t node,
		   uint32_t places)
{
	uint32_t first = hpdsl_stage_group_of(g->nodes, g->parts, part).first;

	return first + (node - first + places) % members_of(g, part);
}

/* Which of the node's two tables is the part's: its first, or its last. */
static uint32_t side(const struct game *g, uint32_t node, uint32_t part)
{
	return part != hpdsl_stage_parts_of(g->nodes, g->parts, node).first;
}

static void mark(const struct game *g, uint32_t node, uint32_t part, bool *ret)
{
	for (size_t i = 0; i < g->n; i++) {
		size_t c = i * g->parts + part;

		ret[i] = c < CHUNKS && !g->held[node][c];
	}
}

/* What all tell is told before any of them hears. */
static bool play_round(struct game *g, uint32_t part, uint32_t reach)
{
	static uint32_t on[NODES][ROOM], back[NODES][ROOM];
	struct hpdsl_stage_span s =
		hpdsl_stage_group_of(g->nodes, g->parts, part);
	uint32_t members = members_of(g, part);
	uint32_t step = nearest_step(reach, members);
	bool mine[ROOM];

	for (uint32_t n = s.first; n <= s.last; n++) {
		uint32_t k = side(g, n, part);

		mark(g, n, part, mine);
		nearest_tell(g->before[k][n], mine, n, g->n, on[n]);
		nearest_tell(g->after[k][n], mine, n, g->n, back[n]);
	}
	for (uint32_t n = s.first; step && n <= s.last; n++) {
		uint32_t k = side(g, n, part);

		nearest_hear(g->before[k][n],
			     on[at(g, part, n, members - step)], g->n);
		nearest_hear(g->after[k][n], back[at(g, part, n, step)], g->n);
	}
	return step;
}

static void find_out(struct game *g)
{
	memset(g->before, 0xff, sizeof g->before);
	memset(g->after, 0xff, sizeof g->after);
	for (uint32_t part = 0; part < g->parts; part++) {
		uint32_t rounds = 0, reach = 0, most = 0;

		for (; play_round(g, part, reach); rounds++)
			reach += nearest_step(reach, members_of(g, part));
		while (UINT32_C(1) << most < members_of(g, part))
			most++;
		assert_int_equal(rounds, most);
	}
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
	uint32_t k = side(g, g->asks, (uint32_t)(chunk % g->parts));

	if (node == g->asks)
		return !g->held[node][chunk];
	return node == g->before[k][g->asks][i] ||
	       node == g->after[k][g->asks][i];
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
	struct hpdsl_stage_span s = hp_spread_group(p, chunk);

	for (uint32_t n = s.first; n <= s.last; n++) {
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

/* room: of the first node; each has a chunk's more than the one before. */
static void play(struct hpdsl_stage_wish w, uint32_t room)
{
	struct game *g = calloc(1, sizeof *g);
	uint64_t weight[CHUNKS], capacity[NODES];
	uint32_t order[CHUNKS];

	assert_non_null(g);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		order[c] = (c * 7 + 3) % CHUNKS;
		weight[c] = 1;
	}
	for (uint32_t n = 0; n < w.nodes; n++)
		capacity[n] = room + n;
	w.capacity = capacity;
	w.chunks = CHUNKS;
	w.weight = weight;
	w.order = order;
	assert_int_equal(hpdsl_stage_plan_new(&w, &g->plan, NULL), 0);
	g->nodes = w.nodes;
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
				play(
					(struct hpdsl_stage_wish){
						.mode = HPDSL_STAGE_COPIES,
						.copies = copies,
						.nodes = nodes },
					CHUNKS);
}

/* More parts than nodes, with room for them or not. */
static void neighbours_at_borders_suffice(void **state)
{
	(void)state;
	for (uint32_t nodes = 1; nodes <= NODES; nodes++)
		for (uint32_t parts = 2; parts <= CHUNKS; parts += 5) {
			struct hpdsl_stage_wish w = { .nodes = nodes,
						      .parts = parts };

			play(w, CHUNKS - 1);
			play(w, 1 + CHUNKS / nodes / 2);
		}
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
		cmocka_unit_test(neighbours_at_borders_suffice),
		cmocka_unit_test(rounds_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
