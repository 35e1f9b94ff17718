/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capacities and what nodes have already, put together: the plan, the same on
 * all of them, and who has what of it.
 */
#include "nearest.h"
#include "run.h"

#include <string.h>

/* Plans that are tried before all that is here counts as in the way. */
#define ROUNDS 16

static int find_place(struct stage_step *s)
{
	struct hpdsl_stage_place p;
	int ret = hpdsl_stage_place(s->r->stage, &p, &s->err);

	if (ret >= 0)
		s->r->capacity[s->r->j->node] = stage_capacity(s->r->o, &p);
	return ret;
}

static int plan(struct stage_step *s)
{
	struct stage_run *r = s->r;
	struct hpdsl_stage_wish wish = {
		.mode = r->o->mode,
		.copies = r->o->copies,
		.nodes = r->j->nodes,
		.capacity = r->capacity,
		.chunks = r->pack.chunks,
		.weight = r->weight,
		.order = r->use,
		.hosts = r->hosts,
	};

	return hpdsl_stage_plan_new(&wish, &r->plan, &s->err);
}

static int find_order(struct stage_step *s)
{
	struct stage_run *r = s->r;

	hpdsl_stage_weights(r->stage, r->weight);
	return hpdsl_order_first_use(hpdsl_stage_dataset(r->stage), &r->order,
				     r->use, &s->err);
}

/*
 * What of the capacity is left for a plan besides chunks that are here and not
 * in it.  all: it is not known which these will be.
 */
static uint64_t room_for(const struct stage_run *r, uint64_t capacity, bool all)
{
	uint64_t surplus = 0, now = r->capacity[r->j->node], room;
	struct hpdsl_stage_share share;

	if (!all) {
		hpdsl_stage_plan_share(r->plan, r->j->node, &share);
		surplus = hpdsl_stage_surplus(r->stage, r->plan);
		room = capacity > surplus ? capacity - surplus : 0;
		return share.bytes > room ? room : now;
	}
	for (uint64_t c = 0; c < r->pack.chunks; c++)
		if (hpdsl_stage_holds(r->stage, c))
			surplus += r->weight[c];
	room = capacity > surplus ? capacity - surplus : 0;
	return room < now ? room : now;
}

/*
 * A plan for the capacities; again, with less, where chunks that it has no use
 * for stand in its way, as nothing is put out.
 */
static int make_plan(struct stage_run *r, uint64_t capacity)
{
	uint64_t *all = cmd_alloc(r->j->nodes, sizeof(*all)), mine;
	int ret, round = 0;

	while (!(ret = run_step(r, plan, true, true, "planning"))) {
		mine = room_for(r, capacity, round == ROUNDS);
		job_allgather(r->j, &mine, sizeof(mine), all);
		if (round++ > ROUNDS ||
		    !memcmp(all, r->capacity, r->j->nodes * sizeof(*all)))
			break;
		memcpy(r->capacity, all, r->j->nodes * sizeof(*all));
		hpdsl_stage_plan_free(r->plan);
		r->plan = NULL;
	}
	free(all);
	return ret;
}

/*
 * Of each chunk the first holder from node (chunk mod nodes) on, so that many
 * holders share the work.
 */
static bool find_holders(struct stage_run *r)
{
	uint64_t n = r->pack.chunks;
	uint32_t nodes = r->j->nodes, any[1] = { 1 };

	for (uint64_t c = 0; c < n; c++) {
		bool here = hpdsl_stage_holds(r->stage, c);

		r->holder[c] =
			here ? (r->j->node + nodes - (uint32_t)(c % nodes)) %
					nodes :
			       UINT32_MAX;
		if (here)
			any[0] = 0;
	}
	job_min(r->j, any, 1);
	if (any[0])
		return false;
	job_min(r->j, r->holder, n);
	for (uint64_t c = 0; c < n; c++)
		if (r->holder[c] != UINT32_MAX)
			r->holder[c] = (uint32_t)((r->holder[c] + c) % nodes);
	return true;
}

/* ---- Who lacks what --------------------------------------------------- */

/* A group, as a ring; the things are the chunks of its part. */
struct ring {
	struct stage_job *j;
	uint32_t parts, members;
	size_t n;
	bool *mine;
	uint32_t *told;
};

/* The leader so many places further on. */
static int leader_at(const struct ring *g, uint32_t places)
{
	uint32_t place = g->j->node / g->parts, part = g->j->node % g->parts;

	return g->j->leaders[part + (place + places) % g->members * g->parts];
}

static void tell(struct ring *g, int to, int tag, const uint32_t *near)
{
	nearest_tell(near, g->mine, g->j->node, g->n, g->told);
	job_post(g->j, to, tag, g->told, g->n * sizeof(*g->told));
}

static void hear(struct ring *g, int from, int tag, uint32_t *near)
{
	struct stage_mail *m = job_await_from(g->j, tag, from);

	if (m->n != g->n * sizeof(*near))
		job_abort("rank %d has another plan", from);
	nearest_hear(near, (const uint32_t *)(void *)m->bytes, g->n);
	free(m);
}

/*
 * Whom a chunk comes from, and who will ask for it, are the nearest nodes in
 * the ring that lack it as well: no node has to know what all others have.
 */
static void find_neighbours(struct stage_run *r)
{
	struct stage_job *j = r->j;
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	uint32_t part = j->node % parts, step;
	struct ring g = { .j = j,
			  .parts = parts,
			  .members = (j->nodes - 1 - part) / parts + 1,
			  .n = (size_t)(r->pack.chunks / parts + 1) };

	g.mine = cmd_alloc(g.n, sizeof(*g.mine));
	g.told = cmd_alloc(g.n, sizeof(*g.told));
	r->before = cmd_alloc(g.n, sizeof(*r->before));
	r->after = cmd_alloc(g.n, sizeof(*r->after));
	for (uint64_t c = part; c < r->pack.chunks; c += parts)
		g.mine[c / parts] = !hpdsl_stage_holds(r->stage, c);
	for (size_t i = 0; i < g.n; i++)
		r->before[i] = r->after[i] = NEAREST_NONE;
	for (uint32_t reach = 0; (step = nearest_step(reach, g.members));
	     reach += step) {
		int on = leader_at(&g, step),
		    back = leader_at(&g, g.members - step);

		tell(&g, on, TAG_NEAR_BEFORE, r->before);
		tell(&g, back, TAG_NEAR_AFTER, r->after);
		hear(&g, back, TAG_NEAR_BEFORE, r->before);
		hear(&g, on, TAG_NEAR_AFTER, r->after);
	}
	free(g.mine);
	free(g.told);
}

bool run_lacks(void *arg, uint32_t node, uint64_t chunk)
{
	const struct stage_run *r = arg;
	uint64_t i = chunk / hpdsl_stage_plan_parts(r->plan);

	if (node == r->j->node)
		return !hpdsl_stage_holds(r->stage, chunk);
	return !r->before || node == r->before[i] || node == r->after[i];
}

/* ---- All of it -------------------------------------------------------- */

int run_who_has(struct stage_run *r)
{
	uint64_t n = r->pack.chunks, capacity;
	int ret;

	r->capacity = cmd_alloc(r->j->nodes, sizeof(*r->capacity));
	r->weight = cmd_alloc(n, sizeof(*r->weight));
	r->use = cmd_alloc(n, sizeof(*r->use));
	r->holder = cmd_alloc(n, sizeof(*r->holder));
	ret = run_step(r, find_place, true, false, "looking at %s", r->path);
	if (ret)
		return ret;
	capacity = r->capacity[r->j->node];
	job_allgather(r->j, &capacity, sizeof(capacity), r->capacity);
	ret = run_step(r, find_order, true, true, "planning");
	if (!ret)
		ret = make_plan(r, capacity);
	if (ret)
		return ret;
	if (find_holders(r))
		find_neighbours(r);
	return 0;
}
