/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the parts that wait is begun next, when one of a client's places is
 * free.  In the order in which they came, but:
 *
 * - first one whose chunk is not under way, and of whose holders one is asked
 *   for nothing: so all links have something to do;
 * - none whose holders all have half of the places, while others wait: so one
 *   node that takes its time does not hold up the rest;
 * - none whose holders all have as much as there are places.
 *
 * Who rests, for its node is busy, gives up its place, and still counts.
 *
 * Who was passed by so often is not passed by any more, but for the last two
 * rules; and of one node's parts the first is always first then.  So each has
 * its turn.
 */
#ifndef HP_PEERS_PLACES_H
#define HP_PEERS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HP_PLACES = 8,	      /* parts at a time */
	HP_RESTS = 32,	      /* parts at a time that rest without a place */
	HP_PLACES_LOOK = 128, /* of those that wait, so many are looked at */
	HP_PASSED_BY = 32,    /* times */
};

/* A part that waits. */
struct hp_waiting {
	uint32_t chunk;
	uint32_t first, last; /* its holders; first > last: nobody */
	uint32_t passed;      /* 0 at first */
};

/* What is under way, or rests: a chunk, and a node that is asked for it. */
struct hp_under_way {
	uint32_t chunk;
	uint32_t node; /* HP_NO_NODE: nobody just now */
};

/* The number of one of n, in their order; it counts for those before it.  n:
 * none is to be begun. */
unsigned hp_places_next(struct hp_waiting *const *waits, unsigned n,
			const struct hp_under_way *under_way, unsigned n_way);

#endif
