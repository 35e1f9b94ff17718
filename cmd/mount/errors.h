/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been told of reads that failed, kept for whoever comes to ask: in
 * memory that outlives the worker.
 */
#ifndef MOUNT_ERRORS_H
#define MOUNT_ERRORS_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	MOUNT_TOLD = 100, /* lines, and one that there is more */
	MOUNT_ERRORS_ROOM = 1 << 20,
};

/* Lines as they were written; those of a worker that died on the way end before
 * the one that it was at. */
struct mount_errors {
	_Atomic int64_t last; /* when the last one came; as time() */
	_Atomic uint32_t lines, bytes;
	char text[MOUNT_ERRORS_ROOM];
};

/* A line on standard error, and kept, as long as there are not too many.  Any
 * number of threads. */
void mount_errors_tell(struct mount_errors *e, const char *text);

#endif
