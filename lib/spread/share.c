/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each node holds in the end, and what of that it reads and passes on if
 * no node holds anything yet: summed up over the chunks once, when a plan is
 * made, so that the share of a node costs nothing but its parts.
 */
#include "spread/fit.h"
#include "spread/plan.h"

#include <string.h>

/* ---- Who holds what, and who reads it --------------------------------- */

static void add(struct hp_spread_sum *s, uint64_t bytes)
{
	s->chunks++;
	s->bytes = hp_fit_add(s->bytes, bytes);
}

/* What is counted of a part by itself; NULL: nothing, the node has it alone. */
static struct hp_spread_side *side_of(const struct hpdsl_stage_plan *p,
				      uint32_t node, uint32_t part)
{
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(p->nodes, p->parts, node);
	struct hp_spread_side *two = &p->side[2 * (size_t)node];

	return part == s.first ? &two[0] : part == s.last ? &two[1] : NULL;
}

/* How many of 0 .. n - 1 are i modulo m. */
static uint64_t residues(uint64_t n, uint32_t i, uint32_t m)
{
	return n > i ? (n - 1 - i) / m + 1 : 0;
}

static struct hp_spread_sum part_sum(const struct hpdsl_stage_plan *p,
				     uint32_t part)
{
	return (struct hp_spread_sum){
		.chunks = residues(p->chunks, part, p->parts),
		.bytes = p->part_bytes[part],
	};
}

static struct hp_spread_sum parts_sum(const struct hpdsl_stage_plan *p,
				      uint32_t node)
{
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(p->nodes, p->parts, node);
	struct hp_spread_sum sum = { 0 };

	for (uint32_t i = s.first; i <= s.last; i++) {
		sum.chunks += part_sum(p, i).chunks;
		sum.bytes = hp_fit_add(sum.bytes, p->part_bytes[i]);
	}
	return sum;
}

static void hold_all(struct hpdsl_stage_plan *p)
{
	for (uint32_t n = 0; n < p->nodes; n++) {
		struct hpdsl_stage_span s =
			hpdsl_stage_parts_of(p->nodes, p->parts, n);

		p->held[n] = parts_sum(p, n);
		side_of(p, n, s.first)->held = part_sum(p, s.first);
		side_of(p, n, s.last)->held = part_sum(p, s.last);
	}
}

/* The chunk that comes i-th in order of use. */
static void keep(struct hpdsl_stage_plan *p, uint32_t node, uint64_t i,
		 const uint64_t *capacity)
{
	uint32_t c = p->order[i];
	struct hp_spread_side *side =
		side_of(p, node, (uint32_t)(c % p->parts));
	/* Where all chunks would be here, so would be what goes with them. */
	uint64_t room =
		capacity[node] > p->whole ? capacity[node] - p->whole : 0;

	if (p->kept[node] != UINT32_MAX)
		return;
	if (p->weight[c] > room - p->held[node].bytes) {
		p->kept[node] = (uint32_t)i;
		return;
	}
	add(&p->held[node], p->weight[c]);
	if (side)
		add(&side->held, p->weight[c]);
}

static void hold_what_fits(struct hpdsl_stage_plan *p, const uint64_t *capacity)
{
	for (uint32_t n = 0; n < p->nodes; n++)
		p->kept[n] = UINT32_MAX;
	for (uint64_t i = 0; i < p->chunks; i++) {
		struct hpdsl_stage_span g = hp_spread_group(p, p->order[i]);

		p->place[p->order[i]] = (uint32_t)i;
		for (uint32_t n = g.first; n <= g.last; n++)
			keep(p, n, i, capacity);
	}
}

/* It is not cut: one node counts as the reader of all of it. */
static void read_whole(struct hpdsl_stage_plan *p)
{
	struct hp_spread_sum *sum = p->place ? &p->left : &p->all;

	sum->bytes = hp_fit_add(sum->bytes, p->whole);
	if (p->whole && !p->place)
		p->side[0].read.bytes =
			hp_fit_add(p->side[0].read.bytes, p->whole);
}

static void read_all(struct hpdsl_stage_plan *p)
{
	for (uint64_t c = 0; c < p->chunks; c++) {
		uint32_t n = hp_spread_reader(p, c);
		struct hp_spread_side *side =
			side_of(p, n, (uint32_t)(c % p->parts));
		bool left = !hp_spread_holds(p, n, c);

		if (side && !left)
			add(&side->read, p->weight[c]);
		add(left ? &p->left : &p->all, p->weight[c]);
	}
	read_whole(p);
}

void hp_spread_sum_up(struct hpdsl_stage_plan *p, const uint64_t *capacity)
{
	if (p->place)
		hold_what_fits(p, capacity);
	else
		hold_all(p);
	read_all(p);
}

/* ---- What it means for a node ----------------------------------------- */

/*
 * All that the node does not read comes from the one before it in the ring, and
 * all that the one behind it does not read goes there.
 */
static void pass(const struct hpdsl_stage_plan *p, uint32_t node, uint32_t part,
		 struct hpdsl_stage_share *ret)
{
	struct hpdsl_stage_span g =
		hpdsl_stage_group_of(p->nodes, p->parts, part);
	uint32_t next = node == g.last ? g.first : node + 1;
	const struct hp_spread_side *mine = side_of(p, node, part);
	const struct hp_spread_side *its = side_of(p, next, part);
	uint64_t received = mine->held.bytes - mine->read.bytes, sent = 0;

	if (next != node)
		sent = its->held.bytes - its->read.bytes;
	ret->origin_chunks -= mine->held.chunks - mine->read.chunks;
	ret->origin_bytes -= received;
	ret->received_bytes += received;
	ret->sent_bytes += sent;
	ret->receives_from += received > 0;
	ret->sends_to += sent > 0;
}

void hpdsl_stage_plan_share(const struct hpdsl_stage_plan *p, uint32_t node,
			    struct hpdsl_stage_share *ret)
{
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(p->nodes, p->parts, node);
	struct hp_spread_sum all = parts_sum(p, node);

	memset(ret, 0, sizeof *ret);
	ret->chunks = ret->origin_chunks = p->held[node].chunks;
	ret->bytes = ret->origin_bytes = p->held[node].bytes;
	ret->left_chunks = all.chunks - ret->chunks;
	ret->left_bytes = all.bytes - ret->bytes;
	pass(p, node, s.first, ret);
	if (s.last != s.first)
		pass(p, node, s.last, ret);
}

void hpdsl_stage_plan_sums(const struct hpdsl_stage_plan *p,
			   struct hpdsl_stage_sums *ret)
{
	*ret = (struct hpdsl_stage_sums){
		.chunks = p->all.chunks,
		.bytes = p->all.bytes,
		.left_chunks = p->left.chunks,
		.left_bytes = p->left.bytes,
	};
}
