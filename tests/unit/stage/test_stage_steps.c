/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a stage directory in each of its states: those of the table in
 * libhpdsl(3) may come, all others are HPDSL_EUSAGE, and nothing has changed.
 */
#include "shell.h"
#include "stage_work.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum call { HAS_INDEX, PUT_INDEX, BEGIN, PUBLISH, NEW, END, UNDO, CALLS };

static const char *const called[] = {
	[HAS_INDEX] = "hpdsl_stage_has_index",
	[PUT_INDEX] = "hpdsl_stage_put_index",
	[BEGIN] = "hpdsl_stage_begin",
	[PUBLISH] = "hpdsl_stage_publish",
	[NEW] = "hpdsl_stager_new",
	[END] = "hpdsl_stage_end",
	[UNDO] = "hpdsl_stage_undo",
};

/* A directory, and all that its calls take. */
struct steps {
	struct work w;
	uint64_t capacity, weight[4];
	uint32_t order[4], holder[4];
	struct hpdsl_stage_plan *plan;
	struct hpdsl_stager *stager;
	struct hpdsl_error err;
};

static bool lacks(void *arg, uint32_t node, uint64_t chunk)
{
	const struct steps *t = arg;

	(void)node;
	return !hpdsl_stage_holds(t->w.s, chunk);
}

static int new_stager(struct steps *t)
{
	const struct hpdsl_stager_options opt = {
		.origin = work_plain,
		.plan = t->plan,
		.holder = t->holder,
		.lacks = lacks,
		.arg = t,
		.threads = 1,
	};

	return hpdsl_stager_new(t->w.s, &opt, &t->stager, &t->err);
}

static int call(struct steps *t, enum call which)
{
	const struct hpdsl_stage_begin b = { .pack = &t->w.pack };

	switch (which) {
	case HAS_INDEX:
		return hpdsl_stage_has_index(t->w.s, &t->w.pack, &t->err);
	case PUT_INDEX:
		return hpdsl_stage_put_index(t->w.s, &t->w.pack, "x", 1,
					     &t->err);
	case BEGIN:
		return hpdsl_stage_begin(t->w.s, &b, &t->err);
	case PUBLISH:
		return hpdsl_stage_publish(t->w.s, t->plan, &t->err);
	case NEW:
		return new_stager(t);
	case UNDO:
		return hpdsl_stage_undo(t->w.s, &t->err);
	default:
		return hpdsl_stage_end(t->w.s, 0, &t->err);
	}
}

static void must(struct steps *t, enum call which)
{
	int r = call(t, which);

	if (r < 0)
		fail_msg("%s: %s", called[which], t->err.msg);
}

/* Names, sizes, contents and all times but those of access. */
static void look(const char *to)
{
	run("cd %s && { stat -c '%%n %%i %%h %%s %%a %%y %%z' . $(ls -A); "
	    "cksum $(ls -A); } > %s/%s",
	    work_dir, work_fix.top, to);
}

static void out_of_order(struct steps *t, enum call which, const char *where)
{
	char want[400];
	int r = call(t, which);

	snprintf(want, sizeof want, "%s: %s() is out of order: %s", work_dir,
		 called[which], where);
	if (r != HPDSL_EUSAGE)
		fail_msg("%s: %d", want, r);
	assert_int_equal(t->err.code, HPDSL_EUSAGE);
	assert_string_equal(t->err.msg, want);
	if (which == NEW)
		assert_null(t->stager);
}

/* All that may not come now; may: bits of enum call. */
static void all_but(struct steps *t, unsigned may, const char *where)
{
	look("before");
	for (enum call c = 0; c < CALLS; c++)
		if (!(may & 1U << c))
			out_of_order(t, c, where);
	look("after");
	run("cmp %s/before %s/after", work_fix.top, work_fix.top);
}

static void open_it(struct steps *t)
{
	const struct hpdsl_stage_at at = { .nodes = 1 };

	memset(t, 0, sizeof *t);
	assert_int_equal(hpdsl_stage_source_open(work_plain, NULL, &t->w.source,
						 &t->err),
			 0);
	hpdsl_stage_source_pack(t->w.source, &t->w.pack);
	assert_int_equal(t->w.pack.chunks, 4);
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &t->w.s, &t->err), 0);
}

static void make_plan(struct steps *t)
{
	const struct hpdsl_stage_wish wish = { .nodes = 1,
					       .capacity = &t->capacity,
					       .chunks = 4,
					       .weight = t->weight,
					       .order = t->order };

	t->capacity = UINT64_MAX / 4;
	for (uint32_t i = 0; i < 4; i++) {
		t->order[i] = i;
		t->holder[i] = UINT32_MAX;
		t->weight[i] = 1000;
	}
	assert_int_equal(hpdsl_stage_plan_new(&wish, &t->plan, &t->err), 0);
}

static void close_it(struct steps *t)
{
	hpdsl_stager_free(t->stager);
	hpdsl_stage_plan_free(t->plan);
	work_release(&t->w);
}

/* Those that cannot say so. */
static void check_not_begun(struct steps *t)
{
	uint64_t weight[4] = { 1, 2, 3, 4 };

	assert_null(hpdsl_stage_dataset(t->w.s));
	assert_false(hpdsl_stage_holds(t->w.s, 0));
	hpdsl_stage_weights(t->w.s, weight);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(weight[i], i + 1);
	assert_int_equal(hpdsl_stage_surplus(t->w.s, t->plan), 0);
	hpdsl_stage_beat(t->w.s);
}

static void test_each_state(void **unused)
{
	struct steps t;

	(void)unused;
	work_fresh();
	open_it(&t);
	make_plan(&t);
	all_but(&t,
		1U << HAS_INDEX | 1U << PUT_INDEX | 1U << BEGIN | 1U << UNDO,
		"the directory is opened, and not begun");
	check_not_begun(&t);
	assert_int_equal(call(&t, HAS_INDEX), 0);
	assert_int_equal(call(&t, BEGIN), -ENOENT);
	must(&t, PUT_INDEX);
	all_but(&t, 1U << PUT_INDEX | 1U << UNDO,
		"pieces of the index are coming");
	check_not_begun(&t);
	/* What came is not the index: as if nothing had come. */
	assert_int_equal(
		hpdsl_stage_put_index(t.w.s, &t.w.pack, NULL, 0, &t.err),
		HPDSL_ECORRUPT);
	assert_int_equal(call(&t, HAS_INDEX), 0);
	assert_int_equal(work_put_index(&t.w, &t.err), 0);
	assert_int_equal(call(&t, HAS_INDEX), 1);
	must(&t, BEGIN);
	all_but(&t, 1U << PUBLISH | 1U << END | 1U << UNDO,
		"it is begun, and no plan is published");
	must(&t, PUBLISH);
	all_but(&t, 1U << PUBLISH | 1U << NEW | 1U << END,
		"a plan is published, and no stager is at work");
	must(&t, PUBLISH);
	must(&t, END);
	all_but(&t, 0, "it has ended");
	assert_non_null(hpdsl_stage_dataset(t.w.s));
	assert_false(work_status().at_work);
	close_it(&t);
}

/* A stager that has nothing to do: all that it might write is here. */
static void test_stager(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_stager *first;
	struct steps t;

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	open_it(&t);
	make_plan(&t);
	must(&t, BEGIN);
	must(&t, PUBLISH);
	must(&t, NEW);
	first = t.stager;
	t.stager = NULL;
	all_but(&t, 1U << PUBLISH, "its stager is at work");
	must(&t, PUBLISH);
	hpdsl_stager_free(first);
	must(&t, NEW);
	hpdsl_stager_free(t.stager);
	t.stager = NULL;
	must(&t, END);
	all_but(&t, 0, "it has ended");
	close_it(&t);
	assert_true(work_status().complete);
}

/* One that could not be made leaves no trace; nor does an end before all. */
static void test_failures(void **unused)
{
	struct steps t;

	(void)unused;
	work_fresh();
	open_it(&t);
	make_plan(&t);
	assert_int_equal(work_put_index(&t.w, &t.err), 0);
	must(&t, BEGIN);
	must(&t, PUBLISH);
	close(t.w.s->lock);
	t.w.s->lock = -1;
	assert_int_equal(call(&t, NEW), -EBADF);
	assert_int_equal(call(&t, NEW), -EBADF);
	must(&t, END);
	close_it(&t);
	work_fresh();
	/* Closed without an end: it has one. */
	open_it(&t);
	make_plan(&t);
	assert_int_equal(work_put_index(&t.w, &t.err), 0);
	must(&t, BEGIN);
	must(&t, PUBLISH);
	close_it(&t);
	assert_false(work_status().at_work);
	assert_false(work_status().complete);
}

/* As if it had not been there; and what was there is there. */
static void test_undo(void **unused)
{
	static const enum call upto[] = { HAS_INDEX, PUT_INDEX, BEGIN };
	struct work w = { .job = NULL };
	struct steps t;

	(void)unused;
	for (int i = 0; i < 9; i++) {
		work_fresh();
		if (i / 3)
			run("mkdir -m 700 %s", work_dir);
		if (i / 3 == 2)
			run("touch %s", work_at(".stage.lock"));
		open_it(&t);
		if (upto[i % 3] == BEGIN)
			assert_int_equal(work_put_index(&t.w, &t.err), 0);
		if (upto[i % 3] != HAS_INDEX)
			must(&t, upto[i % 3]);
		must(&t, UNDO);
		out_of_order(&t, UNDO, "it has ended");
		out_of_order(&t, END, "it has ended");
		close_it(&t);
		assert_int_equal(work_has(""), i / 3 > 0);
		run("[ -z \"$(ls -A %s 2> /dev/null)\" ]", work_dir);
	}
	work_must(&w, work_plain);
	open_it(&t);
	must(&t, BEGIN);
	look("before");
	must(&t, UNDO);
	look("after");
	run("cmp %s/before %s/after", work_fix.top, work_fix.top);
	close_it(&t);
	assert_int_equal(work_status().ready, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_state),
		cmocka_unit_test(test_stager),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_undo),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
