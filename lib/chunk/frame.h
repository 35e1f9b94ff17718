/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of compressed chunks, over memory: what a frame's header may say, and
 * decoding one.  hpdsl-format(5), "Compressed chunks".
 */
#ifndef HP_FRAME_H
#define HP_FRAME_H

#include "hpdsl/core.h"

#include <zstd.h>

/* Bytes that tell all of a frame's header that is looked at. */
#define HP_FRAME_HEAD 18
/* Largest window: what level 22 takes. */
#define HP_FRAME_WINDOW_LOG 27

/* A decoder with the limit above; NULL: no memory. */
ZSTD_DCtx *hp_frame_decoder(void);

/*
 * Looks at the header of a frame, of which n bytes are here: it must be one
 * with content size and checksum, without a dictionary.  Its plain bytes, 1 to
 * HP_FRAME_MAX, or HPDSL_ECORRUPT and text without a name.
 */
int hp_frame_head(const void *p, size_t n, uint64_t *ret_plain,
		  struct hpdsl_error *err);

/*
 * Decodes the frame that fills exactly stored bytes at p into plain bytes at
 * out.  HPDSL_ECORRUPT and text without a name; -ENOMEM.
 */
int hp_frame_decode(ZSTD_DCtx *d, const void *p, size_t stored, void *out,
		    size_t plain, struct hpdsl_error *err);

/* The error of a call of zstd's as one of ours. */
int hp_frame_fail(size_t zstd_error, struct hpdsl_error *err);

#endif
