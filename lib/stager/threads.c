/* SPDX-License-Identifier: Apache-2.0 */
/* The stager's threads: each takes the jobs of its crew. */
#include "stager/stager.h"

#include "base/mem.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <errno.h>

enum { ORIGIN_THREADS = 8, SERVE_THREADS = 2, CHUNK_THREADS = 2 };

/* Bytes: two pieces, and zstd's window at its usual levels. */
enum { EXPANDING = 3 << 20 };

/* ---- Jobs ------------------------------------------------------------- */

static int work(struct hp_stager_thread *t, struct hp_job *j,
		struct hpdsl_error *err)
{
	switch (j->kind) {
	case HP_JOB_READ:
		return hp_stager_read(t, j, err);
	case HP_JOB_BLAME:
		return hp_stager_blame(t, j, err);
	case HP_JOB_FILL:
		return hp_stager_fill(t, j, err);
	case HP_JOB_PUT:
		hp_coming_file_put(t->s, j->part);
		j->part = NULL;
		return 0;
	case HP_JOB_BEGIN:
		return hp_stager_begin(t, j, err);
	case HP_JOB_WRITE:
		return hp_stager_write(t, j, err);
	case HP_JOB_FINISH:
		return hp_stager_finish(t, j, err);
	case HP_JOB_DROP:
		return hp_stager_drop(t, j);
	}
	return 0;
}

/* Under the lock: the next job, or NULL if there is none now. */
static struct hp_job *take(struct hpdsl_stager *s, enum hp_stager_crew crew)
{
	struct hp_stager_chunk *c = s->shared.busy;

	if (crew == HP_CREW_ORIGIN)
		return hp_jobs_take(&s->shared.origin_jobs);
	if (crew == HP_CREW_SERVE)
		return hp_jobs_take(&s->shared.serve_jobs);
	if (!c)
		return NULL;
	s->shared.busy = c->next;
	c->at_work = true;
	return hp_jobs_take(&c->queue);
}

/* Under the lock. */
static void give_back(struct hpdsl_stager *s, struct hp_job *j)
{
	struct hp_stager_chunk *c = j->chunk;

	if (hp_job_crew(j) == HP_CREW_CHUNKS) {
		c->at_work = false;
		if (c->queue.first)
			hp_stager_make_busy(s, c);
	}
	hp_jobs_add(&s->shared.done, j);
	__atomic_store_n(&s->shared.any_done, true, __ATOMIC_RELEASE);
}

static void tell_failure(struct hpdsl_stager *s, const struct hp_job *j,
			 const struct hpdsl_error *err)
{
	if (j->result == HPDSL_ECORRUPT && hp_job_crew(j) == HP_CREW_ORIGIN)
		hp_stager_damage(s, err);
	else if (j->result < 0 && j->result != -ECANCELED)
		hp_stager_fail(s, j->result, err);
}

static void *run(void *arg)
{
	struct hp_stager_thread *t = arg;
	struct hpdsl_stager *s = t->s;

	pthread_mutex_lock(&s->shared.lock);
	while (!hp_stager_ends(s)) {
		struct hp_job *j = take(s, t->crew);
		struct hpdsl_error err;

		if (!j) {
			pthread_cond_wait(&s->shared.wake[t->crew],
					  &s->shared.lock);
			continue;
		}
		pthread_mutex_unlock(&s->shared.lock);
		j->result = work(t, j, &err);
		tell_failure(s, j, &err);
		pthread_mutex_lock(&s->shared.lock);
		give_back(s, j);
	}
	s->shared.alive--;
	pthread_mutex_unlock(&s->shared.lock);
	return NULL;
}

/* ---- From beginning to end -------------------------------------------- */

static int start(struct hpdsl_stager *s, enum hp_stager_crew crew, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct hp_stager_thread *t =
			&s->shared.thread[s->shared.n_threads];

		*t = (struct hp_stager_thread){ .s = s, .crew = crew };
		pthread_mutex_lock(&s->shared.lock);
		r = hp_thread_start(&t->id, run, t);
		if (r == 0) {
			s->shared.alive++;
			s->shared.n_threads++;
		}
		pthread_mutex_unlock(&s->shared.lock);
		if (r < 0 && i > 0)
			return 0; /* it goes on with those */
	}
	return r;
}

/* What expands a chunk needs memory beside the buffers, which take 3/4. */
static uint32_t chunk_threads(const struct hpdsl_stager *s, uint32_t n)
{
	uint64_t rest =
		(uint64_t)s->own.buffers.max * s->own.buffers.segment / 3;
	uint64_t most = rest / EXPANDING;

	n += CHUNK_THREADS;
	if (most < CHUNK_THREADS)
		most = CHUNK_THREADS;
	return n < most ? n : (uint32_t)most;
}

int hp_stager_threads(struct hpdsl_stager *s, uint32_t threads,
		      struct hpdsl_error *err)
{
	uint32_t n = hp_threads(threads);
	bool serial = n == HPDSL_SERIAL;
	uint32_t of[HP_CREWS] = {
		[HP_CREW_ORIGIN] = serial ? 1 : ORIGIN_THREADS,
		[HP_CREW_SERVE] = serial ? 1 : SERVE_THREADS,
		[HP_CREW_CHUNKS] = serial ? 1 : chunk_threads(s, n),
	};
	int r = 0;

	s->shared.thread =
		hp_array(of[0] + of[1] + of[2], sizeof *s->shared.thread);
	if (!s->shared.thread)
		return hp_fail_nomem(err);
	for (int i = 0; i < HP_CREWS && r == 0; i++)
		r = start(s, (enum hp_stager_crew)i, of[i]);
	return r < 0 ? hp_fail_errno(err, r, "cannot start a thread") : 0;
}

bool hp_stager_join(struct hpdsl_stager *s)
{
	double end = hp_now() + s->patience;
	uint32_t alive;

	pthread_mutex_lock(&s->shared.lock);
	__atomic_store_n(&s->shared.giving_up, true, __ATOMIC_RELAXED);
	__atomic_store_n(&s->shared.ending, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < HP_CREWS; i++)
		pthread_cond_broadcast(&s->shared.wake[i]);
	pthread_cond_broadcast(&s->shared.pause);
	alive = s->shared.alive;
	pthread_mutex_unlock(&s->shared.lock);
	while (alive && hp_now() < end) {
		hp_sleep(1000000);
		pthread_mutex_lock(&s->shared.lock);
		alive = s->shared.alive;
		pthread_mutex_unlock(&s->shared.lock);
	}
	pthread_mutex_lock(&s->stage_lock);
	s->abandoned = alive > 0;
	pthread_mutex_unlock(&s->stage_lock);
	for (uint32_t i = 0; i < s->shared.n_threads; i++)
		if (alive)
			pthread_detach(s->shared.thread[i].id);
		else
			pthread_join(s->shared.thread[i].id, NULL);
	return alive == 0;
}
