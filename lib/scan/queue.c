/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of jobs and its workers.  The caller's thread is one of them, so
 * it goes on with however few threads there are.  The last job on is the first
 * off: the walk goes into the depth, and the stack stays short.
 */
#include "scan/private.h"

#include "base/error.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdlib.h>

void hp_scan_abort(struct hp_scan *s, int code, const char *text)
{
	pthread_mutex_lock(&s->lock);
	if (!s->failed.code)
		hp_fail(&s->failed, code, "%s", text);
	__atomic_store_n(&s->over, 1, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

bool hp_scan_over(struct hp_scan *s)
{
	const int *stop = s->opt->watch.stop;

	if (__atomic_load_n(&s->over, __ATOMIC_RELAXED))
		return true;
	if (!stop || !__atomic_load_n(stop, __ATOMIC_RELAXED))
		return false;
	hp_scan_abort(s, HPDSL_ESTOPPED, "stopped during the scan");
	return true;
}

struct hp_scan_job *hp_scan_job(struct hp_scan *s, uint16_t root, size_t n)
{
	struct hp_scan_job *job = malloc(sizeof *job + n);

	if (!job) {
		hp_scan_abort(s, -ENOMEM, "out of memory");
		return NULL;
	}
	*job = (struct hp_scan_job){ .root = root };
	return job;
}

static bool is_stream(const struct hp_scan *s, const struct hp_scan_job *job)
{
	return job->kind == HP_SCAN_ARCHIVE && s->more[job->root].compressed;
}

static void put(struct hp_scan *s, struct hp_scan_job *job)
{
	struct hp_scan_job **to = is_stream(s, job) ? &s->streams : &s->top;

	job->next = *to;
	*to = job;
	s->batches += job->kind == HP_SCAN_BATCHED;
	pthread_cond_signal(&s->wake);
}

void hp_scan_push(struct hp_scan *s, struct hp_scan_job *job)
{
	pthread_mutex_lock(&s->lock);
	put(s, job);
	pthread_mutex_unlock(&s->lock);
}

bool hp_scan_offer(struct hp_scan *s, struct hp_scan_job *job)
{
	bool taken;

	pthread_mutex_lock(&s->lock);
	taken = s->batches < s->batches_max;
	if (taken)
		put(s, job);
	pthread_mutex_unlock(&s->lock);
	return taken;
}

/* Where the next job is that can be begun, or NULL.  Locked. */
static struct hp_scan_job **find(struct hp_scan *s)
{
	if (s->top)
		return &s->top;
	return s->streams && s->decoding < s->decoding_max ? &s->streams : NULL;
}

/* Gives back the last job (had one), takes the next; NULL: all is done. */
static struct hp_scan_job *take(struct hp_scan *s,
				const struct hp_scan_job *had)
{
	struct hp_scan_job *job, **from;

	pthread_mutex_lock(&s->lock);
	s->busy -= had != NULL;
	if (had && is_stream(s, had)) {
		s->decoding--;
		pthread_cond_signal(&s->wake);
	}
	while (!(from = find(s)) && s->busy && !s->over)
		pthread_cond_wait(&s->wake, &s->lock);
	job = s->over || !from ? NULL : *from;
	if (job) {
		*from = job->next;
		s->decoding += is_stream(s, job);
		s->batches -= job->kind == HP_SCAN_BATCHED;
		s->busy++;
	} else {
		pthread_cond_broadcast(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return job;
}

static void *work(void *arg)
{
	struct hp_scan_worker *w = arg;
	struct hp_scan_job *job, *had = NULL;

	for (; (job = take(w->s, had)); had = job) {
		free(had);
		hp_scan_tick(w);
		if (!hp_scan_over(w->s))
			w->s->work[job->kind](w, job);
	}
	free(had);
	return NULL;
}

int hp_scan_run(struct hp_scan *s, struct hp_scan_worker *w, uint32_t n)
{
	uint32_t started = 1;

	s->decoding_max = hp_threads(s->opt->threads);
	if (s->decoding_max == HPDSL_SERIAL)
		s->decoding_max = 1;
	s->batches_max = n > 1 ? 4 * n : 0;
	/* w[0] is the caller. */
	while (started < n &&
	       hp_thread_start(&w[started].thread, work, &w[started]) == 0)
		started++;
	work(&w[0]);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(w[i].thread, NULL);
	return s->failed.code;
}
