/* SPDX-License-Identifier: Apache-2.0 */
/* What workers do: plan a turn, read a block, or help who plans. */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/meter.h"

#include <errno.h>

/* Planned ahead of reading, so that readers do not wait for the planner. */
enum { AHEAD = 256 << 20 };

/* ---- Planning --------------------------------------------------------- */

static bool is_turn_to_plan(const struct hpdsl_loader *l)
{
	const struct hp_load_block *first = hp_load_queue_first(&l->queue);

	if (l->planning || l->planned_all || l->failed)
		return false;
	/* What is needed now and next is planned in any case. */
	if (l->planned <= l->turn + 1)
		return true;
	/* What there is nothing to read for takes memory, too. */
	return l->late < l->late_most && l->slots.beside < l->memory / 8 &&
	       (!first || first->first >= l->planned || l->queue.bytes < AHEAD);
}

/*
 * The block that is needed first, if there is memory for it.  Not before all
 * turns up to that one are planned: they may have one that is needed before.
 */
static struct hp_load_block *next_block(const struct hpdsl_loader *l)
{
	struct hp_load_block *b = hp_load_queue_first(&l->queue);

	if (!b || (b->first >= l->planned && !l->planned_all) ||
	    (!l->over && !hp_slots_fit(&l->slots, b->b.room)))
		return NULL;
	return b;
}

/* Under the lock: what was planned is to be read. */
static int publish(struct hpdsl_loader *l, const struct hp_load_new *n)
{
	if (hp_load_queue_reserve(&l->queue, n->blocks) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->n; i++) {
		struct hp_load_unit *u = n->v[i];

		hp_slots_charge(&l->slots, (int64_t)u->bytes);
		for (uint32_t k = 0; k < u->blocks; k++) {
			u->block[k].serial = l->serial++;
			hp_load_queue_add(&l->queue, &u->block[k]);
		}
	}
	l->late += n->late;
	l->planned_all = n->over;
	if (!n->over)
		l->planned++;
	return 0;
}

static void plan(struct hpdsl_loader *l)
{
	struct hp_load_new new = { 0 };
	struct hpdsl_error err;
	int r;

	l->planning = true;
	pthread_mutex_unlock(&l->lock);
	r = hp_load_turn(l, &new, &err);
	pthread_mutex_lock(&l->lock);
	l->planning = false;
	if (r == 0 && publish(l, &new) < 0)
		r = hp_fail_nomem(&err);
	free(new.v);
	if (r < 0) {
		l->failed = r;
		l->err = err;
	}
	/* To plan the next turn one is enough, who is awake. */
	if (next_block(l))
		hp_load_wake_some(l, l->asleep);
	if (l->waiting &&
	    (l->failed || l->planned_all || l->planned == l->turn + 1))
		pthread_cond_signal(&l->ready);
}

/* ---- Reading ---------------------------------------------------------- */

static struct hp_load_block *take_block(struct hpdsl_loader *l)
{
	struct hp_load_block *b = next_block(l);

	if (!b)
		return NULL;
	hp_slots_get(&l->slots, b->b.room, l->over, &b->slot);
	l->over = false;
	hp_load_queue_take(&l->queue);
	b->state = HP_LOAD_READING;
	l->reading++;
	/* With that one gone there may be another one to read, or to plan. */
	hp_load_wake(l);
	return b;
}

static void read_block(struct hpdsl_loader *l, struct hp_load_block *b)
{
	pthread_mutex_unlock(&l->lock);
	b->b.buf = b->slot.p;
	if (b->b.buf) {
		hp_fetch(l->fetch, &b->b);
	} else {
		for (uint32_t i = 0; i < b->b.n; i++)
			b->b.member[i].code = -ENOMEM;
	}
	pthread_mutex_lock(&l->lock);
	l->reading--;
	b->state = HP_LOAD_READ;
	if (l->waiting && b == l->awaited)
		pthread_cond_signal(&l->ready);
}

void hp_load_block_drop(struct hpdsl_loader *l, struct hp_load_block *b)
{
	if (--b->uses)
		return;
	if (b->unit->late)
		l->late -= hp_slots_cost(l->plan.slot, b->b.room);
	if (b->slot.p)
		hp_slots_put(&l->slots, &b->slot);
	b->slot.p = NULL;
	hp_load_unit_drop(l, b->unit);
	hp_load_wake(l);
}

/* ---- Workers ---------------------------------------------------------- */

bool hp_load_work(struct hpdsl_loader *l)
{
	struct hp_load_block *b;

	if (hp_stopped(&l->opt.watch))
		return false;
	if (is_turn_to_plan(l)) {
		plan(l);
		return true;
	}
	b = take_block(l);
	if (!b)
		return hp_load_job(l);
	read_block(l, b);
	return true;
}

void hp_load_wake(struct hpdsl_loader *l)
{
	if (l->asleep && !hp_stopped(&l->opt.watch) &&
	    (is_turn_to_plan(l) || next_block(l)))
		hp_load_wake_some(l, 1);
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
		l->asleep++;
		pthread_cond_wait(&l->work, &l->lock);
		l->asleep--;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}
