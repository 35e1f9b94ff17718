/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel has asked, and nobody has answered yet, in memory that
 * outlives the worker: one that dies is followed by another, which answers that
 * first.  So whoever waits for a file notices no more than that it takes
 * longer.
 *
 * Each slot is written by one thread of the worker; what is in it is the next
 * worker's when all of them are gone.  A request may be in two of them for a
 * moment, and be answered twice: the kernel knows the second answer for what it
 * is.
 */
#ifndef MOUNT_SLOTS_H
#define MOUNT_SLOTS_H

#include "errors.h"
#include "share.h"
#include "wire.h"

#include <stdatomic.h>
#include <sys/types.h>

/* What was asked, by kind; for --status and for tests, which count. */
struct mount_counts {
	_Atomic uint64_t all, lookups, lists, reads, bytes, interrupted;
	_Atomic uint64_t now;	   /* reads that were answered in place */
	_Atomic uint64_t answered; /* of all */
	_Atomic uint64_t wrong;	   /* reads that were answered EIO */
	_Atomic uint64_t stored;   /* files that the kernel got unasked */
	_Atomic uint64_t replaced; /* workers that died */
};

enum {
	MOUNT_LINKS = 1 << 20, /* more than there may be chunks */
	MOUNT_KEPT = 4096,     /* reads that wait for another thread, at most */
	/* So often a request may be at hand when a worker fails, and when one
	 * is killed: by somebody, or for the memory that it takes. */
	MOUNT_FAULTS = 2,
	MOUNT_KILLS = 16,
};

/* Workers that ended with it at hand. */
struct mount_blame {
	uint32_t faults, kills;
};

/* What a thread has read last.  The kernel writes its size first, so that what
 * was read is there even if the thread is not any more. */
struct mount_slot {
	union {
		_Atomic uint32_t size; /* 0: it is answered, or kept */
		uint8_t bytes[MOUNT_REQUEST_MOST];
	};
	_Atomic uint64_t reads; /* this member, + 1; 0: it is no READ of one */
	struct mount_blame blame;
};

/* A read that waits for a thread, or that one has begun. */
struct mount_kept {
	_Atomic uint32_t is; /* enum mount_kept_is */
	uint32_t size;
	struct mount_blame blame;
	_Atomic uint64_t member;
	uint64_t unique, offset;
};

enum mount_kept_is { MOUNT_KEPT_FREE, MOUNT_KEPT_WAITS, MOUNT_KEPT_BEGUN };

/* Does anybody give pages (store.h)?  The kernel is told once, with INIT, so
 * that it is decided once, for all workers. */
enum mount_giver { MOUNT_GIVER_OPEN, MOUNT_GIVER_NONE, MOUNT_GIVER_IS };

struct mount_slots {
	pid_t keeper;	      /* who begins workers, */
	_Atomic pid_t worker; /* the last one of them, */
	int64_t since;	      /* and since when; as time() */
	_Atomic bool opened;  /* by a worker: digest and members are those */
	_Atomic bool serves;  /* the worker does: requests are at hand */
	_Atomic bool ended;   /* it is mounted no more: no other worker */
	_Atomic bool greeted; /* the kernel was: whoever mounts knows */
	_Atomic int giver;    /* enum mount_giver */
	uint8_t digest[16];
	uint64_t members;
	/* With --view=chunks: what lies beside them, as a sum, and which of
	 * them are links, a bit each. */
	uint64_t beside;
	uint8_t links[MOUNT_LINKS / 8];
	struct mount_counts counts;
	struct mount_errors errors;
	struct mount_slot slot[MOUNT_FRONT];
	_Atomic uint32_t kept_most; /* those behind so many are free */
	struct mount_kept kept[MOUNT_KEPT];
};

/* Shared with children; NULL: no memory. */
struct mount_slots *mount_slots_new(void);

/* A worker has failed by itself, or was killed: what it was at may be why. */
void mount_slots_failed(struct mount_slots *s, bool killed);

/* Is a READ of it at hand?  One that comes meanwhile may be missed. */
bool mount_slots_has_read(const struct mount_slots *s, uint64_t member);
/* Is there one who gives?  Decided so now, unless it was before. */
bool mount_slots_decide(struct mount_slots *s, bool giver);

/* May it be tried once more? */
static inline bool mount_may_try(const struct mount_blame *b)
{
	return b->faults < MOUNT_FAULTS && b->kills < MOUNT_KILLS;
}

#endif
