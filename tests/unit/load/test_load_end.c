/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader when something comes at the wrong time: reads that take long, a
 * stop, an end in the middle, with batches out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "load/load.h"
#include "load_work.h"
#include "shell.h"
#include "sys/io.h"
#include "until.h"

/* ---- Reads that take long --------------------------------------------- */

/* The system's reads, which wait at a gate. */
struct gate {
	struct hp_io io;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool shut;
	int waiting;
};

static ssize_t gate_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			  uint64_t off)
{
	struct gate *g = (struct gate *)io;

	pthread_mutex_lock(&g->lock);
	g->waiting++;
	pthread_cond_broadcast(&g->moved);
	while (g->shut)
		pthread_cond_wait(&g->moved, &g->lock);
	g->waiting--;
	pthread_mutex_unlock(&g->lock);
	return hp_io_system.pread(&hp_io_system, fd, buf, n, off);
}

/* Reads of the index are over, those of chunks wait. */
static struct hpdsl_dataset *open_gated(struct gate *g)
{
	struct hpdsl_dataset *ds = NULL;

	assert_int_equal(
		hpdsl_open_with(load_plain, HPDSL_OPEN_COPY, &g->io, &ds, NULL),
		0);
	return ds;
}

static void gate_init(struct gate *g)
{
	*g = (struct gate){ .io = hp_io_system };
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->moved, NULL);
	g->io.pread = gate_pread;
}

static void gate_set(struct gate *g, bool shut)
{
	pthread_mutex_lock(&g->lock);
	g->shut = shut;
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

static void gate_wait(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	while (!g->waiting)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void test_wait(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_error err = { 0 };
	const struct hpdsl_batch *b;
	struct hpdsl_loader_stats st;
	struct hpdsl_dataset *ds;
	struct hpdsl_epoch *e;
	struct hpdsl_loader *l;
	struct gate g;
	int stop = 0;

	(void)state;
	gate_init(&g);
	ds = open_gated(&g);
	e = load_epoch(ds, &opt);
	gate_set(&g, true);
	opt.wait_ms = 1;
	opt.watch.stop = &stop;
	l = load_new(ds, &opt);
	gate_wait(&g);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hpdsl_loader_next(l, &b, &err), -EAGAIN);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(hpdsl_loader_next(l, &b, &err), HPDSL_ESTOPPED);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	gate_set(&g, false);
	for (uint64_t s = 0; s < hpdsl_epoch_steps(e, opt.end); s++) {
		int r;

		do
			r = hpdsl_loader_next(l, &b, &err);
		while (r == -EAGAIN);
		assert_int_equal(r, 1);
		assert_int_equal(b->step, s);
		load_check_batch(ds, &opt, e, b);
		hpdsl_batch_release(b);
	}
	hpdsl_loader_stats(l, &st);
	assert_true(st.stall_seconds > 0 && st.stall_seconds <= st.seconds);
	hpdsl_loader_free(l);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* Each of some calls gives up after so long. */
static void gives_up(uint32_t wait_ms)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_error err = { 0 };
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct gate g;

	gate_init(&g);
	ds = open_gated(&g);
	gate_set(&g, true);
	opt.wait_ms = wait_ms;
	opt.threads = 1; /* so that nobody wakes it */
	l = load_new(ds, &opt);
	gate_wait(&g);
	clock_still(true);
	for (int i = 0; i < 6; i++) {
		double began = hp_now();

		assert_int_equal(hpdsl_loader_next(l, &b, &err), -EAGAIN);
		assert_true(fabs(hp_now() - began - wait_ms / 1e3) < 1e-4);
	}
	clock_still(false);
	gate_set(&g, false);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* It looks at other things in between, but does not wait for that time. */
static void test_gives_up(void **state)
{
	(void)state;
	gives_up(1);
	gives_up(120);
}

static void charge(struct hpdsl_loader *l, int64_t bytes)
{
	pthread_mutex_lock(&l->lock);
	hp_arena_charge(&l->arena, bytes);
	pthread_mutex_unlock(&l->lock);
}

static void wait_for_sleep(struct hpdsl_loader *l)
{
	bool asleep = false;

	while (!asleep) {
		sched_yield();
		pthread_mutex_lock(&l->lock);
		asleep = l->asleep == l->threads;
		pthread_mutex_unlock(&l->lock);
	}
}

/* Memory that nobody was told of is used as soon as the caller waits. */
static void test_wakes(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_error err = { 0 };
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct gate g;

	(void)state;
	gate_init(&g);
	ds = open_gated(&g);
	gate_set(&g, true);
	opt.threads = 1;
	opt.wait_ms = 60000; /* then nobody comes */
	l = load_new(ds, &opt);
	gate_wait(&g);
	charge(l, (int64_t)l->memory);
	gate_set(&g, false);
	wait_for_sleep(l);
	charge(l, -(int64_t)l->memory);
	if (hpdsl_loader_next(l, &b, &err) != 1)
		fail_msg("%s", err.msg);
	assert_true(((const struct hp_load_batch *)b)->units > 1);
	hpdsl_batch_release(b);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

static void *set_stop(void *arg)
{
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* It is seen by one who waits, and nobody tells. */
static void test_stop(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	pthread_t id;
	struct gate g;
	int stop = 0;

	(void)state;
	gate_init(&g);
	ds = open_gated(&g);
	gate_set(&g, true);
	opt.watch.stop = &stop;
	l = load_new(ds, &opt);
	gate_wait(&g);
	assert_int_equal(pthread_create(&id, NULL, set_stop, &stop), 0);
	assert_int_equal(hpdsl_loader_next(l, &b, NULL), HPDSL_ESTOPPED);
	pthread_join(id, NULL);
	gate_set(&g, false);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

static void count_warning(void *arg, const char *text)
{
	(void)text;
	++*(int *)arg;
}

/* Once that is known, no thread tells anything, whatever it still finds. */
static void test_silence(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	int stop = 0, told = 0;
	const struct hpdsl_batch *b;
	struct hpdsl_loader *l;

	(void)state;
	opt.watch.stop = &stop;
	opt.watch.warn = count_warning;
	opt.watch.arg = &told;
	l = load_new(ds, &opt);
	hp_load_warn(l, "before");
	assert_int_equal(told, 1);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(hpdsl_loader_next(l, &b, NULL), HPDSL_ESTOPPED);
	hp_load_warn(l, "behind");
	assert_int_equal(told, 1);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* Reads that hang are not waited for, and nothing is told behind it. */
static void test_leave(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	int stop = 0, told = 0;
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct gate g;

	(void)state;
	gate_init(&g);
	ds = open_gated(&g);
	gate_set(&g, true);
	opt.watch.stop = &stop;
	opt.watch.warn = count_warning;
	opt.watch.arg = &told;
	l = load_new(ds, &opt);
	gate_wait(&g);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	hpdsl_loader_leave(l);
	assert_int_equal(hpdsl_loader_next(l, &b, NULL), HPDSL_ESTOPPED);
	hp_load_warn(l, "behind");
	assert_int_equal(told, 0);
	hpdsl_loader_leave(NULL);
	hpdsl_loader_leave(l);
	gate_set(&g, false);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

static void *open_gate(void *arg)
{
	gate_set(arg, false);
	return NULL;
}

/* A child has neither the threads nor a say in what they do. */
static void drop_in_child(struct hpdsl_loader *l, const struct hpdsl_batch *b)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		const struct hpdsl_batch *next;

		alarm(UNTIL_SECONDS);
		if (hpdsl_loader_next(l, &next, NULL) != HPDSL_EUSAGE)
			_exit(1);
		hpdsl_batch_release(b);
		hpdsl_loader_free(l);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Loaded from ds, which is closed before they are looked at. */
static void check_left(const struct hpdsl_loader_options *opt,
		       const struct hpdsl_batch **left, int n)
{
	struct hpdsl_dataset *good = load_open(load_plain, NULL);
	struct hpdsl_epoch *e = load_epoch(good, opt);

	for (int i = 0; i < n; i++) {
		load_check_batch(good, opt, e, left[i]);
		hpdsl_batch_release(left[i]);
	}
	hpdsl_epoch_free(e);
	hpdsl_close(good);
}

/* At any time, with batches out and reads under way. */
static void test_end(void **state)
{
	int threads = count_threads(), fds = count_fds();

	(void)state;
	for (int after = 0; after <= 9; after++) {
		struct hpdsl_loader_options opt = load_base();
		const struct hpdsl_batch *b[9];
		struct hpdsl_dataset *ds;
		struct hpdsl_loader *l;
		struct gate g;
		pthread_t id;
		int n = 0;

		gate_init(&g);
		ds = open_gated(&g);
		gate_set(&g, after == 0);
		opt.epochs = 0;
		l = load_new(ds, &opt);
		for (int i = 0; i < after; i++) {
			assert_int_equal(hpdsl_loader_next(l, &b[n], NULL), 1);
			if (i % 2)
				hpdsl_batch_release(b[n]);
			else
				n++;
		}
		if (after == 0)
			gate_wait(&g);
		drop_in_child(l, n ? b[0] : NULL);
		assert_int_equal(pthread_create(&id, NULL, open_gate, &g), 0);
		hpdsl_loader_free(l);
		pthread_join(id, NULL);
		hpdsl_close(ds);
		check_left(&opt, b, n);
	}
	assert_int_equal(count_threads(), threads);
	assert_int_equal(count_fds(), fds);
}

static uint64_t bytes_of(const struct hpdsl_batch *b)
{
	const struct hp_load_batch *is = (const struct hp_load_batch *)b;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < is->units; i++)
		sum += is->unit[i]->place.bytes;
	return sum;
}

/* Batches that outlive the loader keep their own shares, and no other pages. */
static void test_end_keeps_little(void **state)
{
	static const int order[] = { 1, 0, 2 };
	struct hpdsl_loader_options opt = load_base();
	const struct hpdsl_batch *b[3];
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hpdsl_epoch *e = load_epoch(ds, &opt);
	struct hpdsl_loader *l = load_new(ds, &opt);
	uint64_t bytes = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hpdsl_loader_next(l, &b[i], NULL), 1);
		bytes += bytes_of(b[i]);
	}
	hpdsl_loader_free(l);
	for (int i = 0; i < 3; i++) {
		const struct hpdsl_batch *next = b[order[i]];

		assert_true(l->arena.used > 0);
		assert_true(l->arena.used <= bytes);
		assert_int_equal(l->arena.warm, 0);
		load_check_batch(ds, &opt, e, next);
		bytes -= bytes_of(next);
		hpdsl_batch_release(next);
	}
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* Where a loader was freed, or there never was one. */
static void test_none(void **state)
{
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_loader *l = load_new(ds, &opt);
	const struct hpdsl_batch *b;
	struct hpdsl_loader_stats st;
	struct hpdsl_error err;
	struct hpdsl_state s;
	const void *base_of;
	size_t size;
	int fd;

	(void)state;
	assert_int_equal(hpdsl_loader_mapping(l, &fd, &base_of, &size, &err),
			 HPDSL_EUSAGE);
	hpdsl_loader_freep(&l);
	assert_null(l);
	hpdsl_loader_freep(&l);
	hpdsl_loader_free(NULL);
	hpdsl_batch_release(NULL);
	assert_int_equal(hpdsl_loader_next(l, &b, &err), HPDSL_ESTOPPED);
	assert_int_equal(hpdsl_loader_mapping(l, &fd, &base_of, &size, &err),
			 HPDSL_EUSAGE);
	hpdsl_loader_stats(l, &st);
	hpdsl_loader_state(l, &s);
	assert_true(st.steps == 0 && st.memory == 0 && s.order.batch == 0);
	assert_int_equal(hpdsl_loader_steps(l, 0), 0);
	hpdsl_close(ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_gives_up),
		cmocka_unit_test(test_wakes),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_end_keeps_little),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
