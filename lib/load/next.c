/* SPDX-License-Identifier: Apache-2.0 */
/* Handing out batches. */
#include "load/load.h"

#include "base/error.h"
#include "sys/clock.h"
#include "sys/meter.h"

#include <errno.h>
#include <inttypes.h>

/* So often the caller looks whether it was stopped from outside; glibc before
 * 2.41 may also lose a signal. */
enum { POLL_MS = 50 };

/* ---- Waiting ---------------------------------------------------------- */

/*
 * Nothing can be read for want of memory, and what is held is needed, or out.
 */
static bool is_stuck(const struct hpdsl_loader *l)
{
	const struct hp_load_unit *u = l->queue.head;

	return !l->reading && !l->over && l->planned > l->turn && u &&
	       u->first <= l->turn && !hp_load_has_room(l, u);
}

static void go_over(struct hpdsl_loader *l)
{
	bool warn = !l->caller.warned_over;

	l->over = l->caller.warned_over = true;
	hp_load_wake(l);
	if (!warn)
		return;
	pthread_mutex_unlock(&l->lock);
	hp_load_warn(l, "the samples of a step do not fit into the memory: "
			"more is taken");
	pthread_mutex_lock(&l->lock);
}

/* Seconds until it is time to look, or to give up. */
static double pause_of(const struct hpdsl_loader *l, double began)
{
	double poll = POLL_MS / 1e3, left = poll;

	if (l->opt.wait_ms)
		left = began + l->opt.wait_ms / 1e3 - hp_now();
	return left < 0 ? 0 : left < poll ? left : poll;
}

/* Until something has happened, or so many seconds. */
static void pause_for_work(struct hpdsl_loader *l, double seconds)
{
	struct timespec until = hp_deadline(seconds);

	hp_load_wake(l); /* for whatever has become possible */
	l->waiting = true;
	pthread_cond_timedwait(&l->ready, &l->lock, &until);
	l->waiting = false;
}

/* Under the lock, which it gives up meanwhile: who waits long is seen to. */
static void tell_metrics(struct hpdsl_loader *l)
{
	if (!hpdsl_metrics_due(l->metrics))
		return;
	pthread_mutex_unlock(&l->lock);
	hp_load_metrics_put(l);
	pthread_mutex_lock(&l->lock);
}

/* Under the lock: waits for that. */
static int wait_until(struct hpdsl_loader *l, double began,
		      bool (*done)(struct hpdsl_loader *l),
		      struct hpdsl_error *err)
{
	while (!done(l)) {
		if (hp_stopped(&l->opt.watch))
			return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
		if (l->caller.hasty)
			return hp_fail(err, -EAGAIN, "it is not here yet");
		if (l->opt.wait_ms && hp_now() - began >= l->opt.wait_ms / 1e3)
			return hp_fail(err, -EAGAIN,
				       "the next step is not here"
				       " yet");
		if (is_stuck(l)) {
			/* One may be out: so much was seen to fit. */
			if (l->out > 1)
				return hp_fail(err, -ENOBUFS,
					       "%" PRIu32 " batches that were "
					       "not released hold all the "
					       "memory",
					       l->out);
			go_over(l);
		} else if (l->threads) {
			pause_for_work(l, pause_of(l, began));
		} else {
			hp_load_work(l);
		}
		tell_metrics(l);
	}
	return 0;
}

static bool is_planned(struct hpdsl_loader *l)
{
	return l->planned > l->turn || l->planned_all || l->failed;
}

static bool is_read(struct hpdsl_loader *l)
{
	struct hp_load_batch *b = l->caller.half;

	/* The last one of them is about the last one that is read. */
	while (b->left && b->unit[b->left - 1]->read)
		b->left--;
	l->awaited = b->left ? b->unit[b->left - 1] : NULL;
	return !b->left;
}

static int stall(struct hpdsl_loader *l, bool (*done)(struct hpdsl_loader *l),
		 struct hpdsl_error *err)
{
	double began;
	int r;

	if (done(l))
		return 0;
	hp_lead_waits(&l->lead, l->turn);
	began = l->caller.stalls = hp_now();
	r = wait_until(l, began, done, err);
	l->caller.stalls = 0;
	l->stats.stall_seconds += hp_now() - began;
	return r;
}

/* ---- A turn ----------------------------------------------------------- */

/* Under the lock: 1 if there is one. */
static int find_turn(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	int r = stall(l, is_planned, err);

	if (r < 0)
		return r;
	if (l->planned <= l->turn)
		return l->failed ? hp_fail(err, l->failed, "%s", l->err.msg) :
				   0;
	while (l->turn >= l->caller.epoch->end) {
		struct hp_load_epoch *over = l->caller.epoch;

		l->caller.epoch = over->next;
		hp_load_epoch_free(l, over);
	}
	return 1;
}

static int begin_batch(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_batch *b = l->idle;

	if (b)
		l->idle = b->next;
	pthread_mutex_unlock(&l->lock);
	if (!b)
		b = hp_load_batch_new(l);
	if (b)
		hp_load_gather(l, b);
	pthread_mutex_lock(&l->lock);
	if (!b)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < b->units; i++)
		b->unit[i]->refs++;
	l->caller.half = b;
	return 0;
}

void hp_load_put_batch(struct hpdsl_loader *l, struct hp_load_batch *b)
{
	for (uint32_t i = 0; i < b->units; i++)
		hp_load_unit_drop(l, b->unit[i]);
	b->next = l->idle;
	l->idle = b;
	hp_load_wake(l);
}

/* What turns need again, or this one does. */
static void count_held(struct hpdsl_loader *l, const struct hp_load_batch *b)
{
	for (uint32_t i = 0; i < b->units; i++) {
		struct hp_load_unit *u = b->unit[i];

		if (!u->held)
			l->caller.held += u->b.room;
		l->ahead -= u->ahead;
		u->held = true;
		u->ahead = 0;
	}
	if (l->caller.held > l->stats.held_peak)
		l->stats.held_peak = l->caller.held;
}

/* The turn is over, well or badly. */
static void end_turn(struct hpdsl_loader *l)
{
	count_held(l, l->caller.half);
	l->caller.half = NULL;
	hp_load_end_turn(l);
	hp_load_wake(l);
}

/* What its samples took: of a unit that several turns need the turn's part, as
 * how far ahead is read counts whole units. */
static uint64_t taken(const struct hp_load_batch *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < b->pub.n; i++) {
		const struct hp_load_unit *u = b->of[i];

		sum += hp_load_unit_takes(u) / (u->rows ? u->rows : 1);
	}
	return sum;
}

static int finish_batch(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_batch *b = l->caller.half;
	struct hp_load_counts n;
	uint64_t bytes;
	int r;

	pthread_mutex_unlock(&l->lock);
	r = hp_load_fill(l, b, &n, err);
	bytes = taken(b);
	pthread_mutex_lock(&l->lock);
	if (r == 0)
		hp_lead_took(&l->lead, bytes, l->busy);
	l->busy = 0;
	end_turn(l);
	if (r < 0) {
		l->stats.failed_steps++;
		hp_load_put_batch(l, b);
		return r;
	}
	l->reached.epoch = b->pub.epoch;
	l->reached.step = b->pub.step + 1;
	b->loader = l;
	for (uint32_t i = 0; i < b->units; i++)
		b->unit[i]->lent++;
	l->out++;
	l->stats.steps++;
	l->stats.samples += n.samples;
	l->stats.bytes += n.bytes;
	l->stats.bad_samples += n.bad;
	l->stats.lacking += n.lacking;
	return 0;
}

static int next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		struct hpdsl_error *err)
{
	struct hp_load_batch *b;
	int r = l->caller.half ? 1 : find_turn(l, err);

	if (r <= 0)
		return r;
	r = l->caller.half ? 0 : begin_batch(l, err);
	if (r == 0)
		r = stall(l, is_read, err);
	b = l->caller.half;
	if (r == 0)
		r = finish_batch(l, err);
	if (r < 0)
		return r;
	*ret = &b->pub;
	return 1;
}

int hp_load_next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		 struct hpdsl_error *err)
{
	int r;

	if (l->left > 0)
		l->busy += hp_now() - l->left;
	l->left = 0;
	r = next(l, ret, err);
	tell_metrics(l);
	l->left = hp_now();
	return r;
}

/* A thread that is just telling something is waited for; none begins to. */
int hp_load_stopped(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	pthread_mutex_lock(&l->warn_lock);
	pthread_mutex_unlock(&l->warn_lock);
	return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
}

int hp_load_may_go_on(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	if (!l)
		return hp_fail(err, HPDSL_ESTOPPED, "the loader was freed");
	if (!hp_load_is_ours(l))
		return hp_fail(err, HPDSL_EUSAGE,
			       "the loader is of another process");
	if (hp_stopped(&l->opt.watch))
		return hp_load_stopped(l, err);
	return 0;
}
