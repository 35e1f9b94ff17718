/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount's own folder at its top, with files that say how it is doing.  It
 * is opened by name and never listed: programs take each folder at the top for
 * a part of the dataset.  Pure, as tree.h: what is in the files is somebody
 * else's.
 */
#ifndef MOUNT_OWN_H
#define MOUNT_OWN_H

#include "tree.h"

/* Nodes from here on are these, in their order: no snapshot has so many. */
#define MOUNT_OWN (UINT64_C(1) << 62)

enum mount_own_file {
	MOUNT_OWN_STATUS,
	MOUNT_OWN_ERRORS,
	MOUNT_OWN_MANIFEST,
	MOUNT_OWN_FILES
};

/* What is in one of them now.  One that changes has another time. */
struct mount_own_text {
	char *bytes; /* to be freed */
	size_t n;
	int64_t mtime;
	uint32_t mtime_nsec;
};

struct mount_own {
	const struct mount_tree *tree;
	/* 0, or -errno; waits for nothing, any number of threads.  -ENOENT:
	 * there is no such file. */
	int (*make)(void *arg, enum mount_own_file file,
		    struct mount_own_text *ret);
	void *arg;
	bool hidden; /* by what the dataset has of this name */
};

/* tree, make and arg have been set. */
void mount_own_init(struct mount_own *o);

/* Is it about these, and no question that has one answer for all files? */
bool mount_own_is_asked(const struct mount_own *o,
			const struct mount_request *r);
/* The answer to it into MOUNT_HEAD + MOUNT_READ_MOST bytes at p; its bytes. */
size_t mount_own_answer(const struct mount_own *o,
			const struct mount_request *r, void *p);

/*
 * JSON in which each number is as wide as the largest one, and so the text as
 * long whatever they are: n bytes, into a string to be freed; NULL: no memory.
 */
char *mount_own_widen(const char *json, size_t n);

#endif
