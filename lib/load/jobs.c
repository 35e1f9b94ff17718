/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units of windows that a turn is the first to need: none of them depends
 * on another, so they are made by all that have nothing better to do.  What
 * becomes of them is the planner's, one after the other.
 */
#include "load/load.h"

#include <errno.h>

/* Larger samples are read late, if the page cache has them: what is copied into
 * a small memory stays in the caches. */
enum { LARGE = 32 << 10 };

void hp_load_wake_some(struct hpdsl_loader *l, uint32_t n)
{
	for (n = n < l->asleep ? n : l->asleep; n; n--)
		pthread_cond_signal(&l->work);
}

/* Is the window of large samples, all of them in the page cache? */
static bool is_late(const struct hpdsl_loader *l, const struct hp_window *w)
{
	if (l->mean < LARGE)
		return false;
	for (uint32_t i = 0; i < w->pieces; i++) {
		struct hpdsl_chunk c;

		if (hpdsl_chunk_get(l->ds, w->piece[i].chunk, &c, NULL) < 0 ||
		    c.compressed ||
		    !hp_fetch_cached(l->fetch, c.number, 0, c.plain_bytes))
			return false;
	}
	return true;
}

/* Planning takes numbers of all of its samples: these need memory, too. */
static bool is_modest(const struct hpdsl_loader *l, const struct hp_window *w)
{
	return w->samples <= l->memory / 64;
}

static int make(const struct hpdsl_loader *l, struct hp_load_job *job)
{
	const struct hp_load_epoch *e = l->jobs.epoch;
	int r;

	if (!e->windows || is_late(l, &job->w))
		return 1;
	if (!is_modest(l, &job->w))
		return 0;
	r = hp_load_plan_window(&l->plan, e->e, &e->share, &job->w, &job->unit);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	return 1;
}

bool hp_load_job(struct hpdsl_loader *l)
{
	struct hp_load_jobs *jobs = &l->jobs;
	struct hp_load_job *job;

	if (jobs->next == jobs->end)
		return false;
	job = &jobs->v[jobs->next++];
	jobs->busy++;
	pthread_mutex_unlock(&l->lock);
	job->code = make(l, job);
	pthread_mutex_lock(&l->lock);
	if (!--jobs->busy && jobs->next == jobs->end)
		pthread_cond_signal(&jobs->done);
	return true;
}

bool hp_load_jobs_add(struct hpdsl_loader *l, const struct hp_window *w)
{
	struct hp_load_jobs *jobs = &l->jobs;

	if (jobs->n && (jobs->n == HP_LOAD_JOBS ||
			jobs->samples + w->samples > l->memory / 256))
		return false;
	jobs->v[jobs->n++] = (struct hp_load_job){ .w = *w };
	jobs->samples += w->samples;
	return true;
}

void hp_load_jobs_do(struct hpdsl_loader *l, const struct hp_load_epoch *e)
{
	struct hp_load_jobs *jobs = &l->jobs;

	pthread_mutex_lock(&l->lock);
	jobs->epoch = e;
	jobs->next = 0;
	jobs->end = jobs->n;
	if (jobs->n > 1)
		hp_load_wake_some(l, jobs->n - 1);
	while (hp_load_job(l)) {
	}
	while (jobs->busy)
		pthread_cond_wait(&jobs->done, &l->lock);
	pthread_mutex_unlock(&l->lock);
}
