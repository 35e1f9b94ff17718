/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of jobs, their workers, and what these tell. */
#include "sys/crew.h"

#include "base/error.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdlib.h>

#define TELL_EVERY 200000000 /* nanoseconds */

void hp_crew_init(struct hp_crew *c)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	pthread_mutex_init(&c->tell, NULL);
}

void hp_crew_release(struct hp_crew *c)
{
	for (unsigned i = 0; i < HP_CREW_KINDS; i++) {
		while (c->stacks[i].top) {
			struct hp_crew_job *job = c->stacks[i].top;

			c->stacks[i].top = job->next;
			free(job);
		}
	}
	pthread_mutex_destroy(&c->tell);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
}

void hp_crew_abort(struct hp_crew *c, int code, const char *text)
{
	pthread_mutex_lock(&c->lock);
	if (!c->failed.code)
		hp_fail(&c->failed, code, "%s", text);
	__atomic_store_n(&c->over, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&c->lock);
}

void hp_crew_no_memory(struct hp_crew *c)
{
	hp_crew_abort(c, -ENOMEM, "out of memory");
}

bool hp_crew_over(struct hp_crew *c)
{
	const int *stop = c->watch->stop;
	struct hpdsl_error why;

	if (__atomic_load_n(&c->over, __ATOMIC_RELAXED))
		return true;
	if (!stop || !__atomic_load_n(stop, __ATOMIC_RELAXED))
		return false;
	hp_fail(&why, HPDSL_ESTOPPED, "stopped during the %s", c->name);
	hp_crew_abort(c, why.code, why.msg);
	return true;
}

/* ---- Stacks ----------------------------------------------------------- */

/* As many as there is work for.  Locked. */
static void wake(struct hp_crew *c, uint64_t n)
{
	if (n >= c->idle && c->idle > 1)
		pthread_cond_broadcast(&c->wake);
	else
		for (; n > 0 && c->idle; n--)
			pthread_cond_signal(&c->wake);
}

/* Of kind from or a later one, what can be begun, or NULL.  Locked. */
static struct hp_crew_stack *find(struct hp_crew *c, unsigned from)
{
	for (unsigned i = from; i < HP_CREW_KINDS; i++) {
		struct hp_crew_stack *s = &c->stacks[i];

		if (s->top && (!s->most || s->doing < s->most))
			return s;
	}
	return NULL;
}

void hp_crew_push(struct hp_crew *c, struct hp_crew_job *list, bool soon)
{
	struct hp_crew_job *end = list;
	struct hp_crew_stack *s;
	uint32_t n = 1;

	if (!list)
		return;
	for (; end->next; end = end->next)
		n++;
	s = &c->stacks[list->kind];
	pthread_mutex_lock(&c->lock);
	end->next = s->top;
	s->top = list;
	s->waiting += n;
	wake(c, soon ? n - 1 : n);
	pthread_mutex_unlock(&c->lock);
}

bool hp_crew_offer(struct hp_crew *c, struct hp_crew_job *job)
{
	struct hp_crew_stack *s = &c->stacks[job->kind];
	bool taken;

	pthread_mutex_lock(&c->lock);
	taken = s->waiting < s->room && !find(c, job->kind + 1);
	if (taken) {
		job->next = s->top;
		s->top = job;
		s->waiting++;
		wake(c, 1);
	}
	pthread_mutex_unlock(&c->lock);
	return taken;
}

/* ---- Workers ---------------------------------------------------------- */

/* Gives back the last job, of stack had, if any.  Locked. */
static void give_back(struct hp_crew *c, struct hp_crew_stack *had)
{
	if (!had)
		return;
	c->busy--;
	had->doing--;
	if (had->most)
		wake(c, 1);
}

/* Then takes the next; NULL: all is done. */
static struct hp_crew_job *take(struct hp_crew *c, struct hp_crew_stack **had)
{
	struct hp_crew_job *job = NULL;
	struct hp_crew_stack *s;

	pthread_mutex_lock(&c->lock);
	give_back(c, *had);
	c->idle++;
	while (!(s = find(c, 0)) && c->busy)
		pthread_cond_wait(&c->wake, &c->lock);
	c->idle--;
	if (s) {
		job = s->top;
		s->top = job->next;
		s->waiting--;
		s->doing++;
		c->busy++;
	} else {
		pthread_cond_broadcast(&c->wake);
	}
	pthread_mutex_unlock(&c->lock);
	*had = s;
	return job;
}

static void *work(void *arg)
{
	struct hp_crew_worker *w = arg;
	struct hp_crew_stack *had = NULL;
	struct hp_crew_job *job;

	while ((job = take(w->crew, &had)))
		w->crew->work(w, job);
	return NULL;
}

int hp_crew_run(struct hp_crew *c, void *workers, size_t size, uint32_t n,
		struct hpdsl_error *err)
{
	struct hp_crew_worker *first = workers, *w;
	uint32_t started = 1;

	first->crew = c;
	for (; started < n; started++) {
		w = (void *)((char *)workers + started * size);
		w->crew = c;
		if (hp_thread_start(&w->thread, work, w) < 0)
			break;
	}
	work(first);
	for (uint32_t i = 1; i < started; i++) {
		w = (void *)((char *)workers + i * size);
		pthread_join(w->thread, NULL);
	}
	return c->failed.code ?
		       hp_fail(err, c->failed.code, "%s", c->failed.msg) :
		       0;
}

/* ---- Telling ---------------------------------------------------------- */

void hp_crew_problem(struct hp_crew *c, const struct hpdsl_error *line)
{
	pthread_mutex_lock(&c->tell);
	hp_lines_add(&c->problems, line);
	pthread_mutex_unlock(&c->tell);
}

void hp_crew_warning(struct hp_crew *c, const struct hpdsl_error *line)
{
	pthread_mutex_lock(&c->tell);
	hp_lines_add(&c->warnings, line);
	pthread_mutex_unlock(&c->tell);
}

static void progress(const struct hp_crew *c)
{
	struct hpdsl_progress p = { .phase = c->phase };

	p.done = __atomic_load_n(&c->done, __ATOMIC_RELAXED);
	c->watch->progress(c->watch->arg, &p);
}

void hp_crew_tick(struct hp_crew *c, uint64_t n)
{
	uint64_t now;

	if (!c->watch->progress)
		return;
	__atomic_fetch_add(&c->done, n, __ATOMIC_RELAXED);
	now = hp_monotonic();
	if (pthread_mutex_trylock(&c->tell))
		return; /* somebody is telling something */
	if (now >= c->next_tell) {
		c->next_tell = now + TELL_EVERY;
		progress(c);
	}
	pthread_mutex_unlock(&c->tell);
}

int hp_crew_conclude(const struct hp_crew *c, const char *more,
		     const char *place, struct hpdsl_error *err)
{
	if (c->watch->progress)
		progress(c);
	hp_lines_tell(&c->warnings, c->watch, more);
	return hp_lines_fail(&c->problems, c->watch, place, err);
}
