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
	uint64_t bytes;		     /* of the file */
	uint8_t digest[16];	     /* XXH3-128 of the file */
	uint8_t plain_digest[16];    /* of the tar */
	struct hp_frame_row *frames; /* n_frames of a compressed one, or NULL */
	uint32_t n_frames;
	uint8_t sha256[32]; /* of the file, if the list has them */
};

/*
 * Reads the file name of the output directory, which is to be chunk c;
 * compressed if the name ends in .zst.
 * HPDSL_ECORRUPT: it is another one; -errno.
 */
int hp_chunk_sums_take(const struct hp_pack *p, uint32_t c, const char *name,
		       struct hp_chunk_sums *ret, struct hpdsl_error *err);
/*
 * The list gets the checksums of the chunk's members, and of the file what only
 * SHA-256 is needed for.
 */
void hp_chunk_sums_keep(const struct hp_chunk_sums *sums, struct hp_pack *p,
			uint32_t c);
void hp_chunk_sums_release(struct hp_chunk_sums *sums);

#endif
