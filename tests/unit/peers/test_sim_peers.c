/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small jobs whose nodes read from each other, in virtual time, through the
 * decisions of lib/peers: what the links carry, that every request ends
 * whatever is lost, and what that costs the origin and the others.
 */
#include "tests/bench/sim_peers_play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NODES = 24, CHUNKS = 128, STRUCK = 9 };

/* Each chunk is read twice; something happens when 30 % is read. */
static struct sim job(uint32_t copies, enum lost how)
{
	return (struct sim){ .nodes = NODES,
			     .copies = copies,
			     .k = 8,
			     .a_node = CHUNKS,
			     .chunks = NODES * CHUNKS / 2,
			     .pieces = 8,
			     .chunk_bytes = 64 << 20,
			     .link = 1e9,
			     .origin = 4e9,
			     .latency = LATENCY,
			     .loads = TOLD,
			     .seed = 19,
			     .when = how == IS_WELL ? 0 : 0.3,
			     .how = how,
			     .first = STRUCK,
			     .last = STRUCK };
}

/* Every request has ended, or play() would not have. */
static void played(struct sim *s)
{
	play(s);
	assert_int_equal(s->done, s->all);
	assert_int_equal(s->twice, 0);
	for (uint32_t i = 0; i < 2 * s->nodes; i++)
		assert_true(s->links.link[i].used <
			    s->links.link[i].can * 1e-6);
	release(s);
}

/* ---- The fluid -------------------------------------------------------- */

/* Three flows leave 0, one of them to 4, where two more come from 1. */
static void links_are_shared_max_min_fair(void **state)
{
	static const struct {
		uint32_t from, to;
		double rate;
	} flows[] = { { 0, 2, 1.0 / 3 }, { 0, 3, 1.0 / 3 }, { 0, 4, 1.0 / 3 },
		      { 1, 4, 1.0 / 3 }, { 1, 4, 1.0 / 3 }, { 1, 5, 1.0 / 3 } };
	struct clocks c;
	struct links l = { 0 };

	(void)state;
	clocks_new(&c, 6);
	links_new(&l, &c, 6, 6);
	for (uint32_t i = 0; i < 6; i++)
		link_can(&l, i, 1);
	for (uint32_t i = 0; i < 6; i++)
		flow_start(&l, i, flows[i].from, flows[i].to, 1);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(fabs(l.flow[i].rate - flows[i].rate) < 1e-9);
	/* what 4 cannot take is the others' */
	link_can(&l, 4, 0.3);
	assert_true(fabs(l.flow[2].rate - 0.1) < 1e-9);
	assert_true(fabs(l.flow[0].rate - 0.45) < 1e-9);
	assert_true(fabs(l.flow[5].rate - 0.8) < 1e-9);
	/* and when they have ended it has all */
	l.now = 1;
	flow_stop(&l, 0);
	flow_stop(&l, 1);
	flow_stop(&l, 3);
	flow_stop(&l, 4);
	assert_true(fabs(l.flow[2].rate - 0.3) < 1e-9);
	assert_true(fabs(flow_left(&l, 5) - 0.2) < 1e-9);
	links_free(&l);
	clocks_free(&c);
}

/* ---- Jobs ------------------------------------------------------------- */

static void what_is_played_twice_is_the_same(void **state)
{
	struct sim a = job(2, IS_SILENT), b = job(2, IS_SILENT);

	(void)state;
	played(&a);
	played(&b);
	assert_true(a.now >= b.now && a.now <= b.now);
	assert_int_equal(a.asks, b.asks);
	assert_int_equal(a.hedged, b.hedged);
}

static void links_are_used(void **state)
{
	struct sim one = job(1, IS_WELL), two = job(2, IS_WELL);

	(void)state;
	played(&one);
	played(&two);
	assert_true(part_of_links(&one) >= 0.83);
	assert_true(part_of_links(&two) >= 0.85);
	assert_true(part_of_links(&two) <= 1);
	assert_true(two.adoptions == 0 && origin_reads(&two) == 0);
}

/* Of a chunk after the other: whose node has nothing to do goes first. */
static void who_has_a_place_matters(void **state)
{
	struct sim fifo = job(2, IS_WELL), s = job(2, IS_WELL);

	(void)state;
	fifo.wide = s.wide = 1;
	fifo.fifo = true;
	played(&fifo);
	played(&s);
	print_message("# of the links %.2f, and %.2f in their order\n",
		      part_of_links(&s), part_of_links(&fifo));
	assert_true(part_of_links(&s) >= 1.1 * part_of_links(&fifo));
}

/* Those who are lost hold what nobody else does. */
static void costs_its_share(enum lost how, double wait)
{
	struct sim well = job(1, IS_WELL), s = job(1, how);

	played(&well);
	played(&s);
	assert_true(s.adoptions > 0);
	assert_true(s.adopted_bytes + s.read_bytes <=
		    1.05 * CHUNKS / 2 * s.chunk_bytes);
	assert_true(s.longest[0] <= well.longest[0] + wait);
	assert_true(s.end[0] <= 1.15 * well.end[0]);
}

static void what_a_dead_node_held_leaves_the_origin_once(void **state)
{
	(void)state;
	costs_its_share(IS_DEAD, 0.3);
}

static void so_does_what_a_silent_one_held(void **state)
{
	(void)state;
	costs_its_share(IS_SILENT, 1.5);
}

/* Nearly: who has the other copy has twice as much to do, and where it is slow
 * by that the rest is adopted. */
static void a_second_copy_costs_the_origin_little(void **state)
{
	struct sim well = job(2, IS_WELL), s = job(2, IS_SILENT);

	(void)state;
	played(&well);
	played(&s);
	assert_true(s.hedged > 0);
	assert_true(s.adoptions <= CHUNKS / 4);
	assert_int_equal(origin_reads(&s), 0);
	print_message("# %.1f s, and not %.1f; %llu adopted\n", s.end[0],
		      well.end[0], (unsigned long long)s.adoptions);
	assert_true(s.end[0] <= 1.6 * well.end[0]);
}

/* It goes on at 1 % of its rate, and answers all that it is asked: the others
 * go by it, and what it alone has is adopted. */
static void who_is_slow_is_left_behind(void **state)
{
	(void)state;
	for (uint32_t copies = 1; copies <= 2; copies++) {
		struct sim well = job(copies, IS_WELL);
		struct sim s = job(copies, IS_WELL);

		s.when = 0.3;
		s.slow = 0.01;
		played(&well);
		played(&s);
		print_message("# %u copies: %.1f s, and not %.1f; one waits "
			      "%.1f s\n",
			      copies, s.end[0], well.end[0], s.longest[0]);
		assert_true(s.end[0] <= 1.6 * well.end[0]);
		assert_true(s.longest[0] <= 6);
		assert_true(s.adoptions <= 2 * CHUNKS * copies);
		assert_true(origin_reads(&s) < 32);
	}
}

/* For it all others are silent: it reads the origin by itself. */
static void who_is_cut_off_adopts_next_to_nothing(void **state)
{
	struct sim s = job(1, IS_CUT);

	(void)state;
	played(&s);
	assert_true(s.to_origin[HP_WHY_CUT_OFF] > 0);
	assert_true(s.cut_adoptions <= 2);
	/* 4 are asked in vain, a second each */
	assert_true(s.longest[1] <= 4.5 + s.longest[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_shared_max_min_fair),
		cmocka_unit_test(what_is_played_twice_is_the_same),
		cmocka_unit_test(links_are_used),
		cmocka_unit_test(who_has_a_place_matters),
		cmocka_unit_test(what_a_dead_node_held_leaves_the_origin_once),
		cmocka_unit_test(so_does_what_a_silent_one_held),
		cmocka_unit_test(a_second_copy_costs_the_origin_little),
		cmocka_unit_test(who_is_slow_is_left_behind),
		cmocka_unit_test(who_is_cut_off_adopts_next_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
