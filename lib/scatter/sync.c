/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every few seconds: what is in its place is synced, then the journal says how
 * far the streams are.  What comes meanwhile is for the next time.
 */
#include "scatter/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <time.h>

/* Seconds: at first, and once it runs; .. */
static const double first_interval = 1, max_interval = 5;

/* .. or as often as takes the tenth part of the time. */
enum { SYNC_SHARE = 10 };

/* What an earlier run put in place still is, or is written again. */
static struct hp_journal_position position(const struct hp_stream *t)
{
	struct hp_journal_position p = t->at;

	if (t->before.files > p.files ||
	    (t->before.files == p.files && t->before.bytes > p.bytes)) {
		p.files = t->before.files;
		p.bytes = t->before.bytes;
	}
	return p;
}

static bool same(const struct hp_journal_position *a,
		 const struct hp_journal_position *b)
{
	return a->files == b->files && a->bytes == b->bytes &&
	       a->archive == b->archive && a->root == b->root;
}

/* Positions that the journal has not got. */
static size_t find_new(struct hp_scatter *s, struct hp_journal_position *ret)
{
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n_streams; i++) {
		struct hp_journal_position p = position(&s->streams[i]);

		if (s->streams[i].n_spots && !same(&p, &s->streams[i].noted))
			ret[n++] = p;
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void keep_noted(struct hp_scatter *s,
		       const struct hp_journal_position *pos, size_t n)
{
	size_t at = 0;

	for (uint32_t i = 0; i < s->n_streams && at < n; i++)
		if (s->streams[i].at.root == pos[at].root)
			s->streams[i].noted = pos[at++];
}

int hp_scatter_sync(struct hp_scatter *s, struct hpdsl_error *err)
{
	hp_auto_free struct hp_journal_position *pos =
		hp_array(s->n_streams, sizeof *pos);
	size_t n;
	int r;

	if (!pos)
		return hp_fail_nomem(err);
	n = find_new(s, pos);
	if (n == 0)
		return 0;
	r = hp_parts_sync(&s->parts, err);
	if (r < 0)
		return r;
	r = hp_journal_add_positions(s->w->journal, pos, n, err);
	if (r == 0)
		keep_noted(s, pos, n);
	return r;
}

void hp_scatter_fail(struct hp_scatter *s, int code,
		     const struct hpdsl_error *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->failed) {
		s->failed = code;
		s->err = *err;
	}
	pthread_cond_broadcast(&s->freed);
	pthread_cond_broadcast(&s->ready);
	pthread_cond_broadcast(&s->due);
	pthread_mutex_unlock(&s->lock);
}

static void sync_now(struct hp_scatter *s)
{
	struct hpdsl_error err;
	double start = hp_now(), wait;
	int r = hp_scatter_sync(s, &err);

	if (r < 0)
		hp_scatter_fail(s, r, &err);
	wait = (hp_now() - start) * SYNC_SHARE;
	/* The first ones come sooner: there is little to sync. */
	s->interval =
		s->interval * 2 < max_interval ? s->interval * 2 : max_interval;
	wait = wait > s->interval ? wait : s->interval;
	s->next_sync = hp_now() + wait;
}

/* From the beginning of the streams on. */
static void begin(struct hp_scatter *s)
{
	s->interval = first_interval;
	s->next_sync = hp_now() + first_interval;
}

void hp_scatter_sync_if_due(struct hp_scatter *s)
{
	if (s->interval == 0)
		begin(s);
	if (hp_now() >= s->next_sync)
		sync_now(s);
}

/* Under the lock: until the time, or the end. */
static void wait_until(struct hp_scatter *s, double when)
{
	struct timespec t = hp_deadline(when - hp_now());

	while (!s->ended && !s->failed && hp_now() < when)
		pthread_cond_timedwait(&s->due, &s->lock, &t);
}

void *hp_scatter_syncer(void *arg)
{
	struct hp_scatter *s = arg;

	pthread_mutex_lock(&s->lock);
	begin(s);
	for (;;) {
		wait_until(s, s->next_sync);
		if (s->ended || s->failed)
			break;
		pthread_mutex_unlock(&s->lock);
		sync_now(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
