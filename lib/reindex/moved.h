/* SPDX-License-Identifier: Apache-2.0 */
/* Adopted samples that were in another tar, by their members alone. */
#ifndef HP_MOVED_H
#define HP_MOVED_H

#include "format/lookup.h"
#include "reindex/adopt.h"

#include <string.h>

/*
 * Samples of the old index by their members: of each hash the first, and one
 * that has another class.  All zero before it is asked; v is to be freed.
 */
struct hp_moved {
	struct hp_hashed *v;
	uint64_t n;
	bool damaged; /* some of the old rows cannot be read */
};

/*
 * The old samples that have just the members of sample s, by path, size and
 * checksum: 0, none; 1, and their labels, two that differ if there are such.
 * The first call reads all of the old index: 16 bytes for each sample.
 */
int hp_moved_find(struct hp_moved *m, const struct hp_reindex *x, uint64_t s,
		  uint32_t ret[2], struct hpdsl_error *err);

static inline bool hp_moved_path(const struct hpdsl_member *m,
				 const struct hp_file *f)
{
	return m->path_len == f->path_len &&
	       !memcmp(m->path, f->path, f->path_len);
}

/* The number in v, which is sorted, of the first of this hash, or of what
 * stands where it would be. */
uint64_t hp_hashed_first(const struct hp_hashed *v, uint64_t n, uint64_t hash);

#endif
