/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a power failure at any moment, whatever of what was not synced is lost,
 * what is there is refused or right, and the same command again ends where an
 * undisturbed one does.  In check-long all states; else a thousand of them.
 */
#include "crash_pack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct crash_way other = { .chunks = 5, .seed = 2, .zstd = 3 };
static const struct crash_way force = { .chunks = 3, .seed = 1, .force = true };
static const struct crash_way both = { 3, 1, true, true, 0 };

/* One that is replaced is there or beside, and whole. */
static void check_replaced(struct memio *m, const struct scene *s, bool done)
{
	size_t n;

	crash_check_out(m, s, done);
	assert_true(scene_verify(m, "out") == 0 ||
		    (!memio_bytes(m, "out/index.hpdsl", &n) &&
		     scene_verify(m, ".out.hpdsl-old") == 0));
}

/* ---- Pack ------------------------------------------------------------- */

static int run_pack(const struct hp_io *io, bool again_,
		    struct hpdsl_error *err)
{
	return crash_pack(io, again_ ? crash_again : crash_fresh, err);
}

static void test_pack(void **state)
{
	struct scene s = { .put = scene_put_tree,
			   .run = run_pack,
			   .check = crash_check_out };

	(void)state;
	scene_play(&s);
}

/* Some of a pack's chunks are done. */
static void put_some_of(struct memio *m, struct crash_way w, int some)
{
	static struct crash c;
	uint8_t fate[CRASH_OPS];
	struct memio *half;
	size_t k = 0;

	scene_put_tree(m);
	crash_begin(&c, m);
	crash_must_pack(m, w);
	crash_end(&c);
	while (some -= c.op[k].kind == CRASH_MOVE)
		k++;
	crash_choose(&c, k + 1, 0, false, fate);
	half = crash_build(&c, k + 1, fate);
	memio_swap(m, half);
	memio_free(half);
	crash_release(&c);
}

static void put_half(struct memio *m)
{
	put_some_of(m, crash_fresh, 1);
}

static int run_again(const struct hp_io *io, bool again_,
		     struct hpdsl_error *err)
{
	(void)again_;
	return crash_pack(io, crash_again, err);
}

static void test_resume(void **state)
{
	struct scene s = { .put = put_half,
			   .run = run_again,
			   .check = crash_check_out };

	(void)state;
	scene_play(&s);
}

static void put_other(struct memio *m)
{
	scene_put_tree(m);
	crash_must_pack(m, other);
}

static int run_force(const struct hp_io *io, bool again_,
		     struct hpdsl_error *err)
{
	return crash_pack(io, again_ ? both : force, err);
}

static void play_replace(void)
{
	struct scene s = { .put = put_other,
			   .run = run_force,
			   .check = check_replaced };

	crash_old = memio_new();
	put_other(crash_old);
	scene_play(&s);
	memio_free(crash_old);
	crash_old = NULL;
}

static void test_force(void **state)
{
	(void)state;
	play_replace();
}

static void test_force_two_steps(void **state)
{
	(void)state;
	memio_no_exchange = true;
	play_replace();
	memio_no_exchange = false;
}

static void put_other_unfinished(struct memio *m)
{
	put_some_of(m, other, 5);
}

/* Resumed if it can be, else once more from the beginning. */
static int run_afresh(const struct hp_io *io, bool again_,
		      struct hpdsl_error *err)
{
	if (again_ && crash_pack(io, crash_again, err) == 0)
		return 0;
	return crash_pack(io, again_ ? both : force, err) == 0 ?
		       0 :
		       crash_pack(io, force, err);
}

static void test_force_unfinished(void **state)
{
	struct scene s = { .put = put_other_unfinished,
			   .run = run_afresh,
			   .check = crash_check_out };

	(void)state;
	scene_play(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_force),
		cmocka_unit_test(test_force_two_steps),
		cmocka_unit_test(test_force_unfinished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
