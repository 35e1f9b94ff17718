/* SPDX-License-Identifier: Apache-2.0 */
/* Which side files a plan has for a node, and which it has not. */
#include "stage/private.h"

#include "spread/fit.h"
#include "spread/plan.h"

/* Has a chunk another form here than its origin's, or will it have? */
static bool has_expanded(const struct hpdsl_stage *s)
{
	if (s->sides.other_chunks)
		return true;
	for (uint64_t c = 0; c < s->chunks; c++)
		if (hp_stage_here(s, c) == HP_CHUNK_EXPANDED)
			return true;
	return false;
}

static bool is_planned(const struct hpdsl_stage *s,
		       const struct hpdsl_stage_plan *plan,
		       const struct hp_side_row *r)
{
	if (hp_side_row_of_chunk(r))
		return hp_spread_holds(plan, s->node, r->chunk);
	return hp_spread_whole(plan) &&
	       (r->kind != HP_SIDE_SUMS || !has_expanded(s));
}

/* Is the chunk here, and of this node's parts? */
static bool is_here(const struct hpdsl_stage *s,
		    const struct hpdsl_stage_plan *plan, uint64_t chunk)
{
	struct hpdsl_stage_span mine =
		hpdsl_stage_parts_of(s->nodes, plan->parts, s->node);
	uint64_t part = chunk % plan->parts;

	return hp_stage_here(s, chunk) != HP_CHUNK_ABSENT &&
	       part >= mine.first && part <= mine.last;
}

static bool all_here(const struct hpdsl_stage *s,
		     const struct hpdsl_stage_plan *plan)
{
	bool all = plan->parts == 1;

	for (uint64_t c = 0; c < s->chunks && all; c++)
		all = is_here(s, plan, c);
	return all;
}

/* Of a chunk that an earlier plan has left, too: readers find it here. */
bool hp_stage_side_planned(const struct hpdsl_stage *s,
			   const struct hpdsl_stage_plan *plan,
			   const struct hp_side_row *r)
{
	if (is_planned(s, plan, r))
		return true;
	if (hp_side_row_of_chunk(r))
		return is_here(s, plan, r->chunk);
	return all_here(s, plan) &&
	       (r->kind != HP_SIDE_SUMS || !has_expanded(s));
}

uint64_t hp_stage_sides_held(const struct hpdsl_stage *s,
			     const struct hpdsl_stage_plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->sides.n; i++) {
		const struct hp_side_row *r = &s->sides.row[i];

		if (r->here && !(plan && is_planned(s, plan, r)))
			sum = hp_fit_add(sum, r->bytes);
	}
	return sum;
}
