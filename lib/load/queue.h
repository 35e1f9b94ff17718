/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are to be read: the one that is needed first comes first. */
#ifndef HP_LOAD_QUEUE_H
#define HP_LOAD_QUEUE_H

#include "load/plan.h"

struct hp_load_queue {
	struct hp_load_block **v; /* a heap */
	size_t n, room;
	uint64_t bytes; /* of all of them */
};

/* Room for so many more; -ENOMEM. */
int hp_load_queue_reserve(struct hp_load_queue *q, uint64_t more);
/* For which there is room.  serial decides between equals. */
void hp_load_queue_add(struct hp_load_queue *q, struct hp_load_block *b);
/* The first; NULL: none. */
struct hp_load_block *hp_load_queue_first(const struct hp_load_queue *q);
void hp_load_queue_take(struct hp_load_queue *q);
void hp_load_queue_release(struct hp_load_queue *q);

#endif
