/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered jobs on a few threads; the first failure by number is the result. */
#include "sys/pool.h"

#include "base/error.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

enum { STACK = 512 * 1024 };

uint32_t hp_threads(uint32_t wanted)
{
	cpu_set_t set;
	int n;

	if (wanted == HPDSL_SERIAL)
		return wanted;
	if (wanted)
		return wanted < HP_THREADS_MOST ? wanted : HP_THREADS_MOST;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return 2;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > 16 ? 16 : (uint32_t)n;
}

int hp_thread_start(void *ret_pthread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	r = pthread_attr_init(&attr);
	if (r)
		return -r;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	/* A bad access must still reach the program's handler. */
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(ret_pthread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

struct pool {
	int (*job)(void *arg, uint64_t number, struct hpdsl_error *err);
	void *arg;
	const int *stop;
	uint64_t next, n;
	pthread_mutex_t lock;
	int failed; /* under the lock, as the next two */
	uint64_t failed_number;
	struct hpdsl_error err;
};

static bool stopped(const int *stop)
{
	return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static void note_failure(struct pool *p, uint64_t number, int r,
			 const struct hpdsl_error *err)
{
	pthread_mutex_lock(&p->lock);
	if (!p->failed || number < p->failed_number) {
		p->failed_number = number;
		p->err = *err;
		__atomic_store_n(&p->failed, r, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
	struct pool *p = arg;
	struct hpdsl_error err;

	while (!__atomic_load_n(&p->failed, __ATOMIC_RELAXED) &&
	       !stopped(p->stop)) {
		uint64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
		int r;

		if (i >= p->n)
			break;
		memset(&err, 0, sizeof err);
		r = p->job(p->arg, i, &err);
		if (r < 0)
			note_failure(p, i, r, &err);
	}
	return NULL;
}

int hp_pool_run(uint32_t threads, uint64_t n,
		int (*job)(void *arg, uint64_t number, struct hpdsl_error *err),
		void *arg, const int *stop, struct hpdsl_error *err)
{
	struct pool p = { .job = job, .arg = arg, .stop = stop, .n = n };
	uint32_t want = hp_threads(threads), have = 0;
	pthread_t id[HP_THREADS_MOST];

	pthread_mutex_init(&p.lock, NULL);
	if (want == HPDSL_SERIAL)
		want = 0;
	if (want > n)
		want = (uint32_t)n;
	while (have < want && hp_thread_start(&id[have], work, &p) == 0)
		have++;
	if (have == 0)
		work(&p);
	for (uint32_t i = 0; i < have; i++)
		pthread_join(id[i], NULL);
	pthread_mutex_destroy(&p.lock);
	if (p.failed) {
		if (err)
			*err = p.err;
		return p.failed;
	}
	if (p.next < n)
		return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
	return 0;
}
