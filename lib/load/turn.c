/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning a turn: windows that it is the first to need, and, of what is not
 * read as windows, a unit of its own.
 */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int note(struct hp_load_new *n, struct hp_load_unit *u)
{
	if (n->n == n->room) {
		uint32_t room = n->room ? 2 * n->room : 16;
		void *p = reallocarray(n->v, room, sizeof(*n->v));

		if (!p)
			return -ENOMEM;
		n->v = p;
		n->room = room;
	}
	n->v[n->n++] = u;
	n->blocks += u->blocks;
	return 0;
}

/* ---- Epochs ----------------------------------------------------------- */

/*
 * A whole epoch without a turn: an endless loader would look for ever, and
 * without a choice the others are just as long.
 */
static bool is_barren(const struct hpdsl_loader *l,
		      const struct hp_load_epoch *e)
{
	return e->end == e->share.base &&
	       e->share.first == l->opt.share.worker &&
	       (!l->opt.epochs || !l->opt.choice);
}

/* The epoch after the last one that was planned; NULL: there is none. */
static int next_epoch(struct hpdsl_loader *l, struct hp_load_epoch **ret,
		      struct hpdsl_error *err)
{
	struct hp_load_epoch *last = l->plan_epoch, *e;
	struct hpdsl_order o = l->order;
	int r;

	*ret = NULL;
	if (is_barren(l, last) ||
	    (l->opt.epochs && l->epochs_planned == l->opt.epochs))
		return 0;
	o.epoch = last->number + 1;
	o.step = 0;
	r = hp_load_epoch_new(l, &o, last->end, &e, err);
	if (r < 0)
		return r;
	e->windows = last->windows;
	last->next = l->plan_epoch = e;
	l->epochs_planned++;
	*ret = e;
	return 0;
}

/* ---- Windows ---------------------------------------------------------- */

void hp_load_warn_one_by_one(struct hpdsl_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->stats.one_by_one = true;
	pthread_mutex_unlock(&l->lock);
	if (!l->warned)
		hp_load_warn(l, "the windows do not fit into the memory: "
				"samples are read one by one");
	l->warned = true;
}

uint64_t hp_load_window_limit(const struct hpdsl_loader *l)
{
	uint64_t turn = 4 * l->mean * l->places, rest = l->memory / 8;

	if (turn > rest)
		rest = turn < l->memory / 2 ? turn : l->memory / 2;
	return l->memory - rest;
}

/* The unit that was made for the window, if it fits; NULL: the window is not
 * read as a whole. */
static int admit(struct hpdsl_loader *l, struct hp_load_job *job,
		 struct hp_load_unit **ret)
{
	struct hp_load_unit *u = hp_take(job->unit);
	int r = job->code;

	if (u) {
		hp_load_live_at(&l->live, l->planned);
		r = hp_load_live_add(&l->live, u, l->plan.slot,
				     hp_load_window_limit(l));
	}
	if (r <= 0)
		hp_load_unit_free(u);
	if (r == 0)
		hp_load_warn_one_by_one(l);
	*ret = r > 0 ? u : NULL;
	return r < 0 ? r : 0;
}

static int add_window(struct hpdsl_loader *l, struct hp_load_epoch *e,
		      struct hp_load_job *job, struct hp_load_new *ret)
{
	struct hp_load_unit *u;
	int r = admit(l, job, &u);

	if (r < 0)
		return r;
	if (!u)
		u = hp_load_plan_nothing(&job->w);
	if (!u)
		return -ENOMEM;
	hp_load_lane_add(&e->lane[job->w.lane], u);
	return note(ret, u);
}

/* All windows that were listed, in their order. */
static int add_windows(struct hpdsl_loader *l, struct hp_load_epoch *e,
		       struct hp_load_new *ret)
{
	struct hp_load_jobs *jobs = &l->jobs;
	int r = 0;

	hp_load_jobs_do(l, e);
	for (uint32_t i = 0; i < jobs->n; i++)
		if (r == 0)
			r = add_window(l, e, &jobs->v[i], ret);
		else
			hp_load_unit_free(jobs->v[i].unit);
	jobs->n = 0;
	jobs->samples = 0;
	return r;
}

/* Its unit comes later, with those of others. */
static int list_window(struct hpdsl_loader *l, struct hp_load_epoch *e,
		       const struct hp_window *w, struct hp_load_new *ret)
{
	int r;

	if (hp_load_jobs_add(l, w))
		return 0;
	r = add_windows(l, e, ret);
	if (r == 0)
		hp_load_jobs_add(l, w);
	return r;
}

/* Windows up to where the run ends. */
static int plan_run(struct hpdsl_loader *l, struct hp_load_epoch *e,
		    const struct hp_load_run *run, struct hp_load_new *ret)
{
	struct hp_load_lane *lane = &e->lane[run->lane];
	int r = 0;

	if (!run->real)
		return 0;
	while (r == 0 && lane->planned < run->x + run->real) {
		uint64_t x = lane->planned < run->x ? run->x : lane->planned;
		struct hp_window w;

		hp_epoch_window(e->e, run->lane,
				hp_epoch_window_of(e->e, run->lane, x), &w);
		r = list_window(l, e, &w, ret);
		lane->planned = w.begin + w.samples;
	}
	return r;
}

static int plan_windows(struct hpdsl_loader *l, struct hp_load_epoch *e,
			uint64_t step, struct hp_load_new *ret)
{
	int r = 0;

	for (uint32_t i = 0; i < hp_load_runs(&e->share) && r == 0; i++) {
		struct hp_load_run run = hp_load_run_at(&e->share, step, i);

		r = plan_run(l, e, &run, ret);
	}
	return r == 0 && l->jobs.n ? add_windows(l, e, ret) : r;
}

/* ---- Turns ------------------------------------------------------------ */

/* Which of its places no window has; how many. */
static uint32_t mark_run(struct hp_load_epoch *e, const struct hp_load_run *run,
			 uint32_t places, bool *want)
{
	struct hp_load_unit *u;
	uint32_t n = 0, i = 0;

	if (run->real) {
		struct hp_load_lane *lane = &e->lane[run->lane];

		if (!lane->at)
			lane->at = lane->head;
		u = lane->at;
		for (; i < run->real; i++) {
			while (run->x + i >= u->end)
				u = u->next;
			n += want[i] = !u->at;
		}
		lane->at = u;
	}
	for (; i < places; i++, n++)
		want[i] = true;
	return n;
}

static int plan_rest(struct hpdsl_loader *l, struct hp_load_epoch *e,
		     uint64_t step, struct hp_load_new *ret,
		     struct hpdsl_error *err)
{
	struct hpdsl_share share = l->opt.share;
	struct hp_load_unit *u;
	int64_t n = hpdsl_epoch_step(e->e, l->opt.end, step, &share, l->place,
				     l->places, err);
	int r;

	if (n < 0)
		return (int)n;
	r = hp_load_plan_places(&l->plan, l->planned, l->place, l->want,
				l->places, &u);
	if (r < 0)
		return r == -E2BIG ?
			       hp_fail(err, r, "step %" PRIu64 " is too large",
				       step) :
			       hp_fail_nomem(err);
	hp_load_lane_add(&e->turns, u);
	ret->late = u->room;
	hp_load_live_at(&l->live, l->planned);
	if (hp_load_live_add(&l->live, u, l->plan.slot, UINT64_MAX) < 0 ||
	    note(ret, u) < 0)
		return hp_fail_nomem(err);
	return 0;
}

static int plan_turn(struct hpdsl_loader *l, struct hp_load_epoch *e,
		     struct hp_load_new *ret, struct hpdsl_error *err)
{
	uint64_t step = hp_load_step(&e->share, l->planned);
	uint32_t runs = hp_load_runs(&e->share), k = e->share.run, rest = 0;

	if (plan_windows(l, e, step, ret) < 0)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < runs; i++) {
		struct hp_load_run run = hp_load_run_at(&e->share, step, i);

		rest += mark_run(e, &run, k, l->want + (uint64_t)i * k);
	}
	return rest ? plan_rest(l, e, step, ret, err) : 0;
}

int hp_load_turn(struct hpdsl_loader *l, struct hp_load_new *ret,
		 struct hpdsl_error *err)
{
	struct hp_load_epoch *e = l->plan_epoch;

	while (l->planned == e->end) {
		int r = next_epoch(l, &e, err);

		if (r < 0)
			return r;
		ret->over = !e;
		if (!e)
			return 0;
	}
	return plan_turn(l, e, ret, err);
}
