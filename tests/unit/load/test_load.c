/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader against the order as hpdsl_epoch_step() has it, and against the
 * members as hpdsl_member_read() has them: for orders, shares, ends, numbers of
 * threads, suffixes, choices and compressed chunks.
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
	struct load_case c = { .opt = load_base() };

	c.opt.epochs = 2;
	return c;
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
		assert_int_equal(c.stats.lanes, 24);
		assert_int_equal(c.stats.memory, HPDSL_LOADER_MEMORY);
		assert_int_equal(c.told_small + c.told_over, 0);
		assert_true(c.stats.reads > 0);
	}
}

static const struct hpdsl_order orders[] = {
	/* The defaults; all of them, but for the batch. */
	{ .seed = 0 },
	{ .seed = 1, .batch = 5 },
	/* One lane, and one sample. */
	{ .seed = 2, .batch = 1, .lanes = 1, .piece = 5, .windows = 1 },
	/* Lanes that give several samples to a step. */
	{ .seed = 3, .batch = 12, .lanes = 4, .piece = 7, .windows = 2 },
	{ .seed = 4, .batch = 16, .lanes = 1, .piece = 3, .windows = 4 },
	/* Lanes that several steps share. */
	{ .seed = 5, .batch = 3, .lanes = 21, .piece = 3, .windows = 3 },
	/* More lanes than samples, pieces larger than chunks. */
	{ .seed = 6, .batch = 2, .lanes = 300, .piece = 2, .windows = 1 },
	{ .seed = 7, .batch = 6, .lanes = 6, .piece = 40, .windows = 2 },
	/* Parts; more of them than chunks, and than lanes. */
	{ .seed = 8, .batch = 6, .lanes = 12, .piece = 2, .parts = 3 },
	{ .seed = 9, .batch = 6, .lanes = 6, .piece = 2, .parts = 20 },
	/* One step is more than there is. */
	{ .seed = 10, .batch = 256, .lanes = 64, .piece = 2, .windows = 2 },
	/* In stored order. */
	{ .seed = 11, .batch = 10, .plain = true },
	{ .seed = 12, .batch = 128, .plain = true },
};

static const enum hpdsl_end ends[] = { HPDSL_END_MASK, HPDSL_END_REPEAT,
				       HPDSL_END_DROP, HPDSL_END_SHORT };

static void test_orders(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(orders) * COUNT(ends); i++) {
		struct load_case c = base();

		c.opt.order = orders[i / COUNT(ends)];
		c.opt.end = ends[i % COUNT(ends)];
		load_check(load_plain, &c);
		c.opt.threads = HPDSL_SERIAL;
		c.hold = 2;
		load_check(load_plain, &c);
	}
}

/* In the middle of pieces, and at the very end, too. */
static void test_begin(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++)
		for (uint64_t step = 0; step <= 9; step += 1 + i % 3) {
			struct load_case c = base();

			c.opt.order = orders[i];
			c.opt.order.epoch = 5;
			c.opt.order.step = step;
			c.opt.end = ends[step % COUNT(ends)];
			if (orders[i].batch > 12 || !orders[i].batch)
				c.opt.order.step = 0;
			load_check(load_plain, &c);
		}
}

static void check_shares(const struct hpdsl_order *o, enum hpdsl_end end,
			 uint32_t ranks, uint32_t workers)
{
	uint64_t samples = 0;
	struct load_case c;

	for (uint32_t i = 0; i < ranks * workers; i++) {
		c = base();
		c.opt.order = *o;
		c.opt.end = end;
		c.opt.epochs = 1;
		c.opt.threads = i % 2 ? HPDSL_SERIAL : 2;
		c.opt.share = (struct hpdsl_share){
			.rank = i % ranks,
			.ranks = ranks,
			.worker = i / ranks,
			.workers = workers,
			.uneven = o->batch % ranks != 0,
		};
		load_check(load_plain, &c);
		samples += c.stats.samples;
	}
	if (end == HPDSL_END_MASK || end == HPDSL_END_SHORT)
		assert_int_equal(samples, LOAD_SAMPLES);
	if (end == HPDSL_END_DROP)
		assert_int_equal(samples, LOAD_SAMPLES / o->batch * o->batch);
}

/* All readers together have each sample once. */
static void test_shares(void **state)
{
	(void)state;
	for (size_t i = 1; i < COUNT(orders); i++)
		for (uint32_t ranks = 1; ranks <= 5; ranks += 1 + i % 2)
			for (uint32_t workers = 1; workers <= 3; workers++)
				if (ranks <= orders[i].batch)
					check_shares(&orders[i],
						     ends[(ranks + workers) %
							  COUNT(ends)],
						     ranks, workers);
}

static uint64_t draw(uint64_t below)
{
	static uint64_t dice = 1;

	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

/* What is left is dealt to all ranks anew, in any order, also where some of
 * them are left without a sample: each sample once. */
static void test_short(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		uint32_t ranks = (uint32_t)(2 + draw(5));
		uint64_t lanes = 1 + draw(12), by = 1 + draw(8);
		struct hpdsl_order o = { .seed = draw(100),
					 .batch = (uint32_t)(lanes * by),
					 .lanes = lanes,
					 .piece = 1 + draw(20) };

		if (i % 2)
			o = (struct hpdsl_order){
				.batch = (uint32_t)(1 + draw(220)),
				.plain = true,
			};
		if (o.batch >= ranks)
			check_shares(&o, HPDSL_END_SHORT, ranks,
				     (uint32_t)(1 + draw(2)));
	}
}

/* Neighbours are read at once, though they are dealt by slots. */
static void test_short_reads(void **state)
{
	struct load_case c = base();

	(void)state;
	c.opt.order = (struct hpdsl_order){ .batch = 128, .plain = true };
	c.opt.end = HPDSL_END_SHORT;
	c.opt.epochs = 1;
	c.opt.share = (struct hpdsl_share){ .rank = 1, .ranks = 2 };
	load_check(load_plain, &c);
	assert_int_equal(c.stats.samples, LOAD_SAMPLES - LOAD_SAMPLES / 2);
	assert_in_range(c.stats.reads, 1, 10);
}

/* Begun with some ranks, and gone on with others. */
static void test_other_ranks(void **state)
{
	(void)state;
	for (uint32_t ranks = 1; ranks <= 12; ranks++)
		for (uint32_t rank = 0; rank < ranks; rank += 1 + ranks / 4) {
			struct load_case c = base();

			c.opt.order = orders[3]; /* of lanes that are cut */
			c.opt.order.step = 4;
			c.opt.share = (struct hpdsl_share){
				.rank = rank,
				.ranks = ranks,
				.uneven = 12 % ranks,
			};
			load_check(load_plain, &c);
		}
}

/* What a rank is to have of each step. */
static void test_batch_size(void **state)
{
	struct hpdsl_loader *l = NULL;
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct load_case c = { .opt = { .batch_size = 5,
					.epochs = 1,
					.share = { .rank = 2, .ranks = 3 } } };
	struct hpdsl_state s;

	(void)state;
	load_check(load_plain, &c);
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_loader_new(ds, &c.opt, &l, NULL), 0);
	assert_int_equal(hpdsl_loader_next(l, &b, NULL), 1);
	assert_int_equal(b->n, 5);
	hpdsl_batch_release(b);
	hpdsl_loader_state(l, &s);
	assert_int_equal(s.order.batch, 15);
	assert_true(s.order.lanes && s.order.piece && s.order.windows &&
		    s.order.parts);
	hpdsl_loader_free(l);
	/* The state's batch holds, whatever the number of ranks. */
	c.opt.order = s.order;
	c.opt.batch_size = 0;
	c.opt.share = (struct hpdsl_share){ .rank = 1, .ranks = 5 };
	load_check(load_plain, &c);
	hpdsl_close(ds);
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

static void test_refused_shares(void **state)
{
	struct load_case c = base();

	(void)state;
	c.opt.share = (struct hpdsl_share){ .rank = 0, .ranks = 5 };
	refused(&c.opt, "a batch of 12: 5 ranks do not divide it; 4 or 6 do");
	c.opt.share = (struct hpdsl_share){ .rank = 2, .ranks = 2 };
	refused(&c.opt, "no rank 2 of 2");
	c.opt.share = (struct hpdsl_share){ .worker = 1 };
	refused(&c.opt, "worker 1 of 1");
	c.opt.share = (struct hpdsl_share){ .ranks = 13, .uneven = true };
	refused(&c.opt, "13 ranks cannot share a batch of 12 samples");
	c = base();
	c.opt.batch_size = 5;
	refused(&c.opt, "a batch of 12 is not 5 samples on each of 1 ranks");
	c = base();
	c.opt.order.step = 10;
	refused(&c.opt, "no step 10, the epoch has 9");
	c.opt.order.step = 9;
	c.opt.end = HPDSL_END_DROP;
	refused(&c.opt, "no step 9, the epoch has 8");
	c.opt.end = (enum hpdsl_end)4;
	refused(&c.opt, "no such end of an epoch: 4, and 3 is the last");
}

static void test_refused_orders(void **state)
{
	struct load_case c = base();

	(void)state;
	c.opt.order.batch = 1 << 30;
	c.opt.order.lanes = 1;
	refused(&c.opt, "steps are too large: 1073741824 samples of one are "
			"this reader's, and with this memory 8388608 can be");
	c.opt.order.batch = UINT32_MAX;
	refused(&c.opt, "steps are too large");
	c = base();
	c.opt.order.lanes = 18;
	refused(&c.opt,
		"lanes have to be a multiple or a divisor of batch: 18 and 12");
	c.opt.order.lanes = UINT64_C(12) << 32;
	refused(&c.opt, "order: 51539607552 lanes are too many: they have to "
			"be below 2^32");
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
	c.opt.order.batch = c.opt.order.lanes = 128;
	c.opt.end = HPDSL_END_DROP;
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, &err), 0);
	for (size_t i = 0; i < COUNT(epochs); i++) {
		c.opt.epochs = epochs[i];
		assert_int_equal(hpdsl_loader_new(ds, &c.opt, &l, &err), 0);
		assert_int_equal(hpdsl_loader_next(l, &b, &err), 0);
		hpdsl_loader_free(l);
	}
	/* Nor has a worker that none of an epoch's steps is for. */
	c.opt.end = HPDSL_END_MASK;
	c.opt.share = (struct hpdsl_share){ .worker = 1, .workers = 2 };
	assert_int_equal(hpdsl_loader_new(ds, &c.opt, &l, &err), 0);
	assert_int_equal(hpdsl_loader_next(l, &b, &err), 0);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* Of a choice another epoch may have a step for it, so all are looked at: but
 * they are not kept. */
static void test_barren_choice(void **state)
{
	static const uint64_t some[] = { 3, 14, 15 };
	const struct hpdsl_choice_options choose = { .samples = some,
						     .n_samples = 3 };
	const struct hpdsl_batch *b;
	struct load_case c = base();
	struct hpdsl_error err = { 0 };
	struct hpdsl_choice *choice;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;

	(void)state;
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, &err), 0);
	assert_int_equal(hpdsl_choose(ds, &choose, &choice, &err), 0);
	c.opt.choice = choice;
	c.opt.epochs = 100;
	c.opt.share = (struct hpdsl_share){ .worker = 1, .workers = 2 };
	assert_int_equal(hpdsl_loader_new(ds, &c.opt, &l, &err), 0);
	assert_int_equal(hpdsl_loader_next(l, &b, &err), 0);
	assert_int_equal(l->planner.next, c.opt.order.epoch + 100);
	assert_null(l->caller.epoch->next);
	hpdsl_loader_free(l);
	hpdsl_choice_free(choice);
	hpdsl_close(ds);
}

/* ---- What of a sample ------------------------------------------------- */

static void test_suffixes(void **state)
{
	static const char *const both[] = { "txt", ".jpg" };
	static const char *const cls[] = { "cls" };
	static const char *const none[] = { "png", "txt", "txt" };
	struct load_case c = base();

	(void)state;
	c.opt.suffixes = both;
	c.opt.n_suffixes = 2;
	load_check(load_plain, &c);
	assert_int_equal(c.stats.lacking, 2 * LOAD_NO_TXT);
	assert_int_equal(c.told_lacking, 1);
	c.opt.may_lack = true;
	load_check(load_plain, &c);
	assert_int_equal(c.stats.lacking, 2 * LOAD_NO_TXT);
	assert_int_equal(c.told_lacking, 0);
	c.opt.may_lack = false;
	c.opt.suffixes = cls;
	c.opt.n_suffixes = 1;
	load_check(load_plain, &c);
	assert_int_equal(c.stats.lacking + c.told_lacking, 0);
	c.opt.suffixes = none; /* the second of two equal ones gets it, too */
	c.opt.n_suffixes = 3;
	load_check(load_plain, &c);
	assert_int_equal(c.stats.lacking,
			 2 * (LOAD_SAMPLES - 1 + 2 * LOAD_NO_TXT));
	assert_int_equal(c.told_lacking, 3);
	c.opt.n_suffixes = 1; /* of no sample anything is read */
	load_check(load_plain, &c);
	assert_int_equal(c.stats.bytes, 0);
	assert_int_equal(c.stats.reads, 0);
}

/* A loader, the check alone and a count of its costs: all refuse it. */
static void all_refuse(const struct hpdsl_loader_options *opt, const char *text)
{
	const struct hpdsl_cost_options cost = { .suffixes = opt->suffixes,
						 .n_suffixes = opt->n_suffixes,
						 .memory = opt->memory };
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hpdsl_epoch *e = load_epoch(ds, opt);
	struct hpdsl_loader *l = NULL;
	struct hpdsl_epoch_cost of;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_loader_new(ds, opt, &l, &err), HPDSL_EUSAGE);
	assert_null(l);
	assert_string_equal(err.msg, text);
	assert_int_equal(hpdsl_loader_check(ds, opt, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, text);
	assert_int_equal(hpdsl_epoch_cost(e, ds, &cost, &of, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, text);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* The samples that have no txt. */
static struct hpdsl_choice *choose_no_txt(const struct hpdsl_dataset *ds)
{
	uint64_t few[LOAD_SAMPLES];
	struct hpdsl_choice *ret;
	struct hpdsl_sample s;
	size_t n = 0;

	for (uint64_t i = 0; i < LOAD_SAMPLES; i++) {
		assert_int_equal(hpdsl_sample_get(ds, i, &s, NULL), 0);
		if (atoi(s.key + strlen("c0/s")) % 4 == 0)
			few[n++] = i;
	}
	assert_int_equal(n, LOAD_NO_TXT);
	assert_int_equal(hpdsl_choose(ds,
				      &(struct hpdsl_choice_options){
					      .samples = few, .n_samples = n },
				      &ret, NULL),
			 0);
	return ret;
}

/* Who mistypes one is told, and is not given samples of no bytes. */
static void test_suffixes_of_none(void **state)
{
	static const char *const wrong[] = { "jpg", ".jpgg", "txt" };
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hpdsl_choice *choice = choose_no_txt(ds);
	struct hpdsl_loader_options opt = load_base();
	const struct hp_load_wanted w = { wrong, 2 };

	(void)state;
	opt.suffixes = wrong;
	opt.n_suffixes = 1;
	opt.memory = 1000;
	all_refuse(&opt, "a loader needs a memory of 16 MiB or more, not 1000 "
			 "bytes");
	opt.memory = 0;
	opt.n_suffixes = 3;
	all_refuse(&opt,
		   "suffix 'jpgg': no sample has such a member; there are "
		   "'cls', 'jpg', 'png', 'txt'");
	opt.choice = choice;
	opt.suffixes = wrong + 2;
	opt.n_suffixes = 1;
	all_refuse(&opt, "suffix 'txt': none of the samples chosen has such a "
			 "member; there are 'cls', 'jpg'");
	opt.choice = NULL;
	assert_int_equal(hpdsl_loader_check(ds, &opt, NULL), 0);
	/* Where there are too many to look at all, nobody knows. */
	assert_int_equal(hp_load_look(ds, NULL, &w, LOAD_SAMPLES, NULL),
			 HPDSL_EUSAGE);
	assert_int_equal(hp_load_look(ds, NULL, &w, LOAD_SAMPLES - 1, NULL), 0);
	hpdsl_choice_free(choice);
	hpdsl_close(ds);
}

static void test_compressed(void **state)
{
	static const char *const txt[] = { "txt" };
	struct load_case c = base();

	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++) {
		c.opt.order = orders[i];
		c.opt.end = ends[i % COUNT(ends)];
		load_check(load_zst, &c);
	}
	c = base();
	c.opt.suffixes = txt;
	c.opt.n_suffixes = 1;
	c.opt.share = (struct hpdsl_share){ .rank = 1, .ranks = 2 };
	load_check(load_zst, &c);
}

static void check_chosen(const struct hpdsl_choice_options *how)
{
	struct hpdsl_choice *choice;
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;

	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, &err), 0);
	assert_int_equal(hpdsl_choose(ds, how, &choice, &err), 0);
	for (size_t i = 0; i < COUNT(orders); i++) {
		struct load_case c = base();

		c.opt.choice = choice;
		c.opt.epochs = 3;
		c.opt.order = orders[i];
		c.opt.end = ends[i % COUNT(ends)];
		load_check(load_plain, &c);
		load_check(load_zst, &c);
		c.opt.share = (struct hpdsl_share){ .worker = 1, .workers = 2 };
		load_check(load_plain, &c);
		c.opt.share =
			(struct hpdsl_share){ .ranks = 2, .uneven = true };
		if (orders[i].batch > 1)
			load_check(load_plain, &c);
	}
	hpdsl_choice_free(choice);
	hpdsl_close(ds);
}

/* With gaps between samples, and samples that come several times. */
static void test_choices(void **state)
{
	static const uint64_t few[] = { 3, 4, 5, 77, 102 };
	static const uint64_t one[] = { 40 };
	static const uint64_t weights[] = { 5 * HPDSL_WEIGHT_ONE / 2, 0,
					    HPDSL_WEIGHT_ONE, 0 };

	(void)state;
	check_chosen(&(struct hpdsl_choice_options){ .samples = few,
						     .n_samples = 5 });
	check_chosen(&(struct hpdsl_choice_options){ .samples = one,
						     .n_samples = 1 });
	check_chosen(&(struct hpdsl_choice_options){ .class_weight = weights });
	check_chosen(&(struct hpdsl_choice_options){ .balanced = true });
	check_chosen(&(struct hpdsl_choice_options){ .split_from = 0,
						     .split_to = 300000000 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_begin),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_short_reads),
		cmocka_unit_test(test_other_ranks),
		cmocka_unit_test(test_batch_size),
		cmocka_unit_test(test_refused_shares),
		cmocka_unit_test(test_refused_orders),
		cmocka_unit_test(test_barren),
		cmocka_unit_test(test_barren_choice),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_suffixes_of_none),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_choices),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
