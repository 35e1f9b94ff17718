/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node has: the list kept of its planned chunks against the wire's, what
 * the lists of a large job take, and lists that are wrong either way (F13), in
 * virtual time.
 */
#include "peers/have.h"

#include "peers/health.h"
#include "peers/holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define START (100 * HP_SECOND)

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- A list ----------------------------------------------------------- */

/* As it comes: in pieces of any size. */
static bool take(struct hp_haves *h, const uint8_t *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t some = 1 + dice(9);

		if (some > n - at)
			some = n - at;
		if (!hp_haves_take(h, at, p + at, some))
			return false;
		at += some;
	}
	return true;
}

static void what_was_planned_is_kept(void **state)
{
	enum { MOST = 120 };
	uint8_t wire[MOST / 4 + 1];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		const struct hp_book_head b = { .nodes = 1 + dice(20),
						.parts = 1 + dice(25) };
		const uint32_t chunks = 1 + dice(MOST), node = dice(b.nodes);
		struct hp_haves *h = hp_haves_new(&b, node, chunks);

		assert_non_null(h);
		memset(wire, 0, sizeof wire);
		for (uint32_t c = 0; c < chunks; c++)
			hp_have_set(wire, c, dice(4));
		assert_true(take(h, wire, hp_have_size(chunks)));
		for (uint32_t c = 0; c < chunks + 9; c++) {
			uint32_t first, last;
			bool its;

			hp_holders(&b, c, &first, &last);
			its = c < chunks && node >= first && node <= last;
			assert_int_equal(hp_haves_get(h, c),
					 its ? hp_have_get(wire, c) :
					       HP_HAVE_NOT);
		}
		hp_haves_free(h);
	}
}

static void more_than_there_is_is_refused(void **state)
{
	const struct hp_book_head b = { .nodes = 4, .parts = 4 };
	const uint8_t good[3] = { 0xff, 0xff, 0x03 },
		      bad[3] = { 0xff, 0xff, 0x07 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hp_haves *h = hp_haves_new(&b, 2, 9);

		assert_int_equal(hp_haves_take(h, 0, i ? bad : good, 3), !i);
		hp_haves_set(h, 6, HP_HAVE_COMING);
		assert_int_equal(hp_haves_get(h, 6), HP_HAVE_COMING);
		assert_int_equal(hp_haves_get(h, 2), HP_HAVE_PLAIN);
		/* not its own, or none */
		hp_haves_set(h, 5, HP_HAVE_PLAIN);
		hp_haves_set(h, 10, HP_HAVE_PLAIN);
		assert_int_equal(hp_haves_get(h, 5), HP_HAVE_NOT);
		assert_int_equal(hp_haves_get(h, 10), HP_HAVE_NOT);
		hp_haves_free(h);
	}
}

/* 1 PB in chunks of 64 MiB, each on two of 10,000 nodes, all of whom one
 * reader has asked. */
static void lists_of_a_large_job_are_small(void **state)
{
	enum { CHUNKS = 15000000 };
	const struct hp_book_head b = { .nodes = 10000, .parts = 5000 };
	uint64_t before = 0, now = 0;

	(void)state;
	for (uint32_t i = 0; i < b.nodes; i++) {
		before += hp_have_size(CHUNKS);
		now += hp_haves_size(&b, i, CHUNKS);
	}
	print_message("# lists of %u nodes: %.1f MB, as they come %.1f GB\n",
		      b.nodes, (double)now / 1e6, (double)before / 1e9);
	assert_true(before > 37 * UINT64_C(1000000000));
	assert_true(now < 8 << 20);
}

/* ---- F13: it is wrong ------------------------------------------------- */

static struct hp_have_known told(uint64_t at, enum hp_have is)
{
	const struct hp_book_head b = { .nodes = 2, .parts = 2 };
	struct hp_have_known k = { .list = hp_haves_new(&b, 1, 8), .at = at };

	hp_haves_set(k.list, 3, is);
	return k;
}

static void of_nobody_asked_nothing_is_known(void **state)
{
	const struct hp_have_known k = { 0 };

	(void)state;
	assert_false(hp_have_denies(&k, 3, HP_ASK_PLAIN, START));
	assert_true(hp_have_wants(&k, 3, HP_ASK_PLAIN, START));
	assert_false(hp_have_is_coming(&k, 3, START));
	assert_false(hp_have_is_other(&k, 3, HP_ASK_PLAIN));
}

/* It says yes, and has lost it: that is believed once. */
static void what_it_has_no_longer_is_not_asked_for_twice(void **state)
{
	struct hp_have_known k = told(START, HP_HAVE_PLAIN);

	(void)state;
	assert_false(hp_have_denies(&k, 3, HP_ASK_PLAIN, START));
	assert_false(hp_have_wants(&k, 3, HP_ASK_PLAIN, START));
	hp_have_denied(&k, 3, HP_ASK_PLAIN);
	for (uint64_t t = START; t < START + HP_HAVE_AGE; t += HP_SECOND) {
		assert_true(hp_have_denies(&k, 3, HP_ASK_PLAIN, t));
		assert_false(hp_have_wants(&k, 3, HP_ASK_PLAIN, t));
	}
	/* it may have it again: the list first, then the bytes */
	assert_true(hp_have_wants(&k, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE));
	assert_false(hp_have_denies(&k, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE));
	hp_haves_free(k.list);
}

/* It says no, and got it since: for so long others are asked. */
static void what_it_got_since_is_found_out(void **state)
{
	struct hp_have_known k = told(START, HP_HAVE_NOT);
	struct hp_have_known later;

	(void)state;
	assert_true(
		hp_have_denies(&k, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE - 1));
	assert_false(
		hp_have_wants(&k, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE - 1));
	assert_true(hp_have_wants(&k, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE));
	later = told(START + HP_HAVE_AGE, HP_HAVE_PLAIN);
	assert_false(
		hp_have_denies(&later, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE));
	hp_haves_free(k.list);
	hp_haves_free(later.list);
}

/* What it was right about is not asked for again, however old. */
static void a_list_that_serves_is_kept(void **state)
{
	struct hp_have_known k = told(START, HP_HAVE_STORED);

	(void)state;
	assert_false(
		hp_have_wants(&k, 3, HP_ASK_STORED, START + 9 * HP_HAVE_AGE));
	/* but for the other form */
	assert_true(
		hp_have_wants(&k, 3, HP_ASK_PLAIN, START + 9 * HP_HAVE_AGE));
	assert_true(hp_have_is_other(&k, 3, HP_ASK_PLAIN));
	assert_false(hp_have_is_other(&k, 3, HP_ASK_STORED));
	/* a no of one form is none of the other */
	hp_have_denied(&k, 3, HP_ASK_PLAIN);
	assert_true(hp_have_is_form(&k, 3, HP_ASK_STORED));
	hp_haves_free(k.list);
}

/* It was waited for, and was not there: nor is the next one waited for. */
static void what_was_coming_and_did_not_is_believed_no_more(void **state)
{
	struct hp_have_known k = told(START, HP_HAVE_COMING);

	(void)state;
	hp_haves_set(k.list, 5, HP_HAVE_COMING);
	assert_true(hp_have_is_coming(&k, 3, START));
	/* what is not there for another reason says nothing */
	hp_have_denied(&k, 3, HP_ASK_PLAIN);
	hp_have_in_vain(&k, 1, START);
	assert_true(hp_have_is_coming(&k, 3, START));
	hp_have_in_vain(&k, 3, START);
	assert_false(hp_have_is_coming(&k, 3, START));
	assert_false(hp_have_is_coming(&k, 5, START + HP_HAVE_AGE - 1));
	assert_true(hp_have_is_coming(&k, 5, START + HP_HAVE_AGE));
	hp_haves_free(k.list);
}

/* Of eight chunks: two bytes. */
#define AGE (HP_HAVE_COMING_AGE + 2 * UINT64_C(15625))

/* What was coming a second ago may be there: the list says so before the node
 * is waited for once more. */
static void what_is_coming_is_looked_at_each_second(void **state)
{
	struct hp_have_known k = told(START, HP_HAVE_COMING);

	(void)state;
	assert_true(hp_have_denies(&k, 3, HP_ASK_PLAIN, START));
	assert_false(hp_have_wants(&k, 3, HP_ASK_PLAIN, START + AGE - 1));
	assert_true(hp_have_wants(&k, 3, HP_ASK_PLAIN, START + AGE));
	assert_false(hp_have_denies(&k, 3, HP_ASK_PLAIN, START + AGE));
	/* not what it was never to bring */
	assert_true(hp_have_denies(&k, 1, HP_ASK_PLAIN, START + AGE));
	/* nor what was waited for in vain */
	hp_have_in_vain(&k, 3, START + AGE);
	assert_true(
		hp_have_denies(&k, 3, HP_ASK_PLAIN, START + HP_HAVE_AGE - 1));
	hp_haves_free(k.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_planned_is_kept),
		cmocka_unit_test(more_than_there_is_is_refused),
		cmocka_unit_test(lists_of_a_large_job_are_small),
		cmocka_unit_test(of_nobody_asked_nothing_is_known),
		cmocka_unit_test(what_it_has_no_longer_is_not_asked_for_twice),
		cmocka_unit_test(what_it_got_since_is_found_out),
		cmocka_unit_test(a_list_that_serves_is_kept),
		cmocka_unit_test(
			what_was_coming_and_did_not_is_believed_no_more),
		cmocka_unit_test(what_is_coming_is_looked_at_each_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
