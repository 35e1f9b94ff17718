/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates of nodes, one beside the others, in virtual time: against a sorted list
 * of all of them, and what one rate is worth.
 */
#include "peers/rates.h"

#include "peers/health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS (HP_SECOND / 1000)
#define START (100 * HP_SECOND)
#define MIB (UINT64_C(1) << 20)

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

enum { NODES = 9 };

static struct hp_rates all;
static struct hp_rate rate[NODES];

static void nobody(void)
{
	memset(&all, 0, sizeof all);
	memset(rate, 0, sizeof rate);
}

/* So many requests of 4 MiB, at so many MB/s. */
static void came(uint32_t node, unsigned n, double mb, uint64_t now)
{
	for (unsigned i = 0; i < n; i++)
		hp_rates_came(&all, &rate[node], 4 * MIB,
			      (uint64_t)(4 * (double)MIB * 1e3 / mb), now);
}

static bool is_slow(uint32_t node, uint64_t now)
{
	return hp_rates_is_slow(&all, &rate[node], false, now);
}

static void an_eighth_of_the_others_is_slow(void **state)
{
	static const double mb[] = { 2000, 400, 150, 90, 15 };

	(void)state;
	for (size_t i = 0; i < sizeof mb / sizeof *mb; i++) {
		nobody();
		for (uint32_t n = 0; n < 5; n++)
			came(n, 4, 800 + 100 * n, START);
		came(5, 4, mb[i], START);
		assert_int_equal(is_slow(5, START), mb[i] < 100);
		for (uint32_t n = 0; n < 5; n++)
			assert_false(is_slow(n, START));
	}
}

/* Half of all are: then that is how fast they are. */
static void where_many_are_slow_nobody_is(void **state)
{
	(void)state;
	nobody();
	for (uint32_t n = 0; n < 7; n++)
		came(n, 4, n < 4 ? 10 : 1000, START);
	for (uint32_t n = 0; n < 7; n++)
		assert_false(is_slow(n, START));
}

/* Of two or three others one cannot tell, but what is very little. */
static void with_few_others_only_a_drip_is_slow(void **state)
{
	(void)state;
	for (uint32_t others = 0; others <= 3; others++) {
		nobody();
		for (uint32_t n = 1; n <= others; n++)
			came(n, 4, 1000, START);
		came(0, 4, 5, START);
		assert_false(is_slow(0, START));
		nobody();
		for (uint32_t n = 1; n <= others; n++)
			came(n, 4, 1000, START);
		came(0, 4, 0.5, START);
		/* alone it may be the network */
		assert_int_equal(is_slow(0, START), others > 0);
		nobody();
		for (uint32_t n = 1; n <= others; n++)
			came(n, 4, 3, START);
		came(0, 4, 0.5, START);
		assert_false(is_slow(0, START));
	}
}

/* A lost packet is repeated after 200 ms. */
static void one_that_was_held_up_says_little(void **state)
{
	(void)state;
	nobody();
	for (uint32_t n = 0; n < 6; n++)
		came(n, 8, 1000, START);
	hp_rates_came(&all, &rate[0], 100000, 200 * MS, START);
	assert_false(is_slow(0, START));
	for (int i = 0; i < 10; i++)
		hp_rates_came(&all, &rate[0], 100000, 200 * MS, START);
	assert_true(is_slow(0, START));
	/* and a new one is not judged by its first */
	hp_rates_came(&all, &rate[7], 100000, 200 * MS, START);
	assert_false(is_slow(7, START));
}

static void one_that_took_a_second_says_enough(void **state)
{
	(void)state;
	nobody();
	for (uint32_t n = 0; n < 6; n++)
		came(n, 8, 1000, START);
	hp_rates_came(&all, &rate[0], 5, 1200 * MS, START);
	assert_true(is_slow(0, START));
}

/* The way costs 0.3 ms, whatever is asked for. */
static void small_answers_are_no_slower(void **state)
{
	(void)state;
	nobody();
	for (uint32_t n = 0; n < 8; n++)
		for (int i = 0; i < 8; i++) {
			const uint64_t bytes = n % 2 ? HP_RATE_BYTES : 4 * MIB;

			hp_rates_came(&all, &rate[n], bytes, 300000 + bytes / 3,
				      START);
		}
	for (uint32_t n = 0; n < 8; n++)
		assert_false(is_slow(n, START));
}

static void it_is_tried_again_with_one_request(void **state)
{
	uint64_t later = START + HP_RATE_AGE;

	(void)state;
	nobody();
	for (uint32_t n = 0; n < 6; n++)
		came(n, 4, n ? 1000 : 10, START);
	assert_true(is_slow(0, later - 1));
	assert_false(is_slow(0, later));
	/* while it is tried others are still asked */
	assert_true(hp_rates_is_slow(&all, &rate[0], true, later));
	came(0, 1, 900, later);
	assert_false(is_slow(0, later));
	assert_false(hp_rates_is_slow(&all, &rate[0], true, later));
	/* or it is slow as ever, which takes a second to see */
	hp_rates_came(&all, &rate[0], MIB, HP_SECOND, later);
	assert_true(is_slow(0, later));
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The middle by sorting, for any rates; a quarter of a doubling is allowed. */
static void the_middle_is_that_of_a_sorted_list(void **state)
{
	(void)state;
	for (int round = 0; round < 5000; round++) {
		double mb[NODES], sorted[NODES];
		double it, least;
		uint32_t n = 0;

		nobody();
		for (uint32_t i = 0; i < NODES; i++) {
			mb[i] = 0.01 * (1 << dice(20)) * (1 + dice(8)) / 4;
			came(i, 1 + dice(3), 7, START);
			came(i, 60, mb[i], START);
		}
		for (uint32_t i = 1; i < NODES; i++)
			sorted[n++] = mb[i];
		qsort(sorted, n, sizeof *sorted, by_size);
		least = sorted[(n - 1) / 2] / HP_RATE_PART;
		it = mb[0];
		if (it < least / 1.5)
			assert_true(is_slow(0, START));
		if (it > least * 1.5)
			assert_false(is_slow(0, START));
	}
}

/* No rate and no size makes what may be taken wrong. */
static void there_is_always_a_time(void **state)
{
	(void)state;
	nobody();
	assert_true(hp_rates_due(&all, &rate[0], 4 * MIB) ==
		    HP_SECOND + 4 * MIB * 1000);
	for (uint32_t n = 0; n < NODES; n++)
		hp_rates_came(&all, &rate[n], 0, UINT64_MAX / 2, START);
	assert_true(hp_rates_due(&all, &rate[0], UINT64_MAX) <
		    100000 * HP_SECOND);
	nobody();
	for (uint32_t n = 0; n < NODES; n++)
		hp_rates_came(&all, &rate[n], UINT64_MAX / 2, 0, START);
	assert_true(hp_rates_due(&all, &rate[0], 4 * MIB) < HP_SECOND + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_eighth_of_the_others_is_slow),
		cmocka_unit_test(where_many_are_slow_nobody_is),
		cmocka_unit_test(with_few_others_only_a_drip_is_slow),
		cmocka_unit_test(one_that_was_held_up_says_little),
		cmocka_unit_test(one_that_took_a_second_says_enough),
		cmocka_unit_test(small_answers_are_no_slower),
		cmocka_unit_test(it_is_tried_again_with_one_request),
		cmocka_unit_test(the_middle_is_that_of_a_sorted_list),
		cmocka_unit_test(there_is_always_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
