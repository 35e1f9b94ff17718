/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capacities and what nodes have already, put together: the plan, the same on
 * all of them, and who has what of it.
 */
#include "stage/run.h"

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

/* Of each node a row of bits: bit c / D for those of its part that it has. */
static void find_held(struct stage_run *r)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	uint32_t part = r->j->node % parts;
	uint8_t *mine;

	r->row = (size_t)(r->pack.chunks / parts / 8 + 1);
	mine = cmd_alloc(r->row, 1);
	r->held = cmd_alloc(r->j->nodes, r->row);
	for (uint64_t c = part; c < r->pack.chunks; c += parts)
		if (hpdsl_stage_holds(r->stage, c))
			mine[c / parts / 8] |= (uint8_t)(1 << (c / parts % 8));
	job_allgather(r->j, mine, r->row, r->held);
	free(mine);
}

bool run_lacks(void *arg, uint32_t node, uint64_t chunk)
{
	const struct stage_run *r = arg;
	uint64_t i = chunk / hpdsl_stage_plan_parts(r->plan);

	return !r->held || !(r->held[node * r->row + i / 8] >> (i % 8) & 1);
}

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
		find_held(r);
	return 0;
}
