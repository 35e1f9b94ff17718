/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader of a measured job reads, by phase.
 *
 * Beside the step that the caller has come to there are two places in the
 * order: where nothing has been read yet, for cold and real steps, and a
 * stretch that is read once, and then from memory, for warm ones.
 */
#include "base/error.h"
#include "load/play.h"

#include <errno.h>

/* ---- Places in the order ---------------------------------------------- */

struct hp_load_at hp_load_play_advance(const struct hpdsl_loader *l,
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

void hp_load_play_find_lead(struct hpdsl_loader *l)
{
	const struct hpdsl_loader_stats *s = &l->stats;
	uint64_t first = s->lanes * l->division.share_bytes;
	uint64_t steps = hpdsl_loader_steps(l, l->order.epoch), lead;

	lead = s->bytes ? first / (s->bytes / s->steps + 1) : 0;
	if (lead > steps)
		lead = steps;
	l->play->lead = (uint32_t)(lead < 1 << 20 ? lead : 1 << 20) + 2;
}

/* Behind what was read ahead of the last step. */
static void find_fresh(struct hpdsl_loader *l, uint64_t warm_steps)
{
	struct hp_load_play *p = l->play;
	/* with what is read ahead of its end */
	uint64_t steps = warm_steps + p->lead;

	p->fresh = hp_load_play_advance(l, p->next, p->lead);
	if (p->has_warm)
		return;
	p->has_warm = true;
	p->warm = p->fresh;
	p->to_read = steps;
	p->fresh = hp_load_play_advance(l, p->warm, steps + p->lead);
}

void hp_load_play_endless(struct hpdsl_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->until = UINT64_MAX;
	pthread_mutex_unlock(&l->lock);
}

/* ---- Batches ---------------------------------------------------------- */

int hp_load_play_take(struct hpdsl_loader *l, bool hasty,
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

void hp_load_play_drop(struct hpdsl_loader *l, const struct hpdsl_batch *pub)
{
	struct hp_load_batch *b = (struct hp_load_batch *)pub;

	pthread_mutex_lock(&l->lock);
	l->out--;
	for (uint32_t i = 0; i < b->units; i++)
		b->unit[i]->lent--;
	hp_load_put_batch(l, b);
	pthread_mutex_unlock(&l->lock);
}

void hp_load_play_pause(struct hpdsl_loader *l, bool paused)
{
	pthread_mutex_lock(&l->lock);
	l->paused = paused;
	hp_load_wake(l);
	pthread_mutex_unlock(&l->lock);
}

int hp_load_play_stretch(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	const struct hpdsl_batch *b;
	int r;

	if (!p->to_read)
		return 1;
	for (; p->to_read; p->to_read--) {
		r = hp_load_play_take(l, false, &b, err);
		if (r <= 0)
			return r;
		hp_load_play_drop(l, b);
		if (p->to_read == 1)
			r = seek(l, p->warm, err);
		if (r < 0)
			return r;
	}
	hp_fetch_was_cached(l->fetch, &p->before);
	return 1;
}

/* Warm steps are all that is read meanwhile: what was read ahead of them would
 * come from storage, and be kept. */
static void read_but(struct hpdsl_loader *l, uint64_t turns)
{
	pthread_mutex_lock(&l->lock);
	l->most = turns;
	hp_load_wake(l);
	pthread_mutex_unlock(&l->lock);
}

/* ---- Phases ----------------------------------------------------------- */

void hp_load_play_leave(struct hpdsl_loader *l, struct hpdsl_stall_cache *ret)
{
	struct hp_load_play *p = l->play;
	struct hp_fetch_cached now;

	*ret = (struct hpdsl_stall_cache){ 0 };
	p->in = p->begun = false;
	hp_fetch_from(l->fetch, HP_FETCH_AS_IT_IS);
	read_but(l, UINT64_MAX);
	hp_load_play_pause(l, false);
	if (p->phase < HPDSL_STALL_WARM)
		return;
	hp_fetch_was_cached(l->fetch, &now);
	ret->asked = now.asked - p->before.asked;
	ret->there = now.there - p->before.there;
	ret->unknown = now.unknown - p->before.unknown;
}

int hp_load_play_enter(struct hpdsl_loader *l, enum hpdsl_stall_phase phase,
		       uint64_t warm_steps, struct hpdsl_error *err)
{
	struct hp_load_play *p = l->play;
	int r = 0;

	p->in = true;
	p->phase = phase;
	if (phase == HPDSL_STALL_WARM) {
		find_fresh(l, warm_steps);
		if (hp_fetch_from(l->fetch, HP_FETCH_FROM_MEMORY) < 0)
			return hp_fail_nomem(err);
		read_but(l, warm_steps + p->lead);
		r = seek(l, p->warm, err);
	} else if (phase == HPDSL_STALL_COLD) {
		if (!p->has_warm) /* in a run without them */
			p->fresh = hp_load_play_advance(l, p->next, p->lead);
		hp_fetch_from(l->fetch, HP_FETCH_PAST_ALL);
		r = seek(l, p->fresh, err);
	}
	hp_fetch_was_cached(l->fetch, &p->before);
	return r;
}
