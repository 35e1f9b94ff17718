/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for what is read, within a bound: pages of one mapping, which takes no
 * memory until it is used.  What was given back keeps its pages as long as the
 * bound allows: the next block of that size finds them there, and in the
 * caches.  For one thread at a time.
 */
#ifndef HP_LOAD_ARENA_H
#define HP_LOAD_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_arena_gap {
	size_t at, bytes;
	bool warm; /* it has pages */
};

struct hp_arena {
	uint8_t *base;
	size_t mapped;
	int fd; /* of the file that is mapped; -1: none */
	uint64_t limit;
	struct hp_arena_gap *gap; /* what is free, in its order */
	size_t gaps, room;
	uint64_t warm;	 /* bytes of warm gaps */
	uint64_t used;	 /* bytes that are out */
	uint64_t beside; /* charged */
	uint64_t peak;
};

/* A place for a block, at a page's begin. */
struct hp_place {
	void *p; /* NULL: none */
	size_t bytes;
	bool alone; /* a mapping of its own */
};

/*
 * limit: bytes in all.  shared: in a file that other processes can map, within
 * which all blocks are.  -ENOMEM; shared, -errno.
 */
int hp_arena_init(struct hp_arena *a, uint64_t limit, bool shared);
/* No place may be out.  All zero is harmless. */
void hp_arena_release(struct hp_arena *a);

/* What a block of so many bytes takes: sizes are rounded, by an eighth at most,
 * so that places are used again. */
uint64_t hp_arena_cost(uint64_t bytes);
/* Would it be had, and so much charged, within the limit? */
bool hp_arena_fits(const struct hp_arena *a, uint64_t bytes, uint64_t beside);
/* A place, be it beyond the limit.  False: there is no memory. */
bool hp_arena_get(struct hp_arena *a, uint64_t bytes, struct hp_place *ret);
void hp_arena_put(struct hp_arena *a, const struct hp_place *place);
/* Gives the pages of all that is free back. */
void hp_arena_trim(struct hp_arena *a);
/* Bytes that are held elsewhere, and count too: more, or fewer. */
void hp_arena_charge(struct hp_arena *a, int64_t bytes);

#endif
