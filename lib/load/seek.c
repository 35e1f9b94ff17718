/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on at another step.  What is new is made beside what is there, and only
 * then that is dropped: an error changes nothing.
 */
#include "load/load.h"

/* Under the lock: until nobody plans, or makes a unit's rows.  What is being
 * read is read, and given back then. */
static void wait_for_workers(struct hpdsl_loader *l)
{
	while (l->making || l->planning)
		pthread_cond_wait(&l->ready, &l->lock);
}

/* Under the lock: what was planned, read or begun, but for what is out. */
static void drop_all(struct hpdsl_loader *l)
{
	hp_load_free_half(l);
	l->caller.over = NULL;
	l->caller.held = 0;
	l->queue = (struct hp_load_queue){ 0 };
	l->ahead = 0;
	hp_lead_seek(&l->lead);
	l->over = false;
	l->awaited = NULL;
	hp_load_free_epochs(l);
}

/* Under the lock: as if it had just been made. */
static void begin_at(struct hpdsl_loader *l, const struct hpdsl_order *o,
		     struct hp_load_epoch *e)
{
	l->order = l->reached = *o;
	l->caller.epoch = l->planner.epoch = e;
	l->planner.next = o->epoch + 1;
	l->turn = l->planned = 0;
	l->planned_all = o->epoch >= l->until;
	l->failed = 0;
	hp_load_wake(l);
}

static void go_to(struct hpdsl_loader *l, const struct hpdsl_order *o,
		  struct hp_load_epoch *e)
{
	l->seeking = true;
	wait_for_workers(l);
	l->seeking = false;
	drop_all(l);
	begin_at(l, o, e);
}

static int check_step(const struct hpdsl_loader *l,
		      const struct hp_load_epoch *e, uint64_t step,
		      struct hpdsl_error *err)
{
	return hp_load_check_step(step, hpdsl_epoch_steps(e->e, l->opt.end),
				  err);
}

int hp_load_seek(struct hpdsl_loader *l, uint64_t epoch, uint64_t step,
		 struct hpdsl_error *err)
{
	struct hp_load_epoch *e = NULL;
	struct hpdsl_order o = l->order;
	int r;

	o.epoch = epoch;
	o.step = step;
	r = hp_load_epoch_new(l, &o, 0, &e, err);
	if (r < 0)
		return r;
	r = check_step(l, e, step, err);
	pthread_mutex_lock(&l->lock);
	if (r == 0)
		go_to(l, &o, e);
	else
		hp_load_epoch_free(l, e);
	pthread_mutex_unlock(&l->lock);
	return r;
}
