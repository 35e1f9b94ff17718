/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd frames, each decompressed again and compared with what went in before
 * it counts.  The bytes of a frame depend on its plain bytes and the level
 * alone: neither on what was compressed before nor on the pieces it came in.
 */
#ifndef HP_COMPRESS_H
#define HP_COMPRESS_H

#include "chunk/seek_table.h"

/* One thread's means: contexts for both directions, which are kept. */
struct hp_zstd;

/* NULL: no memory. */
struct hp_zstd *hp_zstd_new(int level);
/* NULL is harmless. */
void hp_zstd_free(struct hp_zstd *z);

/* Where compressed bytes go, one behind the other. */
struct hp_zstd_out {
	uint8_t *p;
	size_t cap, n;
};

/* Room for n plain bytes as one frame, or as pieces of one. */
static inline size_t hp_zstd_bound(size_t n)
{
	return n + n / 128 + 1024;
}

/*
 * All of these: 0; HPDSL_ECORRUPT: what came out does not decompress to what
 * went in; -ENOMEM; -EIO.  The text is the caller's, who knows the frame.
 */

/* A frame of n plain bytes, at most HP_FRAME_BYTES; *ret is its row. */
int hp_zstd_frame(struct hp_zstd *z, const void *p, size_t n,
		  struct hp_zstd_out *out, struct hp_seek_entry *ret);

/* A larger one, in pieces. */
int hp_zstd_begin(struct hp_zstd *z, uint32_t bytes);
int hp_zstd_more(struct hp_zstd *z, const void *p, size_t n,
		 struct hp_zstd_out *out);
int hp_zstd_end(struct hp_zstd *z, struct hp_zstd_out *out,
		struct hp_seek_entry *ret);

#endif
