/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole chunks into the kernel's page cache, or else what has been decoded for
 * one file of a chunk, by two threads of its own: one reads what the other one
 * gives to the kernel next.  That one may wait for pages that somebody reads,
 * and so for those who serve; none of them waits for it.
 *
 * While it gives (NOTIFY_STORE) the kernel lets nobody unmount, and waits for a
 * page that is locked for a READ, whatever signal comes.  So the READ has to
 * end though keeper and worker are killed.  It does if the device file that it
 * was taken from is closed; if nobody took it, with the last device file of the
 * mount, or with its reader if it is his own.  Linux, fs/fuse/dev.c:
 * fuse_notify_store, fuse_dev_release, request_wait_answer; they are to be read
 * before a sentence of these is changed.
 *
 * Who gives is in a table of descriptors of its own, with nothing in it but a
 * clone of the device file, from which no READ is ever taken: else it would
 * keep open what has to be closed.
 *
 * That clone may be the last device file.  What nobody took then ends with its
 * reader alone, and by FUSE_ASYNC_READ it would have none: INIT does not ask
 * for that where there is one who gives, and where it did nobody gives later
 * (slots.h).
 *
 * So readers that live on may wait until they are killed, or until the kernel,
 * where it can (FUSE_REQUEST_TIMEOUT), ends the mount.  It does so for storage
 * that hangs, too: not before a READ has waited as long as one may, behind
 * another one that did, and a minute.
 *
 * What a READ at hand is of is not given, so that all of this is rare; it does
 * not help against one that comes meanwhile.
 */
#ifndef MOUNT_STORE_H
#define MOUNT_STORE_H

#include "bytes.h"
#include "fill.h"
#include "share.h"
#include "slots.h"

#include <pthread.h>

enum {
	MOUNT_PATIENCE = 300, /* seconds for a chunk that is coming */
	MOUNT_REQUEST_SECONDS = 2 * MOUNT_PATIENCE + 60,
};

struct mount_batch;

struct mount_store {
	int clone; /* of /dev/fuse; -1: nothing is stored */
	struct mount_bytes *bytes;
	const struct hpdsl_snapshot *snap;
	struct mount_slots *slots;
	size_t room; /* for a batch; larger files are left out */

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
	bool apart;	      /* the one that gives is */
	bool ends;
};

/*
 * Begins, before INIT is answered.  Whole chunks are stored if that is wanted,
 * and with MOUNT_FILL_AUTO if there is memory for all that is seen; if it
 * cannot, nothing is stored, and that is all.  The clone is the caller's again.
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
