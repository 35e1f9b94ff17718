/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader when something is wrong, or comes at the wrong time: damaged
 * samples, batches that are kept, reads that take long, an end in the middle,
 * every operation and every allocation that fails.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faultio.h"
#include "load/load.h"
#include "load_work.h"
#include "shell.h"
#include "wrap.h"

static struct hpdsl_loader_options base(void)
{
	return (struct hpdsl_loader_options){
		.order = { .seed = 7,
			   .window = 2,
			   .lanes = 4,
			   .run = 3,
			   .step_runs = 4 },
		.epochs = 1,
		.threads = 2,
	};
}

static struct hpdsl_dataset *open_it(const char *dir, const struct hp_io *io)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open(dir, io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

static struct hpdsl_loader *new_loader(const struct hpdsl_dataset *ds,
				       const struct hpdsl_loader_options *opt)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_loader *l = NULL;

	if (hpdsl_loader_new(ds, opt, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

static struct hpdsl_epoch *new_epoch(const struct hpdsl_dataset *ds,
				     const struct hpdsl_loader_options *opt)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_epoch *e = NULL;

	if (hpdsl_epoch_new(ds, opt->choice, &opt->order, &e, &err) < 0)
		fail_msg("%s", err.msg);
	return e;
}

/* ---- Damaged samples -------------------------------------------------- */

enum { BAD_A = 20, BAD_B = 21, BAD_C = 77 };

/* A copy of the dataset in which some samples' first bytes are changed. */
static void damage(char to[200])
{
	static const uint64_t bad[] = { BAD_A, BAD_B, BAD_C };
	struct hpdsl_dataset *ds = open_it(load_plain, NULL);

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
	struct hpdsl_loader_options opt = base();
	struct told told = { .n = 0 };
	const struct hpdsl_batch *b;
	struct hpdsl_loader_stats st;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	char dir[200];
	int bad = 0;

	(void)state;
	damage(dir);
	ds = open_it(dir, NULL);
	opt.skip_bad = true;
	opt.bad = tell;
	opt.arg = &told;
	l = new_loader(ds, &opt);
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

/* The steps that have one are errors; all others come. */
static void test_bad(void **state)
{
	struct hpdsl_loader_options opt = base();
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
	ds = open_it(dir, NULL);
	e = new_epoch(ds, &opt);
	l = new_loader(ds, &opt);
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
	struct hpdsl_loader_options opt = base();
	struct hpdsl_loader_stats st;
	const struct hpdsl_batch *b;
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct hpdsl_error err;
	char dir[200];
	int r;

	(void)state;
	damage(dir);
	ds = open_it(dir, NULL);
	opt.unchecked = true;
	l = new_loader(ds, &opt);
	while ((r = hpdsl_loader_next(l, &b, &err)) == 1)
		hpdsl_batch_release(b);
	assert_int_equal(r, 0);
	hpdsl_loader_stats(l, &st);
	assert_true(st.unchecked);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* ---- Batches that are kept -------------------------------------------- */

static void keep_all(bool windows, uint32_t threads)
{
	struct hpdsl_loader_options opt = base();
	struct hpdsl_dataset *ds = open_it(load_big, NULL);
	const struct hpdsl_batch *held[16];
	struct hpdsl_error err = { 0 };
	struct hpdsl_loader_stats st;
	struct hpdsl_loader *l;
	uint32_t n = 0, all = 0;
	int r;

	opt.order.run = 1;
	opt.order.lanes = 2;
	opt.order.window = windows ? 1 : 6;
	opt.memory = 16 << 20;
	opt.threads = threads;
	l = new_loader(ds, &opt);
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
	for (uint32_t threads = 1; threads <= 3; threads++) {
		keep_all(true, threads);
		keep_all(false, threads);
	}
	keep_all(true, HPDSL_SERIAL);
	keep_all(false, HPDSL_SERIAL);
}

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
	struct hpdsl_loader_options opt = base();
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
	e = new_epoch(ds, &opt);
	gate_set(&g, true);
	opt.wait_ms = 1;
	opt.watch.stop = &stop;
	l = new_loader(ds, &opt);
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

static void charge(struct hpdsl_loader *l, int64_t bytes)
{
	pthread_mutex_lock(&l->lock);
	hp_slots_charge(&l->slots, bytes);
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
	struct hpdsl_loader_options opt = base();
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
	l = new_loader(ds, &opt);
	gate_wait(&g);
	charge(l, (int64_t)l->memory);
	gate_set(&g, false);
	wait_for_sleep(l);
	charge(l, -(int64_t)l->memory);
	if (hpdsl_loader_next(l, &b, &err) != 1)
		fail_msg("%s", err.msg);
	assert_true(((const struct hp_load_batch *)b)->blocks > 1);
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
	struct hpdsl_loader_options opt = base();
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
	l = new_loader(ds, &opt);
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
	struct hpdsl_loader_options opt = base();
	struct hpdsl_dataset *ds = open_it(load_plain, NULL);
	int stop = 0, told = 0;
	const struct hpdsl_batch *b;
	struct hpdsl_loader *l;

	(void)state;
	opt.watch.stop = &stop;
	opt.watch.warn = count_warning;
	opt.watch.arg = &told;
	l = new_loader(ds, &opt);
	hp_load_warn(l, "before");
	assert_int_equal(told, 1);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(hpdsl_loader_next(l, &b, NULL), HPDSL_ESTOPPED);
	hp_load_warn(l, "behind");
	assert_int_equal(told, 1);
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
		alarm(100);
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
	struct hpdsl_dataset *good = open_it(load_plain, NULL);
	struct hpdsl_epoch *e = new_epoch(good, opt);

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
		struct hpdsl_loader_options opt = base();
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
		l = new_loader(ds, &opt);
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

static uint32_t slots_out(const struct hpdsl_loader *l)
{
	return l->slots.n - l->slots.n_free;
}

/* Batches that outlive the loader keep their own blocks, and no other pages. */
static void test_end_keeps_little(void **state)
{
	static const int order[] = { 1, 0, 2 };
	struct hpdsl_loader_options opt = base();
	const struct hpdsl_batch *b[3];
	struct hpdsl_dataset *ds = open_it(load_plain, NULL);
	struct hpdsl_epoch *e = new_epoch(ds, &opt);
	struct hpdsl_loader *l = new_loader(ds, &opt);
	uint32_t blocks = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hpdsl_loader_next(l, &b[i], NULL), 1);
		blocks += ((const struct hp_load_batch *)b[i])->blocks;
	}
	hpdsl_loader_free(l);
	for (int i = 0; i < 3; i++) {
		const struct hpdsl_batch *next = b[order[i]];

		assert_true(slots_out(l) > 0);
		assert_true(slots_out(l) <= blocks);
		assert_int_equal(l->slots.cold, l->slots.n_free);
		load_check_batch(ds, &opt, e, next);
		blocks -= ((const struct hp_load_batch *)next)->blocks;
		hpdsl_batch_release(next);
	}
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
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
	struct load_case c = { .opt = base() };
	struct hpdsl_dataset *ds = open_it(load_plain, NULL);
	struct hpdsl_loader *l[2];
	struct hpdsl_state s;

	(void)state;
	for (uint32_t w = 0; w < 2; w++) {
		c.opt.share = (struct hpdsl_share){ .worker = w, .workers = 2 };
		l[w] = new_loader(ds, &c.opt);
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
	struct hpdsl_loader_options opt = base();
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
				e = new_epoch(good, &opt);
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
	struct hpdsl_dataset *good = open_it(dir, NULL);
	struct faultio io;
	long k = 0;
	int fds;

	load_all(&none, good);
	assert_true(none.whole);
	fds = count_fds(); /* all that good keeps open */
	do {
		struct fault f = { .dir = dir,
				   .io = &io.io,
				   .threads = threads };

		faultio_init(&io, ++k, false, -EIO);
		load_all(&f, good);
		assert_int_equal(count_fds(), fds);
		if (!io.failed)
			assert_true(f.whole);
	} while (io.failed);
	assert_true(k > 20);
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
	long k = 0, n;

	do {
		struct fault f = { .dir = load_plain, .threads = threads };

		wrap_fail_at(++k, false);
		load_all(&f, NULL);
		n = wrap_count();
		wrap_fail_at(0, false);
		assert_int_equal(count_fds(), fds);
		if (n < k)
			assert_true(f.whole);
	} while (n >= k);
	assert_true(k > 40);
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
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_unchecked),
		cmocka_unit_test(test_keep_all),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_wakes),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_end_keeps_little),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_allocations),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
