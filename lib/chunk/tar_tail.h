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

/*
 * The headers of the last record of 10,240 bytes that were read.  Some old
 * writers in Java did not clear their record: behind the end mark lies what was
 * there in the record before, headers too, up to the end of the record.
 */
struct hp_tar_seen {
	struct {
		uint64_t at, hash;
	} last[20];
	unsigned next;
};

/* That of a member, or an extended one, at this offset in the tar. */
void hp_tar_seen_add(struct hp_tar_seen *s, uint64_t at,
		     const uint8_t block[512]);

/* Bytes behind the end that are looked at. */
#define HP_TAR_TAIL_MAX (UINT64_C(16) << 20)

/* Blocks that are handed over in pieces of any size. */
struct hp_tar_tail {
	const struct hp_tar_seen *seen_before; /* or NULL */
	uint64_t mark;			       /* where the end mark begins */
	uint64_t at; /* of the block that is handed over, both in the tar */
	uint8_t block[512];
	size_t n;
	uint64_t seen;
	bool more; /* there is the header of another tar */
};

/*
 * From a multiple of 512 in the tar on; the first time *t is all zeros but for
 * what is of the tar.
 */
void hp_tar_tail_add(struct hp_tar_tail *t, const uint8_t *p, size_t n);

/* Is this the header of a tar's member? */
bool hp_tar_looks_like(const uint8_t block[512]);

#define HP_TAR_TAIL_WHY                                              \
	"another tar follows the end mark, which readers would not " \
	"see: split it"

#endif
