/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-mount: what --memory is for. */
#include "cmd/mount/share.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t sum(const struct mount_share *s)
{
	return MOUNT_FRONT * (uint64_t)FRONT_BYTES +
	       s->readers * (uint64_t)READER_BYTES +
	       s->windows * (uint64_t)MOUNT_WINDOW +
	       (MOUNT_BATCHES + 1) * (uint64_t)s->batch + s->whole;
}

/* All of it is never more than was said, and who has more, has no less. */
static void test_bounded(void **state)
{
	(void)state;
	for (int chunks = 0; chunks < 2; chunks++) {
		struct mount_share before = { 0 };

		for (uint64_t m = MOUNT_MEMORY_LEAST; m < 1ul << 40;
		     m += m / 97) {
			struct mount_share s = mount_share_of(m, chunks);

			assert_true(sum(&s) <= m);
			assert_in_range(s.readers, 2, MOUNT_READERS);
			assert_true(s.readers >= before.readers);
			assert_int_equal(s.windows > 0, chunks);
			assert_int_equal(s.batch > 0, !chunks);
			assert_true(s.windows <= MOUNT_WINDOWS);
			assert_true(s.batch <= MOUNT_BATCH_MOST);
			assert_true(s.whole > 0);
			before = s;
		}
		assert_true(sum(&before) < 1ul << 30);
	}
}

static void test_some(void **state)
{
	struct mount_share s = mount_share_of(MOUNT_MEMORY_LEAST, false);

	(void)state;
	assert_int_equal(s.readers, 2);
	assert_true(s.batch >= 256 << 10);
	assert_true(s.whole >= 1 << 20);
	s = mount_share_of(MOUNT_MEMORY, false);
	assert_int_equal(s.readers, MOUNT_READERS);
	assert_int_equal(s.batch, MOUNT_BATCH_MOST);
	assert_true(s.whole >= WHOLE_MOST);
	s = mount_share_of(MOUNT_MEMORY, true);
	assert_in_range(s.windows, 16, 32);
	assert_true(s.whole >= WHOLE_MOST);
	/* all that can be used */
	s = mount_share_of(UINT64_MAX, true);
	assert_int_equal(s.windows, MOUNT_WINDOWS);
	assert_int_equal(s.whole, MOUNT_READERS * (uint64_t)WHOLE_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
