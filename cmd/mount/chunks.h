/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other view: a dataset as the directory that it would be with plain
 * chunks.  Things by number, the top first, then the chunks in their order,
 * then what lies beside them; a node's number is the thing's, and one.
 */
#ifndef MOUNT_CHUNKS_H
#define MOUNT_CHUNKS_H

#include "wire.h"

#include <hpdsl.h>

enum mount_thing_is { MOUNT_FOLDER, MOUNT_CHUNK, MOUNT_SIDE };

struct mount_thing {
	char *name;
	char *path; /* of the file that it is, absolute; NULL: it is none */
	bool link;  /* to that */
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_nsec, mode; /* permission bits */
	uint32_t parent;	   /* thing of its folder; the top's is 0 */
	uint64_t dev, ino;	   /* of what lies beside them */
	enum mount_thing_is is;
};

struct mount_chunks {
	struct mount_thing *v; /* n of them; v[0] is the top */
	uint32_t n;
	uint32_t chunks; /* v[1] .. v[chunks] */
	uint32_t *order; /* things by folder and name */
	uint32_t uid, gid;
	bool changed; /* there was more, whose nodes are EIO */
};

/* The chunk of a thing that is one. */
static inline uint32_t mount_chunk_of(uint64_t thing)
{
	return (uint32_t)thing - 1;
}

/* Once all things are there: 0 or -ENOMEM. */
int mount_chunks_sort(struct mount_chunks *c);
void mount_chunks_release(struct mount_chunks *c);

/* As mount_tree_answer(); there is nothing that could be wrong with it. */
size_t mount_chunks_answer(const struct mount_chunks *c,
			   const struct mount_request *r, void *p);
/* Of what lies beside them: which files these are, and their numbers. */
uint64_t mount_chunks_sum(const struct mount_chunks *c);
/* As if nothing lay there; before they are sorted. */
void mount_chunks_drop(struct mount_chunks *c);
/* The thing of a node, of which bytes are read.  0, -ENOENT, -EIO, -EISDIR. */
int mount_chunks_file(const struct mount_chunks *c, uint64_t node,
		      uint64_t *ret);

/*
 * The name of a chunk in there: without folders, which tars of others may have,
 * and .zst.  malloc'ed; NULL: no memory.
 */
char *mount_chunk_name(const struct hpdsl_chunk *c);

/* ---- chunks_find.c: what there is of a dataset ------------------------ */

struct mount_options;
struct mount_slots;

/* With what a worker before this one found, if there was one. */
int mount_chunks_find(const struct mount_options *o,
		      const struct hpdsl_dataset *ds, struct mount_slots *slots,
		      struct mount_chunks *ret, struct hpdsl_error *err);

#endif
