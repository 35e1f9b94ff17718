/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall's guard: sets of files that processes share. */
#include "cmd/stall/preload/guard/set.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 1 << 12, MANY = 2000, PROCESSES = 8 };

static struct guard_set new_set(void)
{
	void *at =
		mmap(NULL, SLOTS * sizeof(struct guard_slot),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return (struct guard_set){ at, SLOTS };
}

static void free_set(struct guard_set s)
{
	munmap(s.of, s.n * sizeof(*s.of));
}

/* Device 0 is one, and inodes are used again. */
static void test_members(void **state)
{
	struct guard_set s = new_set();

	(void)state;
	assert_false(guard_set_has(s, 0, 7));
	assert_true(guard_set_add(s, 0, 7));
	assert_false(guard_set_add(s, 0, 7));
	assert_true(guard_set_add(s, 1, 7));
	assert_true(guard_set_add(s, UINT64_C(8) << 32 | 1, 7));
	guard_set_drop(s, 1, 7);
	assert_false(guard_set_has(s, 1, 7));
	assert_true(guard_set_has(s, 0, 7));
	assert_true(guard_set_has(s, UINT64_C(8) << 32 | 1, 7));
	assert_true(guard_set_add(s, 1, 7));
	assert_true(guard_set_has(s, 1, 7));
	free_set(s);
}

/* As a job that makes and removes one file all the time. */
static void test_again_and_again(void **state)
{
	struct guard_set s = new_set();

	(void)state;
	for (unsigned i = 0; i < 10 * SLOTS; i++) {
		assert_true(guard_set_add(s, 3, 4711));
		guard_set_drop(s, 3, 4711);
	}
	free_set(s);
}

/* Full, it takes no more, and has what it took. */
static void test_full(void **state)
{
	struct guard_set s = new_set();
	unsigned taken = 0;

	(void)state;
	for (uint64_t ino = 1; ino <= 2 * SLOTS; ino++) {
		bool is = guard_set_add(s, 5, ino);

		assert_int_equal(is, guard_set_has(s, 5, ino));
		taken += is;
	}
	assert_in_range(taken, SLOTS / 2, SLOTS);
	free_set(s);
}

/* Of processes that all add the same, each file is new to one. */
static void test_shared(void **state)
{
	struct guard_set s = new_set();
	unsigned long *news = mmap(NULL, sizeof(*news), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	(void)state;
	assert_ptr_not_equal(news, MAP_FAILED);
	for (unsigned i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			for (uint64_t ino = 1; ino <= MANY; ino++)
				if (guard_set_add(s, 9, ino))
					__atomic_fetch_add(news, 1,
							   __ATOMIC_RELAXED);
			_exit(0);
		}
	while (wait(&status) > 0)
		assert_int_equal(status, 0);
	assert_int_equal(*news, MANY);
	for (uint64_t ino = 1; ino <= MANY; ino++)
		assert_true(guard_set_has(s, 9, ino));
	munmap(news, sizeof(*news));
	free_set(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
