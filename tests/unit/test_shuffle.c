/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan does to the order of a list: every class everywhere, every
 * sample at every place equally often, chunks of equal counts.  Seeds are
 * fixed, so no test fails by chance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make_list.h"
#include "plan/plan.h"

enum { CLASSES = 20, MAX_CELLS = 64 };

static const uint64_t seeds[] = { 0, 1, 2, 42, UINT64_C(1) << 63, UINT64_MAX };

#define SEEDS (sizeof seeds / sizeof *seeds)

/* Classes one behind the other, of so many samples each, one file a sample. */
static void add_classes(struct hp_list *list, unsigned classes,
			unsigned samples)
{
	char path[64];

	list_begin(list, (uint64_t)classes * samples);
	for (unsigned c = 0; c < classes; c++) {
		for (unsigned s = 0; s < samples; s++) {
			snprintf(path, sizeof path, "class%02u/%06u.png", c, s);
			list_add(list, path);
		}
	}
}

static void make_samples(struct hp_list *list)
{
	assert_int_equal(hp_list_sort(list, NULL), 0);
	assert_int_equal(hp_list_group(list, HPDSL_GROUP_KEY, NULL), 0);
	assert_int_equal(list->n_samples, list->n_files);
}

static void sorted_classes(struct hp_list *list, unsigned classes,
			   unsigned samples)
{
	add_classes(list, classes, samples);
	make_samples(list);
}

static void plan_it(struct hp_plan *plan, const struct hp_list *list,
		    uint64_t chunks, uint64_t seed)
{
	struct hpdsl_pack_options opt = { .chunks = chunks, .seed = seed };

	assert_int_equal(hp_plan_make(plan, list, &opt, NULL), 0);
}

/* Counts of things that are in a row and in a column. */
struct table {
	unsigned rows, columns;
	uint32_t count[MAX_CELLS][MAX_CELLS];
};

/*
 * Chi-squared against independence of row and column, in standard deviations
 * from its mean.  Far above: they depend on each other.  Far below: the counts
 * are more even than chance makes them, so the order is no random one.
 */
static double deviation(const struct table *t)
{
	double row[MAX_CELLS] = { 0 }, column[MAX_CELLS] = { 0 }, n = 0;
	double chi = 0, freedom = (t->rows - 1.0) * (t->columns - 1.0);

	for (unsigned i = 0; i < t->rows; i++) {
		for (unsigned k = 0; k < t->columns; k++) {
			row[i] += t->count[i][k];
			column[k] += t->count[i][k];
			n += t->count[i][k];
		}
	}
	for (unsigned i = 0; i < t->rows; i++) {
		for (unsigned k = 0; k < t->columns; k++) {
			double expected = row[i] * column[k] / n;
			double d = t->count[i][k] - expected;

			chi += d * d / expected;
		}
	}
	return (chi - freedom) / sqrt(2 * freedom);
}

/* Samples by chunk and class. */
static void count_classes(const struct hp_plan *plan, struct table *t,
			  unsigned per_class)
{
	*t = (struct table){ .rows = plan->n_chunks, .columns = CLASSES };
	for (uint32_t c = 0; c < plan->n_chunks; c++)
		for (uint64_t p = hp_plan_first(plan, c);
		     p < hp_plan_first(plan, c + 1); p++)
			t->count[c][hp_plan_sample(plan, p) / per_class]++;
}

static void test_classes(void **state)
{
	const uint64_t chunks[] = { 2, 7, 16, 60 };
	const unsigned per_class = 250;
	struct hp_list list;

	(void)state;
	sorted_classes(&list, CLASSES, per_class);
	for (size_t i = 0; i < SEEDS; i++) {
		for (size_t k = 0; k < 4; k++) {
			struct hp_plan plan;
			struct table t;

			plan_it(&plan, &list, chunks[k], seeds[i]);
			count_classes(&plan, &t, per_class);
			assert_true(fabs(deviation(&t)) < 4);
			hp_plan_release(&plan);
		}
	}
	hp_list_release(&list);
}

/* The measure itself: it must see the order that was never shuffled. */
static void test_measure(void **state)
{
	const struct hpdsl_pack_options opt = { .chunks = 16,
						.shuffle = HPDSL_SHUFFLE_NONE };
	struct hp_list list;
	struct hp_plan plan;
	struct table t;

	(void)state;
	sorted_classes(&list, CLASSES, 250);
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	count_classes(&plan, &t, 250);
	assert_true(deviation(&t) > 1000);
	/* Dealt out in turn: every chunk alike, and no shuffle either. */
	for (unsigned i = 0; i < t.rows; i++)
		for (unsigned k = 0; k < t.columns; k++)
			t.count[i][k] = 15 + (i + k) % 2;
	assert_true(deviation(&t) < -4);
	hp_plan_release(&plan);
	hp_list_release(&list);
}

/* Over many seeds, each of a few samples comes to each place. */
static void check_few(unsigned n)
{
	struct table t = { .rows = n, .columns = n };
	struct hp_list list;

	sorted_classes(&list, 1, n);
	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct hp_plan plan;

		plan_it(&plan, &list, 1, seed);
		for (unsigned p = 0; p < n; p++)
			t.count[hp_plan_sample(&plan, p)][p]++;
		hp_plan_release(&plan);
	}
	if (n == 1)
		assert_int_equal(t.count[0][0], 20000);
	else
		assert_true(fabs(deviation(&t)) < 4);
	hp_list_release(&list);
}

static void test_few(void **state)
{
	const unsigned ns[] = { 1, 2, 3, 5, 17 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		check_few(ns[i]);
}

/* One shuffle of many: where samples come from against where they go to. */
static void check_many(const struct hp_plan *plan)
{
	struct table t = { .rows = 50, .columns = 50 };
	uint64_t n = plan->n_samples, stay = 0, neighbours = 0;
	double mean = (double)(n - 1) / 2, sum = 0, square = 0;

	for (uint64_t p = 0; p < n; p++) {
		uint64_t s = hp_plan_sample(plan, p);
		uint64_t next = p + 1 < n ? hp_plan_sample(plan, p + 1) : s;

		t.count[s * 50 / n][p * 50 / n]++;
		stay += s == p;
		neighbours += s + 1 == next || next + 1 == s;
		sum += ((double)s - mean) * ((double)p - mean);
		square += ((double)p - mean) * ((double)p - mean);
	}
	assert_true(fabs(deviation(&t)) < 4);
	/* One and two are to be expected, whatever n is. */
	assert_true(stay <= 7);
	assert_true(neighbours <= 10);
	/* Correlation of old and new place. */
	assert_true(fabs(sum / square) < 4 / sqrt((double)n));
}

static void test_many(void **state)
{
	const unsigned ns[] = { 20000, 65536, 100003 };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct hp_list list;

		sorted_classes(&list, 1, ns[k]);
		for (size_t i = 0; i < SEEDS; i++) {
			struct hp_plan plan;

			plan_it(&plan, &list, 10, seeds[i]);
			check_many(&plan);
			hp_plan_release(&plan);
		}
		hp_list_release(&list);
	}
}

/* Orders of two seeds have nothing to do with each other. */
static void test_seeds(void **state)
{
	struct hp_plan plan[SEEDS];
	struct hp_list list;

	(void)state;
	sorted_classes(&list, CLASSES, 500);
	for (size_t i = 0; i < SEEDS; i++) {
		plan_it(&plan[i], &list, 10, seeds[i]);
		for (size_t k = 0; k < i; k++) {
			uint64_t same = 0;

			for (uint64_t p = 0; p < list.n_samples; p++)
				same += hp_plan_sample(&plan[i], p) ==
					hp_plan_sample(&plan[k], p);
			assert_true(same <= 7);
		}
	}
	for (size_t i = 0; i < SEEDS; i++)
		hp_plan_release(&plan[i]);
	hp_list_release(&list);
}

/* How many chunks there are does not change the order. */
static void test_cut_only(void **state)
{
	struct hp_list list;
	struct hp_plan a, b;

	(void)state;
	sorted_classes(&list, CLASSES, 10);
	plan_it(&a, &list, 1, 7);
	plan_it(&b, &list, 60, 7);
	for (uint64_t p = 0; p < list.n_samples; p++)
		assert_int_equal(hp_plan_sample(&a, p), hp_plan_sample(&b, p));
	hp_plan_release(&a);
	hp_plan_release(&b);
	hp_list_release(&list);
}

/* Members come out in the order of their keys, whatever order went in. */
static void test_none(void **state)
{
	const struct hpdsl_pack_options opt = { .chunks = 13,
						.shuffle = HPDSL_SHUFFLE_NONE };
	const char *last = "";
	struct hp_plan_place at;
	struct hp_list list;
	struct hp_plan plan;
	struct hp_plan_walk w;
	uint64_t n = 0, random = 5;

	(void)state;
	add_classes(&list, CLASSES, 30);
	list_shuffle(&list, &random);
	make_samples(&list);
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	hp_plan_walk_begin(&w, &plan, 0, list.n_samples);
	while (hp_plan_walk_next(&w, &at) > 0) {
		assert_true(strcmp(last, list.files[at.file].path) < 0);
		last = list.files[at.file].path;
		n++;
	}
	assert_int_equal(n, CLASSES * 30);
	hp_plan_release(&plan);
	hp_list_release(&list);
}

static void check_counts(const struct hp_list *list, uint64_t chunks)
{
	uint64_t least = UINT64_MAX, most = 0;
	struct hp_plan plan;

	plan_it(&plan, list, chunks, 0);
	assert_int_equal(plan.n_chunks, chunks);
	for (uint32_t c = 0; c < plan.n_chunks; c++) {
		uint64_t n =
			hp_plan_first(&plan, c + 1) - hp_plan_first(&plan, c);

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	assert_true(least >= 1 && most - least <= 1);
	assert_int_equal(hp_plan_first(&plan, plan.n_chunks), list->n_samples);
	hp_plan_release(&plan);
}

static void test_counts(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 60; n++) {
		struct hp_list list;

		sorted_classes(&list, 1, n);
		for (uint64_t chunks = 1; chunks <= n; chunks++)
			check_counts(&list, chunks);
		hp_list_release(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes), cmocka_unit_test(test_measure),
		cmocka_unit_test(test_few),	cmocka_unit_test(test_many),
		cmocka_unit_test(test_seeds),	cmocka_unit_test(test_cut_only),
		cmocka_unit_test(test_none),	cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
