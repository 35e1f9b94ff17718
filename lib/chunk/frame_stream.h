/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain bytes of frames, a piece at a time, from a function that gives
 * their stored ones: for who has neither of them in memory as a whole.
 */
#ifndef HP_FRAME_STREAM_H
#define HP_FRAME_STREAM_H

#include "chunk/frame.h"

/*
 * The stored bytes that come next, which stay until all are used; none at the
 * end.  0 or an error, which is passed on.
 */
typedef int hp_frame_more_fn(void *arg, const uint8_t **ret, size_t *ret_n,
			     struct hpdsl_error *err);

struct hp_frame_stream {
	ZSTD_DCtx *decoder; /* borrowed; reset before it begins */
	hp_frame_more_fn *more;
	void *arg;
	const uint8_t *at; /* have bytes were given and are not used */
	size_t have;
};

/*
 * Decodes the frame at hand into out until it is full, or with to_end until its
 * checksum has been compared, too.  1: the frame has ended; 0; HPDSL_ECORRUPT
 * and text without a name; -ENOMEM; what more() says, which must give bytes.
 */
int hp_frame_stream_next(struct hp_frame_stream *s, ZSTD_outBuffer *out,
			 bool to_end, struct hpdsl_error *err);

/*
 * The next n bytes of all frames, one behind the other; fewer at the end.  Who
 * knows how long they are together finds out whether the last one was whole.
 */
int hp_frame_stream_fill(struct hp_frame_stream *s, void *out, size_t n,
			 size_t *ret_n, struct hpdsl_error *err);

#endif
