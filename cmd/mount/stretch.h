/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of chunks as plain tars for the kernel.  Who reads a chunk from the
 * front on gets them out of windows, each of which is read once, as a whole and
 * before it is asked for; who reads here and there, what he asks for.  Members
 * are verified as mount_bytes does; what is damaged takes no more with it than
 * the reads that it is in.
 */
#ifndef MOUNT_STRETCH_H
#define MOUNT_STRETCH_H

#include "bytes.h"
#include "chunks.h"
#include "window.h"

#include <pthread.h>

struct mount_stretches {
	struct mount_bytes *bytes;
	/* Its own: */
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct mount_windows windows;
	uint8_t *buf[MOUNT_WINDOWS]; /* MOUNT_WINDOW each; NULL: not so far */
};

void mount_stretches_init(struct mount_stretches *s, struct mount_bytes *bytes,
			  unsigned windows);
/* Nobody may be reading any more. */
void mount_stretches_release(struct mount_stretches *s);

/* As mount_bytes_read() and _now(), of a chunk. */
int64_t mount_stretch_read(struct mount_stretches *s, uint32_t chunk,
			   uint64_t offset, void *buf, size_t n);
int64_t mount_stretch_now(struct mount_stretches *s, uint32_t chunk,
			  uint64_t offset, void *buf, size_t n);
/* After such a read, whose answer was sent: what will be asked for next. */
void mount_stretch_ahead(struct mount_stretches *s, uint32_t chunk,
			 uint64_t offset, size_t n);

/* Of a file that lies beside them, by its number, if it is what it was. */
int64_t mount_beside_read(struct mount_bytes *b, const struct mount_thing *v,
			  uint64_t thing, uint64_t offset, void *buf, size_t n);

#endif
