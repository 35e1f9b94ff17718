/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve: every chore is done, and each who waits is woken once. */
#include "cmd/serve/readers.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 500 };

struct one {
	struct serve_chore c;
	_Atomic unsigned done, woken;
};

static struct one all[MANY];
static _Atomic unsigned woken, working;
static pthread_barrier_t together;

static void work(void *arg)
{
	struct one *o = arg;

	assert_int_equal(o->woken, 0);
	o->done++;
}

/* All threads have to be at it at once. */
static void work_together(void *arg)
{
	work(arg);
	pthread_barrier_wait(&together);
}

static void wake(void *arg)
{
	struct one *o = arg;

	o->woken++;
	woken++;
}

static void put(struct serve_readers *r, unsigned i, void (*what)(void *))
{
	all[i].done = all[i].woken = 0;
	all[i].c = (struct serve_chore){ .work = what,
					 .wake = wake,
					 .arg = &all[i] };
	readers_put(r, &all[i].c);
}

static void test_all_done(void **state)
{
	struct serve_readers r;

	(void)state;
	woken = 0;
	pthread_barrier_init(&together, NULL, SERVE_READERS);
	assert_int_equal(readers_begin(&r), 0);
	for (unsigned i = 0; i < SERVE_READERS; i++)
		put(&r, i, work_together);
	for (unsigned i = SERVE_READERS; i < MANY; i++)
		put(&r, i, work);
	while (woken < MANY)
		sched_yield();
	readers_quit(&r);
	readers_end(&r);
	pthread_barrier_destroy(&together);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(all[i].done, 1);
		assert_int_equal(all[i].woken, 1);
	}
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void work_slowly(void *arg)
{
	work(arg);
	working++;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

static void *quit(void *arg)
{
	readers_quit(arg);
	return NULL;
}

/* What nobody has begun is not begun any more, and who waits for it woken. */
static void test_quit(void **state)
{
	struct serve_readers r;
	pthread_t thread;
	unsigned done = 0;

	(void)state;
	woken = working = 0;
	assert_int_equal(readers_begin(&r), 0);
	pthread_mutex_lock(&gate);
	for (unsigned i = 0; i < MANY / 2; i++)
		put(&r, i, work_slowly);
	while (working < SERVE_READERS)
		sched_yield();
	assert_int_equal(pthread_create(&thread, NULL, quit, &r), 0);
	for (bool ending = false; !ending; sched_yield()) {
		pthread_mutex_lock(&r.lock);
		ending = r.ending;
		pthread_mutex_unlock(&r.lock);
	}
	pthread_mutex_unlock(&gate);
	pthread_join(thread, NULL);
	assert_int_equal(woken, MANY / 2);
	for (unsigned i = 0; i < MANY / 2; i++)
		done += all[i].done;
	assert_int_equal(done, SERVE_READERS);
	put(&r, MANY / 2, work);
	assert_int_equal(all[MANY / 2].woken, 1);
	assert_int_equal(all[MANY / 2].done, 0);
	readers_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_done),
		cmocka_unit_test(test_quit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
