/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small tree in a temporary directory and the dataset packed from it, for
 * tests.  All of it fails the test when it cannot be done.
 */
#ifndef PACKED_H
#define PACKED_H

#include "hpdsl.h"

#define PACKED_PATH 5000

struct packed {
	char top[64];  /* the temporary directory */
	char tree[80]; /* top/tree */
	char out[80];  /* top/out */
};

void packed_begin(struct packed *p);
void packed_end(struct packed *p); /* removes top */

/* top/name, in a buffer that the fourth call after this one uses again. */
const char *packed_at(const struct packed *p, const char *name);

/* A file below tree, its folders too, with size bytes made from its path. */
void packed_file(const struct packed *p, const char *path, size_t size,
		 unsigned mode, int64_t mtime, uint32_t nsec);
/* Changes one bit of the file of this whole name. */
void packed_flip(const char *name, uint64_t byte, unsigned bit);
/* Writes a whole file. */
void packed_put(const char *name, const void *data, size_t n);
/* Reads it; free it. */
char *packed_get(const char *name, size_t *ret_n);

/* Packs the tree with these options; what hpdsl_pack gave, *err cleared first.
 */
int packed_try(const struct packed *p, struct hpdsl_pack_options opt,
	       struct hpdsl_error *err);
/* Is there something of this name below the fixture's top? */
bool packed_has(const struct packed *p, const char *name);

/* opt: input and output are set here. */
void packed_pack(struct packed *p, struct hpdsl_pack_options opt);

/* tree and the directory other hold the same files: content, mode, mtime. */
void packed_same(const struct packed *p, const char *other);

#endif
