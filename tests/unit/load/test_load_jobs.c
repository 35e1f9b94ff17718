/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns that are planned with others' help: what comes of it is what one thread
 * alone makes of it, errors included, and help is what it is.
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
#include <time.h>

#include "load/load.h"
#include "packed.h"
#include "sys/io.h"
#include "wrap.h"

/* More chunks than are planned at a time. */
enum { SAMPLES = 2 * HP_LOAD_JOBS + 10, HELPERS = 7 };

static struct packed fix;

static int setup(void **unused)
{
	struct hpdsl_pack_options opt = { .chunks = SAMPLES };

	(void)unused;
	packed_begin(&fix);
	for (int i = 0; i < SAMPLES; i++) {
		char name[32];

		snprintf(name, sizeof name, "s%03d.jpg", i);
		packed_file(&fix, name, (size_t)i * 50, 0644, 1000, 0);
	}
	packed_pack(&fix, opt);
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	packed_end(&fix);
	return 0;
}

/* ---- Planners --------------------------------------------------------- */

/* A loader whose turns the test plans, and threads that may help with it. */
struct planner {
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	pthread_t id[HELPERS];
	int helpers;
};

static void begin(struct planner *p, const struct hp_io *io, int helpers)
{
	struct hpdsl_loader_options opt = {
		.order = { .seed = 7,
			   .window = 2,
			   .lanes = SAMPLES,
			   .run = 1,
			   .step_runs = SAMPLES / 2 },
		.epochs = 2,
		.threads = HPDSL_SERIAL,
		.memory = 16 << 20,
	};
	struct hpdsl_error err;

	*p = (struct planner){ .helpers = helpers };
	if (hpdsl_open(fix.out, io, &p->ds, &err) < 0 ||
	    hpdsl_loader_new(p->ds, &opt, &p->l, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(p->l->epoch->windows);
	p->l->planning = true;
	for (int i = 0; i < helpers; i++)
		assert_int_equal(
			pthread_create(&p->id[i], NULL, hp_load_worker, p->l),
			0);
}

static void end(struct planner *p)
{
	pthread_mutex_lock(&p->l->lock);
	p->l->ending = true;
	pthread_cond_broadcast(&p->l->work);
	pthread_mutex_unlock(&p->l->lock);
	for (int i = 0; i < p->helpers; i++)
		pthread_join(p->id[i], NULL);
	hpdsl_loader_free(p->l);
	hpdsl_close(p->ds);
}

/* The next turn's units; false: there is none, or it could not be planned. */
static bool plan_turn(struct planner *p, struct hp_load_new *ret, int *ret_code)
{
	struct hpdsl_error err = { 0 };

	*ret = (struct hp_load_new){ 0 };
	*ret_code = hp_load_turn(p->l, ret, &err);
	if (*ret_code < 0) {
		assert_int_equal(err.code, *ret_code);
		assert_true(err.msg[0]);
	}
	if (*ret_code < 0 || ret->over)
		return false;
	pthread_mutex_lock(&p->l->lock);
	p->l->planned++;
	pthread_mutex_unlock(&p->l->lock);
	return true;
}

/* ---- The same --------------------------------------------------------- */

static void check_rows(const struct hp_load_unit *a,
		       const struct hp_load_unit *b)
{
	assert_int_equal(a->rows, b->rows);
	assert_int_equal(a->members, b->members);
	for (uint32_t i = 0; i < a->rows; i++) {
		assert_int_equal(a->row[i].number, b->row[i].number);
		assert_int_equal(a->row[i].member, b->row[i].member);
		assert_int_equal(a->row[i].block, b->row[i].block);
	}
	assert_int_equal(a->blocks, b->blocks);
	for (uint32_t i = 0; i < a->blocks; i++) {
		assert_int_equal(a->block[i].first, b->block[i].first);
		assert_int_equal(a->block[i].last, b->block[i].last);
		assert_int_equal(a->block[i].uses, b->block[i].uses);
		assert_int_equal(a->block[i].b.room, b->block[i].b.room);
	}
}

static void check_unit(const struct hp_load_unit *a,
		       const struct hp_load_unit *b)
{
	assert_int_equal(a->begin, b->begin);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->late, b->late);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->room, b->room);
	assert_int_equal(!a->at, !b->at);
	if (a->at && !a->late)
		assert_memory_equal(a->at, b->at,
				    (a->end - a->begin) * sizeof *a->at);
	check_rows(a, b);
}

struct kinds {
	uint32_t whole, nothing, late; /* units of windows, and of turns */
};

static void check_turn(const struct hp_load_new *a, const struct hp_load_new *b,
		       struct kinds *n)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->blocks, b->blocks);
	assert_int_equal(a->late, b->late);
	for (uint32_t i = 0; i < a->n; i++) {
		check_unit(a->v[i], b->v[i]);
		n->late += a->v[i]->late;
		n->whole += !a->v[i]->late && a->v[i]->at;
		n->nothing += !a->v[i]->at;
	}
}

static struct kinds check_turns(uint64_t memory, int helpers)
{
	struct hp_load_new x, y;
	struct kinds n = { 0 };
	struct planner a, b;
	int r, s;

	begin(&a, NULL, 0);
	begin(&b, NULL, helpers);
	a.l->memory = b.l->memory = memory;
	while (plan_turn(&a, &x, &r)) {
		assert_true(plan_turn(&b, &y, &s));
		check_turn(&x, &y, &n);
		free(x.v);
		free(y.v);
	}
	assert_false(plan_turn(&b, &y, &s));
	assert_int_equal(r, 0);
	assert_int_equal(s, 0);
	assert_int_equal(a.l->stats.one_by_one, b.l->stats.one_by_one);
	end(&a);
	end(&b);
	return n;
}

static void test_same(void **state)
{
	(void)state;
	for (int helpers = 0; helpers <= HELPERS; helpers++) {
		struct kinds n = check_turns(16 << 20, helpers);

		/* Both epochs, each sample a window of its own. */
		assert_int_equal(n.whole, 2 * SAMPLES);
		assert_int_equal(n.nothing, 0);
		assert_int_equal(n.late, 0);
	}
}

/* Some windows do not fit beside the others. */
static void test_refused(void **state)
{
	struct kinds alone = check_turns(2 << 20, 0);

	(void)state;
	assert_true(alone.whole > 0 && alone.nothing > 0 && alone.late > 0);
	for (int helpers = 1; helpers <= HELPERS; helpers++) {
		struct kinds n = check_turns(2 << 20, helpers);

		assert_memory_equal(&n, &alone, sizeof n);
	}
}

/* ---- Help ------------------------------------------------------------- */

/* Who asks what the page cache has waits until a second one does. */
struct meeting {
	struct hp_io io;
	pthread_mutex_t lock;
	pthread_cond_t met;
	int in, most;
};

static int64_t meet(const struct hp_io *io, int fd, uint64_t off, uint64_t n)
{
	struct meeting *m = (struct meeting *)io;
	struct timespec until;
	int r = 0;

	(void)fd;
	(void)off;
	(void)n;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 60; /* then nobody comes */
	pthread_mutex_lock(&m->lock);
	if (++m->in > m->most)
		m->most = m->in;
	pthread_cond_broadcast(&m->met);
	while (m->most < 2 && r == 0)
		r = pthread_cond_timedwait(&m->met, &m->lock, &until);
	m->in--;
	pthread_mutex_unlock(&m->lock);
	return 0;
}

static void test_help(void **state)
{
	struct meeting m = { .io = hp_io_system };
	pthread_condattr_t monotonic;
	struct hp_load_new new;
	struct planner p;
	int r;

	(void)state;
	m.io.cached = meet;
	pthread_mutex_init(&m.lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m.met, &monotonic);
	pthread_condattr_destroy(&monotonic);
	begin(&p, &m.io, 1);
	p.l->mean = 1 << 20; /* large enough to ask */
	assert_true(plan_turn(&p, &new, &r));
	assert_int_equal(m.most, 2);
	free(new.v);
	end(&p);
	pthread_cond_destroy(&m.met);
	pthread_mutex_destroy(&m.lock);
}

/* ---- Room ------------------------------------------------------------- */

static bool lists(const struct planner *p, uint64_t samples)
{
	struct hp_window w = { .samples = samples };

	return hp_load_jobs_add(p->l, &w);
}

static void list_anew(const struct planner *p)
{
	p->l->jobs.n = 0;
	p->l->jobs.samples = 0;
}

/* Together they are a small part of the memory, or one. */
static void test_room(void **state)
{
	struct planner p;

	(void)state;
	begin(&p, NULL, 0);
	p.l->memory = 100 * 256;
	assert_true(lists(&p, 60));
	assert_false(lists(&p, 41));
	assert_true(lists(&p, 40));
	assert_false(lists(&p, 1));
	/* One that is too large for that is listed alone. */
	list_anew(&p);
	assert_true(lists(&p, 1000));
	assert_false(lists(&p, 1));
	list_anew(&p);
	for (int i = 0; i < HP_LOAD_JOBS; i++)
		assert_true(lists(&p, 1));
	assert_false(lists(&p, 1));
	end(&p);
}

/* ---- Whatever fails --------------------------------------------------- */

/* Whichever allocation it is: no memory, and nothing is lost. */
static void fail_allocations(int helpers)
{
	long k = 0, n;

	do {
		struct hp_load_new new;
		struct planner p;
		int r;

		begin(&p, NULL, helpers);
		wrap_fail_at(++k, false);
		while (plan_turn(&p, &new, &r))
			free(new.v);
		n = wrap_count();
		wrap_fail_at(0, false);
		free(new.v);
		assert_int_equal(r, n < k ? 0 : -ENOMEM);
		end(&p);
	} while (n >= k);
	assert_true(k > SAMPLES);
}

static void test_allocations(void **state)
{
	(void)state;
	fail_allocations(0);
	fail_allocations(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_allocations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
