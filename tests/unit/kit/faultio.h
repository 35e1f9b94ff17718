/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's file operations with one that fails: the k-th, once or from
 * then on.  Also keeps the rule that nobody syncs a file again whose sync has
 * failed.
 */
#ifndef FAULTIO_H
#define FAULTIO_H

#include "sys/io.h"

struct faultio {
	struct hp_io io;
	long count;   /* operations so far */
	long fail_at; /* this one fails, from 1; 0: none */
	bool forever; /* and all after it */
	int code;     /* with this */
	long failed;  /* operations that were made to fail */
	bool synced_again;
	char broken[1024]; /* by descriptor: its sync has failed */
};

void faultio_init(struct faultio *f, long fail_at, bool forever, int code);
/* The system's, none of which fails; like all of these it waits for no disk. */
const struct hp_io *faultio_none(void);

#endif
