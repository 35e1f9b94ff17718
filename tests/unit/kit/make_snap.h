/* SPDX-License-Identifier: Apache-2.0 */
/* Trees by hand, for tests of snapshots. */
#ifndef MAKE_SNAP_H
#define MAKE_SNAP_H

#include "tree/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A file; the others are made out of it. */
static inline struct hp_leaf leaf_file(const char *path, uint64_t size)
{
	struct hp_leaf l = { .path = path,
			     .node = { .size = size,
				       .mtime = 1700000000 + (int64_t)size,
				       .nsec = 123456789,
				       .mode = S_IFREG | 0644,
				       .member = HPDSL_NO_MEMBER } };

	return l;
}

static inline struct hp_leaf leaf_folder(const char *path)
{
	struct hp_leaf l = leaf_file(path, 4096);

	l.node.mode = S_IFDIR | 0755;
	l.node.folder = NULL;
	return l;
}

static inline struct hp_leaf leaf_link(const char *path, const char *target)
{
	struct hp_leaf l = leaf_file(path, strlen(target));

	l.node.mode = S_IFLNK | 0777;
	l.node.target = target;
	return l;
}

static inline struct hp_leaf leaf_other(const char *path, uint16_t type)
{
	struct hp_leaf l = leaf_file(path, 0);

	l.node.mode = (uint16_t)(type | 0600);
	l.node.target = NULL;
	return l;
}

/* The tree of n leaves, which has to be one. */
static inline void make_tree(struct hp_tree *t, struct hp_leaf *leaves,
			     uint64_t n)
{
	struct hpdsl_error err = { 0 };

	assert_int_equal(hp_tree_init(t), 0);
	if (hp_tree_build(t, leaves, n, &err))
		fail_msg("%s", err.msg);
}

#endif
