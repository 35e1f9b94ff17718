/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-mount: which stretches of chunks are kept for those who read on. */
#include "cmd/mount/window.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ASKED = 128 << 10 };

static int take(struct mount_windows *w, uint32_t chunk, uint64_t number)
{
	return mount_windows_take(w, chunk, number, MOUNT_WINDOW);
}

/* Who reads on is known to, whoever else reads; who jumps is not. */
static void test_goes_on(void **state)
{
	static struct mount_windows w = { .n = MOUNT_WINDOWS };
	const uint64_t far = 100 << 20;

	(void)state;
	for (uint32_t c = 0; c < MOUNT_STREAMS; c++)
		assert_false(mount_windows_goes_on(&w, c, 0, ASKED));
	for (uint64_t at = ASKED; at < 20 * ASKED; at += ASKED)
		for (uint32_t c = 0; c < MOUNT_STREAMS; c++)
			assert_true(mount_windows_goes_on(&w, c, at, ASKED));
	/* two in the other order */
	assert_true(mount_windows_goes_on(&w, 3, 21 * ASKED, ASKED));
	assert_true(mount_windows_goes_on(&w, 3, 20 * ASKED, ASKED));
	/* chunk 0 was heard of longest ago, and is forgotten for this */
	assert_false(mount_windows_goes_on(&w, 5, far, ASKED));
	assert_true(mount_windows_goes_on(&w, 5, far + ASKED, ASKED));
	assert_false(mount_windows_goes_on(&w, 0, 20 * ASKED, ASKED));
	assert_true(mount_windows_goes_on(&w, 5, 20 * ASKED, ASKED));
}

/* None is taken from who needs it. */
static void test_take(void **state)
{
	static struct mount_windows w = { .n = MOUNT_WINDOWS };

	(void)state;
	for (int i = 0; i < MOUNT_WINDOWS; i++) {
		int is = take(&w, 7, (uint64_t)i);

		assert_true(is >= 0);
		assert_int_equal(mount_windows_find(&w, 7, (uint64_t)i), is);
		assert_int_equal(w.v[is].is, MOUNT_WINDOW_COMING);
	}
	assert_int_equal(mount_windows_find(&w, 8, 0), MOUNT_WINDOW_NONE);
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	for (int i = 0; i < MOUNT_WINDOWS; i++)
		w.v[i].is = MOUNT_WINDOW_HERE;
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	/* given, but somebody copies from it */
	w.v[5].users = 1;
	mount_windows_given(&w, 5, 0, MOUNT_WINDOW);
	mount_windows_given(&w, 6, 0, MOUNT_WINDOW - 1);
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	w.v[5].users = 0;
	assert_int_equal(take(&w, 8, 0), 5);
	assert_int_equal(mount_windows_find(&w, 7, 5), MOUNT_WINDOW_NONE);
	assert_int_equal(mount_windows_find(&w, 8, 0), 5);
	/* who is at its end has been in it */
	w.v[5].is = MOUNT_WINDOW_HERE;
	mount_windows_given(&w, 7, MOUNT_WINDOW - 9, 9);
	assert_int_equal(take(&w, 8, 1), 7);
	assert_int_equal(take(&w, 8, 2), MOUNT_WINDOW_NONE);
}

/* What nobody comes for is given up, the oldest first. */
static void test_forgotten(void **state)
{
	static struct mount_windows w = { .n = MOUNT_WINDOWS };

	(void)state;
	for (int i = 0; i < MOUNT_WINDOWS; i++)
		w.v[take(&w, 7, (uint64_t)i)].is =
			i % 2 ? MOUNT_WINDOW_HERE : MOUNT_WINDOW_BAD;
	for (int i = 0; i < MOUNT_WINDOWS; i++) {
		mount_windows_goes_on(&w, 1, (uint64_t)i << 30, ASKED);
		mount_windows_given(&w, (i + 9) % MOUNT_WINDOWS, 0, 1);
	}
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	/* not long: eight requests are a window's */
	for (uint64_t i = 0; i < 9 * MOUNT_WINDOWS; i++)
		mount_windows_goes_on(&w, 1, i << 30, ASKED);
	assert_int_equal(take(&w, 8, 0), 9);
	assert_int_equal(take(&w, 8, 1), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
