/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table of index and snapshot, from paths to numbers: slots of 8
 * bytes, which hold 24 bits of the path's XXH3-64 above the number plus 1, in
 * the order of the hashes, each in its home or as near behind it as those
 * before it allow.  hpdsl-format(5), "LOOKUP".
 */
#ifndef HP_LOOKUP_H
#define HP_LOOKUP_H

#include "bytes.h"

enum { HP_SLOT_ROW = 8 /* bytes of a slot */ };

#define HP_SLOT_NUMBER ((UINT64_C(1) << 40) - 1) /* bits of a slot */
#define HP_SLOT_TAG (UINT64_C(0xffffff))	 /* bits of a hash */

/* Slots that are some hash's home: seven numbers in ten of them. */
static inline uint64_t hp_lookup_homes(uint64_t numbers)
{
	return numbers + numbers * 3 / 7 + 1;
}

static inline uint64_t hp_lookup_home(uint64_t hash, uint64_t homes)
{
	return (uint64_t)((unsigned __int128)hash * homes >> 64);
}

static inline uint64_t hp_lookup_slot(uint64_t hash, uint64_t number)
{
	return (hash & HP_SLOT_TAG) << 40 | (number + 1);
}

struct hp_hashed {
	uint64_t hash, number;
};

/* Orders by (hash, number), in place. */
void hp_lookup_sort(struct hp_hashed *v, uint64_t n);
/*
 * The first step of that: orders by the hashes' first byte alone, and says how
 * many have which.
 */
void hp_lookup_split(struct hp_hashed *v, uint64_t n, uint64_t ret_count[256]);

#endif
