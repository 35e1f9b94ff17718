/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name space in memory, before it is a snapshot: folders and the nodes in
 * them.  The walk of a directory makes one, so do a dataset's index and a
 * snapshot's text; hp_snap_write makes a snapshot of it.
 */
#ifndef HP_TREE_H
#define HP_TREE_H

#include "base/arena.h"
#include "hpdsl/snapshot.h"

#include <stdint.h>
#include <sys/stat.h>

#define HP_TREE_ENTRIES ((UINT64_C(1) << 40) - 2) /* most entries */

struct hp_folder;

/* One name in a folder. */
struct hp_node {
	const char *name; /* NUL-terminated */
	uint64_t size;
	int64_t mtime;
	uint32_t nsec;
	uint16_t mode; /* type and permission bits */
	uint16_t name_len;
	union {
		struct hp_folder *folder; /* S_IFDIR */
		const char *target;	  /* S_IFLNK: size bytes and a NUL */
		uint64_t member;	  /* S_IFREG: or HPDSL_NO_MEMBER */
	};
	uint64_t checksum; /* of a member */
};

struct hp_folder {
	struct hp_folder *parent; /* NULL: the top */
	struct hp_node *nodes;	  /* malloc'ed; NULL if there are none */
	uint64_t n;
	/* Set by hp_tree_finish: */
	uint64_t entry;	 /* its own number */
	uint64_t first;	 /* number of its first node */
	uint64_t number; /* among folders, in pre-order */
	uint64_t end;	 /* number of the first folder that is not below it */
	uint64_t self;	 /* its node is parent->nodes[self] */
};

/* Before node i is looked at: names lie all over memory. */
static inline void hp_folder_ahead(const struct hp_folder *f, uint64_t i)
{
	if (i + 12 < f->n)
		__builtin_prefetch(f->nodes[i + 12].name);
}

struct hp_tree {
	struct hp_node top; /* name ""; the others hang below top.folder */
	/* All but that is set by hp_tree_finish, or by who fills it: */
	struct hp_folder **folders; /* in pre-order: folders[f].number is f */
	uint64_t n_folders, entries, files, symlinks, bytes;
	uint64_t name_bytes, target_bytes; /* with a NUL for each */

	/* From a dataset: */
	bool from_dataset;
	uint8_t dataset_id[16], pack[16];
	uint64_t members;  /* one more than the highest member number */
	uint64_t excluded; /* members that were left out as asked */

	struct hp_arena *arena; /* of names and targets */
};

/* An empty top folder; -ENOMEM. */
int hp_tree_init(struct hp_tree *t);
/* Frees everything; the tree may be zero, or half made. */
void hp_tree_release(struct hp_tree *t);

/* Order of names: as unsigned bytes, the shorter one first. */
int hp_name_compare(const char *a, size_t a_len, const char *b, size_t b_len);
/* Sorts nodes by name; scratch memory of 16 bytes a node.  -ENOMEM. */
int hp_nodes_sort(struct hp_node *nodes, uint64_t n);

/*
 * Numbers everything: each folder's nodes have to be sorted, sub-folders to
 * hang at their nodes.  HPDSL_EUSAGE: a name occurs twice in a folder; -EFBIG:
 * more than HP_TREE_ENTRIES; -ENAMETOOLONG: a path over HPDSL_PATH_MAX.
 */
int hp_tree_finish(struct hp_tree *t, struct hpdsl_error *err);

/* Path of a folder, "" or "a/b/" with the slash, for what it holds. */
void hp_folder_path(const struct hp_folder *f, char buf[HPDSL_PATH_MAX + 2],
		    size_t *ret_len);

/* A path with the attributes of its last name; node.name is not set. */
struct hp_leaf {
	const char *path; /* NUL-terminated, lives as long as the tree */
	struct hp_node node;
};

/*
 * Fills an initialised tree with n leaves, in any order.  Folders above them
 * that are no leaves are made with mode 0755, no size, time 0 if
 * t->from_dataset, else they are an error, as are a path that occurs twice, one
 * below what is no folder, and one that hp_path_valid does not take:
 * HPDSL_EUSAGE, naming the path.  A leaf with an empty path is the top.  Does
 * hp_tree_finish.
 */
int hp_tree_build(struct hp_tree *t, struct hp_leaf *leaves, uint64_t n,
		  struct hpdsl_error *err);

/*
 * The tree of a packed dataset, out of its index, with names of its own;
 * generated members are left out, and what opt excludes.  *t is filled on
 * success.  HPDSL_EUSAGE: paths repeat, which those of adopted tars may.
 */
int hp_tree_of_dataset(struct hp_tree *t, const char *dataset,
		       const struct hpdsl_snapshot_options *opt,
		       struct hpdsl_error *err);

#endif
