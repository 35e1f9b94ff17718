/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making files below a directory, whole or not at all, and never outside it:
 * folders are made and opened one by one, no link is followed.
 */
#ifndef HP_RESTORE_H
#define HP_RESTORE_H

#include "hpdsl/dataset.h"
#include "sys/io.h"

#define HP_RESTORE_TEMP 64

/* One thread's place in the output.  It keeps the last folder open. */
struct hp_restore {
	const struct hp_io *io;
	int root;	       /* borrowed */
	uint64_t tag, counter; /* of temporary names */
	int folder;	       /* the open folder, root for "" */
	size_t folder_len;
	char folder_path[HPDSL_PATH_MAX + 1];
	int fd; /* the file being made, or -1 */
	char temp[HP_RESTORE_TEMP];
};

void hp_restore_init(struct hp_restore *r, const struct hp_io *io, int root);
void hp_restore_release(struct hp_restore *r);

/*
 * Begins the file with a member's path: its folders, a temporary name.  -EEXIST
 * where a folder's name is taken by a file, -EINVAL for a path that no member
 * may have.  Write to r->fd.  The path is the caller's own, with a NUL behind
 * it, not one in a mapping, and the same until the file has its name.
 */
int hp_restore_open(struct hp_restore *r, const struct hpdsl_member *m,
		    struct hpdsl_error *err);
/* Mode and time, then its name; -EEXIST if that is taken. */
int hp_restore_commit(struct hp_restore *r, const struct hpdsl_member *m,
		      struct hpdsl_error *err);
/* Removes the unfinished file, if any. */
void hp_restore_abandon(struct hp_restore *r);

#endif
