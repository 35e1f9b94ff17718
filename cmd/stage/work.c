/* SPDX-License-Identifier: Apache-2.0 */
/* What may block is done by another thread, while this one goes round. */
#include "job.h"

#include <stdarg.h>

struct work {
	int (*fn)(void *arg);
	void *arg;
	int ret;
	int done;
};

static void *working(void *arg)
{
	struct work *w = arg;

	w->ret = w->fn(w->arg);
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void doing(struct stage_job *j, double since, const char *fmt,
		  va_list ap)
{
	pthread_mutex_lock(&j->lock);
	j->doing_since = since;
	if (fmt)
		vsnprintf(j->doing, sizeof(j->doing), fmt, ap);
	pthread_mutex_unlock(&j->lock);
}

void job_moves(struct stage_job *j)
{
	double now = stage_now();

	pthread_mutex_lock(&j->lock);
	if (j->doing_since > 0)
		j->doing_since = now;
	pthread_mutex_unlock(&j->lock);
}

static void done(struct stage_job *j)
{
	pthread_mutex_lock(&j->lock);
	j->doing_since = 0;
	pthread_mutex_unlock(&j->lock);
	j->now.stuck_seconds = 0;
}

int job_work(struct stage_job *j, int (*fn)(void *arg), void *arg,
	     const char *fmt, ...)
{
	struct work w = { .fn = fn, .arg = arg };
	pthread_t thread;
	va_list ap;

	va_start(ap, fmt);
	doing(j, stage_now(), fmt, ap);
	va_end(ap);
	if (pthread_create(&thread, NULL, working, &w) != 0)
		cmd_no_memory();
	while (!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE))
		job_rest(j, job_pass(j));
	pthread_join(thread, NULL);
	j->nap = 0;
	done(j);
	return w.ret;
}
