/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds which chunks, who reads them from the origin, and whom each node
 * gets them from: pure functions of the chunks' sizes and order, the nodes'
 * capacities and what nodes hold already.  Every node computes the same.
 *
 * The plan is one number, D, the parts.  Chunk c is in part c mod D, node n
 * holds part n mod D: the group of a part are its nodes, n_0 < n_1 < ..,
 * n_i = part + i D.  Where not even D = N has room, each node keeps what comes
 * first in its part, in order of use, as far as its room goes (kept[]).
 *
 * A chunk's source is a node that holds it, or else the reader: with k counting
 * the chunks of a part in order of use, node n_(k mod m) of its m nodes.  From
 * there it goes along the group, cyclically: each node that lacks it gets it
 * from the one before that lacks it or is the source.  So in a fresh group
 * every node has one neighbour to receive from and one to send to, every link
 * carries (m-1)/m of the part, and every node reads 1/m of it.
 */
#ifndef HP_STAGE_PLAN_H
#define HP_STAGE_PLAN_H

#include "hpdsl/stage.h"

struct hpdsl_stage_plan {
	uint32_t nodes, parts;
	uint64_t chunks;
	const uint32_t *order;	/* chunks by use; borrowed */
	const uint64_t *weight; /* bytes of each chunk on a node; borrowed */
	uint32_t *rank; /* place of each chunk in its part, by use: k above */
	/* Of each node: how many of its part's chunks, in order of use, it
	 * keeps; UINT32_MAX: all. */
	uint32_t *kept;
	uint64_t *part_bytes; /* of each part, all its chunks */
	uint64_t *held_bytes; /* of each node, what it holds in the end */
	uint64_t *read_bytes; /* of it, what it reads from the origin if no node
				 holds anything yet */
};

/* Number of nodes in the group of a part. */
uint32_t hp_spread_group(const struct hpdsl_stage_plan *p, uint32_t part);
/* Is the chunk planned for the node? */
bool hp_spread_holds(const struct hpdsl_stage_plan *p, uint32_t node,
		     uint64_t chunk);
/* Who reads it from the origin if nobody holds it: always of its group. */
uint32_t hp_spread_reader(const struct hpdsl_stage_plan *p, uint64_t chunk);

/*
 * Whom the node gets a chunk from: another node, itself (it reads the origin),
 * or UINT32_MAX (the chunk is not planned for it, or it has it).  holder: the
 * node that passes on a chunk which is held somewhere, UINT32_MAX for none.
 * lacks(arg, node, chunk) tells of the nodes of the chunk's group that it is
 * planned for.
 */
uint32_t hp_spread_from(const struct hpdsl_stage_plan *p, uint32_t node,
			uint64_t chunk, uint32_t holder,
			bool (*lacks)(void *arg, uint32_t node, uint64_t chunk),
			void *arg);
/*
 * Will another node ask this one for the chunk, by the same rule?  The chunk is
 * of the node's group.
 */
bool hp_spread_asked(const struct hpdsl_stage_plan *p, uint32_t node,
		     uint64_t chunk, uint32_t holder,
		     bool (*lacks)(void *arg, uint32_t node, uint64_t chunk),
		     void *arg);

#endif
