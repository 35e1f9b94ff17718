/* SPDX-License-Identifier: Apache-2.0 */
/* Phases by step number, against steps that are counted one by one. */
#include "stall/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void walk(const struct hp_stall_schedule *s)
{
	uint64_t step = s->from;

	for (uint32_t r = 0; r < s->rounds; r++)
		for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
			uint64_t n = hp_stall_phase_steps(s, i);

			for (uint64_t k = 0; k < n; k++) {
				struct hpdsl_stall_place p =
					hp_stall_at(s, step++);
				uint64_t in = k - s->lead[i];

				assert_int_equal(p.time, HPDSL_STALL_IN);
				assert_int_equal(p.phase, i);
				assert_int_equal(p.round, r);
				assert_int_equal(p.begins, k == 0);
				assert_int_equal(p.counts, k >= s->lead[i]);
				if (!p.counts)
					continue;
				assert_int_equal(p.block, in / s->steps[i]);
				assert_int_equal(p.first,
						 in % s->steps[i] == 0);
				assert_int_equal(p.last,
						 (in + 1) % s->steps[i] == 0);
			}
		}
	assert_int_equal(step, s->from + hp_stall_steps(s));
	assert_int_equal(hp_stall_at(s, step).time, HPDSL_STALL_BEHIND);
	assert_int_equal(hp_stall_at(s, UINT64_MAX).time, HPDSL_STALL_BEHIND);
	if (s->from)
		assert_int_equal(hp_stall_at(s, s->from - 1).time,
				 HPDSL_STALL_BEFORE);
}

static void every_step_has_its_place(void **state)
{
	(void)state;
	walk(&(struct hp_stall_schedule){
		.from = 37,
		.rounds = 3,
		.blocks = 4,
		.lead = { 1, 0, 5, 7, 2 },
		.steps = { 3, 2, 1, 4, 5 },
	});
	walk(&(struct hp_stall_schedule){
		.rounds = 1,
		.blocks = 1,
		.lead = { [HPDSL_STALL_LOAD] = 9 },
		.steps = { [HPDSL_STALL_REPLAY] = 1, [HPDSL_STALL_REAL] = 2 },
	});
}

static void what_is_not_played_has_no_step(void **state)
{
	struct hp_stall_schedule s = {
		.rounds = 2,
		.blocks = 3,
		.lead = { [HPDSL_STALL_LOAD] = 100 },
		.steps = { [HPDSL_STALL_WARM] = 1 },
	};

	(void)state;
	assert_int_equal(hp_stall_phase_steps(&s, HPDSL_STALL_LOAD), 0);
	assert_int_equal(hp_stall_steps(&s), 6);
	s.steps[HPDSL_STALL_WARM] = 0;
	assert_int_equal(hp_stall_steps(&s), 0);
	assert_int_equal(hp_stall_at(&s, 0).time, HPDSL_STALL_BEHIND);
}

/* 64 bits: a job that has run for ever, blocks as long as they can be. */
static void large_numbers(void **state)
{
	struct hp_stall_schedule s = {
		.from = UINT64_C(1) << 62,
		.rounds = 2,
		.blocks = 1000000,
		.steps = { [HPDSL_STALL_COLD] = UINT32_MAX,
			   [HPDSL_STALL_REAL] = 1 },
	};
	uint64_t round = s.blocks * (UINT32_MAX + UINT64_C(1));
	struct hpdsl_stall_place p;

	(void)state;
	assert_int_equal(hp_stall_steps(&s), 2 * round);
	p = hp_stall_at(&s,
			s.from + round + s.blocks * (uint64_t)UINT32_MAX - 1);
	assert_int_equal(p.round, 1);
	assert_int_equal(p.phase, HPDSL_STALL_COLD);
	assert_int_equal(p.block, s.blocks - 1);
	assert_true(p.last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_has_its_place),
		cmocka_unit_test(what_is_not_played_has_no_step),
		cmocka_unit_test(large_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
