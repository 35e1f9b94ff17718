/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader of a job that hpdsl-stall measures.  What its caller sees goes on as
 * ever, step after step and epoch after epoch; but once there is a schedule,
 * what is in the batches comes from where the phase wants it.
 */
#include "base/error.h"
#include "load/play.h"
#include "sys/clock.h"
#include "sys/meter.h"

#include <errno.h>

enum {
	POLL_MS = 50, /* at the end */
};

/* ---- What the caller sees --------------------------------------------- */

/* From here on the loader itself has no end. */
static void begin_to_show(struct hpdsl_loader *l)
{
	struct hp_load_play *p = l->play;

	p->shows = true;
	p->shown = p->next = hp_load_play_advance(
		l, (struct hp_load_at){ l->reached.epoch, l->reached.step }, 0);
	p->steps = hpdsl_loader_steps(l, p->shown.epoch);
	p->until = l->until;
	hp_load_play_endless(l);
}

bool hp_load_play_seek(struct hpdsl_loader *l, uint64_t epoch, uint64_t step)
{
	struct hp_load_play *p = l->play;

	if (!p->shows)
		return false;
	p->shown =
		hp_load_play_advance(l, (struct hp_load_at){ epoch, step }, 0);
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

/* The first ones are the order's. */
static int play_replay(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		       struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r;

	if (p->n_kept == HP_LOAD_KEPT) {
		hp_load_play_pause(l, true);
		return hand_kept(l, ret, err);
	}
	r = hp_load_play_take(l, false, ret, err);
	if (r > 0 && hp_load_keep(*ret, &p->kept[p->n_kept], err) < 0) {
		hp_load_play_drop(l, *ret);
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
	int r = hp_load_play_take(l, true, &dropped, err);

	if (r > 0)
		hp_load_play_drop(l, dropped);
	else if (r < 0 && r != -EAGAIN)
		return r;
	return hand_kept(l, ret, err);
}

static int play_warm(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		     struct hpdsl_error *err)
{
	int r = hp_load_play_stretch(l, err);

	return r > 0 ? hp_load_play_take(l, false, ret, err) : r;
}

/* ---- Phases ----------------------------------------------------------- */

static int end_phase(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	struct hpdsl_stall_cache c;

	hp_load_play_leave(l, &c);
	return p->phase < HPDSL_STALL_WARM ?
		       0 :
		       hpdsl_measured_cache(p->m, p->phase, &c, err);
}

static int begin_phase(struct hpdsl_loader *l, enum hpdsl_stall_phase phase,
		       struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r = p->in ? end_phase(l, err) : 0;

	if (r < 0)
		return r;
	if (!p->shows)
		begin_to_show(l);
	return hp_load_play_enter(
		l, phase, hpdsl_measured_steps(p->m, HPDSL_STALL_WARM), err);
}

static int play(struct hpdsl_loader *l, const struct hpdsl_stall_place *place,
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
		return hp_load_play_take(l, false, ret, err);
	}
}

/* ---- A step ----------------------------------------------------------- */

/* A step is a few microseconds where nothing else is done. */
static void count(struct hpdsl_loader *l, struct hpdsl_stall_counters *ret)
{
	double now = hp_now();

	if (hpdsl_measured_idle(l->play->m)) {
		*ret = (struct hpdsl_stall_counters){ .now = now };
		return;
	}
	pthread_mutex_lock(&l->lock);
	*ret = (struct hpdsl_stall_counters){
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

static int one_step(struct hpdsl_loader *l,
		    const struct hpdsl_stall_place *place,
		    const struct hpdsl_batch **ret, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	double stalled = l->stats.stall_seconds;
	uint64_t failed = l->stats.failed_steps;
	int r;

	if (p->shows && p->shown.epoch >= p->until)
		return 0;
	if (place->time == HPDSL_STALL_IN) {
		r = play(l, place, ret, err);
	} else {
		r = p->in ? end_phase(l, err) : 0;
		if (r == 0)
			r = hp_load_play_take(l, false, ret, err);
	}
	if (r > 0 && p->shows)
		show(l, (struct hpdsl_batch *)*ret);
	/* One that failed is behind us, too. */
	if (r > 0 || l->stats.failed_steps > failed)
		hpdsl_measured_leave(p->m,
				     hpdsl_measured_idle(p->m) ? 0 : hp_now(),
				     l->stats.stall_seconds <= stalled);
	return r;
}

/* All was played: the process is to end. */
static int wait_for_end(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	if (hp_stopped(&l->opt.watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
	hp_sleep(POLL_MS * 1000000L);
	return l->opt.wait_ms ?
		       hp_fail(err, -EAGAIN, "hpdsl-stall ends the job") :
		       0;
}

int hp_load_play_next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		      struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	struct hpdsl_stall_counters now;
	struct hpdsl_stall_place place;
	int r;

	for (;;) {
		count(l, &now);
		if (!p->lead && l->stats.steps) {
			hp_load_play_find_lead(l);
			hpdsl_measured_lead(
				p->m, p->lead,
				hpdsl_loader_steps(l, l->order.epoch));
		}
		r = hpdsl_measured_enter(p->m, &now, &place, err);
		if (r < 0)
			return r;
		if (place.time != HPDSL_STALL_BEHIND)
			return one_step(l, &place, ret, err);
		if (p->in)
			r = end_phase(l, err);
		if (r == 0)
			r = wait_for_end(l, err);
		if (r < 0)
			return r;
	}
}

/* ---- Others play above it --------------------------------------------- */

static int play_above(struct hpdsl_loader *l, enum hpdsl_stall_phase phase,
		      uint64_t warm_steps, struct hpdsl_stall_cache *ret,
		      struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r;

	/* Asked again: it has not been read yet. */
	if (!p->begun) {
		if (p->in)
			hp_load_play_leave(l, ret);
		if (phase >= HPDSL_STALL_PHASES)
			return 0;
		p->next = (struct hp_load_at){ l->reached.epoch,
					       l->reached.step };
		hp_load_play_endless(l);
		r = hp_load_play_enter(l, phase, warm_steps, err);
		if (r < 0)
			return r;
		p->begun = true;
	}
	r = phase == HPDSL_STALL_WARM ? hp_load_play_stretch(l, err) : 1;
	if (r != -EAGAIN && r != -ENOBUFS)
		p->begun = false;
	if (phase == HPDSL_STALL_REPLAY && r > 0)
		hp_load_play_pause(l, true);
	return r < 0 ? r : 0;
}

int hpdsl_loader_play(struct hpdsl_loader *l, enum hpdsl_stall_phase phase,
		      uint64_t warm_steps, uint32_t *ret_lead,
		      struct hpdsl_stall_cache *ret, struct hpdsl_error *err)
{
	struct hpdsl_stall_cache cache = { 0 };
	int r = hp_load_may_go_on(l, err);

	if (r < 0)
		return r;
	if (!l->play || l->play->m)
		return hp_fail(err, HPDSL_EUSAGE,
			       "this loader is not of a measured job, or not "
			       "for other processes");
	if (!l->play->lead && l->stats.steps)
		hp_load_play_find_lead(l);
	r = play_above(l, phase, warm_steps, &cache, err);
	if (ret_lead)
		*ret_lead = l->play->lead;
	if (ret)
		*ret = cache;
	return r == HPDSL_ESTOPPED ? hp_load_stopped(l, err) : r;
}
