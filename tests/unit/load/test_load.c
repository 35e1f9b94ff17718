/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader against the order as hpdsl_epoch_step() has it, and against the
 * members as hpdsl_member_read() has them: for shares, ends, windows, bounds of
 * memory, numbers of threads, suffixes, choices and compressed chunks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"
#include "load_work.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct load_case base(void)
{
	return (struct load_case){
		.opt = { .order = { .seed = 7,
				    .window = 2,
				    .lanes = 4,
				    .run = 3,
				    .step_runs = 4 },
			 .epochs = 2,
			 .threads = 2 },
	};
}

/* ---- Orders and shares ------------------------------------------------ */

static void test_threads(void **state)
{
	static const uint32_t threads[] = { HPDSL_SERIAL, 1, 2, 3, 8, 0 };
	struct load_case c = base();
	uint64_t bytes = 0;

	(void)state;
	c.opt.epochs = 3;
	for (size_t i = 0; i < COUNT(threads); i++) {
		c.opt.threads = threads[i];
		load_check(load_plain, &c);
		assert_int_equal(c.stats.samples, 3 * LOAD_SAMPLES);
		assert_true(i == 0 || c.stats.bytes == bytes);
		bytes = c.stats.bytes;
		assert_false(c.stats.one_by_one);
		assert_true(c.stats.memory_peak <= c.stats.memory);
		assert_true(c.stats.reads > 0);
	}
}

static void test_orders(void **state)
{
	static const struct hpdsl_order orders[] = {
		{ .seed = 0 }, /* the defaults */
		{ .seed = 1,
		  .window = 1,
		  .lanes = 1,
		  .run = 1,
		  .step_runs = 1 },
		{ .seed = 2,
		  .window = 100,
		  .lanes = 1,
		  .run = 5,
		  .step_runs = 2 },
		{ .seed = 3,
		  .window = 1,
		  .lanes = 30,
		  .run = 2,
		  .step_runs = 3 },
		{ .seed = 4,
		  .window = 3,
		  .lanes = 6,
		  .run = 7,
		  .step_runs = 2,
		  .parts = 3 },
		{ .seed = 5,
		  .window = 2,
		  .lanes = 150,
		  .run = 1,
		  .step_runs = 7 },
		{ .seed = 6,
		  .window = 2,
		  .lanes = 2,
		  .run = 64,
		  .step_runs = 4 }, /* one step is more than there is */
	};
	static const enum hpdsl_end ends[] = { HPDSL_END_MASK, HPDSL_END_REPEAT,
					       HPDSL_END_DROP };

	(void)state;
	for (size_t i = 0; i < COUNT(orders) * COUNT(ends); i++) {
		struct load_case c = base();

		c.opt.order = orders[i / COUNT(ends)];
		c.opt.end = ends[i % COUNT(ends)];
		load_check(load_plain, &c);
	}
}

/* In the middle of windows, too. */
static void test_begin(void **state)
{
	(void)state;
	for (uint64_t step = 0; step <= 9; step++) {
		struct load_case c = base();

		c.opt.order.epoch = 5;
		c.opt.order.step = step;
		load_check(load_plain, &c);
	}
}

static void test_shares(void **state)
{
	(void)state;
	for (uint32_t ranks = 1; ranks <= 4; ranks++)
		for (uint32_t workers = 1; workers <= 3; workers++)
			for (uint32_t i = 0; i < ranks * workers; i++) {
				struct load_case c = base();

				c.opt.order.step = i % 3;
				c.opt.share = (struct hpdsl_share){
					.rank = i % ranks,
					.ranks = ranks,
					.worker = i / ranks,
					.workers = workers,
					.uneven = ranks == 3,
				};
				load_check(load_plain, &c);
			}
}

static void refused(const struct hpdsl_loader_options *opt, const char *why)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;

	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, &err), 0);
	assert_int_equal(hpdsl_loader_new(ds, opt, &l, &err), HPDSL_EUSAGE);
	if (!strstr(err.msg, why))
		fail_msg("%s", err.msg);
	hpdsl_close(ds);
}

static void test_refused(void **state)
{
	struct load_case c = base();

	(void)state;
	c.opt.share = (struct hpdsl_share){ .rank = 0, .ranks = 3 };
	refused(&c.opt, "3 ranks do not divide a step of 4 runs (uneven: ");
	c.opt.share = (struct hpdsl_share){ .rank = 2, .ranks = 2 };
	refused(&c.opt, "no rank 2 of 2");
	c.opt.share = (struct hpdsl_share){ .worker = 1 };
	refused(&c.opt, "worker 1 of 1");
	c.opt.share = (struct hpdsl_share){ .ranks = 5, .uneven = true };
	refused(&c.opt, "5 ranks cannot share");
	c = base();
	c.opt.order.step = 10;
	refused(&c.opt, "no step 10, the epoch has 9");
	c = base();
	c.opt.order.run = 1 << 20;
	c.opt.order.step_runs = 1 << 10;
	refused(&c.opt, "steps are too large");
	c.opt.order.run = c.opt.order.step_runs = UINT32_MAX;
	refused(&c.opt, "steps are too large");
	c = base();
	c.opt.order.parts = 3;
	refused(&c.opt, "parts");
	c = base();
	c.opt.memory = (16 << 20) - 1;
	refused(&c.opt, "memory of 16 MiB or more, not 16777215 bytes");
	c = base();
	c.opt.threads = 4097;
	refused(&c.opt, "4097 threads are too many: 4096 at most");
}

/* Endless, or as good as that, but none of its epochs has a step: it ends. */
static void test_barren(void **state)
{
	static const uint64_t epochs[] = { 0, UINT64_MAX };
	const struct hpdsl_batch *b;
	struct load_case c = base();
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;

	(void)state;
	c.opt.order.run = 64;
	c.opt.end = HPDSL_END_DROP;
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, &err), 0);
	for (size_t i = 0; i < COUNT(epochs); i++) {
		c.opt.epochs = epochs[i];
		assert_int_equal(hpdsl_loader_new(ds, &c.opt, &l, &err), 0);
		assert_int_equal(hpdsl_loader_next(l, &b, &err), 0);
		hpdsl_loader_free(l);
	}
	hpdsl_close(ds);
}

/* ---- What of a sample ------------------------------------------------- */

static void test_suffixes(void **state)
{
	static const char *const both[] = { "txt", "jpg" };
	static const char *const cls[] = { "cls" };
	static const char *const none[] = { "png", "txt", "txt" };
	struct load_case c = base();

	(void)state;
	c.opt.suffixes = both;
	c.opt.n_suffixes = 2;
	load_check(load_plain, &c);
	c.opt.suffixes = cls;
	c.opt.n_suffixes = 1;
	load_check(load_plain, &c);
	c.opt.suffixes = none; /* the second of two equal ones gets it, too */
	c.opt.n_suffixes = 3;
	load_check(load_plain, &c);
	c.opt.n_suffixes = 1; /* of no sample anything is read */
	load_check(load_plain, &c);
	assert_int_equal(c.stats.bytes, 0);
	assert_int_equal(c.stats.reads, 0);
}

static void test_compressed(void **state)
{
	static const char *const txt[] = { "txt" };
	struct load_case c = base();

	(void)state;
	load_check(load_zst, &c);
	c.opt.suffixes = txt;
	c.opt.n_suffixes = 1;
	c.opt.share = (struct hpdsl_share){ .rank = 1, .ranks = 2 };
	load_check(load_zst, &c);
}

static void check_chosen(const struct hpdsl_choice_options *how)
{
	struct load_case c = base();
	struct hpdsl_choice *choice;
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;

	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, &err), 0);
	assert_int_equal(hpdsl_choose(ds, how, &choice, &err), 0);
	c.opt.choice = choice;
	c.opt.epochs = 3;
	load_check(load_plain, &c);
	c.opt.share = (struct hpdsl_share){ .worker = 1, .workers = 2 };
	load_check(load_plain, &c);
	hpdsl_choice_free(choice);
	hpdsl_close(ds);
}

/* Samples that an epoch has several times are read once. */
static void test_choices(void **state)
{
	static const uint64_t few[] = { 3, 4, 5, 77, 102 };
	static const uint64_t weights[] = { 5 * HPDSL_WEIGHT_ONE / 2, 0,
					    HPDSL_WEIGHT_ONE, 0 };

	(void)state;
	check_chosen(&(struct hpdsl_choice_options){ .samples = few,
						     .n_samples = 5 });
	check_chosen(&(struct hpdsl_choice_options){ .class_weight = weights });
	check_chosen(&(struct hpdsl_choice_options){ .split_from = 0,
						     .split_to = 300000000 });
}

/* ---- Memory ----------------------------------------------------------- */

static struct load_case big(void)
{
	struct load_case c = base();

	c.opt.order.run = 1;
	c.opt.memory = 16 << 20;
	return c;
}

/* 30 MB of windows in 16 MiB. */
static void test_one_by_one(void **state)
{
	struct load_case c = big();

	(void)state;
	c.opt.order.window = 4;
	for (uint32_t threads = 1; threads <= 4; threads += 3) {
		c.opt.threads = threads;
		load_check(load_big, &c);
		assert_true(c.stats.one_by_one);
		assert_int_equal(c.warned, 1);
		assert_true(c.stats.windows_bytes > 16 << 20);
		assert_true(c.stats.memory_peak <= 16 << 20);
	}
	c.opt.threads = HPDSL_SERIAL;
	load_check(load_big, &c);
}

/* Windows that fit, but not all that is read ahead. */
static void test_bound(void **state)
{
	struct load_case c = big();

	(void)state;
	c.opt.order.window = 1;
	c.opt.order.lanes = 2;
	c.opt.cache = HPDSL_CACHE_KEEP;
	for (uint32_t threads = 1; threads <= 4; threads += 3) {
		c.opt.threads = threads;
		load_check(load_big, &c);
		assert_false(c.stats.one_by_one);
		assert_int_equal(c.warned, 0);
		assert_true(c.stats.memory_peak <= 16 << 20);
	}
	c.hold = 2;
	load_check(load_big, &c);
}

/*
 * Endless, and nothing is to be read: what is planned ahead is bounded all the
 * same.
 */
static void test_nothing_to_read(void **state)
{
	static const char *const none[] = { "png" };
	struct load_case c = base();
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	uint64_t n = 0;

	(void)state;
	c.opt.epochs = 0;
	c.opt.suffixes = none;
	c.opt.n_suffixes = 1;
	c.opt.threads = HPDSL_SERIAL;
	c.opt.memory = 16 << 20;
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_loader_new(ds, &c.opt, &l, NULL), 0);
	pthread_mutex_lock(&l->lock);
	while (hp_load_work(l))
		assert_true(n++ < 1000000);
	pthread_mutex_unlock(&l->lock);
	hpdsl_loader_stats(l, &c.stats);
	assert_true(c.stats.memory_peak <= c.stats.memory);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* A step of 33 MB. */
static void test_over(void **state)
{
	struct load_case c = big();

	(void)state;
	c.opt.order.run = 12;
	load_check(load_big, &c);
	assert_true(c.warned >= 1);
	assert_true(c.stats.memory_peak > 33 << 20);
	assert_true(c.stats.memory_peak < 72 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_begin),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_barren),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_over),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
