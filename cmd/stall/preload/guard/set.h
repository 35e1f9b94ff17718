/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of files, by device and inode, in memory that processes share: nobody
 * locks, and one that is killed at any place leaves a set that the others go on
 * with.  All zero is the empty set.
 */
#ifndef STALL_GUARD_SET_H
#define STALL_GUARD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not for the job to see. */
#pragma GCC visibility push(hidden)

/* Written in this order; ino 0: free, dev 0: somebody is about to write it. */
struct guard_slot {
	uint64_t ino, dev;
};

struct guard_set {
	struct guard_slot *of;
	size_t n; /* a power of two */
};

bool guard_set_has(struct guard_set s, uint64_t dev, uint64_t ino);
/* Was it not there before?  A set that is full takes nothing. */
bool guard_set_add(struct guard_set s, uint64_t dev, uint64_t ino);
/* Was it there? */
bool guard_set_drop(struct guard_set s, uint64_t dev, uint64_t ino);

#pragma GCC visibility pop

#endif
