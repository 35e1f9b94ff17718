/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stacks, of folders and of batches, and their workers.  The caller's
 * thread is one of them, so it goes on with however few threads there are.
 * Batches go first, since they keep a folder open, then the last folder on: the
 * walk goes into the depth, and the stack stays short.
 */
#include "walk/private.h"

#include "base/error.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdlib.h>

struct job {
	struct hp_walk_dir *dir;
	struct hp_walk_batch *batch; /* or this */
};

void hp_walk_abort(struct hp_walk *s, int code, const char *text)
{
	pthread_mutex_lock(&s->lock);
	if (!s->failed.code)
		hp_fail(&s->failed, code, "%s", text);
	__atomic_store_n(&s->over, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->lock);
}

void hp_walk_no_memory(struct hp_walk_worker *w)
{
	hp_walk_abort(w->s, -ENOMEM, "out of memory");
}

bool hp_walk_over(struct hp_walk *s)
{
	const int *stop = s->opt->watch.stop;

	if (__atomic_load_n(&s->over, __ATOMIC_RELAXED))
		return true;
	if (!stop || !__atomic_load_n(stop, __ATOMIC_RELAXED))
		return false;
	hp_walk_abort(s, HPDSL_ESTOPPED, "stopped during the walk");
	return true;
}

/* As many as there is work for.  Locked. */
static void wake(struct hp_walk *s, uint64_t n)
{
	if (n >= s->idle && s->idle > 1)
		pthread_cond_broadcast(&s->wake);
	else
		for (; n > 0 && s->idle; n--)
			pthread_cond_signal(&s->wake);
}

void hp_walk_push(struct hp_walk *s, struct hp_walk_dir *list, bool soon)
{
	struct hp_walk_dir *end = list;
	uint64_t n = 1;

	if (!list)
		return;
	for (; end->next; end = end->next)
		n++;
	pthread_mutex_lock(&s->lock);
	end->next = s->dirs;
	s->dirs = list;
	wake(s, soon ? n - 1 : n);
	pthread_mutex_unlock(&s->lock);
}

bool hp_walk_offer(struct hp_walk *s, struct hp_walk_batch *b)
{
	bool taken;

	pthread_mutex_lock(&s->lock);
	taken = !s->dirs && s->n_batches < s->batches_max;
	if (taken) {
		b->next_free = s->batches;
		s->batches = b;
		s->n_batches++;
		wake(s, 1);
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

/* Gives back the last job (had one), takes the next; false: all is done. */
static bool take(struct hp_walk *s, bool had, struct job *ret)
{
	bool any;

	*ret = (struct job){ 0 };
	pthread_mutex_lock(&s->lock);
	s->busy -= had;
	s->idle++;
	while (!s->batches && !s->dirs && s->busy)
		pthread_cond_wait(&s->wake, &s->lock);
	s->idle--;
	if (s->batches) {
		ret->batch = s->batches;
		s->batches = ret->batch->next_free;
		s->n_batches--;
	} else if (s->dirs) {
		ret->dir = s->dirs;
		s->dirs = ret->dir->next;
	}
	any = ret->batch || ret->dir;
	s->busy += any;
	if (!any)
		pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return any;
}

static void *work(void *arg)
{
	struct hp_walk_worker *w = arg;
	struct job job;

	for (bool had = false; take(w->s, had, &job); had = true) {
		if (job.batch)
			w->s->jobs->batch(w, job.batch);
		else
			w->s->jobs->dir(w, job.dir);
	}
	return NULL;
}

int hp_walk_run(struct hp_walk *s, struct hp_walk_worker *w, uint32_t n)
{
	uint32_t started = 1;

	/* Each keeps a folder open, so there is a bound. */
	s->batches_max = n > 1 ? (n < 32 ? 2 * n : 64) : 0;
	while (started < n &&
	       hp_thread_start(&w[started].thread, work, &w[started]) == 0)
		started++;
	work(&w[0]);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(w[i].thread, NULL);
	return s->failed.code;
}
