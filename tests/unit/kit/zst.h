/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of a packed dataset compressed from outside, by the format's page and
 * nothing of the packer's: for tests of what reads them.
 */
#ifndef ZST_H
#define ZST_H

#include "chunk/seek_table.h"

/* Frames of a large sample: 1 GiB, unless a test wants several of them. */
extern uint64_t zst_frame_max;

struct zst_chunk {
	uint8_t *bytes; /* of the file */
	size_t n;
	struct hp_seek_entry *frames;
	uint32_t n_frames;
};

/*
 * Compresses a tar of n bytes, whose samples end at these offsets.  The caller
 * frees both parts.
 */
void zst_compress(const uint8_t *tar, size_t n, const uint64_t *ends,
		  size_t samples, struct zst_chunk *ret);

/*
 * Replaces chunks of the dataset in dir by their compressed form, those whose
 * bit is set, and index and manifest accordingly.
 */
void zst_dataset(const char *dir, uint64_t which);

#endif
