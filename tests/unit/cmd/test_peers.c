/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches ten thousand nodes hears of all, and not too often. */
#include "cmd/stage/peers.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MANY 10000

static bool is_there(const struct stage_peer *p, size_t n, int rank)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].rank == rank)
			return true;
	return false;
}

static void each_rank_is_found(void **state)
{
	struct stage_peer *p = calloc(MANY, sizeof *p);

	(void)state;
	assert_non_null(p);
	for (size_t n = 0; n <= 200; n++) {
		/* some of 3, 10, 17, .. in another order */
		for (size_t i = 0; i < n; i++)
			p[i].rank = 3 + 7 * (int)((i * 331 + 5) % 211);
		peers_sort(p, n);
		for (int rank = 0; rank < 7 * 211; rank++) {
			const struct stage_peer *is = peers_find(p, n, rank);

			assert_int_equal(is != NULL, is_there(p, n, rank));
			assert_true(!is || is->rank == rank);
		}
	}
	free(p);
}

static void beats_are_a_thousand_a_second(void **state)
{
	(void)state;
	for (uint32_t nodes = 1; nodes <= MANY; nodes++) {
		double every = peers_beat_every(nodes, 30);

		assert_true(nodes / every <= 1000.000001);
		assert_true(every >= 1 && every <= 10);
	}
	assert_true(peers_beat_every(1000, 30) == 1);
	assert_true(peers_beat_every(MANY, 30) == 10);
}

/* Who is silent for so long has missed two beats at least. */
static void silence_is_two_beats(void **state)
{
	static const double patience[] = { 0.1, 1, 6, 30 };

	(void)state;
	for (size_t i = 0; i < sizeof patience / sizeof *patience; i++)
		for (uint32_t nodes = 1; nodes < 1000000; nodes += nodes)
			assert_true(peers_beat_every(nodes, patience[i]) * 3 <=
				    patience[i] * 1.000001);
}

static void first_beats_do_not_come_at_once(void **state)
{
	double last = -1;

	(void)state;
	for (uint32_t node = 0; node < MANY; node++) {
		double at = peers_first_beat(node, MANY, 10);

		assert_true(at - last >= 0.00099 && at < 10);
		last = at;
	}
	assert_true(peers_first_beat(0, 1, 1) == 0);
}

/* Seconds until a silence of 8 is known, if each look takes gap. */
static double known_after(double gap, double every)
{
	double seen = 0, now = 0;

	while (now - seen <= 8 && now < 1000) {
		now += gap;
		seen = peers_seen(seen, now, gap, every);
	}
	return now;
}

static void nobody_is_blamed_for_a_stop_here(void **state)
{
	(void)state;
	assert_true(peers_seen(10, 11, 0.1, 0.25) == 10);
	/* stopped for an hour, after a second of silence */
	assert_true(peers_seen(10, 3611, 3600, 0.25) == 3609.75);
	/* and never seen in the future */
	assert_true(peers_seen(10, 11, 3600, 0.25) == 11);
}

/* On a machine where each look comes late, the lost are still found. */
static void late_looks_do_not_hide_silence(void **state)
{
	(void)state;
	assert_true(known_after(0.1, 0.25) < 8.2);
	assert_true(known_after(0.25, 0.25) < 8.5);
	assert_true(known_after(0.5, 0.25) < 17);
	assert_true(known_after(1, 0.25) < 34);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rank_is_found),
		cmocka_unit_test(beats_are_a_thousand_a_second),
		cmocka_unit_test(silence_is_two_beats),
		cmocka_unit_test(first_beats_do_not_come_at_once),
		cmocka_unit_test(nobody_is_blamed_for_a_stop_here),
		cmocka_unit_test(late_looks_do_not_hide_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
