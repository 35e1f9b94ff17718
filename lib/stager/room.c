/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed chunks that are here as the plain tar, and for a while as they
 * came, too: for a node that has yet to ask for them, and would get the larger
 * form.  No plan has counted their room, so they get what it leaves.
 */
#include "stager/stager.h"

enum {
	KEEP = 16,     /* at most */
	EXPANDING = 8, /* are here in both forms anyhow */
};

uint32_t hp_stager_keep_of(uint64_t room, uint64_t coming, uint64_t largest)
{
	uint64_t n = KEEP + EXPANDING;

	room = room > coming ? room - coming : 0;
	if (largest && room / largest < n)
		n = room / largest;
	return n > EXPANDING ? (uint32_t)n - EXPANDING : 0;
}

/* Bytes of the largest chunk that is to come as it is not kept; 0: none. */
static uint64_t find_largest(const struct hpdsl_stager *s)
{
	char name[HP_STAGE_NAME];
	struct hpdsl_chunk c;
	uint64_t largest = 0;

	for (uint32_t i = 0; !s->keep_compressed && i < s->own.n_want; i++)
		if (hp_stage_chunk(s->stage, s->own.want[i], false, &c, name,
				   NULL) == 0 &&
		    c.compressed && c.bytes > largest)
			largest = c.bytes;
	return largest;
}

uint32_t hp_stager_keep_some(const struct hpdsl_stager *s)
{
	uint64_t largest = find_largest(s), coming = 0, room;
	struct hpdsl_stage_place p;

	if (!largest)
		return KEEP;
	if (hpdsl_stage_place(s->stage, &p, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < s->own.n_want; i++)
		coming += hp_stage_chunk_bytes(s->stage, s->own.want[i]);
	room = p.free_bytes;
	if (p.ram && p.memory_bytes < room)
		room = p.memory_bytes;
	return hp_stager_keep_of(room, coming, largest);
}
