/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot on disk of some ten thousand entries, for tests that read it. */
#ifndef SNAP_FILE_H
#define SNAP_FILE_H

#include "hpdsl.h"

struct snap_file {
	char dir[64], path[80];
	char **paths; /* of all entries but the top and its folders, sorted */
	size_t n;     /* files: every 7th is a symbolic link to "files" */
	size_t folders;
};

void snap_file_make(struct snap_file *f, size_t folders, size_t files);
void snap_file_remove(struct snap_file *f);
/*
 * Reads all of it in all ways, beginning with file number from of a folder;
 * fails if anything is not as it was made.
 */
void snap_file_read(const struct snap_file *f, const struct hpdsl_snapshot *s,
		    size_t from);

#endif
