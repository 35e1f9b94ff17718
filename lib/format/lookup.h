/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table of index and snapshot, from paths to numbers: slots of 8
 * bytes, which hold 24 bits of the path's XXH3-64 above the number plus 1, in
 * the order of the hashes, each in its home or as near behind it as those
 * before it allow.  hpdsl-format(5), "LOOKUP".
 */
#ifndef HP_LOOKUP_H
#define HP_LOOKUP_H

#include "base/bytes.h"

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
/* The same of rows that are in the order of their numbers, with room for so
 * many more: faster where few bytes of the hashes differ, as of keys that are
 * text. */
void hp_lookup_sort_room(struct hp_hashed *v, uint64_t n,
			 struct hp_hashed *room, uint64_t n_room);

struct hp_findings;

struct hp_lookup_check {
	const char *what, *whats; /* "member", "members": that are found */
	const uint8_t *slots;
	uint64_t n_slots, homes;
	uint64_t first, end;	/* numbers that have to be there */
	const uint64_t *hashes; /* of the path of each number */
	/*
	 * Is number found by its path, though the slot of the number before
	 * has the same hash?  *same is 0 at the first of these.
	 */
	bool (*is_found)(void *arg, uint64_t number, uint64_t before,
			 uint64_t *same);
	void *arg;
};

void hp_lookup_check(const struct hp_lookup_check *l, struct hp_findings *f);
/*
 * The same in steps, of which the second can be done at once for all first
 * bytes that a hash can have: the first orders by that byte alone, and says how
 * many have which.
 */
void hp_lookup_split(struct hp_hashed *v, uint64_t n, uint64_t ret_count[256]);
void hp_lookup_sort_split(struct hp_hashed *v, uint64_t n);

#endif
