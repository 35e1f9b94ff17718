/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a reader asks: over random views of a job, what may not be chosen is
 * not, and somebody is while there is one; adoption is even, the same for all
 * who see the same, and moves only what it must; two drawn balance.
 */
#include "peers/whom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 10000, SOME = 12 };

static struct hp_peer_view of[MANY];
static uint64_t looks;

static struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct hp_peer_view *all = arg;

	looks++;
	return all[node];
}

static struct hp_whom question(uint32_t nodes, uint32_t self, uint32_t chunk,
			       uint32_t first, uint32_t last)
{
	return (struct hp_whom){ .nodes = nodes,
				 .self = self,
				 .chunk = chunk,
				 .first = first,
				 .last = last,
				 .before = HP_NO_NODE,
				 .look = look,
				 .arg = of };
}

static void all_live(uint32_t nodes)
{
	memset(of, 0, sizeof of);
	for (uint32_t i = 0; i < nodes; i++)
		of[i].lives = true;
}

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- Of all views ----------------------------------------------------- */

static bool will_do(const struct hp_whom *c, uint32_t node, bool slow)
{
	return node >= c->first && node <= c->last && node != c->self &&
	       node != c->before && of[node].lives && !of[node].denies &&
	       of[node].slow == slow;
}

static bool may_adopt(const struct hp_whom *c, uint32_t node)
{
	return node != c->before &&
	       (node == c->self || (of[node].lives && !of[node].slow));
}

/* How many nodes are so. */
static uint32_t count(const struct hp_whom *c,
		      bool (*is)(const struct hp_whom *c, uint32_t node))
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->nodes; i++)
		n += is(c, i);
	return n;
}

static bool lives(const struct hp_whom *c, uint32_t node)
{
	return node == c->self || of[node].lives;
}

static bool is_fast(const struct hp_whom *c, uint32_t node)
{
	return will_do(c, node, false);
}

static bool is_slow(const struct hp_whom *c, uint32_t node)
{
	return will_do(c, node, true);
}

static void check(const struct hp_whom *c)
{
	const struct hp_whom_is is = hp_whom(c);
	const bool quorum = 2 * count(c, lives) >= c->nodes;

	if (count(c, is_fast)) {
		assert_int_equal(is.as, HP_WHOM_HOLDER);
		assert_true(is_fast(c, is.node));
	} else if (quorum && count(c, may_adopt)) {
		assert_int_equal(is.as, HP_WHOM_ADOPTER);
		assert_true(may_adopt(c, is.node));
	} else if (count(c, is_slow)) {
		assert_int_equal(is.as, HP_WHOM_HOLDER);
		assert_true(is_slow(c, is.node));
	} else {
		assert_int_equal(is.as, HP_WHOM_ORIGIN);
		assert_true(is.node == HP_NO_NODE);
	}
	assert_int_equal(is.why, is.as == HP_WHOM_HOLDER  ? HP_WHY_HOLDS :
				 is.as == HP_WHOM_ADOPTER ? HP_WHY_ADOPTS :
				 quorum			  ? HP_WHY_ALONE :
							    HP_WHY_CUT_OFF);
}

static void what_may_not_be_is_not_chosen(void **state)
{
	(void)state;
	for (int round = 0; round < 200000; round++) {
		const uint32_t nodes = 1 + dice(SOME);
		struct hp_whom c =
			question(nodes, dice(nodes), dice(1000), 1, 0);

		if (dice(8)) {
			c.first = dice(nodes);
			c.last = c.first + dice(nodes - c.first);
		}
		if (dice(2))
			c.before = dice(nodes);
		for (uint32_t i = 0; i < nodes; i++)
			of[i] = (struct hp_peer_view){ .lives = dice(3),
						       .denies = !dice(3),
						       .slow = !dice(3),
						       .owed = dice(100),
						       .rack = dice(3) };
		check(&c);
	}
}

/* ---- Two holders ------------------------------------------------------ */

static uint32_t of_two(uint64_t owes_1, uint64_t owes_2, uint32_t rack_1,
		       uint32_t rack_2)
{
	uint32_t node = HP_NO_NODE;

	all_live(3);
	of[0].rack = 5;
	of[1].owed = owes_1;
	of[2].owed = owes_2;
	of[1].rack = rack_1;
	of[2].rack = rack_2;
	for (uint32_t chunk = 0; chunk < 50; chunk++) {
		struct hp_whom c = question(3, 0, chunk, 1, 2);
		struct hp_whom_is is = hp_whom(&c);

		assert_int_equal(is.as, HP_WHOM_HOLDER);
		assert_true(chunk == 0 || is.node == node);
		node = is.node;
	}
	return node;
}

static void who_owes_less_is_asked(void **state)
{
	(void)state;
	assert_int_equal(of_two(10, 11, 0, 0), 1);
	assert_int_equal(of_two(11, 10, 0, 0), 2);
	assert_int_equal(of_two(UINT64_MAX, 10, 0, 0), 2);
	/* of this rack, unless it owes more than twice as much */
	assert_int_equal(of_two(20, 10, 5, 6), 1);
	assert_int_equal(of_two(22, 10, 5, 6), 2);
	assert_int_equal(of_two(10, 20, 6, 5), 2);
	assert_int_equal(of_two(10, 22, 6, 5), 1);
	assert_int_equal(of_two(UINT64_MAX, UINT64_MAX / 3, 5, 6), 2);
	/* both of it, or both of none that is known */
	assert_int_equal(of_two(11, 10, 5, 5), 2);
	assert_int_equal(of_two(11, 10, 0, 0), 2);
}

/*
 * Each of 64 nodes asks for 64 chunks, each held by a pair of them: how many
 * the busiest has to send.  *ret_least: the best that can be, half of what the
 * busiest pair is asked for.
 */
static uint64_t busiest(bool told, uint64_t *ret_least)
{
	enum { NODES = 64, ASKS = 64 };
	uint64_t owes[NODES] = { 0 }, most = 0, least = 0;

	all_live(NODES);
	seed = 7;
	for (uint32_t k = 0; k < ASKS * NODES; k++) {
		const uint32_t self = k % NODES, chunk = dice(1000000);
		const uint32_t pair = chunk % (NODES / 2) * 2;
		struct hp_whom c = question(NODES, self, chunk, pair, pair + 1);

		if (self / 2 == pair / 2)
			continue; /* it is here */
		owes[hp_whom(&c).node]++;
		for (uint32_t i = pair; told && i < pair + 2; i++)
			of[i].owed = owes[i];
	}
	for (uint32_t i = 0; i < NODES; i++) {
		const uint64_t half = (owes[i] + owes[i ^ 1] + 1) / 2;

		most = owes[i] > most ? owes[i] : most;
		least = half > least ? half : least;
	}
	*ret_least = least;
	return most;
}

/* Blindly, two copies gain little: the pair is drawn, not the node. */
static void loads_that_are_told_balance(void **state)
{
	uint64_t least, blind, told;

	(void)state;
	blind = busiest(false, &least);
	assert_true(blind > least + least / 10);
	told = busiest(true, &least);
	assert_true(told == least);
}

/* ---- Adoption --------------------------------------------------------- */

static void adoption_is_even(void **state)
{
	enum { NODES = 100, CHUNKS = 20000 };
	static uint32_t n[NODES];

	(void)state;
	all_live(NODES);
	for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
		struct hp_whom c = question(NODES, 3, chunk, 1, 0);

		n[hp_whom(&c).node]++;
	}
	/* 200 each, and five times the standard deviation */
	for (uint32_t i = 0; i < NODES; i++)
		assert_in_range(n[i], 130, 270);
}

static void all_who_see_the_same_adopt_the_same(void **state)
{
	(void)state;
	all_live(SOME);
	of[4].lives = of[9].lives = false;
	for (uint32_t chunk = 0; chunk < 1000; chunk++) {
		struct hp_whom c = question(SOME, 0, chunk, 4, 4);
		uint32_t node = hp_whom(&c).node;

		for (c.self = 0; c.self < SOME; c.self++)
			if (of[c.self].lives)
				assert_int_equal(hp_whom(&c).node, node);
	}
}

/* What another node adopted stays there when one more is lost. */
static void only_what_is_lost_moves(void **state)
{
	uint32_t moved = 0;

	(void)state;
	for (uint32_t chunk = 0; chunk < 2000; chunk++) {
		struct hp_whom c = question(SOME, 0, chunk, 1, 0);
		uint32_t was, is;

		all_live(SOME);
		was = hp_whom(&c).node;
		of[7].lives = false;
		is = hp_whom(&c).node;
		moved += was != is;
		assert_true((was == 7) == (was != is));
	}
	assert_in_range(moved, 100, 240); /* a twelfth: 167 */
}

static void who_is_cut_off_adopts_nothing(void **state)
{
	struct hp_whom c = question(4, 0, 1, 1, 1);

	(void)state;
	all_live(4);
	of[1].lives = of[2].lives = of[3].lives = false;
	assert_int_equal(hp_whom(&c).why, HP_WHY_CUT_OFF);
	/* two of four are half of them */
	of[3].lives = true;
	assert_int_equal(hp_whom(&c).why, HP_WHY_ADOPTS);
	/* what holders still answer is taken in any case */
	of[2].lives = of[3].lives = false;
	of[1].lives = true;
	c.nodes = 100;
	assert_int_equal(hp_whom(&c).why, HP_WHY_HOLDS);
}

/* ---- At scale --------------------------------------------------------- */

/* Not for each request: of 10,000 nodes that is too much. */
static void who_lives_is_counted_now_and_then(void **state)
{
	struct hp_quorum quorum = { 0 };
	struct hp_whom c = question(4, 0, 5, 1, 1);

	(void)state;
	all_live(4);
	of[1].lives = of[2].lives = of[3].lives = false;
	c.quorum = &quorum;
	c.now = 1000 * HP_QUORUM_AGE;
	assert_false(hp_whom_quorum(&c));
	of[2].lives = true;
	looks = 0;
	c.now += HP_QUORUM_AGE - 1;
	assert_false(hp_whom_quorum(&c));
	assert_int_equal(looks, 0);
	c.now++;
	assert_true(hp_whom_quorum(&c));
	assert_true(looks > 0);
	/* the other way it is not believed for longer either */
	of[2].lives = false;
	assert_true(hp_whom_quorum(&c));
	c.now += HP_QUORUM_AGE;
	assert_int_equal(hp_whom(&c).why, HP_WHY_CUT_OFF);
	of[2].lives = true;
	c.now -= 10 * HP_QUORUM_AGE;
	assert_true(hp_whom_quorum(&c));
}

static void holders_cost_the_same_in_any_job(void **state)
{
	struct hp_whom c = question(MANY, 77, 12345, 5000, 5001);

	(void)state;
	all_live(MANY);
	looks = 0;
	assert_int_equal(hp_whom(&c).as, HP_WHOM_HOLDER);
	assert_true(looks <= 3);
	of[5000].lives = of[5001].lives = false;
	looks = 0;
	assert_int_equal(hp_whom(&c).as, HP_WHOM_ADOPTER);
	assert_true(looks <= MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_not_be_is_not_chosen),
		cmocka_unit_test(who_owes_less_is_asked),
		cmocka_unit_test(loads_that_are_told_balance),
		cmocka_unit_test(adoption_is_even),
		cmocka_unit_test(all_who_see_the_same_adopt_the_same),
		cmocka_unit_test(only_what_is_lost_moves),
		cmocka_unit_test(who_is_cut_off_adopts_nothing),
		cmocka_unit_test(who_lives_is_counted_now_and_then),
		cmocka_unit_test(holders_cost_the_same_in_any_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
