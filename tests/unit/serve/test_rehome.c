/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken over of lost nodes before it is asked for, in virtual time: by
 * one node each, and by none that is cut off.
 */
#include "serve/rehome.h"

#include "peers/health.h"
#include "peers/holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 8, CHUNKS = 400 };
#define T (1000 * HP_SECOND)

struct world {
	struct hp_rehome r[NODES];
	struct hp_book_head h;
	bool well[NODES];
	bool had[NODES][CHUNKS];
};

static struct world w;

static bool has(void *arg, uint32_t chunk)
{
	return ((const bool *)arg)[chunk];
}

static void begin(uint32_t parts)
{
	memset(&w, 0, sizeof w);
	w.h = (struct hp_book_head){ .nodes = NODES, .parts = parts };
	for (uint32_t n = 0; n < NODES; n++) {
		assert_true(hp_rehome_begin(&w.r[n], NODES));
		w.well[n] = true;
	}
}

static void end(void)
{
	for (uint32_t n = 0; n < NODES; n++)
		hp_rehome_end(&w.r[n]);
}

static void see(uint64_t now)
{
	for (uint32_t n = 0; n < NODES; n++) {
		for (uint32_t i = 0; i < NODES; i++)
			hp_rehome_see(&w.r[n], i, w.well[i] || i == n, now);
		hp_rehome_seen(&w.r[n], now);
	}
}

static uint32_t next(uint32_t node)
{
	struct hp_book_head h = w.h;

	h.node = node;
	return hp_rehome_next(&w.r[node], &h, CHUNKS, has, w.had[node]);
}

/* All that those who live take over; how many there were. */
static unsigned take_all(void)
{
	unsigned all = 0;
	uint32_t c;

	for (uint32_t n = 0; n < NODES; n++)
		while (w.well[n] && (c = next(n)) != UINT32_MAX) {
			assert_true(c < CHUNKS);
			w.had[n][c] = true;
			all++;
		}
	return all;
}

/* Each chunk once, by some of those who live. */
static void test_one_is_lost(void **state)
{
	(void)state;
	begin(NODES);
	see(T);
	assert_int_equal(take_all(), 0);
	w.well[3] = false;
	see(T);
	see(T + 30 * HP_SECOND - 1);
	assert_int_equal(take_all(), 0);
	see(T + 30 * HP_SECOND);
	assert_int_equal(take_all(), CHUNKS / NODES);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		unsigned had = 0;

		for (uint32_t n = 0; n < NODES; n++)
			had += w.had[n][c];
		assert_int_equal(had, c % NODES == 3);
	}
	end();
}

/* One that was heard of is not lost, however short that was. */
static void test_heard_of(void **state)
{
	(void)state;
	begin(NODES);
	w.well[3] = false;
	see(T);
	w.well[3] = true;
	see(T + 29 * HP_SECOND);
	w.well[3] = false;
	see(T + 30 * HP_SECOND);
	see(T + 59 * HP_SECOND);
	assert_int_equal(take_all(), 0);
	see(T + 60 * HP_SECOND);
	assert_true(take_all() > 0);
	w.well[3] = true;
	memset(w.had, 0, sizeof w.had);
	see(T + 61 * HP_SECOND);
	assert_int_equal(take_all(), 0);
	end();
}

/* Of two who hold it one is enough. */
static void test_two_hold_it(void **state)
{
	uint32_t first, last;

	(void)state;
	begin(NODES / 2);
	hp_holders(&w.h, 0, &first, &last);
	assert_int_equal(last, first + 1);
	w.well[first] = false;
	see(T);
	see(T + 40 * HP_SECOND);
	assert_int_equal(take_all(), 0);
	w.well[last] = false;
	see(T + 50 * HP_SECOND);
	see(T + 80 * HP_SECOND);
	assert_int_equal(take_all(), CHUNKS / (NODES / 2));
	end();
}

/* F28: half of the nodes have to live, of whom it is one. */
static void test_cut_off(void **state)
{
	(void)state;
	begin(NODES);
	for (uint32_t n = NODES / 2 - 1; n < NODES; n++)
		w.well[n] = false;
	see(T);
	see(T + 40 * HP_SECOND);
	assert_int_equal(take_all(), 0);
	w.well[NODES - 1] = true;
	see(T + 41 * HP_SECOND);
	assert_int_equal(take_all(), (NODES / 2) * CHUNKS / NODES);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_is_lost),
		cmocka_unit_test(test_heard_of),
		cmocka_unit_test(test_two_hold_it),
		cmocka_unit_test(test_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
