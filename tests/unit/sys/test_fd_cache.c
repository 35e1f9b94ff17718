/* SPDX-License-Identifier: Apache-2.0 */
/* Open files, kept: who opens, who closes, and how often. */
#include "sys/fd_cache.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { THREADS = 8, PLACES = 2 };

/* Files that are numbers: no system call is made. */
struct files {
	struct hp_io io;
	int opened, closed; /* atomic */
	int open;	    /* at the moment; atomic */
	int fail;	    /* opening fails that often; atomic ... */
	int code;	    /* ... with this */
	int wanting;	    /* threads that are about to ask; atomic */
};

static int close_number(const struct hp_io *io, int fd)
{
	struct files *f = (struct files *)io;

	assert_true(fd >= 100);
	__atomic_fetch_add(&f->closed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&f->open, 1, __ATOMIC_RELAXED);
	return 0;
}

static struct files files_new(void)
{
	return (struct files){ .io.close = close_number };
}

static int open_number(void *arg, struct hpdsl_error *err)
{
	struct files *f = arg;

	if (__atomic_load_n(&f->fail, __ATOMIC_RELAXED) > 0 &&
	    __atomic_fetch_sub(&f->fail, 1, __ATOMIC_RELAXED) > 0)
		return hp_fail(err, f->code, "no such number");
	__atomic_fetch_add(&f->open, 1, __ATOMIC_RELAXED);
	return 100 + __atomic_fetch_add(&f->opened, 1, __ATOMIC_RELAXED);
}

static int get(struct hp_fd_cache *cache, uint64_t number, struct files *f,
	       struct hp_cached_fd *ret)
{
	struct hpdsl_error err;

	return hp_fd_cache_get(cache, number, open_number, f, ret, &err);
}

static void test_kept(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct hp_cached_fd a, b, c;

	(void)state;
	assert_false(hp_fd_cache_find(cache, 7, &a));
	assert_int_equal(get(cache, 7, &f, &a), 0);
	assert_true(hp_fd_cache_find(cache, 7, &b));
	assert_int_equal(a.fd, b.fd);
	hp_fd_cache_put(cache, &a);
	hp_fd_cache_put(cache, &b);
	/* The one that was used last stays. */
	assert_int_equal(get(cache, 8, &f, &b), 0);
	hp_fd_cache_put(cache, &b);
	assert_int_equal(get(cache, 7, &f, &c), 0);
	hp_fd_cache_put(cache, &c);
	assert_int_equal(c.fd, a.fd);
	assert_int_equal(get(cache, 9, &f, &c), 0);
	hp_fd_cache_put(cache, &c);
	assert_int_equal(get(cache, 7, &f, &c), 0);
	assert_int_equal(c.fd, a.fd);
	hp_fd_cache_put(cache, &c);
	assert_int_equal(f.opened, 3);
	assert_int_equal(f.closed, 1);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

static void test_all_in_use(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct hp_cached_fd v[PLACES + 1];

	(void)state;
	for (int i = 0; i <= PLACES; i++)
		assert_int_equal(get(cache, (uint64_t)i, &f, &v[i]), 0);
	assert_int_equal(f.closed, 0);
	/* One more than there are places: it is closed at once. */
	hp_fd_cache_put(cache, &v[PLACES]);
	assert_int_equal(f.closed, 1);
	hp_fd_cache_put(cache, &v[0]);
	hp_fd_cache_put(cache, &v[1]);
	assert_int_equal(f.closed, 1);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

/* One that is dropped stays open for who has it, and is found by nobody. */
static void test_dropped(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct hp_cached_fd a, b, c;

	(void)state;
	assert_int_equal(get(cache, 7, &f, &a), 0);
	assert_int_equal(get(cache, 7, &f, &b), 0);
	hp_fd_cache_drop(cache, &a);
	assert_int_equal(f.closed, 0);
	assert_int_equal(get(cache, 7, &f, &c), 0);
	assert_int_not_equal(c.fd, b.fd);
	hp_fd_cache_put(cache, &b);
	assert_int_equal(f.closed, 1);
	hp_fd_cache_put(cache, &c);
	assert_int_equal(get(cache, 7, &f, &b), 0);
	assert_int_equal(b.fd, c.fd);
	hp_fd_cache_put(cache, &b);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

static void test_no_descriptors_left(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct hp_cached_fd a, b;

	(void)state;
	assert_int_equal(get(cache, 1, &f, &a), 0);
	hp_fd_cache_put(cache, &a);
	f.fail = 1;
	f.code = -EMFILE;
	assert_int_equal(get(cache, 2, &f, &b), 0);
	assert_int_equal(f.closed, 1);
	/* What is in use stays open, and the second failure is told. */
	f.fail = 2;
	f.code = -ENFILE;
	assert_int_equal(get(cache, 3, &f, &a), -ENFILE);
	assert_int_equal(f.open, 1);
	hp_fd_cache_put(cache, &b);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

static void test_failed_once(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct hp_cached_fd a;

	(void)state;
	for (int i = 0; i < 3 * PLACES; i++) {
		f.fail = 1;
		f.code = -EIO;
		assert_int_equal(get(cache, (uint64_t)i, &f, &a), -EIO);
	}
	assert_int_equal(get(cache, 0, &f, &a), 0);
	hp_fd_cache_put(cache, &a);
	assert_int_equal(f.opened, 1);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

/* ---- Threads ---------------------------------------------------------- */

struct asker {
	struct files *f;
	struct hp_fd_cache *cache;
	struct hp_cached_fd got;
	int r;
};

/* Opens as slowly as a server does: when all want it. */
static int open_late(void *arg, struct hpdsl_error *err)
{
	struct files *f = arg;

	while (__atomic_load_n(&f->wanting, __ATOMIC_ACQUIRE) < THREADS)
		sched_yield();
	return open_number(f, err);
}

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct hpdsl_error err;

	__atomic_fetch_add(&a->f->wanting, 1, __ATOMIC_RELEASE);
	a->r = hp_fd_cache_get(a->cache, 5, open_late, a->f, &a->got, &err);
	return NULL;
}

static void ask_all(struct files *f, struct hp_fd_cache *cache, struct asker *v)
{
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS; i++) {
		v[i] = (struct asker){ .f = f, .cache = cache };
		assert_int_equal(pthread_create(&id[i], NULL, ask, &v[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
}

static void test_opened_by_one(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct asker v[THREADS];

	(void)state;
	ask_all(&f, cache, v);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(v[i].r, 0);
		assert_int_equal(v[i].got.fd, v[0].got.fd);
		hp_fd_cache_put(cache, &v[i].got);
	}
	assert_int_equal(f.opened, 1);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

/* Who has waited for that does not wait for its turn to fail. */
static void test_failed_for_one(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache = hp_fd_cache_new(&f.io, PLACES);
	struct asker v[THREADS];
	int failed = 0;

	(void)state;
	f.fail = 1;
	f.code = -EIO;
	ask_all(&f, cache, v);
	for (int i = 0; i < THREADS; i++) {
		failed += v[i].r == -EIO;
		if (v[i].r == 0)
			hp_fd_cache_put(cache, &v[i].got);
	}
	assert_int_equal(failed, 1);
	assert_true(f.opened >= 1 && f.opened < THREADS);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

static void test_few_descriptors(void **state)
{
	struct files f = files_new();
	struct hp_fd_cache *cache;
	struct hp_cached_fd a;
	struct rlimit was, few;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 128;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	cache = hp_fd_cache_new(&f.io, 1000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(get(cache, i, &f, &a), 0);
		hp_fd_cache_put(cache, &a);
	}
	assert_int_equal(f.open, 16);
	hp_fd_cache_free(cache);
	assert_int_equal(f.open, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_all_in_use),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_no_descriptors_left),
		cmocka_unit_test(test_failed_once),
		cmocka_unit_test(test_opened_by_one),
		cmocka_unit_test(test_failed_for_one),
		cmocka_unit_test(test_few_descriptors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
