/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who passes a chunk to whom.  A group is a ring, its nodes in their order;
 * each chunk's chain begins at another place of it, and leaves out those that
 * have the chunk.
 */
#include "spread/plan.h"

/* Of a line cut in b equal blocks and in a: the blocks that block k touches. */
static struct hpdsl_stage_span touched(uint64_t a, uint64_t b, uint64_t k)
{
	return (struct hpdsl_stage_span){
		.first = (uint32_t)(k * a / b),
		.last = (uint32_t)(((k + 1) * a + b - 1) / b - 1),
	};
}

struct hpdsl_stage_span hpdsl_stage_parts_of(uint32_t nodes, uint32_t parts,
					     uint32_t node)
{
	return touched(parts, nodes, node);
}

struct hpdsl_stage_span hpdsl_stage_group_of(uint32_t nodes, uint32_t parts,
					     uint32_t part)
{
	return touched(nodes, parts, part);
}

bool hp_spread_holds(const struct hpdsl_stage_plan *p, uint32_t node,
		     uint64_t chunk)
{
	return hp_spread_mine(p, node, chunk) &&
	       (!p->place || p->place[chunk] < p->kept[node]);
}

/* Around the ring, from the node on whose turn it is; that one if none holds
 * it. */
static uint32_t first_holder(const struct hpdsl_stage_plan *p, uint64_t chunk,
			     uint32_t turn)
{
	struct hpdsl_stage_span group = hp_spread_group(p, chunk);
	uint32_t i = turn;

	while (!hp_spread_holds(p, i, chunk)) {
		i = i == group.last ? group.first : i + 1;
		if (i == turn)
			break;
	}
	return i;
}

/* A step of D units is one node further on in the group's ring. */
uint32_t hp_spread_reader(const struct hpdsl_stage_plan *p, uint64_t chunk)
{
	uint64_t unit = (uint64_t)p->rank[chunk] * p->parts % p->nodes;
	uint64_t first = chunk % p->parts * p->nodes;
	uint32_t turn = (uint32_t)((first + unit) / p->parts);

	return p->place ? first_holder(p, chunk, turn) : turn;
}

/* A holder of another group stands before the chain's usual start. */
static uint32_t chain_start(const struct hpdsl_stage_plan *p, uint64_t chunk,
			    uint32_t source)
{
	if (source != UINT32_MAX && hp_spread_mine(p, source, chunk))
		return source;
	return hp_spread_reader(p, chunk);
}

uint32_t hp_spread_from(const struct hpdsl_stage_plan *p, uint32_t node,
			uint64_t chunk, uint32_t holder,
			bool (*lacks)(void *arg, uint32_t node, uint64_t chunk),
			void *arg)
{
	struct hpdsl_stage_span group = hp_spread_group(p, chunk);
	uint32_t source = holder, i = node, first;

	if (node == holder || !hp_spread_holds(p, node, chunk) ||
	    !lacks(arg, node, chunk))
		return UINT32_MAX;
	if (source == UINT32_MAX)
		source = hp_spread_reader(p, chunk);
	if (source == node)
		return node;
	first = chain_start(p, chunk, source);
	while (i != first) {
		i = i == group.first ? group.last : i - 1;
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
	struct hpdsl_stage_span group = hp_spread_group(p, chunk);
	uint32_t first = chain_start(p, chunk, holder);

	for (uint32_t i = node;;) {
		i = i == group.last ? group.first : i + 1;
		if (i == first)
			return false;
		if (hp_spread_holds(p, i, chunk) && lacks(arg, i, chunk))
			return true;
	}
}
