/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's file operations, of which reads of some files hang, or fail,
 * while they are told to; and a file system with as much room as it is told.
 */
#ifndef GATEIO_H
#define GATEIO_H

#include "sys/io.h"

#include <pthread.h>

enum { GATEIO_FILES = 4096 };

struct gateio {
	struct hp_io io; /* first */
	pthread_mutex_t lock;
	pthread_cond_t opened;
	/* Names with one of these in them are such files; "": nameless ones.
	 */
	const char *name[4];
	bool shut;	 /* reads hang */
	unsigned hang;	 /* so many do */
	int fails;	 /* -errno: reads of them do; 0: they do not */
	uint64_t unused; /* bytes; 0: as it is */
	bool no_blocks;	 /* none can be had beforehand */
	int write_fails; /* -errno: writes to nameless files do */
	unsigned opens;	 /* of such files */
	bool is[GATEIO_FILES], is_tmp[GATEIO_FILES];
};

void gateio_init(struct gateio *g);
void gateio_shut(struct gateio *g, bool shut);
/* Until so many reads hang. */
void gateio_await(struct gateio *g, unsigned n);

#endif
