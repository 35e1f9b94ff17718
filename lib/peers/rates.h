/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast nodes deliver what they are asked for, one beside the others.  A
 * node whose disk or link is ill answers, and so is never late by its silence;
 * but it is slow where others are not.  Where all are slow nobody is: then it
 * is the network, and asking others makes it no faster.  Pure: times are passed
 * in.
 *
 * Of a node the logarithms of its last rates count, so that one request which a
 * lost packet held up says little; but one that took a second says enough.
 */
#ifndef HP_PEERS_RATES_H
#define HP_PEERS_RATES_H

#include <stdbool.h>
#include <stdint.h>

/* Slow is who delivers less than this part of what the others do in the middle,
 * and, where fewer than HP_RATE_OTHERS of them are known, less than
 * HP_RATE_LEAST bytes a second as well. */
#define HP_RATE_PART 8
#define HP_RATE_OTHERS 4
#define HP_RATE_LEAST 1000000
/* Smaller answers say more of the way than of the node. */
#define HP_RATE_BYTES (64 << 10)
/* What the way costs is as if the answer were so much larger. */
#define HP_RATE_WAY (256 << 10)
/* For so long a node is known to be slow; then it is tried again. */
#define HP_RATE_AGE UINT64_C(30000000000)

enum {
	HP_RATE_ENOUGH = 4,    /* requests of a node */
	HP_RATE_BUCKETS = 256, /* of rates, four to each doubling */
};

/* Of a node.  Zero: not measured. */
struct hp_rate {
	uint64_t at; /* when it last was */
	uint32_t n;
	uint32_t level; /* sixteen to each bucket */
};

/* Of all of them.  Zero: nobody was measured. */
struct hp_rates {
	uint32_t nodes;
	uint32_t of[HP_RATE_BUCKETS];
};

/* So many bytes came of it in so many nanoseconds. */
void hp_rates_came(struct hp_rates *all, struct hp_rate *r, uint64_t bytes,
		   uint64_t took, uint64_t now);

/* It was slow when it was last asked, and that is not long ago, or it is just
 * being tried again. */
bool hp_rates_is_slow(const struct hp_rates *all, const struct hp_rate *r,
		      bool owes, uint64_t now);

/* In so many nanoseconds so many bytes have to be there: a second, and what who
 * is just not slow would take. */
uint64_t hp_rates_due(const struct hp_rates *all, const struct hp_rate *r,
		      uint64_t bytes);

#endif
