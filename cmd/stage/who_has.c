/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capacities and what nodes have already, put together: the plan, the same on
 * all of them, and who has what of it.
 */
#include "nearest.h"
#include "run.h"

#include <errno.h>
#include <string.h>

/* Plans that are tried before all that is here counts as in the way. */
#define ROUNDS 16

static int find_place(struct stage_step *s)
{
	struct hpdsl_stage_place p;
	int ret = hpdsl_stage_place(s->r->stage, &p, &s->err);

	if (ret >= 0)
		s->r->capacity[s->r->j->node] =
			s->r->place.found ? auto_room(s->r->o, &p) :
					    stage_capacity(s->r->o, &p);
	return ret;
}

static int plan(struct stage_step *s)
{
	struct stage_run *r = s->r;
	struct hpdsl_stage_wish wish = {
		.mode = r->o->mode,
		.copies = r->o->copies,
		.parts = r->wanted.order.parts,
		.nodes = r->j->nodes,
		.capacity = r->capacity,
		.chunks = r->pack.chunks,
		.weight = r->weight,
		.order = r->use,
		.hosts = r->hosts,
		.whole = hpdsl_stage_whole(r->stage),
	};

	return hpdsl_stage_plan_new(&wish, &r->plan, &s->err);
}

static int find_order(struct stage_step *s)
{
	struct stage_run *r = s->r;

	hpdsl_stage_weights(r->stage, r->weight);
	return stage_first_use(
		r->o, &r->wanted, hpdsl_stage_dataset(r->stage), r->j->nodes,
		r->plan ? hpdsl_stage_plan_parts(r->plan) : 1, r->use, &s->err);
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

static int plan_again(struct stage_run *r, uint64_t capacity)
{
	int ret = run_step(r, find_order, true, true, "planning");

	if (ret)
		return ret;
	hpdsl_stage_plan_free(r->plan);
	r->plan = NULL;
	return make_plan(r, capacity);
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

/* The group of a part, as a ring; the things are the chunks of the part. */
struct ring {
	struct stage_job *j;
	struct hpdsl_stage_span group;
	uint32_t reach, step; /* 0: all is known */
	size_t n;
	bool *mine;
	uint32_t *told, *before, *after;
};

static uint32_t members(const struct ring *g)
{
	return g->group.last - g->group.first + 1;
}

/* The leader so many places further on. */
static int leader_at(const struct ring *g, uint32_t places)
{
	uint32_t place = g->j->node - g->group.first;

	return g->j->leaders[g->group.first + (place + places) % members(g)];
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

static void tell_both(struct ring *g)
{
	g->step = nearest_step(g->reach, members(g));
	if (!g->step)
		return;
	tell(g, leader_at(g, g->step), TAG_NEAR_BEFORE, g->before);
	tell(g, leader_at(g, members(g) - g->step), TAG_NEAR_AFTER, g->after);
}

static void hear_both(struct ring *g)
{
	if (!g->step)
		return;
	hear(g, leader_at(g, members(g) - g->step), TAG_NEAR_BEFORE, g->before);
	hear(g, leader_at(g, g->step), TAG_NEAR_AFTER, g->after);
	g->reach += g->step;
}

/* at: where its things are in before and after. */
static void ring_begin(struct ring *g, struct stage_run *r, uint32_t part,
		       size_t at)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);

	*g = (struct ring){
		.j = r->j,
		.group = hpdsl_stage_group_of(r->j->nodes, parts, part),
		.n = (size_t)(r->pack.chunks / parts + 1),
		.before = r->before + at,
		.after = r->after + at,
	};
	g->mine = cmd_alloc(g->n, sizeof(*g->mine));
	g->told = cmd_alloc(g->n, sizeof(*g->told));
	for (uint64_t c = part; c < r->pack.chunks; c += parts)
		g->mine[c / parts] = !hpdsl_stage_holds(r->stage, c);
	for (size_t i = 0; i < g->n; i++)
		g->before[i] = g->after[i] = NEAREST_NONE;
}

/*
 * Whom a chunk comes from, and who will ask for it, are the nearest nodes in
 * the ring that lack it as well: no node has to know what all others have.
 * Only a node's first and last part can be another one's, too.  It takes a
 * round of both groups at once: one behind the other, each ring would wait for
 * the one before.
 */
static void find_neighbours(struct stage_run *r)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(r->j->nodes, parts, r->j->node);
	size_t rings = s.last == s.first ? 1 : 2;
	size_t n = r->pack.chunks / parts + 1;
	struct ring g[2];
	bool more = true;

	r->before = cmd_alloc(rings * n, sizeof(*r->before));
	r->after = cmd_alloc(rings * n, sizeof(*r->after));
	ring_begin(&g[0], r, s.first, 0);
	if (rings > 1)
		ring_begin(&g[1], r, s.last, n);
	while (more) {
		more = false;
		for (size_t i = 0; i < rings; i++) {
			tell_both(&g[i]);
			more = more || g[i].step;
		}
		for (size_t i = 0; i < rings; i++)
			hear_both(&g[i]);
	}
	for (size_t i = 0; i < rings; i++) {
		free(g[i].mine);
		free(g[i].told);
	}
}

/* The chunk is of a part of this node's; another node is of its group. */
bool run_lacks(void *arg, uint32_t node, uint64_t chunk)
{
	const struct stage_run *r = arg;
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(r->j->nodes, parts, r->j->node);
	uint64_t i = chunk / parts;

	if (node == r->j->node)
		return !hpdsl_stage_holds(r->stage, chunk);
	if (chunk % parts != s.first) /* s.last */
		i += r->pack.chunks / parts + 1;
	return !r->before || node == r->before[i] || node == r->after[i];
}

/* ---- Is there anything? ----------------------------------------------- */

/* Bytes of the chunk that is wanted first of a node's parts. */
static uint64_t first_wanted(const struct stage_run *r, uint32_t node)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(r->j->nodes, parts, node);

	for (uint64_t i = 0; i < r->pack.chunks; i++) {
		uint32_t part = r->use[i] % parts;

		if (part >= s.first && part <= s.last)
			return r->weight[r->use[i]];
	}
	return 0;
}

/* A plan of nothing, and nothing here: what asked for it is to hear why. */
static int refuse_nothing(struct stage_run *r)
{
	struct hpdsl_error err = { .code = -ENOSPC };
	uint32_t roomy = 0;

	for (uint32_t n = 1; n < r->j->nodes; n++)
		if (r->capacity[n] > r->capacity[roomy])
			roomy = n;
	snprintf(err.msg, sizeof(err.msg),
		 "no node has room for the first chunk that it is to hold: %s "
		 "has most, %s, and that chunk takes %s",
		 stage_node_name(roomy, r->hosts ? r->hosts[roomy] : "").s,
		 cmd_bytes(r->capacity[roomy]).s,
		 cmd_bytes(first_wanted(r, roomy)).s);
	return run_agree(r, &err, true);
}

static bool is_nothing(const struct stage_run *r)
{
	struct hpdsl_stage_sums s;

	hpdsl_stage_plan_sums(r->plan, &s);
	return !s.chunks && s.left_chunks;
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
	/* only now is it known how many parts there are; it stays so */
	if (!ret && hpdsl_stage_plan_parts(r->plan) > 1)
		ret = plan_again(r, capacity);
	if (ret)
		return ret;
	if (find_holders(r))
		find_neighbours(r);
	else if (is_nothing(r))
		return refuse_nothing(r);
	return 0;
}
