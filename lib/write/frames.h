/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk's plain bytes come in stretches, in order, and leave as frames.  What
 * concerns two stretches, a frame that crosses their border, is done in order;
 * the frames that lie in one stretch (with what the one before left of a small
 * frame) are then its own business, whenever and by whichever thread.
 */
#ifndef HP_FRAMES_H
#define HP_FRAMES_H

#include "chunk/compress.h"
#include "plan/frame_cut.h"

/* What is serial: one chunk, as far as it was cut. */
struct hp_frames {
	uint32_t chunk; /* its number, for messages */
	struct hp_frame_walk walk;
	uint64_t at;		/* where the frame that was begun begins */
	uint64_t bytes;		/* that it has; 0: there are no more */
	uint32_t number;	/* of this frame in the chunk */
	uint8_t *carry;		/* its bytes so far, if it is small: owned */
	struct hp_zstd *stream; /* it is under way here, if it is large; .. */
	bool streaming;		/* .. else free; borrowed from the caller */
};

struct hp_stretch {
	/* Set by the caller. */
	uint8_t *buf;	 /* plain; HP_FRAME_BYTES of room before it */
	uint64_t offset; /* in the plain chunk */
	uint32_t len;
	uint8_t *out;		     /* hp_stretch_room(len) bytes, .. */
	struct hp_seek_entry *frame; /* .. hp_stretch_frames(len) rows */

	uint32_t n_frames;     /* that end in this stretch */
	uint32_t first;	       /* number of the first of them in the chunk */
	uint32_t done;	       /* rows that hp_frames_cut has filled */
	const uint8_t *middle; /* plain bytes of the others */
	struct hp_zstd_out part[3]; /* what is stored, in this order */
};

/* Frames are at least 64 KiB on average, two and two. */
static inline uint32_t hp_stretch_frames(uint32_t len)
{
	return 2 * (len / HP_FRAME_BYTES) + 8;
}

static inline size_t hp_stretch_room(uint32_t len)
{
	return hp_zstd_bound((size_t)len + HP_FRAME_BYTES) + 2 * 1024 +
	       (size_t)hp_stretch_frames(len) * 64;
}

/* f->stream stays as it is. */
void hp_frames_begin(struct hp_frames *f, const struct hp_plan *plan,
		     uint32_t chunk);
void hp_frames_release(struct hp_frames *f);

/*
 * In order: what concerns the stretches before and after.  f->stream must be
 * there, and stays in use while f->streaming.
 */
int hp_frames_cut(struct hp_frames *f, struct hp_stretch *s,
		  struct hpdsl_error *err);
/* Then, in any order: the rest.  Writes over s->buf. */
int hp_stretch_compress(struct hp_zstd *z, uint32_t chunk, struct hp_stretch *s,
			struct hpdsl_error *err);

#endif
