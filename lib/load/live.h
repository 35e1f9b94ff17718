/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes the blocks that were planned take in each turn to come, if a
 * batch is released in the turn after its own: what has to fit, so that reading
 * can go on.
 */
#ifndef HP_LOAD_LIVE_H
#define HP_LOAD_LIVE_H

#include "load/plan.h"

struct hp_load_live {
	uint64_t turn;	/* v[0] is of this one */
	int64_t *v;	/* what is added, turn by turn */
	size_t n, room; /* no change behind these */
};

/* Forgets the turns before this one; they never fall. */
void hp_load_live_at(struct hp_load_live *l, uint64_t turn);
/*
 * Adds the unit's blocks and its arrays: 1.  0: in some turn there would be
 * more than limit bytes, or it is needed for far too long, and they were not
 * added.  -ENOMEM.
 */
int hp_load_live_add(struct hp_load_live *l, const struct hp_load_unit *u,
		     size_t slot, uint64_t limit);
void hp_load_live_release(struct hp_load_live *l);

#endif
