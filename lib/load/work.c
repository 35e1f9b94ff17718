/* SPDX-License-Identifier: Apache-2.0 */
/* What workers do: plan, or read what is needed first. */
#include "load/load.h"

#include "base/error.h"
#include "sys/clock.h"
#include "sys/meter.h"

#include <errno.h>

/* ---- Reading ---------------------------------------------------------- */

bool hp_load_has_room(const struct hpdsl_loader *l,
		      const struct hp_load_unit *u)
{
	return hp_arena_fits(&l->arena, hp_load_unit_room(u),
			     sizeof *u + hp_load_unit_arrays(u));
}

static uint64_t far_ahead(const struct hpdsl_loader *l)
{
	double busy = l->busy;

	if (l->cached)
		return HP_LOAD_NEAR;
	if (l->left > 0)
		busy += hp_now() - l->left;
	return hp_lead_far(&l->lead, busy, l->memory);
}

/* Need nobody hurry? */
static bool is_early(const struct hpdsl_loader *l, const struct hp_load_unit *u)
{
	return u->first > l->turn + 1 &&
	       l->ahead >= (l->cached ? HP_LOAD_NEAR : HP_LEAD_LEAST) &&
	       l->ahead >= far_ahead(l);
}

/* Is nothing read only because nobody need hurry? */
static bool is_held_back(const struct hpdsl_loader *l)
{
	const struct hp_load_unit *u = l->queue.head;

	return u && u->first < l->most && !l->cached && is_early(l, u) &&
	       hp_load_has_room(l, u);
}

/* The unit that is needed first, if it is to be read, and there is memory. */
static struct hp_load_unit *next_unit(const struct hpdsl_loader *l)
{
	struct hp_load_unit *u = l->queue.head;

	if (!u || u->first >= l->most || is_early(l, u) ||
	    (!l->over && !hp_load_has_room(l, u)))
		return NULL;
	return u;
}

/* It takes so many bytes now, beside its place. */
static void charge(struct hpdsl_loader *l, struct hp_load_unit *u,
		   uint64_t bytes)
{
	hp_arena_charge(&l->arena, (int64_t)(bytes - u->bytes));
	u->bytes = bytes;
}

/* Under the lock: it is read ahead, and takes what it takes now. */
static void count_ahead(struct hpdsl_loader *l, struct hp_load_unit *u)
{
	l->ahead += hp_load_unit_takes(u) - u->ahead;
	u->ahead = hp_load_unit_takes(u);
}

/* With its place, and what its arrays will take: what the next one may take is
 * what is left. */
static struct hp_load_unit *take_unit(struct hpdsl_loader *l)
{
	struct hp_load_unit *u = next_unit(l);

	if (!u)
		return NULL;
	if (l->full > 0)
		l->blocked += hp_now() - l->full;
	l->full = 0;
	hp_arena_get(&l->arena, hp_load_unit_room(u), &u->place);
	charge(l, u, sizeof *u + hp_load_unit_arrays(u));
	if (u->first > l->turn)
		count_ahead(l, u);
	l->over = false;
	l->queue.head = u->queued;
	if (!u->queued)
		l->queue.tail = NULL;
	l->queue.n--;
	l->reading++;
	l->making++;
	u->refs++; /* nobody may be waiting for it any more when it is read */
	/* With that one gone there may be another one to read, or to plan. */
	hp_load_wake(l);
	return u;
}

/*
 * Under the lock: its rows are there, and say what it takes.  An extent is
 * about that, but for gaps that are not read through; an index that is wrong
 * may say anything.
 */
static void fit_place(struct hpdsl_loader *l, struct hp_load_unit *u)
{
	uint64_t is = u->place.bytes, room = u->b.room;

	charge(l, u, u->made);
	if (u->place.p && room <= is && hp_arena_cost(room) > is / 2)
		return;
	if (u->place.p)
		hp_arena_put(&l->arena, &u->place);
	u->place.p = NULL;
	if (u->members)
		hp_arena_get(&l->arena, room, &u->place);
}

/* Bytes that are there to be handed out. */
static uint64_t good_bytes(const struct hp_load_unit *u)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < u->b.n; i++)
		if (u->member[i].code >= 0)
			sum += u->member[i].size;
	return sum;
}

/* There is no memory for it: all its samples are bad. */
static void spoil(struct hp_load_unit *u)
{
	for (uint32_t i = 0; i < u->b.n; i++)
		u->member[i].code = -ENOMEM;
}

static void read_unit(struct hpdsl_loader *l, struct hp_load_unit *u)
{
	double began = hp_now();
	uint64_t made;
	int r;

	pthread_mutex_unlock(&l->lock);
	r = hp_load_unit_make(u);
	pthread_mutex_lock(&l->lock);
	fit_place(l, u);
	if (u->ahead)
		count_ahead(l, u);
	if (!--l->making && l->seeking)
		pthread_cond_signal(&l->ready);
	pthread_mutex_unlock(&l->lock);
	u->b.buf = u->place.p;
	if (u->b.buf && r == 0)
		hp_fetch(l->fetch, &u->b);
	else
		spoil(u);
	made = good_bytes(u);
	pthread_mutex_lock(&l->lock);
	hp_lead_read(&l->lead, hp_now() - began);
	l->made += made;
	l->reading--;
	u->code = r;
	u->read = true;
	l->cached = u->b.cached;
	if (l->waiting && u == l->awaited)
		pthread_cond_signal(&l->ready);
	hp_load_unit_drop(l, u);
}

/* ---- Workers ---------------------------------------------------------- */

static void wake_some(struct hpdsl_loader *l, uint32_t n)
{
	for (n = n < l->asleep ? n : l->asleep; n; n--)
		pthread_cond_signal(&l->work);
}

static void plan(struct hpdsl_loader *l)
{
	hp_load_plan(l);
	if (l->seeking)
		pthread_cond_signal(&l->ready);
	/* To plan on one is enough, who is awake. */
	if (next_unit(l))
		wake_some(l, l->asleep);
	if (l->waiting && (l->failed || l->planned_all || l->planned > l->turn))
		pthread_cond_signal(&l->ready);
}

bool hp_load_work(struct hpdsl_loader *l)
{
	struct hp_load_unit *u;

	if (l->seeking || l->paused || hp_stopped(&l->opt.watch))
		return false;
	if (hp_load_has_to_plan(l)) {
		plan(l);
		return true;
	}
	u = take_unit(l);
	if (!u) {
		if (is_held_back(l))
			hp_lead_holds(&l->lead, l->queue.head->first);
		return false;
	}
	read_unit(l, u);
	return true;
}

void hp_load_wake(struct hpdsl_loader *l)
{
	if (l->asleep && !hp_stopped(&l->opt.watch) &&
	    (hp_load_has_to_plan(l) || next_unit(l)))
		wake_some(l, 1);
}

void *hp_load_worker(void *loader)
{
	struct hpdsl_loader *l = loader;

	pthread_mutex_lock(&l->lock);
	while (!l->ending) {
		if (hp_load_work(l))
			continue;
		if (l->waiting && !l->reading)
			pthread_cond_signal(&l->ready);
		if (!l->reading && !l->planning && l->full <= 0)
			l->full = hp_now();
		l->asleep++;
		pthread_cond_wait(&l->work, &l->lock);
		l->asleep--;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}
