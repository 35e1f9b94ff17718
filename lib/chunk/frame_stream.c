/* SPDX-License-Identifier: Apache-2.0 */
/* The plain bytes of frames, a piece at a time. */
#include "chunk/frame_stream.h"

/*
 * *ret is what zstd says: 0 at the end of a frame.  1 if there were stored
 * bytes, or 0.
 */
static int step(struct hp_frame_stream *s, ZSTD_outBuffer *out, size_t *ret,
		struct hpdsl_error *err)
{
	ZSTD_inBuffer in;
	int r = s->have ? 0 : s->more(s->arg, &s->at, &s->have, err);

	if (r < 0)
		return r;
	in = (ZSTD_inBuffer){ s->at, s->have, 0 };
	*ret = ZSTD_decompressStream(s->decoder, out, &in);
	if (ZSTD_isError(*ret))
		return hp_frame_fail(*ret, err);
	s->at += in.pos;
	s->have -= in.pos;
	return in.size > 0;
}

int hp_frame_stream_next(struct hp_frame_stream *s, ZSTD_outBuffer *out,
			 bool to_end, struct hpdsl_error *err)
{
	while (to_end || out->pos < out->size) {
		size_t left;
		int r = step(s, out, &left, err);

		if (r < 0 || !left)
			return r < 0 ? r : 1;
	}
	return 0;
}

int hp_frame_stream_fill(struct hp_frame_stream *s, void *out, size_t n,
			 size_t *ret_n, struct hpdsl_error *err)
{
	ZSTD_outBuffer to = { out, n, 0 };
	int r = 1;

	while (r > 0 && to.pos < n) {
		size_t before = to.pos, left;

		r = step(s, &to, &left, err);
		/* Without new bytes it may still have had some for us. */
		if (r == 0 && to.pos > before)
			r = 1;
	}
	*ret_n = to.pos;
	return r < 0 ? r : 0;
}
