/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who passes a chunk to whom.  A group is a ring, its nodes in their order;
 * each chunk's chain begins at another place of it, and leaves out those that
 * have the chunk.
 */
#include "spread/plan.h"

uint32_t hp_spread_group(const struct hpdsl_stage_plan *p, uint32_t part)
{
	return (p->nodes - 1 - part) / p->parts + 1;
}

bool hp_spread_holds(const struct hpdsl_stage_plan *p, uint32_t node,
		     uint64_t chunk)
{
	return chunk % p->parts == node % p->parts &&
	       (p->kept[node] == UINT32_MAX || p->rank[chunk] < p->kept[node]);
}

/* Where in its group's ring the chunk's chain begins if nobody holds it. */
static uint32_t start_place(const struct hpdsl_stage_plan *p, uint64_t chunk)
{
	uint32_t part = (uint32_t)(chunk % p->parts);

	return p->rank[chunk] % hp_spread_group(p, part);
}

uint32_t hp_spread_reader(const struct hpdsl_stage_plan *p, uint64_t chunk)
{
	return (uint32_t)(chunk % p->parts) + start_place(p, chunk) * p->parts;
}

/* A holder of another group stands before the chain's usual start. */
static uint32_t chain_start(const struct hpdsl_stage_plan *p, uint64_t chunk,
			    uint32_t source)
{
	if (source != UINT32_MAX && source % p->parts == chunk % p->parts)
		return source;
	return hp_spread_reader(p, chunk);
}

uint32_t hp_spread_from(const struct hpdsl_stage_plan *p, uint32_t node,
			uint64_t chunk, uint32_t holder,
			bool (*lacks)(void *arg, uint32_t node, uint64_t chunk),
			void *arg)
{
	uint32_t part = (uint32_t)(chunk % p->parts);
	uint32_t source = holder, i = node, first, last;

	if (node == holder || !hp_spread_holds(p, node, chunk) ||
	    !lacks(arg, node, chunk))
		return UINT32_MAX;
	if (source == UINT32_MAX)
		source = hp_spread_reader(p, chunk);
	if (source == node)
		return node;
	first = chain_start(p, chunk, source);
	last = part + (hp_spread_group(p, part) - 1) * p->parts;
	while (i != first) {
		i = i == part ? last : i - p->parts;
		if (hp_spread_holds(p, i, chunk) && lacks(arg, i, chunk))
			return i;
	}
	return source;
}

bool hp_spread_asked(const struct hpdsl_stage_plan *p, uint32_t node,
		     uint64_t chunk, uint32_t holder,
		     bool (*lacks)(void *arg, uint32_t node, uint64_t chunk),
		     void *arg)
{
	uint32_t part = (uint32_t)(chunk % p->parts);
	uint32_t first = chain_start(p, chunk, holder);
	uint32_t last = part + (hp_spread_group(p, part) - 1) * p->parts;

	for (uint32_t i = node;;) {
		i = i == last ? part : i + p->parts;
		if (i == first)
			return false;
		if (hp_spread_holds(p, i, chunk) && lacks(arg, i, chunk))
			return true;
	}
}
