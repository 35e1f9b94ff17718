/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stretches of chunks are kept in memory for those who read on: decides
 * only, over memory.  No lock, no clock, no bytes.
 */
#ifndef MOUNT_WINDOW_H
#define MOUNT_WINDOW_H

#include "share.h"

enum {
	MOUNT_STREAMS = 64, /* readers of whom it is known where they are */
	MOUNT_WINDOW_NONE = -1,
};

enum mount_window_is {
	MOUNT_WINDOW_FREE,
	MOUNT_WINDOW_COMING,
	MOUNT_WINDOW_HERE,
	MOUNT_WINDOW_BAD, /* of its parts some may be good */
};

struct mount_window {
	enum mount_window_is is;
	uint32_t chunk, users; /* who copies from it, or waits for it */
	uint64_t number;       /* in the chunk */
	size_t size;	       /* bytes of it */
	size_t given;	       /* of these, those that were asked for */
	bool ended;	       /* the last ones were */
	uint64_t used;	       /* when, by the count of requests */
};

struct mount_stream {
	bool any;
	uint32_t chunk;
	uint64_t next; /* where it goes on */
	uint64_t used;
};

struct mount_windows {
	unsigned n; /* of these there may be */
	struct mount_window v[MOUNT_WINDOWS];
	struct mount_stream stream[MOUNT_STREAMS];
	uint64_t count; /* of requests */
};

/*
 * A read of n bytes: does it go on, about, where another one ended?  Requests
 * of one reader may come in another order than he made them.
 */
bool mount_windows_goes_on(struct mount_windows *w, uint32_t chunk,
			   uint64_t offset, size_t n);
/* The window that has, or will have, that; or MOUNT_WINDOW_NONE. */
int mount_windows_find(const struct mount_windows *w, uint32_t chunk,
		       uint64_t number);
/*
 * One for it, that is COMING from now on; MOUNT_WINDOW_NONE: all are needed, by
 * others, more than that.
 */
int mount_windows_take(struct mount_windows *w, uint32_t chunk, uint64_t number,
		       size_t size);
/* n bytes of it, from offset on, were asked for. */
void mount_windows_given(struct mount_windows *w, int i, size_t offset,
			 size_t n);

#endif
