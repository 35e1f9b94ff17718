/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One directory of files in memory, behind struct hp_io, read-only: so that a
 * test may damage any bit of them and look again, many thousand times.
 */
#ifndef MEMDIR_H
#define MEMDIR_H

#include "sys/io.h"

#define MEMDIR_NAME "mem" /* the directory, as its user opens it */
#define MEMDIR_FILES 16

struct memdir_file {
	char name[64];
	uint8_t *data;
	size_t size;
	bool absent;
};

struct memdir {
	struct hp_io io;
	struct memdir_file files[MEMDIR_FILES];
	int n;
	bool listed; /* the directory has been read to its end */
};

/* Loads all files of a real directory, sorted by name. */
void memdir_load(struct memdir *m, const char *dir);
void memdir_free(struct memdir *m);
struct memdir_file *memdir_find(struct memdir *m, const char *name);

#endif
