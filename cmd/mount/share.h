/* SPDX-License-Identifier: Apache-2.0 */
/* What --memory is for: a share for each who has bytes on their way.  Pure. */
#ifndef MOUNT_SHARE_H
#define MOUNT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOUNT_MEMORY (UINT64_C(64) << 20) /* if nothing is said */
#define MOUNT_MEMORY_LEAST (UINT64_C(8) << 20)

enum {
	MOUNT_READERS = 16, /* threads that may wait for what they read */
	MOUNT_FRONT = 2,    /* that read what the kernel asks */
	MOUNT_BATCHES = 2,  /* of files for the kernel: read, and given */
	MOUNT_BATCH_MOST = 4 << 20,
	MOUNT_WINDOW = 1 << 20, /* bytes of a chunk's, for who reads on */
	MOUNT_WINDOWS = 64,
};

struct mount_share {
	unsigned readers; /* 2 or more, each with room for a READ */
	unsigned windows; /* 0 but for chunks */
	size_t batch;	  /* bytes; 0 for chunks */
	uint64_t whole;	  /* of members that are read whole for a part */
};

/* Of MOUNT_MEMORY_LEAST bytes or more.  Nobody takes more than he can use. */
struct mount_share mount_share_of(uint64_t memory, bool chunks);

#endif
