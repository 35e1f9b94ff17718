/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks of lost nodes this one takes over before somebody asks for them.
 * Nobody is asked who lives: what the node's readers have seen is all there is.
 * Over memory; times are passed in.
 */
#ifndef HP_SERVE_REHOME_H
#define HP_SERVE_REHOME_H

#include "peers/book.h"

#include <stdbool.h>

struct hp_rehome {
	uint32_t nodes;
	uint64_t *since; /* of each, when it was first seen to have failed; 0:
			  * it is well */
	uint32_t lost, well;
	uint32_t at; /* the chunk to be looked at next */
};

/* All are well.  False: no memory. */
bool hp_rehome_begin(struct hp_rehome *r, uint32_t nodes);
void hp_rehome_end(struct hp_rehome *r);

/* What is seen of each node, one after the other, again and again. */
void hp_rehome_see(struct hp_rehome *r, uint32_t node, bool well, uint64_t now);
/* All were seen: which are lost. */
void hp_rehome_seen(struct hp_rehome *r, uint64_t now);

/*
 * The next one whose holders are all lost, and whose adopter this node is, that
 * is not had already; UINT32_MAX: there is none, or not among those that were
 * looked at in one go; or fewer than half of the nodes live, of whom this is
 * one.
 */
uint32_t hp_rehome_next(struct hp_rehome *r, const struct hp_book_head *h,
			uint32_t chunks, bool (*has)(void *arg, uint32_t chunk),
			void *arg);

#endif
