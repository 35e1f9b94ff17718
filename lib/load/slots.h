/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for blocks, within a bound.  It is cut into slots of one size, the one
 * that was given back last being the next that is used: its pages are there,
 * and in the caches.  What is larger than a slot gets a mapping of its own.
 * For one thread at a time.
 */
#ifndef HP_LOAD_SLOTS_H
#define HP_LOAD_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HP_SLOT_MIN = 64 << 10, HP_SLOT_MAX = 4 << 20 };

struct hp_slots {
	uint8_t *base; /* of all slots */
	size_t mapped;
	size_t slot; /* bytes: a power of two, HP_SLOT_MIN to HP_SLOT_MAX */
	uint32_t n;
	uint32_t *free; /* a stack; the first cold ones have no pages */
	uint32_t n_free, cold;
	uint64_t limit;
	uint64_t large;	 /* bytes in mappings of their own */
	uint64_t beside; /* charged */
	uint64_t peak;
};

/* A place for a block. */
struct hp_slot {
	void *p; /* NULL: none */
	size_t bytes;
	uint32_t number; /* UINT32_MAX: a mapping of its own */
};

/* limit: bytes in all.  -ENOMEM. */
int hp_slots_init(struct hp_slots *s, uint64_t limit, size_t slot);
/* No slot may be out.  All zero is harmless. */
void hp_slots_release(struct hp_slots *s);

/* What a block of so many bytes takes. */
static inline uint64_t hp_slots_cost(size_t slot, size_t bytes)
{
	if (bytes > SIZE_MAX - 4095)
		return UINT64_MAX;
	return bytes <= slot ? slot : (bytes + 4095) & ~(size_t)4095;
}

/* Would it be had, within the limit? */
bool hp_slots_fit(const struct hp_slots *s, size_t bytes);
/*
 * A place for bytes; over: beyond the limit, too.  False: it does not fit, or
 * there is no memory.
 */
bool hp_slots_get(struct hp_slots *s, size_t bytes, bool over,
		  struct hp_slot *ret);
void hp_slots_put(struct hp_slots *s, const struct hp_slot *slot);
/* Gives the pages of all free slots back. */
void hp_slots_trim(struct hp_slots *s);
/* Bytes that are held elsewhere, and count too: more, or fewer. */
void hp_slots_charge(struct hp_slots *s, int64_t bytes);

#endif
