/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders of compressed chunks, each with the frame it decoded last, kept for
 * the next reader: so the members of a sample, or of samples in stored order,
 * cost one frame each once.  Frames up to 4 MiB are decoded as a whole, larger
 * ones as far as they are read; idle decoders share a bounded memory.
 */
#ifndef HP_FRAME_CACHE_H
#define HP_FRAME_CACHE_H

#include "dataset/source.h"
#include "index/index.h"

struct hp_frame_cache;
struct hp_decoder;

enum { HP_FRAME_WHOLE = 4 << 20 /* larger ones are decoded in parts */ };

struct hp_frame_cache *hp_frame_cache_new(void);
/* Nobody may hold a decoder any more.  NULL is fine. */
void hp_frame_cache_free(struct hp_frame_cache *cache);

/*
 * A decoder for this byte of a chunk's plain tar, file being its number and, in
 * the upper half, which of its copies: one that has its frame, if
 * there is one.  NULL: no memory.  Any number of threads.
 */
struct hp_decoder *hp_decoder_get(struct hp_frame_cache *cache, uint64_t file,
				  uint64_t offset);
/* NULL is fine. */
void hp_decoder_put(struct hp_frame_cache *cache, struct hp_decoder *d);

/* The chunk that is read: its row, where its frames are, who has it. */
struct hp_decoder_source {
	const struct hp_source *from;
	const struct hp_index *index;
	const struct hpdsl_chunk *row;
	uint64_t file; /* as above */
	uint64_t read; /* bytes of the file: counted up */
};

/*
 * Reads n bytes of the plain tar, which has that many.  HPDSL_ECORRUPT and text
 * without a name; -errno.
 */
int hp_decoder_read(struct hp_decoder *d, struct hp_decoder_source *src,
		    uint64_t offset, void *buf, size_t n,
		    struct hpdsl_error *err);

#endif
