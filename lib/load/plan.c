/* SPDX-License-Identifier: Apache-2.0 */
/* Planning: which shares are read next, in the order in which they are needed.
 */
#include "load/load.h"

#include "base/error.h"
#include "dataset/dataset.h"
#include "index/copy.h"

enum {
	AHEAD = 64, /* units that wait to be read: no reader waits for a plan */
	AT_ONCE = 32, /* that are planned before others may take them */
};

uint64_t hp_load_planned_bytes(const struct hpdsl_loader *l)
{
	/* Of a turn: one for each place, or some of each lane. */
	uint64_t turn = 4 * l->stats.lanes;

	if (turn > l->places)
		turn = l->places;
	return (AHEAD + AT_ONCE + 2 * turn) * sizeof(struct hp_load_unit);
}

bool hp_load_has_to_plan(const struct hpdsl_loader *l)
{
	if (l->planning || l->planned_all || l->failed)
		return false;
	/* What is needed now and next is planned in any case. */
	return l->planned <= l->turn + 1 || l->queue.n < AHEAD;
}

/* What the planner brings back. */
struct news {
	struct hp_load_unit *head, *tail;
	struct hp_load_epoch *epoch; /* begun, and of all of these units */
	uint64_t planned;
	uint32_t n;
	bool over;
};

/*
 * A whole epoch without a turn: an endless loader would look for ever, and
 * without a choice the others are just as long.
 */
static bool is_barren(const struct hpdsl_loader *l,
		      const struct hp_load_epoch *e)
{
	return e->end == e->base && e->plan.own->first == l->opt.share.worker &&
	       (!l->opt.epochs || !l->opt.choice);
}

/*
 * The epoch behind the last one; over: there is none.  One without a turn is
 * not kept: the caller, who ends epochs, would not come by until there is one.
 */
static int next_epoch(struct hpdsl_loader *l, struct news *n,
		      struct hpdsl_error *err)
{
	struct hp_load_planner *p = &l->planner;
	struct hp_load_epoch *last = p->epoch, *e;
	struct hpdsl_order o = l->order;
	int r;

	n->planned = last->end;
	n->over = is_barren(l, last) || p->next >= l->until;
	if (n->over)
		return 0;
	o.epoch = p->next;
	o.step = 0;
	r = hp_load_epoch_new(l, &o, last->end, &e, err);
	if (r < 0)
		return r;
	p->next++;
	if (e->end > e->base) {
		n->epoch = p->epoch = e;
		return 0;
	}
	n->over = is_barren(l, e);
	hp_load_epoch_free(l, e);
	return 0;
}

static int plan_share(struct hp_load_epoch *e, struct news *n,
		      struct hpdsl_error *err)
{
	struct hp_load_unit *u;
	struct hp_share share;

	e->extents.members = 0;
	if (!hp_shares_next(e->shares, &share))
		return 0;
	u = hp_load_unit_new(&e->plan, &share);
	if (!u)
		return hp_fail_nomem(err);
	u->members_most = hp_load_members(&e->extents, &share);
	u->first = hp_load_turn(e, share.need);
	u->last = hp_load_turn(e, share.until);
	if (n->tail)
		n->tail->queued = u;
	else
		n->head = u;
	n->tail = u;
	n->n++;
	return 0;
}

/* Some shares of one epoch, or the next epoch. */
static int plan(struct hpdsl_loader *l, struct news *n, struct hpdsl_error *err)
{
	struct hp_load_epoch *e = l->planner.epoch;
	struct hp_index_copy copy;
	uint64_t need = hp_shares_need(e->shares);
	int r = 0;

	if (need == UINT64_MAX)
		return next_epoch(l, n, err);
	hp_index_copy_begin(&copy, l->ds->index, false);
	e->extents.index = &copy.ix;
	while (r == 0 && n->n < AT_ONCE && need != UINT64_MAX) {
		r = plan_share(e, n, err);
		need = hp_shares_need(e->shares);
	}
	hp_index_copy_end(&copy);
	n->planned = need == UINT64_MAX ? e->end : hp_load_turn(e, need);
	return r;
}

static void add_to_lane(struct hp_load_epoch *e, struct hp_load_unit *u)
{
	struct hp_load_lane *lane = hp_load_lane(e, u->share.lane);

	if (lane->tail)
		lane->tail->next = u;
	else
		lane->head = u;
	lane->tail = u;
}

/* Under the lock: what was planned is to be read. */
static void publish(struct hpdsl_loader *l, struct hp_load_epoch *e,
		    const struct news *n)
{
	for (struct hp_load_unit *u = n->head; u; u = u->queued)
		add_to_lane(e, u);
	if (n->head && l->queue.tail)
		l->queue.tail->queued = n->head;
	else if (n->head)
		l->queue.head = n->head;
	if (n->tail)
		l->queue.tail = n->tail;
	l->queue.n += n->n;
	l->planned_all = n->over;
	if (n->epoch)
		e->next = n->epoch;
	else if (!n->over)
		l->planned = n->planned;
}

static void drop_news(const struct news *n)
{
	for (struct hp_load_unit *u = n->head, *next; u; u = next) {
		next = u->queued;
		hp_load_unit_free(u);
	}
}

void hp_load_plan(struct hpdsl_loader *l)
{
	struct hp_load_epoch *e = l->planner.epoch;
	struct news n = { 0 };
	struct hpdsl_error err;
	int r;

	l->planning = true;
	pthread_mutex_unlock(&l->lock);
	r = plan(l, &n, &err);
	if (r < 0)
		drop_news(&n);
	pthread_mutex_lock(&l->lock);
	l->planning = false;
	if (r == 0) {
		publish(l, e, &n);
	} else {
		l->failed = r;
		l->err = err;
	}
}
