/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole chunks into the kernel's page cache, or else what has been decoded for
 * one file of a chunk, by two threads of its own: one reads what the other one
 * gives to the kernel next.  That one may wait for pages that somebody reads,
 * and so for those who serve; none of them waits for it.
 */
#ifndef MOUNT_STORE_H
#define MOUNT_STORE_H

#include "bytes.h"
#include "fill.h"
#include "share.h"

#include <pthread.h>

struct mount_batch;

struct mount_store {
	int fd; /* of /dev/fuse */
	struct mount_bytes *bytes;
	const struct hpdsl_snapshot *snap;
	_Atomic uint64_t *stored; /* files that the kernel has got */
	size_t room;		  /* for a batch; larger files are left out */

	/* Its own: */
	uint64_t memory; /* that there was when it began */
	bool part;	 /* there are members that are not seen */
	bool on;	 /* whole chunks */
	bool frames;	 /* there are compressed chunks */
	struct mount_batch *batch[MOUNT_BATCHES]; /* by turns */
	pthread_mutex_t lock;			  /* for all below */
	pthread_cond_t more;
	struct mount_fill fill;
	struct mount_frames near;
	uint64_t read, given; /* batches */
	unsigned runs;	      /* threads */
	bool ends;
};

/*
 * Begins.  Whole chunks are stored if that is wanted, and with MOUNT_FILL_AUTO
 * if there is memory for all that is seen; if it cannot, nothing is stored, and
 * that is all.
 */
void mount_store_begin(struct mount_store *s, enum mount_fill_when when);
/* A file of the chunk is read.  Waits for nothing; any number of threads. */
void mount_store_want(struct mount_store *s, uint64_t member);
/* So many bytes of it have been read, from its first on; again: and had been
 * before.  As above. */
void mount_store_near(struct mount_store *s, uint64_t member, uint64_t bytes,
		      bool again);
/* false: it hangs in a read for longer than until, and goes on to use s. */
bool mount_store_end(struct mount_store *s, const struct timespec *until);

#endif
