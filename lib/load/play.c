/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader of a job that hpdsl-stall measures.  What its caller sees goes on as
 * ever, step after step and epoch after epoch; but once there is a schedule,
 * what is in the batches comes from where the phase wants it.
 *
 * Beside the step that the caller has come to there are two places in the
 * order: where nothing has been read yet, for cold and real steps, and a
 * stretch that is read once, and then from memory, for warm ones.
 */
#include "base/error.h"
#include "load/play.h"
#include "sys/clock.h"
#include "sys/meter.h"

#include <errno.h>
#include <time.h>

enum {
	POLL_MS = 50, /* at the end */
};

/* ---- Places in the order ---------------------------------------------- */

static struct hp_load_at advance(const struct hpdsl_loader *l,
				 struct hp_load_at at, uint64_t n)
{
	uint64_t steps;

	at.step += n;
	while ((steps = hpdsl_loader_steps(l, at.epoch)) && at.step >= steps) {
		at.step -= steps;
		at.epoch++;
	}
	return at;
}

static int seek(struct hpdsl_loader *l, struct hp_load_at at,
		struct hpdsl_error *err)
{
	int r = hp_load_seek(l, at.epoch, at.step, err);

	if (r == 0)
		l->play->next = at;
	return r;
}

/* Steps for which what a seek reads first lasts. */
static void find_lead(struct hpdsl_loader *l)
{
	const struct hpdsl_loader_stats *s = &l->stats;
	uint64_t first = s->lanes * l->division.share_bytes;
	uint64_t steps = hpdsl_loader_steps(l, l->order.epoch), lead;

	lead = s->bytes ? first / (s->bytes / s->steps + 1) : 0;
	if (lead > steps)
		lead = steps;
	l->play->lead = (uint32_t)(lead < 1 << 20 ? lead : 1 << 20) + 2;
	hp_measure_lead(l->play->m, l->play->lead);
}

/* ---- What the caller sees --------------------------------------------- */

/* From here on the loader itself has no end. */
static void begin_to_show(struct hpdsl_loader *l)
{
	struct hp_load_play *p = l->play;

	p->shows = true;
	p->shown = p->next = advance(
		l, (struct hp_load_at){ l->reached.epoch, l->reached.step }, 0);
	p->steps = hpdsl_loader_steps(l, p->shown.epoch);
	p->until = l->until;
	pthread_mutex_lock(&l->lock);
	l->until = UINT64_MAX;
	pthread_mutex_unlock(&l->lock);
}

bool hp_load_play_seek(struct hpdsl_loader *l, uint64_t epoch, uint64_t step)
{
	struct hp_load_play *p = l->play;

	if (!p->shows)
		return false;
	p->shown = advance(l, (struct hp_load_at){ epoch, step }, 0);
	p->steps = hpdsl_loader_steps(l, p->shown.epoch);
	l->reached.epoch = epoch;
	l->reached.step = step;
	return true;
}

static void show(struct hpdsl_loader *l, struct hpdsl_batch *b)
{
	struct hp_load_play *p = l->play;

	b->epoch = p->shown.epoch;
	b->step = p->shown.step;
	pthread_mutex_lock(&l->lock);
	l->reached.epoch = p->shown.epoch;
	l->reached.step = p->shown.step + 1;
	pthread_mutex_unlock(&l->lock);
	if (++p->shown.step < p->steps)
		return;
	p->shown = (struct hp_load_at){ p->shown.epoch + 1, 0 };
	p->steps = hpdsl_loader_steps(l, p->shown.epoch);
}

/* ---- Batches ---------------------------------------------------------- */

/* The loader's own next one. */
static int take(struct hpdsl_loader *l, bool hasty,
		const struct hpdsl_batch **ret, struct hpdsl_error *err)
{
	int r;

	pthread_mutex_lock(&l->lock);
	l->caller.hasty = hasty;
	r = hp_load_next(l, ret, err);
	l->caller.hasty = false;
	pthread_mutex_unlock(&l->lock);
	if (r > 0)
		l->play->next =
			(struct hp_load_at){ (*ret)->epoch, (*ret)->step + 1 };
	return r;
}

/* It was for nobody. */
static void drop(struct hpdsl_loader *l, const struct hpdsl_batch *pub)
{
	struct hp_load_batch *b = (struct hp_load_batch *)pub;

	pthread_mutex_lock(&l->lock);
	l->out--;
	for (uint32_t i = 0; i < b->units; i++)
		b->unit[i]->lent--;
	hp_load_put_batch(l, b);
	pthread_mutex_unlock(&l->lock);
}

static int hand_kept(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		     struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	struct hp_load_batch *b;
	int r;

	pthread_mutex_lock(&l->lock);
	r = hp_load_hand_kept(l, &p->kept[p->handed++ % HP_LOAD_KEPT], &b, err);
	pthread_mutex_unlock(&l->lock);
	if (r < 0)
		return r;
	*ret = &b->pub;
	return 1;
}

static void pause_reading(struct hpdsl_loader *l, bool paused)
{
	pthread_mutex_lock(&l->lock);
	l->paused = paused;
	hp_load_wake(l);
	pthread_mutex_unlock(&l->lock);
}

/* The first ones are the order's. */
static int play_replay(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		       struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r;

	if (p->n_kept == HP_LOAD_KEPT) {
		pause_reading(l, true);
		return hand_kept(l, ret, err);
	}
	r = take(l, false, ret, err);
	if (r > 0 && hp_load_keep(*ret, &p->kept[p->n_kept], err) < 0) {
		drop(l, *ret);
		return -ENOMEM;
	}
	p->n_kept += r > 0;
	return r;
}

/* The loader goes on as fast as the job does, if it can. */
static int play_load(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		     struct hpdsl_error *err)
{
	const struct hpdsl_batch *dropped;
	int r = take(l, true, &dropped, err);

	if (r > 0)
		drop(l, dropped);
	else if (r < 0 && r != -EAGAIN)
		return r;
	return hand_kept(l, ret, err);
}

/* Reads the stretch for the first time, as fast as that goes. */
static int read_stretch(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	const struct hpdsl_batch *b;
	int r;

	for (; p->to_read; p->to_read--) {
		r = take(l, false, &b, err);
		if (r <= 0)
			return r;
		drop(l, b);
		if (p->to_read == 1)
			r = seek(l, p->warm, err);
		if (r < 0)
			return r;
	}
	return 1;
}

static int play_warm(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		     struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;

	if (p->to_read) {
		int r = read_stretch(l, err);

		if (r <= 0)
			return r;
		hp_fetch_was_cached(l->fetch, &p->before);
	}
	return take(l, false, ret, err);
}

/* ---- Phases ----------------------------------------------------------- */

static int end_phase(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	struct hp_fetch_cached now;
	struct hpdsl_stall_cache c;

	p->in = p->begun = false;
	hp_fetch_from(l->fetch, HP_FETCH_AS_IT_IS);
	pause_reading(l, false);
	if (p->phase < HPDSL_STALL_WARM)
		return 0;
	hp_fetch_was_cached(l->fetch, &now);
	c.asked = now.asked - p->before.asked;
	c.there = now.there - p->before.there;
	c.unknown = now.unknown - p->before.unknown;
	return hp_measure_cache(p->m, p->phase, &c, err);
}

/* Behind what was read ahead of the last step. */
static void find_fresh(struct hpdsl_loader *l)
{
	struct hp_load_play *p = l->play;
	/* with what is read ahead of its end */
	uint64_t steps = hp_measure_steps(p->m, HPDSL_STALL_WARM) + p->lead;

	p->fresh = advance(l, p->next, p->lead);
	if (p->has_warm)
		return;
	p->has_warm = true;
	p->warm = p->fresh;
	p->to_read = steps;
	p->fresh = advance(l, p->warm, steps + p->lead);
}

static int begin_phase(struct hpdsl_loader *l, enum hpdsl_stall_phase phase,
		       struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r = p->in ? end_phase(l, err) : 0;

	if (r < 0)
		return r;
	p->in = true;
	p->phase = phase;
	if (!p->shows)
		begin_to_show(l);
	if (phase == HPDSL_STALL_WARM) {
		find_fresh(l);
		if (hp_fetch_from(l->fetch, HP_FETCH_FROM_MEMORY) < 0)
			return hp_fail_nomem(err);
		r = seek(l, p->warm, err);
	} else if (phase == HPDSL_STALL_COLD) {
		hp_fetch_from(l->fetch, HP_FETCH_PAST_ALL);
		r = seek(l, p->fresh, err);
	}
	hp_fetch_was_cached(l->fetch, &p->before);
	return r;
}

static int play(struct hpdsl_loader *l, const struct hp_stall_place *place,
		const struct hpdsl_batch **ret, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r = 0;

	/* Who is asked again has begun. */
	if (place->begins && !p->begun)
		r = begin_phase(l, place->phase, err);
	if (r < 0)
		return r;
	p->begun = place->begins;
	switch (place->phase) {
	case HPDSL_STALL_REPLAY:
		return play_replay(l, ret, err);
	case HPDSL_STALL_LOAD:
		return play_load(l, ret, err);
	case HPDSL_STALL_WARM:
		return play_warm(l, ret, err);
	default:
		return take(l, false, ret, err);
	}
}

/* ---- A step ----------------------------------------------------------- */

static void count(struct hpdsl_loader *l, struct hp_stall_counters *ret)
{
	double now = hp_now();

	pthread_mutex_lock(&l->lock);
	*ret = (struct hp_stall_counters){
		.now = now,
		.made = l->made,
		.out = l->stats.bytes,
		.blocked = l->blocked + (l->full > 0 ? now - l->full : 0),
	};
	/* Whoever asks reads for himself, and then alone. */
	if (!l->threads)
		ret->blocked = now - l->stats.stall_seconds;
	pthread_mutex_unlock(&l->lock);
}

static int one_step(struct hpdsl_loader *l, const struct hp_stall_place *place,
		    const struct hpdsl_batch **ret, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	double stalled = l->stats.stall_seconds;
	uint64_t failed = l->stats.failed_steps;
	int r;

	if (p->shows && p->shown.epoch >= p->until)
		return 0;
	if (place->time == HP_STALL_IN) {
		r = play(l, place, ret, err);
	} else {
		r = p->in ? end_phase(l, err) : 0;
		if (r == 0)
			r = take(l, false, ret, err);
	}
	if (r > 0 && p->shows)
		show(l, (struct hpdsl_batch *)*ret);
	/* One that failed is behind us, too. */
	if (r > 0 || l->stats.failed_steps > failed)
		hp_measure_leave(p->m, hp_now(),
				 l->stats.stall_seconds <= stalled);
	return r;
}

/* All was played: the process is to end. */
static int wait_for_end(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	const struct timespec poll = { .tv_nsec = POLL_MS * 1000000L };

	if (hp_stopped(&l->opt.watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
	nanosleep(&poll, NULL);
	return l->opt.wait_ms ?
		       hp_fail(err, -EAGAIN, "hpdsl-stall ends the job") :
		       0;
}

int hp_load_play_next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		      struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	struct hp_stall_counters now;
	struct hp_stall_place place;
	int r;

	for (;;) {
		count(l, &now);
		if (!p->lead && l->stats.steps)
			find_lead(l);
		r = hp_measure_enter(p->m, &now, &place, err);
		if (r < 0)
			return r;
		if (place.time != HP_STALL_BEHIND)
			return one_step(l, &place, ret, err);
		if (p->in)
			r = end_phase(l, err);
		if (r == 0)
			r = wait_for_end(l, err);
		if (r < 0)
			return r;
	}
}
