/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader when something is wrong: damaged samples, batches that are kept,
 * every operation and every allocation that fails; and where it is then.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_fault.h"
#include "load_work.h"
#include "shell.h"

/* ---- Damaged samples -------------------------------------------------- */

enum { BAD_A = 20, BAD_B = 21, BAD_C = 77 };

/* A copy of the dataset in which some samples' first bytes are changed. */
static void damage(char to[200])
{
	static const uint64_t bad[] = { BAD_A, BAD_B, BAD_C };
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);

	snprintf(to, 200, "%s", packed_at(&load_fix, "damaged"));
	run("rm -rf %s && cp -r %s %s", to, load_plain, to);
	for (int i = 0; i < 3; i++) {
		struct hpdsl_sample s;
		struct hpdsl_member m;
		struct hpdsl_chunk c;
		char name[400];

		assert_int_equal(hpdsl_sample_get(ds, bad[i], &s, NULL), 0);
		do /* .cls comes first */
			assert_int_equal(hpdsl_member_get(ds, s.first_member++,
							  &m, NULL),
					 0);
		while (!strstr(m.path, ".jpg"));
		assert_true(m.size > 0);
		assert_int_equal(hpdsl_chunk_get(ds, m.chunk, &c, NULL), 0);
		snprintf(name, sizeof name, "%s/%s", to, c.name);
		packed_flip(name, m.offset, 3);
	}
	hpdsl_close(ds);
}

static bool is_bad(uint64_t sample)
{
	return sample == BAD_A || sample == BAD_B || sample == BAD_C;
}

struct told {
	uint64_t sample[8];
	int n;
};

static void tell(void *arg, const struct hpdsl_damage *d)
{
	struct told *t = arg;

	assert_non_null(d->file);
	assert_non_null(strstr(d->file, "chunk-"));
	assert_non_null(strstr(d->path, ".jpg"));
	assert_string_equal(d->reason, "checksum differs");
	assert_true(t->n < 8);
	t->sample[t->n++] = d->sample;
}

static void test_skip_bad(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct told told = { .n = 0 };
	const struct hpdsl_batch *b;
	struct hpdsl_loader_stats st;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	char dir[200];
	int bad = 0;

	(void)state;
	damage(dir);
	ds = load_open(dir, NULL);
	opt.skip_bad = true;
	opt.bad = tell;
	opt.arg = &told;
	l = load_new(ds, &opt);
	while (hpdsl_loader_next(l, &b, NULL) == 1) {
		for (size_t i = 0; i < b->n; i++) {
			assert_int_equal(b->bad[i], is_bad(b->number[i]));
			if (!b->bad[i])
				continue;
			assert_int_equal(told.sample[bad++], b->number[i]);
			assert_null(b->data[i]);
			assert_int_equal(b->size[i], 0);
			assert_null(b->member_data[b->first[i]]);
		}
		hpdsl_batch_release(b);
	}
	hpdsl_loader_stats(l, &st);
	assert_true(bad >= 3);
	assert_int_equal(told.n, bad);
	assert_int_equal(st.bad_samples, bad);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* Who is told of the first one and stops is told of no other. */
static void tell_and_stop(void *arg, const struct hpdsl_damage *d)
{
	int *stop = arg;

	(void)d;
	assert_int_equal(*stop, 0);
	*stop = 1;
}

static void test_stop_when_bad(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_error err = { 0 };
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	char dir[200];
	int stop = 0, r;

	(void)state;
	damage(dir);
	ds = load_open(dir, NULL);
	opt.order.batch = opt.order.lanes = LOAD_SAMPLES; /* all in one step */
	opt.skip_bad = true;
	opt.bad = tell_and_stop;
	opt.arg = &stop;
	opt.watch.stop = &stop;
	l = load_new(ds, &opt);
	while ((r = hpdsl_loader_next(l, &b, &err)) == 1)
		hpdsl_batch_release(b);
	assert_int_equal(stop, 1);
	assert_int_equal(r, HPDSL_ESTOPPED);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* The steps that have one are errors; all others come. */
static void test_bad(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_epoch *e;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct hpdsl_loader_stats st;
	struct hpdsl_state at;
	char dir[200];
	uint64_t reached = 0;
	int bad = 0;

	(void)state;
	damage(dir);
	ds = load_open(dir, NULL);
	e = load_epoch(ds, &opt);
	l = load_new(ds, &opt);
	for (uint64_t s = 0; s < hpdsl_epoch_steps(e, opt.end); s++) {
		struct hpdsl_error err = { 0 };
		const struct hpdsl_batch *b = NULL;
		struct hpdsl_place place[12];
		bool has = false;
		int r = hpdsl_loader_next(l, &b, &err);

		assert_int_equal(
			hpdsl_epoch_step(e, opt.end, s, NULL, place, 12, NULL),
			12);
		for (int i = 0; i < 12; i++)
			has = has || is_bad(place[i].sample);
		if (!has) {
			assert_int_equal(r, 1);
			assert_int_equal(b->step, s);
			load_check_batch(ds, &opt, e, b);
			hpdsl_batch_release(b);
			reached = s + 1;
			continue;
		}
		bad++;
		hpdsl_loader_stats(l, &st);
		assert_int_equal(st.failed_steps, bad);
		assert_int_equal(st.steps + st.failed_steps, s + 1);
		/* A job that ends here begins with it again. */
		hpdsl_loader_state(l, &at);
		assert_int_equal(at.order.step, reached);
		assert_int_equal(r, HPDSL_ECORRUPT);
		assert_null(b);
		assert_non_null(strstr(err.msg, "chunk-"));
		assert_non_null(strstr(err.msg, "checksum differs"));
	}
	assert_true(bad > 0);
	hpdsl_loader_free(l);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* Nobody compares: what is there comes. */
static void test_unchecked(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_loader_stats st;
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct hpdsl_error err;
	char dir[200];
	int r;

	(void)state;
	damage(dir);
	ds = load_open(dir, NULL);
	opt.unchecked = true;
	l = load_new(ds, &opt);
	while ((r = hpdsl_loader_next(l, &b, &err)) == 1)
		hpdsl_batch_release(b);
	assert_int_equal(r, 0);
	hpdsl_loader_stats(l, &st);
	assert_true(st.unchecked);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* ---- Batches that are kept -------------------------------------------- */

static void keep_all(uint64_t lanes, uint32_t threads)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds = load_open(load_big, NULL);
	const struct hpdsl_batch *held[16];
	struct hpdsl_error err = { 0 };
	struct hpdsl_loader_stats st;
	struct hpdsl_loader *l;
	uint32_t n = 0, all = 0;
	int r;

	opt.order.batch = 4;
	opt.order.lanes = lanes;
	opt.memory = 16 << 20;
	opt.threads = threads;
	l = load_new(ds, &opt);
	while ((r = hpdsl_loader_next(l, &held[n], &err)) == 1) {
		n++;
		all++;
		assert_true(n < 12);
	}
	assert_int_equal(r, -ENOBUFS);
	assert_non_null(strstr(err.msg, "not released"));
	assert_true(n >= 2);
	/* Nothing is lost, and it goes on. */
	assert_int_equal(hpdsl_loader_next(l, &held[n], &err), -ENOBUFS);
	while (n)
		hpdsl_batch_release(held[--n]);
	while ((r = hpdsl_loader_next(l, &held[0], &err)) == 1) {
		assert_int_equal(held[0]->step, all);
		all++;
		hpdsl_batch_release(held[0]);
	}
	assert_int_equal(r, 0);
	assert_int_equal(all, LOAD_BIG / 4);
	hpdsl_loader_stats(l, &st);
	assert_true(st.memory_peak <= st.memory);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

static void test_keep_all(void **state)
{
	(void)state;
	for (uint64_t lanes = 2; lanes <= 16; lanes *= 2) {
		for (uint32_t threads = 1; threads <= 3; threads++)
			keep_all(lanes, threads);
		keep_all(lanes, HPDSL_SERIAL);
	}
}

/* ---- Where it is ------------------------------------------------------ */

static void check_state(const struct hpdsl_loader *l,
			const struct hpdsl_dataset *ds, uint64_t epoch,
			uint64_t step, struct hpdsl_state *ret)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_state s;
	char text[HPDSL_STATE_MAX];
	size_t n;

	hpdsl_loader_state(l, &s);
	n = hpdsl_state_format(&s, text);
	assert_int_equal(hpdsl_state_parse(text, n, "it", ret, &err), 0);
	assert_int_equal(hpdsl_state_check(ret, ds, NULL, "it", &err), 0);
	assert_int_equal(ret->order.epoch, epoch);
	assert_int_equal(ret->order.step, step);
}

/* Two workers, stopped after five steps, go on as a rank of two. */
static void test_state(void **state)
{
	struct load_case c = { .opt = load_base() };
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hpdsl_loader *l[2];
	struct hpdsl_state s;

	(void)state;
	for (uint32_t w = 0; w < 2; w++) {
		c.opt.share = (struct hpdsl_share){ .worker = w, .workers = 2 };
		l[w] = load_new(ds, &c.opt);
		check_state(l[w], ds, 0, 0, &s);
	}
	for (uint64_t step = 0; step < 5; step++) {
		const struct hpdsl_batch *b;

		assert_int_equal(hpdsl_loader_next(l[step % 2], &b, NULL), 1);
		assert_int_equal(b->step, step);
		check_state(l[step % 2], ds, 0, step + 1, &s);
		hpdsl_batch_release(b);
	}
	hpdsl_loader_free(l[0]);
	hpdsl_loader_free(l[1]);
	c.opt.order = s.order;
	for (uint32_t rank = 0; rank < 2; rank++) {
		c.opt.share = (struct hpdsl_share){ .rank = rank, .ranks = 2 };
		load_check(load_plain, &c);
	}
	/* The end of an epoch is a place, too. */
	c.opt.order.step = 9;
	c.opt.epochs = 2;
	load_check(load_plain, &c);
	hpdsl_close(ds);
}

/* ---- Whatever fails --------------------------------------------------- */

struct fault {
	const char *dir;
	const struct hp_io *io;
	uint32_t threads;
	bool whole; /* set: nothing was wrong */
};

/* All steps, or errors; what comes is right. */
static void load_all(struct fault *f, const struct hpdsl_dataset *good)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_epoch *e = NULL;
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	int r, failed = 0;

	f->whole = false;
	opt.threads = f->threads;
	if (hpdsl_open(f->dir, f->io, &ds, &err) < 0)
		return;
	if (hpdsl_loader_new(ds, &opt, &l, &err) < 0) {
		assert_true(err.msg[0]);
		hpdsl_close(ds);
		return;
	}
	for (;;) {
		const struct hpdsl_batch *b;

		r = hpdsl_loader_next(l, &b, &err);
		if (r == 0)
			break;
		if (r < 0) {
			assert_true(err.msg[0]);
			assert_int_equal(err.code, r);
			if (++failed > 12)
				break; /* it cannot plan */
			continue;
		}
		for (size_t i = 0; i < b->n; i++)
			assert_int_equal(b->bad[i], 0);
		if (good) {
			if (!e)
				e = load_epoch(good, &opt);
			load_check_batch(good, &opt, e, b);
		}
		hpdsl_batch_release(b);
	}
	f->whole = r == 0 && !failed;
	hpdsl_loader_free(l);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

static void fail_operations(const char *dir, uint32_t threads)
{
	struct fault none = { .dir = dir, .threads = threads };
	struct hpdsl_dataset *good = load_open(dir, NULL);
	struct each_fault e = { .code = -EIO };
	int fds;

	load_all(&none, good);
	assert_true(none.whole);
	fds = count_fds(); /* all that good keeps open */
	while (each_fault(&e)) {
		struct fault f = { .dir = dir,
				   .io = &e.f.io,
				   .threads = threads };

		load_all(&f, good);
		assert_int_equal(count_fds(), fds);
		if (!e.f.failed)
			assert_true(f.whole);
	}
	assert_true(e.k > 20);
	hpdsl_close(good);
}

static void test_operations(void **state)
{
	(void)state;
	fail_operations(load_plain, HPDSL_SERIAL);
	fail_operations(load_plain, 3);
	fail_operations(load_zst, HPDSL_SERIAL);
}

static void fail_allocations(uint32_t threads)
{
	int fds = count_fds();
	struct each_alloc e = { .k = 0 };

	while (each_alloc(&e)) {
		struct fault f = { .dir = load_plain, .threads = threads };

		each_alloc_begin(&e);
		load_all(&f, NULL);
		each_alloc_end(&e);
		assert_int_equal(count_fds(), fds);
		if (e.last)
			assert_true(f.whole);
	}
	assert_true(e.k > 40);
}

static void test_allocations(void **state)
{
	(void)state;
	fail_allocations(HPDSL_SERIAL);
	fail_allocations(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skip_bad),
		cmocka_unit_test(test_stop_when_bad),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_unchecked),
		cmocka_unit_test(test_keep_all),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_allocations),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
