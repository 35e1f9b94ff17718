/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What those who fetch do next, in virtual time: order, pace, patience, room;
 * and who has waited enough.
 */
#include "serve/turn.h"
#include "serve/waiters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S HP_TURN_SECOND
#define MIB (UINT64_C(1) << 20)

static void chunk(struct hp_turn_chunk *c, struct hp_turn_chunk *next,
		  uint64_t size)
{
	*c = (struct hp_turn_chunk){ .next = next, .open = true };
	assert_true(hp_pieces_begin(&c->pieces, size));
}

static void expect(struct hp_turn_chunk *list, struct hp_turn_pace *p,
		   uint64_t now, const struct hp_turn_chunk *of, uint32_t piece)
{
	struct hp_turn t = hp_turn_next(list, p, now);

	assert_ptr_equal(t.of, of);
	assert_int_equal(t.piece, piece);
}

static void expect_until(struct hp_turn_chunk *list, struct hp_turn_pace *p,
			 uint64_t now, uint64_t until)
{
	struct hp_turn t = hp_turn_next(list, p, now);

	assert_null(t.of);
	assert_int_equal(t.until, until);
}

static void test_order(void **state)
{
	struct hp_turn_pace p = { .slow = 1 };
	struct hp_turn_chunk a, b;

	(void)state;
	expect_until(NULL, &p, 0, UINT64_MAX);
	chunk(&b, NULL, 9 * MIB);
	chunk(&a, &b, 9 * MIB);
	/* What is to be opened first, by one alone. */
	b.open = false;
	expect(&a, &p, 0, &b, HP_NO_PIECE);
	b.busy = 1;
	expect(&a, &p, 0, &a, 0);
	b.open = true;
	/* What is waited for, of whichever chunk. */
	hp_pieces_await(&b.pieces, 8 * MIB, 8 * MIB);
	expect(&a, &p, 0, &b, 2);
	/* Then the rest, in order. */
	expect(&a, &p, 0, &a, 1);
	expect(&a, &p, 0, &a, 2);
	expect(&a, &p, 0, &b, 0);
	expect(&a, &p, 0, &b, 1);
	expect_until(&a, &p, 0, UINT64_MAX);
	hp_pieces_end(&a.pieces);
	hp_pieces_end(&b.pieces);
}

static void test_pace(void **state)
{
	struct hp_turn_pace p = { .rate = MIB, .slow = 1 };
	struct hp_turn_chunk a;

	(void)state;
	chunk(&a, NULL, 9 * MIB);
	/* To open it costs nothing. */
	a.open = false;
	p.next = 50 * S;
	expect(&a, &p, 10 * S, &a, HP_NO_PIECE);
	a.open = true;
	expect_until(&a, &p, 10 * S, 50 * S);
	expect(&a, &p, 50 * S, &a, 0);
	expect_until(&a, &p, 50 * S, 54 * S);
	expect(&a, &p, 55 * S, &a, 1);
	/* What was not used is not saved up. */
	expect_until(&a, &p, 58 * S, 59 * S);
	/* It is let go at once if there is no rate any more. */
	p.rate = 0;
	expect(&a, &p, 58 * S, &a, 2);
	hp_pieces_end(&a.pieces);
}

static void test_unasked(void **state)
{
	struct hp_turn_pace p = { .slow = MIB, .asked = 10 * S };
	struct hp_turn_chunk a, b;

	(void)state;
	chunk(&a, NULL, 9 * MIB);
	a.unasked = true;
	a.open = false;
	/* A second after somebody had to wait. */
	expect_until(&a, &p, 10 * S, 11 * S);
	expect(&a, &p, 11 * S, &a, HP_NO_PIECE);
	a.open = true;
	expect(&a, &p, 11 * S, &a, 0);
	expect_until(&a, &p, 11 * S, 15 * S);
	/* What somebody asks for comes before, at once. */
	chunk(&b, &a, MIB);
	p.asked = 14 * S + S / 2;
	expect(&b, &p, 14 * S + S / 2, &b, 0);
	expect_until(&b, &p, 15 * S, 15 * S + S / 2);
	expect(&b, &p, 16 * S, &a, 1);
	/* It is asked for by now. */
	a.unasked = false;
	expect(&b, &p, 16 * S, &a, 2);
	/* The rate of all holds for it as well. */
	hp_pieces_end(&a.pieces);
	chunk(&a, NULL, 9 * MIB);
	a.unasked = true;
	p = (struct hp_turn_pace){ .rate = MIB, .slow = MIB, .next = 30 * S };
	expect_until(&a, &p, 20 * S, 30 * S);
	hp_pieces_end(&a.pieces);
	hp_pieces_end(&b.pieces);
}

static void test_again(void **state)
{
	static const unsigned seconds[] = { 1,	 2,   4,   8,	16,  32, 64,
					    128, 256, 512, 600, 600, 600 };
	struct hp_again a = { 0 };
	uint64_t now = 7 * S;

	(void)state;
	assert_true(hp_again_may(&a, 0));
	for (int i = 0; i < 3; i++) {
		hp_again_failed(&a, false, now);
		assert_false(hp_again_may(&a, now + S - 1));
		assert_true(hp_again_may(&a, now + S));
	}
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
		hp_again_failed(&a, true, now);
		assert_false(hp_again_may(&a, now + seconds[i] * S - 1));
		now += seconds[i] * S;
		assert_true(hp_again_may(&a, now));
	}
}

static void test_room(void **state)
{
	(void)state;
	assert_true(hp_room_for(95, 100, 0));
	assert_false(hp_room_for(96, 100, 0));
	assert_true(hp_room_for(48, 100, 50));
	assert_false(hp_room_for(49, 100, 50));
	assert_false(hp_room_for(1, 100, 100));
	assert_false(hp_room_for(1, 100, UINT64_MAX));
	assert_false(hp_room_for(1, 0, 0));
	assert_true(hp_room_for(UINT64_MAX - UINT64_MAX / 20, UINT64_MAX, 0));
}

/* ---- Who waits -------------------------------------------------------- */

static void wake(void *arg)
{
	++*(int *)arg;
}

static void add(struct hp_waiter **all, struct hp_pieces *p, uint64_t came,
		uint64_t first, uint64_t last, int *woken)
{
	const struct hp_waiter w = { NULL, came, first, last, wake, woken };

	assert_true(hp_waiters_add(all, p, &w));
}

static void test_waiters(void **state)
{
	struct hp_waiter *all = NULL;
	struct hp_pieces p;
	int woken[4] = { 0 };

	(void)state;
	assert_true(hp_pieces_begin(&p, 12 * MIB));
	add(&all, &p, 1 * S, 0, 1, &woken[0]);
	add(&all, &p, 2 * S, 1, 5 * MIB, &woken[1]);
	add(&all, &p, 3 * S, 8 * MIB, 12 * MIB - 1, &woken[2]);
	add(&all, &p, 4 * S, 8 * MIB, 12 * MIB - 1, &woken[3]);
	hp_waiters_wake(hp_waiters_ready(&all, &p));
	assert_int_equal(woken[0] + woken[1] + woken[2] + woken[3], 0);
	hp_pieces_came(&p, 0, true);
	hp_waiters_wake(hp_waiters_ready(&all, &p));
	assert_int_equal(woken[0], 1);
	/* One alone has waited too long; nobody else does for the piece. */
	hp_waiters_wake(hp_waiters_old(&all, &p, 2 * S));
	assert_int_equal(woken[1], 1);
	assert_int_equal(p.waits[1], 0);
	assert_int_equal(p.waits[2], 2);
	hp_waiters_wake(hp_waiters_old(&all, &p, 3 * S - 1));
	assert_int_equal(woken[2] + woken[3], 0);
	hp_waiters_wake(hp_waiters_all(&all));
	assert_int_equal(woken[2] + woken[3], 2);
	assert_null(all);
	hp_waiters_wake(hp_waiters_all(&all));
	hp_pieces_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	cmocka_unit_test(test_pace),
		cmocka_unit_test(test_unasked), cmocka_unit_test(test_again),
		cmocka_unit_test(test_room),	cmocka_unit_test(test_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
