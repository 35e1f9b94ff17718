/* SPDX-License-Identifier: Apache-2.0 */
/* From stretches of a chunk to frames. */
#include "write/frames.h"

#include "base/error.h"
#include "format/names.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL, MIDDLE, HEAD }; /* parts: of a large frame, whole frames, .. */

static int failed(uint32_t chunk, uint32_t frame, int code,
		  struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];

	hp_chunk_zst_name(chunk, name);
	if (code == HPDSL_ECORRUPT)
		return hp_fail(err, code,
			       "%s: frame %" PRIu32
			       ": compressed bytes do not decompress to what "
			       "went in",
			       name, frame);
	return hp_fail_errno(err, code, "%s: cannot compress frame %" PRIu32,
			     name, frame);
}

static void next_frame(struct hp_frames *f)
{
	f->at += f->bytes;
	f->bytes = hp_frame_walk_next(&f->walk);
	f->number++;
}

void hp_frames_begin(struct hp_frames *f, const struct hp_plan *plan,
		     uint32_t chunk)
{
	f->chunk = chunk;
	f->at = 0;
	f->number = 0;
	f->streaming = false;
	hp_frame_walk_begin(&f->walk, plan, chunk);
	f->bytes = hp_frame_walk_next(&f->walk);
}

void hp_frames_release(struct hp_frames *f)
{
	free(f->carry);
	f->carry = NULL;
}

static bool is_small(const struct hp_frames *f)
{
	return f->bytes <= HP_FRAME_BYTES;
}

/* A large frame from the stretch before: as much of it as is in this one. */
static int go_on(struct hp_frames *f, struct hp_stretch *s, uint32_t *ret_len)
{
	uint64_t left = f->at + f->bytes - s->offset;
	uint32_t n = left < s->len ? (uint32_t)left : s->len;
	struct hp_zstd_out *out = &s->part[TAIL];
	int r;

	*ret_len = n;
	if (n == 0)
		return 0;
	/* A block may have been waiting in the context. */
	out->cap = hp_zstd_bound((size_t)n + HP_FRAME_BYTES);
	r = hp_zstd_more(f->stream, s->buf, n, out);
	if (r < 0 || n < left)
		return r;
	r = hp_zstd_end(f->stream, out, &s->frame[0]);
	if (r < 0)
		return r;
	f->streaming = false;
	s->n_frames = s->done = 1;
	next_frame(f);
	return 0;
}

/* The frames that end in the stretch and are not done. */
static void count_whole(struct hp_frames *f, struct hp_stretch *s)
{
	while (f->bytes && f->at + f->bytes <= s->offset + s->len) {
		assert(s->n_frames < hp_stretch_frames(s->len));
		s->frame[s->n_frames++].plain = (uint32_t)f->bytes;
		next_frame(f);
	}
}

/* The small frame that does not end in this stretch waits for the next. */
static int keep(struct hp_frames *f, const struct hp_stretch *s)
{
	uint64_t from = f->at > s->offset ? f->at : s->offset;

	if (!f->carry)
		f->carry = malloc(HP_FRAME_BYTES);
	if (!f->carry)
		return -ENOMEM;
	memcpy(f->carry + (from - f->at), s->buf + (from - s->offset),
	       (size_t)(s->offset + s->len - from));
	return 0;
}

/* The large one is begun. */
static int begin_large(struct hp_frames *f, struct hp_stretch *s)
{
	uint32_t n = (uint32_t)(s->offset + s->len - f->at);
	struct hp_zstd_out *out = &s->part[HEAD];
	int r;

	out->cap = hp_zstd_bound(n);
	out->p = s->out + hp_stretch_room(s->len) - out->cap;
	f->streaming = true;
	r = hp_zstd_begin(f->stream, (uint32_t)f->bytes);
	return r < 0 ? r : hp_zstd_more(f->stream, s->buf + s->len - n, n, out);
}

static int cut(struct hp_frames *f, struct hp_stretch *s)
{
	uint64_t begun = f->at;
	uint32_t tail = 0;
	int r = f->streaming ? go_on(f, s, &tail) : 0;

	if (r < 0 || f->streaming)
		return r;
	s->middle = s->buf + tail;
	count_whole(f, s);
	if (!tail && begun < s->offset && f->at > begun) {
		/* The first of them has begun in the stretch before. */
		s->middle = s->buf - (s->offset - begun);
		memcpy(s->buf - (s->offset - begun), f->carry,
		       (size_t)(s->offset - begun));
	}
	s->part[MIDDLE].p = s->out + s->part[TAIL].cap;
	if (!f->bytes || f->at == s->offset + s->len)
		return 0;
	return is_small(f) ? keep(f, s) : begin_large(f, s);
}

int hp_frames_cut(struct hp_frames *f, struct hp_stretch *s,
		  struct hpdsl_error *err)
{
	int r;

	s->n_frames = s->done = 0;
	s->first = f->number;
	s->middle = s->buf;
	memset(s->part, 0, sizeof s->part);
	s->part[TAIL].p = s->part[MIDDLE].p = s->part[HEAD].p = s->out;
	r = cut(f, s);
	return r < 0 ? failed(f->chunk, f->number, r, err) : 0;
}

static int compress(struct hp_zstd *z, const uint8_t *p, uint32_t n,
		    struct hp_zstd_out *out, struct hp_seek_entry *ret)
{
	int r;

	if (n <= HP_FRAME_BYTES)
		return hp_zstd_frame(z, p, n, out, ret);
	r = hp_zstd_begin(z, n);
	if (r == 0)
		r = hp_zstd_more(z, p, n, out);
	return r < 0 ? r : hp_zstd_end(z, out, ret);
}

int hp_stretch_compress(struct hp_zstd *z, uint32_t chunk, struct hp_stretch *s,
			struct hpdsl_error *err)
{
	struct hp_zstd_out *out = &s->part[MIDDLE];
	const uint8_t *p = s->middle;

	out->cap =
		hp_stretch_room(s->len) - s->part[TAIL].cap - s->part[HEAD].cap;
	for (uint32_t i = s->done; i < s->n_frames; i++) {
		uint32_t n = s->frame[i].plain;
		int r = compress(z, p, n, out, &s->frame[i]);

		if (r < 0)
			return failed(chunk, s->first + i, r, err);
		p += n;
	}
	return 0;
}
