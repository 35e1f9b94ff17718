/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mounted, as a tree: a snapshot's entries, and answers to all that is
 * asked but for the bytes of files.  A node's number is the entry's, and one:
 * so nothing has to be kept of what the kernel knows, and forgetting is
 * nothing to do.
 */
#ifndef MOUNT_TREE_H
#define MOUNT_TREE_H

#include "wire.h"

#include <hpdsl.h>

struct mount_tree {
	const struct hpdsl_snapshot *snap;
	uint64_t top; /* entry of the folder that is mounted */
	uint32_t uid, gid;
	int64_t mtime; /* of folders, of which nothing else is known */
	uint32_t mtime_nsec;
	struct mount_statfs all;
};

enum { MOUNT_ANSWER_ROOM = 65536 };

/*
 * top: path of the folder, "" for all.  0, -ENOENT, -ENOTDIR; HPDSL_ECORRUPT.
 */
int mount_tree_init(struct mount_tree *t, const struct hpdsl_snapshot *snap,
		    const char *top, struct hpdsl_error *err);

/*
 * The answer to r into MOUNT_ANSWER_ROOM bytes at p; its bytes, or 0: there is
 * none to it.  READ and INIT are somebody else's.  What is wrong with the
 * snapshot is EIO, and told in *err, whose code is HPDSL_ECORRUPT then.
 */
size_t mount_tree_answer(const struct mount_tree *t,
			 const struct mount_request *r, void *p,
			 struct hpdsl_error *err);

/* The file of a node.  0, -ENOENT, -ERANGE, -EISDIR, -EINVAL; HPDSL_ECORRUPT.
 */
int mount_tree_file(const struct mount_tree *t, uint64_t node,
		    struct hpdsl_entry *ret, struct hpdsl_error *err);

#endif
