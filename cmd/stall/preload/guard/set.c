/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, a place for good: a slot that was taken keeps its inode, so
 * that who looks for another one behind it finds that. */
#include "set.h"

#include <sched.h>

enum { TRIES = 128, LOOKS = 1000 };

#define DROPPED UINT64_MAX

/* Device numbers are from 0 on, and are kept one higher. */
static uint64_t kept(uint64_t dev)
{
	return dev + 1;
}

/* Slot i of those in which it may be. */
static struct guard_slot *at(struct guard_set s, uint64_t dev, uint64_t ino,
			     size_t i)
{
	uint64_t h = (ino ^ dev << 32) * UINT64_C(0x9e3779b97f4a7c15);

	return s.of + (((size_t)(h >> 32) + i) & (s.n - 1));
}

static struct guard_slot *find(struct guard_set s, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < TRIES; i++) {
		struct guard_slot *slot = at(s, dev, ino, i);
		uint64_t is = __atomic_load_n(&slot->ino, __ATOMIC_ACQUIRE);

		if (!is)
			return NULL;
		if (is == ino &&
		    __atomic_load_n(&slot->dev, __ATOMIC_ACQUIRE) == kept(dev))
			return slot;
	}
	return NULL;
}

bool guard_set_has(struct guard_set s, uint64_t dev, uint64_t ino)
{
	return find(s, dev, ino) != NULL;
}

/* What is in a slot that has this inode: not at once, while somebody takes it;
 * 0 if that one was killed at it. */
static uint64_t device_in(struct guard_slot *slot)
{
	uint64_t dev = 0;

	for (unsigned i = 0; !dev && i < LOOKS; i++) {
		dev = __atomic_load_n(&slot->dev, __ATOMIC_ACQUIRE);
		if (!dev)
			sched_yield();
	}
	return dev;
}

bool guard_set_add(struct guard_set s, uint64_t dev, uint64_t ino)
{
	if (find(s, dev, ino))
		return false;
	for (size_t i = 0; i < TRIES; i++) {
		struct guard_slot *slot = at(s, dev, ino, i);
		uint64_t is = 0, had;

		if (__atomic_compare_exchange_n(&slot->ino, &is, ino, false,
						__ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			__atomic_store_n(&slot->dev, kept(dev),
					 __ATOMIC_RELEASE);
			return true;
		}
		if (is != ino)
			continue;
		had = device_in(slot);
		/* Inodes are used again. */
		if (had == DROPPED &&
		    __atomic_compare_exchange_n(&slot->dev, &had, kept(dev),
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return true;
		if (had == kept(dev))
			return false;
	}
	return false;
}

bool guard_set_drop(struct guard_set s, uint64_t dev, uint64_t ino)
{
	struct guard_slot *slot = find(s, dev, ino);
	uint64_t had = kept(dev);

	return slot &&
	       __atomic_compare_exchange_n(&slot->dev, &had, DROPPED, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
