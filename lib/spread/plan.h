/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds which chunks, who reads them from the origin, and whom each node
 * gets them from: pure functions of the chunks' sizes and order, the nodes'
 * capacities and what nodes hold already.  Every node computes the same.
 *
 * The plan is one number, D, the parts.  Chunk c is in part c mod D.  Parts and
 * nodes stand side by side on a line of N D units: part p has N of them, from
 * p N on, node n has D, from n D on, and holds the parts that it touches.  The
 * group of a part are its nodes, which follow each other.  A node at a border
 * of parts holds two, and is the last of one group and the first of the next;
 * there are none where D divides N.  With D > N a node holds several, of which
 * only the first and the last can be another node's, too.  Where there is no
 * room, D is N or more, and each node keeps what comes first in its parts, in
 * order of use, as far as its room goes (kept[]).
 *
 * A chunk's source is a node that holds it, or else the reader: with k counting
 * the chunks of a part in order of use, the node that has unit k D mod N of the
 * part's, or the next one in the group that keeps the chunk.  So the nodes of a
 * group read in turn, and all nodes the same amount, one at a border half here
 * and half there.  From the source it goes along the group, cyclically: each
 * node that lacks it gets it from the one before that lacks it or is the
 * source.  So in a fresh group of m nodes every node has one
 * neighbour to receive from and one to send to, and if D divides N every link
 * carries (m-1)/m of the part, and every node reads 1/m of it.
 */
#ifndef HP_STAGE_PLAN_H
#define HP_STAGE_PLAN_H

#include "hpdsl/stage.h"

struct hp_spread_sum {
	uint64_t chunks, bytes;
};

/*
 * Of a node's first or last part: what it holds, and what of that it reads from
 * the origin if no node holds anything yet.  Of those between, which are no
 * other node's, it reads all.
 */
struct hp_spread_side {
	struct hp_spread_sum held, read;
};

struct hpdsl_stage_plan {
	uint32_t nodes, parts;
	uint64_t chunks;
	const uint32_t *order;	/* chunks by use; borrowed */
	const uint64_t *weight; /* bytes of each chunk on a node; borrowed */
	uint32_t *rank; /* place of each chunk in its part, by use: k above */
	/* Where there is no room, else NULL: the place of each chunk in order
	 * of use, and of each node the place from which on it keeps nothing. */
	uint32_t *place, *kept;
	uint64_t whole;		     /* with one part, what goes with it */
	uint64_t *part_bytes;	     /* of each part, all its chunks */
	struct hp_spread_sum *held;  /* of each node, in the end */
	struct hp_spread_side *side; /* two of each node */
	/* Each chunk once: that some node holds, that none does. */
	struct hp_spread_sum all, left;
};

/* Is the chunk in a part of the node's? */
static inline bool hp_spread_mine(const struct hpdsl_stage_plan *p,
				  uint32_t node, uint64_t chunk)
{
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(p->nodes, p->parts, node);
	uint64_t part = chunk % p->parts;

	return part >= s.first && part <= s.last;
}

/* The nodes that hold the chunk's part. */
static inline struct hpdsl_stage_span hp_spread_group(
	const struct hpdsl_stage_plan *p, uint64_t chunk)
{
	return hpdsl_stage_group_of(p->nodes, p->parts,
				    (uint32_t)(chunk % p->parts));
}

/* share.c: held, side, all and left, and with place that and kept. */
void hp_spread_sum_up(struct hpdsl_stage_plan *p, const uint64_t *capacity);

/* Is the chunk planned for the node? */
bool hp_spread_holds(const struct hpdsl_stage_plan *p, uint32_t node,
		     uint64_t chunk);
/* Does every node hold every chunk, and with them what speaks of the whole? */
static inline bool hp_spread_whole(const struct hpdsl_stage_plan *p)
{
	return p->parts == 1 && !p->place;
}
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
