/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is behind a tar's end: a tar ends at its first block of zeros, or with
 * the file, and no reader sees another one behind it.  Who takes a tar in
 * refuses it then, whether it is packed, adopted or checked.
 */
#ifndef HP_TAR_TAIL_H
#define HP_TAR_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes behind the end that are looked at. */
#define HP_TAR_TAIL_MAX (UINT64_C(16) << 20)

/* Blocks that are handed over in pieces of any size. */
struct hp_tar_tail {
	uint8_t block[512];
	size_t n;
	uint64_t seen;
	bool more; /* there is the header of another tar */
};

/* From a multiple of 512 in the tar on; the first time *t is all zeros. */
void hp_tar_tail_add(struct hp_tar_tail *t, const uint8_t *p, size_t n);

/* Is this the header of a tar's member? */
bool hp_tar_looks_like(const uint8_t block[512]);

#define HP_TAR_TAIL_WHY                                              \
	"another tar follows the end mark, which readers would not " \
	"see: split it"

#endif
