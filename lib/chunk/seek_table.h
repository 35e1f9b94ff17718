/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed chunks: the zstd seekable format 0.1.0, over memory.  Independent
 * frames with content size and checksum, then the seek table in a skippable
 * frame.  hpdsl-format(5), "Compressed chunks".
 */
#ifndef HP_SEEKABLE_H
#define HP_SEEKABLE_H

#include "hpdsl/core.h"

#define HP_FRAME_BYTES (128u << 10) /* of samples that share a frame */
#define HP_FRAME_MAX (1u << 30)	    /* of a larger sample */

struct hp_seek_entry {
	uint32_t stored, plain; /* bytes */
	uint32_t checksum;	/* low half of XXH64 of the plain bytes */
};

/* Where a frame begins. */
struct hp_frame_row {
	uint64_t plain, stored;
};

/* Of each of n frames: malloc'ed; NULL: no memory. */
struct hp_frame_row *hp_frame_rows(const struct hp_seek_entry *v, uint32_t n);

#define HP_SEEK_MAGIC 0x184d2a5eu /* of the skippable frame that holds it */

static inline uint64_t hp_seek_table_bytes(uint64_t frames)
{
	return 8 + 12 * frames + 9;
}

/* Most frames of one file. */
#define HP_SEEK_FRAMES 0x8000000u

/* Writes hp_seek_table_bytes(n) bytes. */
void hp_seek_table_write(const struct hp_seek_entry *v, uint32_t n,
			 uint8_t *out);
/*
 * The inverse, which holds what is written against the format; hp_pass instead
 * makes the table that the frames call for, and compares bytes.
 *
 * Frames of the table that ends with these 9 bytes; HPDSL_ECORRUPT.
 */
int hp_seek_foot_read(const uint8_t foot[9], uint32_t *ret,
		      struct hpdsl_error *err);
/*
 * Takes hp_seek_table_bytes(n) bytes apart, n being what their foot says; the
 * frames must fill the bytes of the file before the table.  HPDSL_ECORRUPT.
 */
int hp_seek_table_read(const uint8_t *table, uint32_t n, uint64_t file_bytes,
		       struct hp_seek_entry *ret, struct hpdsl_error *err);

#endif
