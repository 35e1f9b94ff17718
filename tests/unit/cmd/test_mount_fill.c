/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-mount: which chunk next, against a model, and what memory is for. */
#include "cmd/mount/fill.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNKS = 7, STEPS = 20000 };

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

/* Each is queued once at a time, in order, and MOUNT_FILL_TRIES times only. */
static void test_queue(void **state)
{
	uint32_t queue[CHUNKS], n = 0, tries[CHUNKS] = { 0 }, seed = 1, c;
	bool in[CHUNKS] = { false };
	struct mount_fill f;

	(void)state;
	assert_int_equal(mount_fill_init(&f, CHUNKS), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		uint32_t want = draw(&seed, CHUNKS + 1);

		if (draw(&seed, 3)) {
			bool is = want < CHUNKS && !in[want] &&
				  tries[want] < MOUNT_FILL_TRIES;

			assert_int_equal(mount_fill_is_new(&f, want), is);
			assert_int_equal(mount_fill_is_over(&f, want),
					 want < CHUNKS &&
						 tries[want] ==
							 MOUNT_FILL_TRIES);
			assert_int_equal(mount_fill_want(&f, want), is);
			if (is) {
				in[want] = true;
				queue[n++] = want;
			}
		} else if (mount_fill_next(&f, &c)) {
			assert_true(n);
			assert_int_equal(c, queue[0]);
			memmove(queue, queue + 1, --n * sizeof *queue);
			/* While it is filled it is not wanted. */
			assert_false(mount_fill_want(&f, c));
			assert_false(mount_fill_is_over(&f, c));
			in[c] = false;
			mount_fill_done(&f, c, 9, draw(&seed, 2) ? 5 : 4);
			if (!mount_fill_is_new(&f, c))
				tries[c] = MOUNT_FILL_TRIES;
			else
				assert_int_equal(++tries[c], 1);
		} else {
			assert_int_equal(n, 0);
		}
	}
	for (c = 0; c < CHUNKS; c++)
		assert_int_equal(tries[c], MOUNT_FILL_TRIES);
	mount_fill_release(&f);
}

/* Half of the names are enough, and fewer are not. */
static void test_done(void **state)
{
	struct mount_fill f;
	uint32_t c;

	(void)state;
	assert_int_equal(mount_fill_init(&f, 3), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(mount_fill_want(&f, i));
		assert_true(mount_fill_next(&f, &c));
		mount_fill_done(&f, i, i ? 10 : 0, i * 4);
	}
	assert_false(mount_fill_is_new(&f, 0)); /* of none */
	assert_true(mount_fill_is_new(&f, 1));	/* 4 of 10 */
	assert_false(mount_fill_is_new(&f, 2)); /* 8 */
	mount_fill_release(&f);
}

static bool want(struct mount_frames *f, uint64_t first)
{
	const struct mount_run run = { .first = first, .n = 3 };

	return mount_frames_want(f, &run);
}

/* In order, none twice, and no more than there is room for. */
static void test_frames(void **state)
{
	struct mount_frames f = { .n = 0 };
	struct mount_run r;

	(void)state;
	for (uint64_t turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < MOUNT_FRAMES; i++) {
			assert_true(want(&f, 10 * i + turn));
			assert_false(want(&f, 10 * i + turn));
		}
		assert_false(want(&f, 10000));
		for (uint64_t i = 0; i < MOUNT_FRAMES; i++) {
			assert_true(mount_frames_next(&f, &r));
			assert_int_equal(r.first, 10 * i + turn);
			assert_int_equal(r.n, 3);
			/* the ring's begin moves */
			if (i == turn)
				assert_true(want(&f, 20000));
		}
		assert_true(mount_frames_next(&f, &r));
		assert_int_equal(r.first, 20000);
		assert_false(mount_frames_next(&f, &r));
	}
}

/* Of so many that are wanted, these are taken. */
static unsigned taken(struct mount_frames *f, unsigned n)
{
	struct mount_run r;
	unsigned k = 0;

	for (uint64_t i = 0; i < n; i++) {
		want(f, i);
		k += mount_frames_next(f, &r);
	}
	return k;
}

/* The fewer names are known, the less often it is tried; until some are. */
static void test_futile(void **state)
{
	struct mount_frames f = { .n = 0 };

	(void)state;
	mount_frames_done(&f, 30, 30);
	mount_frames_done(&f, 0, 0);
	mount_frames_done(&f, 2, 1);
	assert_int_equal(taken(&f, 640), 640);
	mount_frames_done(&f, 30, 8);
	assert_int_equal(taken(&f, 640), 320);
	mount_frames_done(&f, 30, 1);
	assert_int_equal(taken(&f, 640), 160);
	for (int i = 0; i < 100; i++)
		mount_frames_done(&f, 30, 1);
	assert_int_equal(taken(&f, 640), 10);
	mount_frames_done(&f, 30, 9);
	assert_int_equal(taken(&f, 640), 640);
}

static void test_memory(void **state)
{
	struct mount_memory m = { 80 << 20, 40 << 20 };

	(void)state;
	assert_true(mount_fill_fits(&m, 20 << 20, 0));
	assert_false(mount_fill_fits(&m, (20 << 20) + 1, 0));
	assert_true(mount_fill_fits(&m, 16 << 20, 2048));
	assert_false(mount_fill_fits(&m, 16 << 20, 2049));
	assert_false(mount_fill_fits(&m, UINT64_MAX, UINT64_MAX));
	assert_true(mount_fill_goes_on(&m));
	m.available = 10 << 20;
	assert_true(mount_fill_goes_on(&m));
	m.available--;
	assert_false(mount_fill_goes_on(&m));
	m = (struct mount_memory){ UINT64_MAX, UINT64_MAX };
	assert_true(mount_fill_goes_on(&m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue),  cmocka_unit_test(test_done),
		cmocka_unit_test(test_frames), cmocka_unit_test(test_futile),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
