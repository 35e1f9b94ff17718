/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs dealt to threads: each once, until one fails or somebody says stop. */
#include "sys/pool.h"

#include "base/error.h"
#include "shell.h"
#include "until.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { JOBS = 100 };

static const uint32_t threads[] = { HPDSL_SERIAL, 1, 4 };

struct work {
	int done[JOBS]; /* atomic, as all here */
	uint64_t stop_at;
	int stop, failed, threads;
};

static int do_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct work *w = arg;

	(void)err;
	__atomic_fetch_add(&w->done[number], 1, __ATOMIC_RELAXED);
	if (number == w->stop_at)
		__atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
	return 0;
}

static void test_each_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		struct work w = { .stop_at = JOBS - 1 };

		assert_int_equal(
			hp_pool_run(threads[i], 0, do_one, &w, &w.stop, NULL),
			0);
		/* Stopped when nothing is left to do: that is no stop. */
		assert_int_equal(
			hp_pool_run(threads[i], JOBS, do_one, &w, NULL, NULL),
			0);
		for (int k = 0; k < JOBS; k++)
			assert_int_equal(w.done[k], 1);
	}
}

static void test_stop(void **state)
{
	struct hpdsl_error err;
	struct work w = { .stop_at = 10 };

	(void)state;
	assert_int_equal(
		hp_pool_run(HPDSL_SERIAL, JOBS, do_one, &w, &w.stop, &err),
		HPDSL_ESTOPPED);
	assert_int_equal(w.done[10], 1);
	assert_int_equal(w.done[11], 0);
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		memset(&w, 0, sizeof w);
		w.stop = 1;
		assert_int_equal(hp_pool_run(threads[i], JOBS, do_one, &w,
					     &w.stop, &err),
				 HPDSL_ESTOPPED);
		for (int k = 0; k < JOBS; k++)
			assert_int_equal(w.done[k], 0);
	}
}

/* Job 1 fails first; job 0, begun before, fails a moment later. */
static int fail_late(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct work *w = arg;

	if (number == 0) {
		struct until u = { 0 };

		/* Whose thread is gone has told of it. */
		while (!__atomic_load_n(&w->failed, __ATOMIC_RELAXED) ||
		       count_threads() > w->threads + 1)
			until_next(&u);
		return hp_fail(err, -EIO, "job 0");
	}
	__atomic_store_n(&w->failed, 1, __ATOMIC_RELAXED);
	return hp_fail(err, -EPERM, "job %d", (int)number);
}

/* What is told does not depend on who was faster. */
static void test_lowest_failure(void **state)
{
	struct work w = { .stop_at = JOBS, .threads = count_threads() };
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hp_pool_run(2, 2, fail_late, &w, NULL, &err), -EIO);
	assert_string_equal(err.msg, "job 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_lowest_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
