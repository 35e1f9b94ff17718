/* SPDX-License-Identifier: Apache-2.0 */
/* What the stager's threads have to do, and what they have done. */
#include "stager/stager.h"

#include "sys/clock.h"

#include <stdlib.h>

/* Chunks that are named, of those that cannot be had. */
enum { DAMAGE_TOLD = 16 };

/* ---- Lists ------------------------------------------------------------ */

void hp_jobs_add(struct hp_jobs *q, struct hp_job *j)
{
	j->next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = j;
	q->last = &j->next;
}

struct hp_job *hp_jobs_take(struct hp_jobs *q)
{
	struct hp_job *j = q->first;

	if (j)
		q->first = j->next;
	return j;
}

struct hp_job *hp_job_new(struct hpdsl_stager *s, enum hp_job_kind kind,
			  struct hp_stager_chunk *c)
{
	struct hpdsl_error err;
	struct hp_job *j = hp_jobs_take(&s->shared.spare);

	if (!j)
		j = malloc(sizeof *j);
	if (!j) {
		hp_stager_fail(s, hp_fail_nomem(&err), &err);
		return NULL;
	}
	*j = (struct hp_job){ .kind = kind, .chunk = c };
	return j;
}

void hp_job_free(struct hpdsl_stager *s, struct hp_job *j)
{
	hp_jobs_add(&s->shared.spare, j);
}

void hp_stager_make_busy(struct hpdsl_stager *s, struct hp_stager_chunk *c)
{
	c->next = NULL;
	if (!s->shared.busy)
		s->shared.busy_last = &s->shared.busy;
	*s->shared.busy_last = c;
	s->shared.busy_last = &c->next;
}

enum hp_stager_crew hp_job_crew(const struct hp_job *j)
{
	if (j->kind >= HP_JOB_BEGIN)
		return HP_CREW_CHUNKS;
	return j->kind >= HP_JOB_FILL ? HP_CREW_SERVE : HP_CREW_ORIGIN;
}

void hp_job_start(struct hpdsl_stager *s, struct hp_job *j)
{
	struct hp_stager_chunk *c = j->chunk;
	enum hp_stager_crew crew = hp_job_crew(j);

	pthread_mutex_lock(&s->shared.lock);
	if (crew == HP_CREW_ORIGIN) {
		hp_jobs_add(&s->shared.origin_jobs, j);
	} else if (crew == HP_CREW_SERVE) {
		hp_jobs_add(&s->shared.serve_jobs, j);
	} else {
		if (!c->queue.first && !c->at_work)
			hp_stager_make_busy(s, c);
		hp_jobs_add(&c->queue, j);
	}
	pthread_cond_signal(&s->shared.wake[crew]);
	pthread_mutex_unlock(&s->shared.lock);
}

struct hp_job *hp_jobs_done(struct hpdsl_stager *s)
{
	struct hp_job *j;

	if (!__atomic_load_n(&s->shared.any_done, __ATOMIC_ACQUIRE))
		return NULL;
	pthread_mutex_lock(&s->shared.lock);
	__atomic_store_n(&s->shared.any_done, false, __ATOMIC_RELAXED);
	j = s->shared.done.first;
	s->shared.done.first = NULL;
	pthread_mutex_unlock(&s->shared.lock);
	return j;
}

/* ---- Failing, giving up, ending --------------------------------------- */

/* A failure that ends all is told even after one that does not. */
void hp_stager_fail(struct hpdsl_stager *s, int code,
		    const struct hpdsl_error *err)
{
	pthread_mutex_lock(&s->shared.lock);
	if (!s->shared.failed || !s->shared.fatal) {
		s->shared.failed = code;
		s->shared.err = *err;
	}
	s->shared.fatal = true;
	__atomic_store_n(&s->shared.giving_up, true, __ATOMIC_RELAXED);
	__atomic_store_n(&s->shared.any_done, true, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&s->shared.pause);
	pthread_mutex_unlock(&s->shared.lock);
}

void hp_stager_damage(struct hpdsl_stager *s, const struct hpdsl_error *err)
{
	const char *text = err->msg;
	uint32_t n;

	pthread_mutex_lock(&s->shared.lock);
	n = ++s->shared.damaged;
	if (!s->shared.failed) {
		s->shared.failed = HPDSL_ECORRUPT;
		s->shared.err = *err;
	}
	__atomic_store_n(&s->shared.any_done, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&s->shared.lock);
	if (n == 1 || n > DAMAGE_TOLD + 1 || !s->watch.warn)
		return;
	if (n > DAMAGE_TOLD)
		text = "more chunks than these cannot be had from the origin";
	s->watch.warn(s->watch.arg, text);
}

void hp_stager_give_up(struct hpdsl_stager *s)
{
	pthread_mutex_lock(&s->shared.lock);
	__atomic_store_n(&s->shared.giving_up, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&s->shared.pause);
	pthread_mutex_unlock(&s->shared.lock);
}

bool hp_stager_gives_up(const struct hpdsl_stager *s)
{
	return __atomic_load_n(&s->shared.giving_up, __ATOMIC_RELAXED);
}

bool hp_stager_ends(const struct hpdsl_stager *s)
{
	return __atomic_load_n(&s->shared.ending, __ATOMIC_SEQ_CST);
}

void hp_stager_sleep(struct hpdsl_stager *s, double seconds)
{
	double end = hp_now() + seconds;
	struct timespec t = hp_deadline(seconds);

	pthread_mutex_lock(&s->shared.lock);
	while (!hp_stager_gives_up(s) && !hp_stager_ends(s) && hp_now() < end)
		pthread_cond_timedwait(&s->shared.pause, &s->shared.lock, &t);
	pthread_mutex_unlock(&s->shared.lock);
}

bool hp_operation_begin(struct hp_stager_thread *t, const char *what,
			const char *name, double *ret_since)
{
	__atomic_store_n(&t->now.what, what, __ATOMIC_RELAXED);
	__atomic_store_n(&t->now.name, name, __ATOMIC_RELAXED);
	__atomic_store_n(&t->now.since, hp_monotonic(), __ATOMIC_RELEASE);
	*ret_since = hp_now();
	return !hp_stager_ends(t->s);
}

double hp_operation_end(struct hp_stager_thread *t, double since)
{
	__atomic_store_n(&t->now.since, 0, __ATOMIC_RELEASE);
	return hp_now() - since;
}

/* The node has failed.  The exchange has to hear of it all the same, or it
 * waits for ever. */
void hp_stager_lost(struct hpdsl_stager *s, enum hp_event_kind kind,
		    const struct hp_segment_id *id)
{
	hp_exchange_stop(s->own.x, true);
	hp_exchange_event(s->own.x, kind, id->chunk, id->offset, id->length,
			  id->plain);
}
