/* SPDX-License-Identifier: Apache-2.0 */
#include "readers.h"

#include <stddef.h>

/* Under the lock, which it lets go. */
static void do_one(struct serve_readers *r, struct serve_chore *c)
{
	const bool ending = r->ending;
	void (*wake)(void *arg) = c->wake;
	void *arg = c->arg;

	r->first = c->next;
	if (!r->first)
		r->last = &r->first;
	pthread_mutex_unlock(&r->lock);
	if (!ending)
		c->work(arg);
	wake(arg);
	pthread_mutex_lock(&r->lock);
}

static void *run(void *arg)
{
	struct serve_readers *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		if (r->first)
			do_one(r, r->first);
		else if (!r->ending)
			pthread_cond_wait(&r->changed, &r->lock);
		else
			break;
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* With however few there are; none is a failure. */
int readers_begin(struct serve_readers *r)
{
	int why = 0;

	*r = (struct serve_readers){ .first = NULL };
	r->last = &r->first;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	while (r->threads < SERVE_READERS && !why) {
		why = pthread_create(&r->thread[r->threads], NULL, run, r);
		r->threads += !why;
	}
	if (r->threads)
		return 0;
	readers_end(r);
	return -why;
}

void readers_quit(struct serve_readers *r)
{
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	for (unsigned i = 0; i < r->threads; i++)
		pthread_join(r->thread[i], NULL);
}

void readers_end(struct serve_readers *r)
{
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
}

void readers_put(struct serve_readers *r, struct serve_chore *c)
{
	bool over;

	pthread_mutex_lock(&r->lock);
	over = r->ending;
	if (!over) {
		c->next = NULL;
		*r->last = c;
		r->last = &c->next;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	if (over)
		c->wake(c->arg);
}
