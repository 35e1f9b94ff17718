/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of a chunk that is fetched for all: whatever is waited for, in any
 * order, and whatever fails, each comes, the awaited ones first, and nobody is
 * told too early.
 */
#include "serve/pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static void test_sizes(void **state)
{
	static const uint64_t size[] = { 0,	  1,	       4 * MIB - 1,
					 4 * MIB, 4 * MIB + 1, 64 * MIB };

	(void)state;
	for (unsigned i = 0; i < sizeof size / sizeof *size; i++) {
		struct hp_pieces p;
		uint64_t sum = 0;

		assert_true(hp_pieces_begin(&p, size[i]));
		for (uint32_t k = 0; k < p.n; k++)
			sum += hp_pieces_length(&p, k);
		assert_int_equal(sum, size[i]);
		hp_pieces_end(&p);
	}
	{
		struct hp_pieces p;

		assert_false(hp_pieces_begin(&p, UINT64_MAX / 2));
	}
}

static void test_order(void **state)
{
	struct hp_pieces p;

	(void)state;
	assert_true(hp_pieces_begin(&p, 20 * MIB));
	assert_int_equal(hp_pieces_next(&p, true), HP_NO_PIECE);
	/* Over a border: two of them. */
	hp_pieces_await(&p, 12 * MIB - 1, 12 * MIB);
	assert_int_equal(hp_pieces_next(&p, true), 2);
	assert_int_equal(hp_pieces_next(&p, false), 3);
	assert_int_equal(hp_pieces_next(&p, true), HP_NO_PIECE);
	hp_pieces_came(&p, 3, true);
	assert_false(hp_pieces_have(&p, 12 * MIB - 1, 12 * MIB));
	assert_true(hp_pieces_have(&p, 12 * MIB, 16 * MIB - 1));
	/* One that failed is fetched again while it is waited for. */
	hp_pieces_came(&p, 2, false);
	assert_int_equal(hp_pieces_next(&p, true), 2);
	hp_pieces_came(&p, 2, true);
	assert_true(hp_pieces_have(&p, 12 * MIB - 1, 12 * MIB));
	hp_pieces_let(&p, 12 * MIB - 1, 12 * MIB);
	/* Then the rest. */
	assert_int_equal(hp_pieces_next(&p, false), 0);
	assert_int_equal(hp_pieces_next(&p, false), 1);
	assert_int_equal(hp_pieces_next(&p, false), 4);
	assert_int_equal(hp_pieces_next(&p, false), HP_NO_PIECE);
	hp_pieces_end(&p);
}

/* Fetchers that fail now and then, and those who wait, in a random order. */
static void play(unsigned seed)
{
	enum { WAITERS = 20, BUSY = 3 };
	struct {
		uint64_t first, last;
		bool waits;
	} w[WAITERS] = { { .waits = false } };
	uint64_t size = 1 + (uint64_t)rand_r(&seed) % (40 * MIB);
	uint32_t busy[BUSY] = { HP_NO_PIECE, HP_NO_PIECE, HP_NO_PIECE };
	struct hp_pieces p;
	unsigned steps = 0;

	assert_true(hp_pieces_begin(&p, size));
	while (p.here < p.n) {
		unsigned i = (unsigned)rand_r(&seed) % WAITERS;
		uint32_t *b = &busy[(unsigned)rand_r(&seed) % BUSY];

		assert_true(++steps < 10000);
		if (!w[i].waits && rand_r(&seed) % 3 == 0) {
			w[i].first = (uint64_t)rand_r(&seed) % size;
			w[i].last = w[i].first +
				    (uint64_t)rand_r(&seed) % (4 * MIB);
			if (w[i].last >= size)
				w[i].last = size - 1;
			w[i].waits = !hp_pieces_have(&p, w[i].first, w[i].last);
			if (w[i].waits)
				hp_pieces_await(&p, w[i].first, w[i].last);
		}
		if (*b != HP_NO_PIECE) {
			hp_pieces_came(&p, *b, rand_r(&seed) % 4 != 0);
			*b = HP_NO_PIECE;
		} else {
			*b = hp_pieces_next(&p, rand_r(&seed) % 2);
			assert_true(*b == HP_NO_PIECE || *b < p.n);
		}
		for (unsigned k = 0; k < BUSY; k++)
			for (unsigned j = 0; j < k; j++)
				assert_true(busy[k] == HP_NO_PIECE ||
					    busy[k] != busy[j]);
		for (unsigned k = 0; k < WAITERS; k++)
			if (w[k].waits &&
			    hp_pieces_have(&p, w[k].first, w[k].last)) {
				hp_pieces_let(&p, w[k].first, w[k].last);
				w[k].waits = false;
			}
	}
	for (uint32_t k = 0; k < p.n; k++)
		assert_int_equal(p.waits[k], 0);
	assert_true(hp_pieces_have(&p, 0, size - 1));
	hp_pieces_end(&p);
}

static void test_any_order(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 2000; seed++)
		play(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
