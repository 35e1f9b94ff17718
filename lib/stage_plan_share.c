/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan means for one node, when no node holds anything yet. */
#include "stage_plan.h"

#include <string.h>

/* How many of 0 .. n - 1 are i modulo m. */
static uint64_t residues(uint64_t n, uint32_t i, uint32_t m)
{
	return n > i ? (n - 1 - i) / m + 1 : 0;
}

void hpdsl_stage_plan_share(const struct hpdsl_stage_plan *p, uint32_t node,
			    struct hpdsl_stage_share *ret)
{
	uint32_t part = node % p->parts, m = hp_plan_group(p, part);
	uint64_t count = residues(p->chunks, part, p->parts);
	uint32_t place = node / p->parts, next;

	memset(ret, 0, sizeof *ret);
	next = part + (place + 1) % m * p->parts;
	ret->chunks = p->kept[node] < count ? p->kept[node] : count;
	ret->bytes = p->held_bytes[node];
	ret->left_chunks = count - ret->chunks;
	ret->left_bytes = p->part_bytes[part] - ret->bytes;
	ret->origin_chunks = residues(ret->chunks, place, m);
	ret->origin_bytes = p->read_bytes[node];
	/* all but what it read comes from the node before, and all but what
	 * the node behind it read goes there */
	ret->received_bytes = ret->bytes - ret->origin_bytes;
	if (m > 1)
		ret->sent_bytes = ret->bytes - p->read_bytes[next];
	ret->receives_from = ret->received_bytes > 0;
	ret->sends_to = ret->sent_bytes > 0;
}
