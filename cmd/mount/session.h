/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of one mount: threads that read what the kernel asks, and
 * threads that read files for it.  Those that read the queue wait for nothing
 * else: what is not at hand, but a disk's, another node's or the origin's, is
 * the others'.
 */
#ifndef MOUNT_SESSION_H
#define MOUNT_SESSION_H

#include "bytes.h"
#include "chunks.h"
#include "own.h"
#include "slots.h"
#include "store.h"
#include "stretch.h"
#include "tree.h"

#include <pthread.h>

struct mount_session {
	int fd; /* of /dev/fuse, mounted */
	const struct mount_tree *tree;
	struct mount_bytes *bytes;
	/* Instead of the tree and its files; NULL: those. */
	const struct mount_chunks *chunks;
	struct mount_stretches *stretches;
	struct mount_store *store;
	struct mount_slots *slots;
	/* Of which extended attributes are told; NULL: there are none. */
	const struct hpdsl_dataset *attrs;
	const struct mount_own *own; /* NULL: it has none */
	unsigned most;		     /* readers */
	bool plus;		     /* listings come with attributes */
	bool refuses; /* all of it: there is nothing to serve any more */
	/* Called once, when the kernel and this one agreed; may be NULL. */
	void (*ready)(void *arg);
	void *arg;

	/* Its own: */
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* Kept reads that wait, by number; MOUNT_KEPT: none. */
	uint32_t first, last, next[MOUNT_KEPT];
	unsigned idle, readers; /* threads that wait, that there are */
	bool ends;
	bool hangs; /* one is left behind */
	int failed; /* the first -errno that ended a thread */
};

/*
 * Serves until it is mounted no more, and first what is left in the slots; all
 * but its own has been set.  0, or -errno: it could not, and the mount is dead.
 * A thread that hangs in a read is left behind: the process is to end, and free
 * nothing.
 */
int mount_session_run(struct mount_session *s);

#endif
