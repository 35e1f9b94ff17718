/* SPDX-License-Identifier: Apache-2.0 */
/* When steps are alike, and which schedule follows. */
#include "stall/start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct hp_stall_steady after(unsigned n, double first, double more)
{
	struct hp_stall_steady s = { 0 };

	for (unsigned i = 0; i < n; i++)
		hp_stall_steady_add(&s, first + i * more, first / 4);
	return s;
}

static void steps_have_to_be_alike(void **state)
{
	struct hp_stall_steady s = after(HP_STALL_FIRST - 1, 0.1, 0);
	bool unsteady;

	(void)state;
	assert_false(hp_stall_steady_is(&s, 0, &unsteady));
	s = after(HP_STALL_FIRST, 0.1, 0);
	assert_true(hp_stall_steady_is(&s, 0, &unsteady));
	assert_false(unsteady);
	assert_false(hp_stall_steady_is(&s, HP_STALL_FIRST + 1, &unsteady));
	assert_true(hp_stall_steady_step(&s) == 0.1);
	assert_true(hp_stall_steady_computed(&s) == 0.1 - 0.1 / 4);
	/* each a tenth longer than the one before, or shorter */
	s = after(40, 0.1, 0.01);
	assert_false(hp_stall_steady_is(&s, 0, &unsteady));
	s = after(40, 1, -0.02);
	assert_false(hp_stall_steady_is(&s, 0, &unsteady));
	assert_false(unsteady);
	/* a hundredth in all is nothing */
	s = after(40, 1, 0.001);
	assert_true(hp_stall_steady_is(&s, 0, &unsteady));
	/* and who waits for a minute waits no longer */
	s = after(60, 1, 0.1);
	assert_true(hp_stall_steady_is(&s, 0, &unsteady));
	assert_true(unsteady);
}

/* Workers that begin together end together; jitter is of the case's own dice.
 */
static unsigned burst_until(unsigned workers, double jitter)
{
	struct hp_stall_steady s = { 0 };
	uint32_t dice = 1;
	bool unsteady;

	for (unsigned i = 0; i < 20000; i++) {
		double took = i % workers ? 0.005 : 0.005 + 0.02 * workers;

		dice = dice * 1664525 + 1013904223;
		took *= 1 + jitter * ((double)(dice >> 8) / (1 << 23) - 1);
		hp_stall_steady_add(&s, took, took / 2);
		if (hp_stall_steady_is(&s, 0, &unsteady)) {
			assert_false(unsteady);
			return i + 1;
		}
	}
	return 0;
}

static void bursts_are_alike(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= 16; workers++) {
		assert_in_range(burst_until(workers, 0.01), HP_STALL_FIRST,
				60 * workers);
		assert_in_range(burst_until(workers, 0.2), HP_STALL_FIRST,
				60 * workers);
	}
}

/* However many: none is lost in the sums, and what rises is seen to rise. */
static void sums_have_all_steps(void **state)
{
	(void)state;
	for (unsigned n = 1; n < 3000; n += n < 100 ? 1 : 37) {
		struct hp_stall_steady s = after(n, 1, 0.05);
		double sum = 0;
		bool unsteady;

		for (unsigned i = 0; i < HP_STALL_SUMS; i++)
			sum += s.sum[i];
		assert_true(sum > s.seconds * 0.999999);
		assert_true(sum < s.seconds * 1.000001);
		assert_true((s.steps - 1) / s.in_sum < HP_STALL_SUMS);
		assert_false(n > 80 && n < 120 &&
			     hp_stall_steady_is(&s, 0, &unsteady) && !unsteady);
	}
}

static struct hp_stall_ready rank(double step, uint32_t lead)
{
	return (struct hp_stall_ready){
		.s = { .ranks = 1,
		       .step = 30,
		       .step_seconds = step,
		       .lead = lead,
		       .batch_bytes = 1000,
		       .room = 3000000 },
		.on_node = 1,
	};
}

static void the_slowest_rank_decides(void **state)
{
	struct hp_stall_ready of[] = { rank(0.1, 12), rank(0.5, 40) };
	const struct hp_stall_wish wish = { .load = true, .margin = 3 };
	struct hp_stall_schedule s;

	(void)state;
	of[0].since = 10; /* 100 steps on, the other may be at 30 */
	assert_int_equal(hp_stall_decide(of, 2, &wish, &s, NULL), 0);
	assert_int_equal(s.rounds, 3);
	assert_int_equal(s.blocks, 3);
	/* five seconds, of the longest steps */
	assert_int_equal(s.steps[HPDSL_STALL_COLD], 10);
	assert_int_equal(s.lead[HPDSL_STALL_COLD], 40);
	assert_int_equal(s.steps[HPDSL_STALL_LOAD], 10);
	assert_int_equal(s.from, 130 + 6 + 2);
}

static void what_is_wished_holds(void **state)
{
	struct hp_stall_ready of = rank(0.1, 12);
	const struct hp_stall_wish wish = { .rounds = 2,
					    .blocks = 5,
					    .steps = 7 };
	struct hp_stall_schedule s;

	(void)state;
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, NULL), 0);
	assert_int_equal(s.rounds, 2);
	assert_int_equal(s.blocks, 5);
	assert_int_equal(s.steps[HPDSL_STALL_REAL], 7);
	assert_int_equal(s.steps[HPDSL_STALL_LOAD], 0);
}

/* Eight seconds after twenty steps of 5 ms: it takes few of them until all have
 * looked. */
static void what_is_only_now_and_then_counts(void **state)
{
	const struct hp_stall_wish wish = { .steps = 20, .margin = 3 };
	struct hp_stall_ready of = rank(0.005, 12);
	struct hp_stall_steady steady = after(HP_STALL_FIRST, 0.005, 0);
	struct hp_stall_schedule s;

	(void)state;
	hp_stall_steady_add(&steady, 8.005, 0.001);
	for (unsigned i = 0; i < HP_STALL_LAST - 1; i++)
		hp_stall_steady_add(&steady, 0.005, 0.001);
	assert_true(hp_stall_steady_step(&steady) == 0.005);
	of.s.pace = hp_stall_steady_pace(&steady);
	assert_true(of.s.pace > 0.4 && of.s.pace < 0.41);
	of.since = 8;
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, NULL), 0);
	assert_int_equal(s.from, 30 + 20 + 8 + 2);
}

/* What replay keeps load hands out. */
static void phases_may_be_of_runs_of_their_own(void **state)
{
	struct hp_stall_ready of = rank(0.1, 12);
	struct hp_stall_wish wish = { .load = true, .steps = 9 };
	struct hp_stall_schedule s;
	uint64_t whole, sum = 0;

	(void)state;
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, NULL), 0);
	whole = hp_stall_steps(&s);
	for (unsigned i = 0; i < HP_STALL_RUNS; i++) {
		wish.phases = hp_stall_run[i];
		assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, NULL), 0);
		for (unsigned k = 0; k < HPDSL_STALL_PHASES; k++)
			assert_int_equal(s.steps[k] > 0,
					 (wish.phases & HP_STALL_IS(k)) > 0);
		assert_true(hp_stall_at(&s, s.from).begins);
		sum += hp_stall_steps(&s);
	}
	assert_int_equal(sum, whole);
	/* only steps from memory need some */
	of.s.room = 1000;
	wish.phases = HP_STALL_IS(HPDSL_STALL_COLD);
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, NULL), 0);
	wish.phases = HP_STALL_IS(HPDSL_STALL_WARM);
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, NULL),
			 HPDSL_EUSAGE);
}

/* A third of the memory, of all ranks of the node. */
static void warm_steps_have_to_fit(void **state)
{
	struct hp_stall_ready of = rank(0.1, 12);
	const struct hp_stall_wish wish = { .steps = 1000 };
	struct hp_stall_schedule s;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, &err), 0);
	assert_int_equal(s.steps[HPDSL_STALL_COLD], 1000);
	assert_int_equal(s.steps[HPDSL_STALL_WARM], (1000 - 12) / 3);
	of.on_node = 10;
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, &err), 0);
	assert_int_equal(s.steps[HPDSL_STALL_WARM], (100 - 12) / 3);
	of.on_node = 60;
	assert_int_equal(hp_stall_decide(&of, 1, &wish, &s, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg,
			    "steps from memory cannot be measured: they take "
			    "24 batches, and a third of what a node has free "
			    "holds 16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_to_be_alike),
		cmocka_unit_test(bursts_are_alike),
		cmocka_unit_test(sums_have_all_steps),
		cmocka_unit_test(the_slowest_rank_decides),
		cmocka_unit_test(what_is_wished_holds),
		cmocka_unit_test(what_is_only_now_and_then_counts),
		cmocka_unit_test(phases_may_be_of_runs_of_their_own),
		cmocka_unit_test(warm_steps_have_to_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
