/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side files, before readers are told of the plan: who lacks which, that they
 * come, and what is given up.
 */
#include "sides.h"

#include <string.h>

#define TRIES 3

/* Of each side file, over all nodes; the least counts. */
#define NOT_LACKED UINT32_MAX /* by nobody whom the plan has it for */

struct sides {
	struct stage_run *r;
	uint32_t n;
	/* A node that could not read it, or as many as there are nodes: it is
	 * lacked, and that is all; or NOT_LACKED. */
	uint32_t *lacked;
	uint64_t here, here_bytes;
};

static int look(void *arg)
{
	struct sides *s = arg;
	const struct stage_run *r = s->r;

	s->here = s->here_bytes = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		struct hpdsl_stage_side f;

		hpdsl_stage_side_get(r->stage, r->plan, i, &f);
		s->lacked[i] = !f.planned || f.here ? NOT_LACKED :
			       f.unread		    ? r->j->node :
						      r->j->nodes;
		if (f.planned && f.here) {
			s->here++;
			s->here_bytes += f.bytes;
		}
	}
	return 0;
}

/* Does any node lack any? */
static bool any_lacked(struct sides *s)
{
	bool any = false;

	job_work(s->r->j, look, s, "looking at side files in %s", s->r->path);
	job_min(s->r->j, s->lacked, s->n);
	for (uint32_t i = 0; i < s->n; i++)
		any = any || s->lacked[i] != NOT_LACKED;
	return any;
}

/* ---- Which crowd gets it ---------------------------------------------- */

/* CROWDS: none of this node's. */
static int crowd_of(const struct stage_run *r, uint32_t side)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan), part;
	struct hpdsl_stage_span mine = hpdsl_stage_parts_of(r->j->nodes, parts,
							    r->j->node),
				group;
	struct hpdsl_stage_side f;

	hpdsl_stage_side_get(r->stage, r->plan, side, &f);
	part = f.chunk == UINT32_MAX ? 0 : f.chunk % parts;
	if (part < mine.first || part > mine.last)
		return CROWDS;
	group = hpdsl_stage_group_of(r->j->nodes, parts, part);
	if (group.first == group.last)
		return CROWD_ALONE;
	return part == mine.first ? CROWD_FIRST : CROWD_LAST;
}

static void empty_lanes(struct side_move *m, uint32_t files)
{
	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];

		free(l->side);
		*l = (struct side_lane){ .over = true };
		if (files)
			l->side = cmd_alloc(files / SIDE_LANES + 1,
					    sizeof(*l->side));
	}
}

/* Lanes in turn, so that each gets files of all sizes. */
static void make_lanes(struct side_move *m, const struct sides *s)
{
	uint32_t dealt[CROWDS] = { 0 };

	empty_lanes(m, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		struct side_lane *l;
		int c = s->lacked[i] == NOT_LACKED ? CROWDS : crowd_of(s->r, i);

		if (c == CROWDS)
			continue;
		l = &m->lane[c * SIDE_LANES + (int)(dealt[c]++ % SIDE_LANES)];
		l->side[l->n++] = i;
	}
}

/* ---- What is given up ------------------------------------------------- */

static void give_up(struct sides *s)
{
	struct stage_run *r = s->r;

	for (uint32_t i = 0; i < s->n; i++) {
		struct hpdsl_stage_side f;
		struct hpdsl_error err;

		if (s->lacked[i] == NOT_LACKED)
			continue;
		hpdsl_stage_side_get(r->stage, r->plan, i, &f);
		/* One tells it that could not read it, or else all who have got
		 * something else. */
		if (!f.planned || f.here ||
		    (s->lacked[i] != r->j->node && s->lacked[i] != r->j->nodes))
			continue;
		hpdsl_stage_side_why(r->stage, i, &err);
		if (!r->sides.lost++)
			r->side_err = err;
		if (r->sides.lost <= 16)
			r->watch.warn(r, err.msg);
	}
}

static int give_up_work(void *arg)
{
	give_up(arg);
	return 0;
}

/* ---- All of it -------------------------------------------------------- */

static int bring(struct sides *s)
{
	struct side_move m = { .r = s->r };
	bool lacked = true;
	int ret = 0, try;

	side_crowds(&m);
	for (try = 0; try < TRIES && lacked && !ret; try++) {
		make_lanes(&m, s);
		ret = side_move(&m, try);
		if (!ret)
			lacked = any_lacked(s);
	}
	empty_lanes(&m, 0);
	side_crowds_free(&m);
	s->r->sides.origin_bytes = m.read;
	if (!ret && lacked)
		job_work(s->r->j, give_up_work, s, "looking at %s",
			 s->r->o->dataset);
	return ret;
}

int run_sides(struct stage_run *r)
{
	struct sides s = { .r = r, .n = hpdsl_stage_side_count(r->stage) };
	uint64_t files, bytes;
	int ret = 0;

	if (!s.n) /* which all have from the same manifest */
		return 0;
	s.lacked = cmd_alloc(s.n, sizeof(*s.lacked));
	if (any_lacked(&s)) {
		files = s.here;
		bytes = s.here_bytes;
		ret = bring(&s);
		r->sides.files = s.here - files;
		r->sides.bytes = s.here_bytes - bytes;
	}
	free(s.lacked);
	return ret;
}
