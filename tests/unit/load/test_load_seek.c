/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader that is sent to another step gives what one gives that was made to
 * begin there, wherever it was, and whatever is out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gateio.h"
#include "load/load.h"
#include "load_work.h"
#include "shell.h"

static uint64_t seed = 1;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (seed >> 33) % n;
}

static void go(struct hpdsl_loader *l, uint64_t epoch, uint64_t step)
{
	struct hpdsl_error err;

	if (hpdsl_loader_seek(l, epoch, step, &err) < 0)
		fail_msg("%s", err.msg);
}

static const struct hpdsl_batch *next(struct hpdsl_loader *l)
{
	const struct hpdsl_batch *b;
	struct hpdsl_error err;
	int r = hpdsl_loader_next(l, &b, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
	return r ? b : NULL;
}

/* The same samples, and the same bytes of them. */
static void same(const struct hpdsl_batch *a, const struct hpdsl_batch *b)
{
	assert_int_equal(a->epoch, b->epoch);
	assert_int_equal(a->step, b->step);
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->number, b->number, a->n * sizeof *a->number);
	assert_memory_equal(a->mask, b->mask, a->n);
	assert_memory_equal(a->size, b->size, a->n * sizeof *a->size);
	for (size_t i = 0; i < a->n; i++)
		if (a->size[i])
			assert_memory_equal(a->data[i], b->data[i], a->size[i]);
}

/* Some batches as of a loader that begins there, or to the end. */
static void as_new(struct hpdsl_loader *l, const struct hpdsl_dataset *ds,
		   struct hpdsl_loader_options opt, uint64_t batches)
{
	struct hpdsl_state at;
	struct hpdsl_loader *other;

	hpdsl_loader_state(l, &at);
	if (at.order.epoch >= opt.epochs) {
		assert_null(next(l));
		return;
	}
	opt.order = at.order;
	opt.epochs -= at.order.epoch;
	other = load_new(ds, &opt);
	while (batches--) {
		const struct hpdsl_batch *a = next(l), *b = next(other);
		struct hpdsl_state now, then;

		assert_int_equal(!a, !b);
		if (!a)
			break;
		same(a, b);
		hpdsl_batch_release(a);
		hpdsl_batch_release(b);
		hpdsl_loader_state(l, &now);
		hpdsl_loader_state(other, &then);
		assert_int_equal(now.order.epoch, then.order.epoch);
		assert_int_equal(now.order.step, then.order.step);
	}
	hpdsl_loader_free(other);
}

static void there_and_back(const char *dataset, struct hpdsl_loader_options opt)
{
	struct hpdsl_dataset *ds = load_open(dataset, NULL);
	struct hpdsl_loader *l;

	opt.epochs = 3;
	l = load_new(ds, &opt);
	for (int i = 0; i < 10; i++) {
		uint64_t epoch = dice(4);
		uint64_t steps = hpdsl_loader_steps(l, epoch);

		go(l, epoch, dice(steps + 1));
		as_new(l, ds, opt, dice(2 * steps + 3));
	}
	/* At once, and again: nothing may have been asked for between. */
	for (int i = 0; i < 25; i++)
		go(l, dice(3), 1);
	as_new(l, ds, opt, 4);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

static void gives_what_a_new_one_gives(void **state)
{
	struct hpdsl_loader_options opt = load_base();

	(void)state;
	there_and_back(load_plain, opt);
	there_and_back(load_zst, opt);
	opt.end = HPDSL_END_DROP;
	opt.share.ranks = 2;
	opt.share.rank = 1;
	there_and_back(load_plain, opt);
	opt.share = (struct hpdsl_share){ .worker = 1, .workers = 3 };
	opt.end = HPDSL_END_REPEAT;
	there_and_back(load_zst, opt);
	opt = load_base();
	opt.threads = HPDSL_SERIAL;
	there_and_back(load_plain, opt);
	opt = load_base();
	opt.shared = true;
	opt.memory = HPDSL_LOADER_MEMORY_LEAST;
	there_and_back(load_big, opt);
}

/* What is out stays as it is, and gives its memory back when it is released. */
static void batches_that_are_out_stay(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds = load_open(load_big, NULL);
	struct hpdsl_epoch *e = load_epoch(ds, &opt);
	const struct hpdsl_batch *out[8];
	struct hpdsl_loader_stats st;
	struct hpdsl_loader *l;

	(void)state;
	opt.memory = UINT64_C(64) << 20;
	l = load_new(ds, &opt);
	for (int k = 0; k < 16; k++) {
		uint32_t n = 1 + (uint32_t)dice(2);

		for (uint32_t i = 0; i < n; i++) {
			go(l, 0, dice(hpdsl_loader_steps(l, 0)));
			out[i] = next(l);
			assert_non_null(out[i]);
		}
		go(l, 1, 0);
		for (uint32_t i = 0; i < n; i++) {
			load_check_batch(ds, &opt, e, out[i]);
			hpdsl_batch_release(out[i]);
		}
	}
	hpdsl_loader_stats(l, &st);
	assert_true(st.memory_peak <= st.memory);
	out[0] = next(l);
	hpdsl_loader_free(l);
	hpdsl_batch_release(out[0]);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* Reads that hang are not waited for, whether a batch was begun or not, and
 * what they bring in the end is nobody's. */
static void reads_that_hang_are_left_alone(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds;
	const struct hpdsl_batch *b;
	struct hpdsl_loader_stats st;
	struct hpdsl_error err;
	struct hpdsl_loader *l;
	struct gateio g;

	(void)state;
	gateio_init(&g);
	g.name[0] = "chunk-";
	ds = load_open(load_plain, &g.io);
	opt.wait_ms = 1;
	opt.epochs = 40;
	opt.cache = HPDSL_CACHE_KEEP; /* by the descriptors that hang */
	l = load_new(ds, &opt);
	for (uint64_t k = 0; k < 30; k++) {
		int r;

		gateio_shut(&g, true);
		go(l, k, k % 9);
		gateio_await(&g, 1);
		if (k % 2)
			while ((r = hpdsl_loader_next(l, &b, &err)) == 1)
				hpdsl_batch_release(b);
		if (k % 2)
			assert_int_equal(r, -EAGAIN);
		go(l, k + 1, k % 7);
		gateio_shut(&g, false);
		do
			r = hpdsl_loader_next(l, &b, &err);
		while (r == -EAGAIN);
		assert_int_equal(r, 1);
		assert_int_equal(b->epoch, k + 1);
		assert_int_equal(b->step, k % 7);
		hpdsl_batch_release(b);
	}
	hpdsl_loader_stats(l, &st);
	assert_true(st.memory_peak <= st.memory);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

static void errors_change_nothing(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hpdsl_error err;
	struct hpdsl_loader *l;
	const struct hpdsl_batch *b;
	int stop = 0;

	(void)state;
	opt.epochs = 1;
	opt.watch.stop = &stop;
	l = load_new(ds, &opt);
	hpdsl_batch_release(next(l));
	assert_int_equal(
		hpdsl_loader_seek(l, 0, hpdsl_loader_steps(l, 0) + 1, &err),
		HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, "no step"));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(hpdsl_loader_seek(l, 0, 0, &err), HPDSL_ESTOPPED);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	assert_int_equal(hpdsl_loader_seek(NULL, 0, 0, &err), HPDSL_ESTOPPED);
	b = next(l);
	assert_int_equal(b->step, 1);
	hpdsl_batch_release(b);
	/* The end is a place like others, and one can come back from it. */
	go(l, 0, hpdsl_loader_steps(l, 0));
	assert_null(next(l));
	go(l, 1, 0);
	assert_null(next(l));
	go(l, 0, 2);
	b = next(l);
	assert_int_equal(b->step, 2);
	hpdsl_batch_release(b);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_what_a_new_one_gives),
		cmocka_unit_test(batches_that_are_out_stay),
		cmocka_unit_test(reads_that_hang_are_left_alone),
		cmocka_unit_test(errors_change_nothing),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
