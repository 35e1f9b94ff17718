/* SPDX-License-Identifier: Apache-2.0 */
/* Lines between ranks and hpdsl-stall: there and back, and what is none. */
#include "stall/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* As it is read again. */
static void again(struct hp_stall_record *r)
{
	char text[HP_STALL_LINE];
	size_t n = hp_stall_record_format(r, text);

	assert_true(n < sizeof text);
	assert_int_equal(strlen(text), n);
	assert_int_equal(hp_stall_record_parse(text, n, r), n);
}

static void start_comes_back(void **state)
{
	const struct hp_stall_start is = {
		.rank = 3,
		.ranks = UINT32_MAX,
		.step = 4711,
		.step_seconds = 0.25,
		.pace = 8.5,
		.lead = 17,
		.epoch = UINT64_C(1) << 33,
		.first_seconds = 1.5,
		.batch_bytes = 1000000007,
		.room = UINT64_C(1) << 45,
		.unsteady = true,
	};
	struct hp_stall_start s;
	struct hp_stall_record r;

	(void)state;
	hp_stall_put_start(&is, &r);
	again(&r);
	assert_true(hp_stall_get_start(&r, &s));
	assert_int_equal(s.rank, 3);
	assert_int_equal(s.ranks, UINT32_MAX);
	assert_int_equal(s.step, 4711);
	assert_true(s.step_seconds == 0.25);
	assert_true(s.pace == 8.5);
	assert_int_equal(s.lead, 17);
	assert_int_equal(s.epoch, UINT64_C(1) << 33);
	assert_true(s.first_seconds == 1.5);
	assert_int_equal(s.batch_bytes, 1000000007);
	assert_int_equal(s.room, UINT64_C(1) << 45);
	assert_true(s.unsteady);
}

static void schedule_comes_back(void **state)
{
	const struct hp_stall_schedule is = {
		.from = UINT64_C(1) << 50,
		.rounds = 3,
		.blocks = 4,
		.lead = { 1, 2, 3, 4, 5 },
		.steps = { 6, 0, 8, 9, 10 },
	};
	struct hp_stall_schedule s;
	struct hp_stall_record r;
	uint32_t serial;

	(void)state;
	hp_stall_put_schedule(7, &is, &r);
	again(&r);
	assert_true(hp_stall_get_schedule(&r, &serial, &s));
	assert_int_equal(serial, 7);
	assert_memory_equal(&s, &is, sizeof s);
}

static void block_comes_back(void **state)
{
	struct hpdsl_stall_block is = {
		.phase = HPDSL_STALL_COLD,
		.round = 1,
		.block = 2,
		.steps = 50,
		.seconds = 12.5,
		.interrupted = 0.5,
		.waited = 3,
		.made = UINT64_C(1) << 40,
		.out = 5,
		.making = 12,
		.hand_over = 0.000001,
	};
	struct hpdsl_stall_block b;
	struct hp_stall_record r;
	uint32_t serial;

	(void)state;
	hp_stall_put_block(1, &is, &r);
	again(&r);
	assert_true(hp_stall_get_block(&r, &serial, &b));
	assert_int_equal(b.phase, HPDSL_STALL_COLD);
	assert_int_equal(b.steps, 50);
	assert_true(b.seconds == 12.5 && b.waited == 3 && b.making == 12);
	assert_true(b.interrupted == 0.5);
	assert_int_equal(b.made, UINT64_C(1) << 40);
	assert_true(b.hand_over > 0.99e-6 && b.hand_over < 1.01e-6);
	is.hand_over = -1;
	hp_stall_put_block(1, &is, &r);
	again(&r);
	assert_true(hp_stall_get_block(&r, &serial, &b));
	assert_true(b.hand_over == -1);
}

static void asks_come_back(void **state)
{
	const struct hpdsl_stall_asks is = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5 };
	struct hpdsl_stall_asks a;
	struct hp_stall_record r;
	enum hpdsl_stall_phase phase;
	uint32_t serial;

	(void)state;
	hp_stall_put_asks(3, HPDSL_STALL_REAL, &is, &r);
	again(&r);
	assert_true(hp_stall_get_asks(&r, &serial, &phase, &a));
	assert_int_equal(serial, 3);
	assert_int_equal(phase, HPDSL_STALL_REAL);
	assert_memory_equal(&a, &is, sizeof a);
	r.v[1] = HPDSL_STALL_PHASES;
	assert_false(hp_stall_get_asks(&r, &serial, &phase, &a));
}

/* Lines as a rank of another version, or nobody, writes. */
static void what_is_none_is_not_taken(void **state)
{
	static const char *const bad[] = {
		"start 0 1 20 5 6 2 9 7 100 100\n",
		"start 0 1 20 5 6 2 9 7 100 100 2\n",
		"start 4294967296 1 20 5 6 2 9 7 100 100 0\n",
		"start -1 1 20 5 6 2 9 7 100 100 0\n",
		"start 0 1 20 5 6 2 9 7 100 100 0 \n",
		"start  0 1 20 5 6 2 9 7 100 100 0\n",
		"start 0 1 20 5 6 2 9 7 100 1000000000000000000 0\n",
		"start 0 1 20 5 6 2 9 7 100 0x10 0\n",
		"block 1 5 0 0 10 5 0 0 1 1 1 1\n",
		"block 1 3 0 0 0 5 0 0 1 1 1 1\n",
		"block 1 3 0 0 10 5 0 0 1 1 1 -2\n",
		"\n",
		" start\n",
		"Start 1\n",
		"\xff\n",
	};
	struct hp_stall_record r;
	struct hp_stall_start s;
	struct hpdsl_stall_block b;
	uint32_t serial;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		size_t n = strlen(bad[i]);

		assert_int_equal(hp_stall_record_parse(bad[i], n, &r), n);
		assert_false(hp_stall_get_start(&r, &s));
		assert_false(hp_stall_get_block(&r, &serial, &b));
	}
	/* half a line is none yet */
	assert_int_equal(hp_stall_record_parse("done 1", 6, &r), 0);
	assert_int_equal(hp_stall_record_parse("done 1\nx", 8, &r), 7);
	assert_true(hp_stall_record_is(&r, "done", 1));
	/* more numbers than there can be */
	assert_int_equal(hp_stall_record_parse("a 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
					       "1 1 1\n",
					       36, &r),
			 36);
	assert_int_equal(r.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_comes_back),
		cmocka_unit_test(schedule_comes_back),
		cmocka_unit_test(block_comes_back),
		cmocka_unit_test(asks_come_back),
		cmocka_unit_test(what_is_none_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
