/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer.h"

#include <stddef.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void wait_until(struct serve_pacer *p, uint64_t at)
{
	const struct timespec t = { .tv_sec = (time_t)(at / SECOND),
				    .tv_nsec = (long)(at % SECOND) };

	pthread_cond_timedwait(&p->changed, &p->lock, &t);
}

/* Under the lock: those whose time has come, woken without it. */
static void wake_due(struct serve_pacer *p)
{
	const uint64_t at = now();

	while (p->first && (p->ending || p->first->until <= at)) {
		struct serve_sleeper *s = p->first;

		p->first = s->next;
		pthread_mutex_unlock(&p->lock);
		s->wake(s->arg);
		pthread_mutex_lock(&p->lock);
	}
}

static void *run(void *arg)
{
	struct serve_pacer *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		wake_due(p);
		if (p->first)
			wait_until(p, p->first->until);
		else if (!p->ending)
			pthread_cond_wait(&p->changed, &p->lock);
		else
			break;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pacer_begin(struct serve_pacer *p)
{
	pthread_condattr_t attr;
	int r;

	*p = (struct serve_pacer){ .first = NULL };
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&p->thread, NULL, run, p);
	return r ? -r : 0;
}

void pacer_quit(struct serve_pacer *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
}

void pacer_end(struct serve_pacer *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
}

void pacer_sleep(struct serve_pacer *p, struct serve_sleeper *s)
{
	struct serve_sleeper **at = &p->first;
	bool over;

	pthread_mutex_lock(&p->lock);
	over = p->ending;
	if (!over) {
		/* The line is as long as answers are late, which is not long.
		 */
		while (*at && (*at)->until <= s->until)
			at = &(*at)->next;
		s->next = *at;
		*at = s;
		pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	if (over)
		s->wake(s->arg);
}
