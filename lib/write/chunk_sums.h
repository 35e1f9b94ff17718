/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk file, plain or compressed, read front to back: all but the contents
 * must be what the plan puts there; of contents and file the checksums are
 * taken on the way.
 */
#ifndef HP_CHUNK_SUMS_H
#define HP_CHUNK_SUMS_H

#include "base/hash.h"
#include "write/run.h"

struct hp_chunk_sums {
	struct hp_content_hash *hashes; /* of its members, in their order */
	uint64_t n;
	struct hp_chunk_made made; /* it: its frames are owned */
};

/*
 * Reads the file name of the output directory, which is to be chunk c;
 * compressed if the name ends in .zst.
 * HPDSL_ECORRUPT: it is another one; -errno.
 */
int hp_chunk_sums_take(const struct hp_writing *p, uint32_t c, const char *name,
		       struct hp_chunk_sums *ret, struct hpdsl_error *err);
/*
 * The chunk is done: the list gets the checksums of its members, and p->done
 * what it is, frames included.
 */
void hp_chunk_sums_keep(struct hp_chunk_sums *sums, struct hp_writing *p,
			uint32_t c);
void hp_chunk_sums_release(struct hp_chunk_sums *sums);

#endif
