/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a compressed chunk: the bytes of the file are hashed as they
 * are read, those of the plain tar as they are decoded, and what frames were
 * met makes the seek table that has to follow them.
 */
#include "dataset/pass.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "chunk/frame_stream.h"
#include "chunk/seek_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	STORED = 512 * 1024, /* bytes of the file at hand, at most */
	/* A frame begins with this much at hand: most are there as a whole. */
	AHEAD = 160 * 1024,
	WHOLE = HP_PASS_PIECE / 2, /* frames handed out in one piece */
};

struct hp_pass_zst {
	XXH3_state_t hash; /* of the plain tar; 64-byte aligned */
	const struct hp_index *index;
	const struct hpdsl_chunk *row;
	ZSTD_DCtx *decoder;
	size_t given; /* of what is at hand, to the decoder */
	uint8_t *in;  /* bytes of the file .. */
	size_t at, have;
	uint64_t offset; /* .. from this one on */

	/* The frame being decoded, or to come.  Without an index its ends are
	 * known when its header and its last byte have been seen. */
	struct hp_frame frame;
	bool inside;
	uint64_t plain_at;    /* behind what was handed out of it */
	uint8_t last_four[4]; /* bytes taken of the file */

	struct hp_seek_entry *met;
	uint32_t n;
	bool skipped;  /* some frame was passed over: met has gaps */
	bool in_frame; /* why is about frame n, not about the table */
	bool ended;
	struct hpdsl_error why; /* code 0: no damage */
};

int hp_pass_zst_new(struct hp_pass *p, const struct hp_index *index,
		    const struct hpdsl_chunk *row, struct hpdsl_error *err)
{
	struct hp_pass_zst *z = hp_aligned(sizeof *z);

	if (!z)
		return hp_fail_nomem(err);
	p->zst = z;
	z->index = index;
	z->row = row;
	z->in = malloc(STORED);
	z->decoder = hp_frame_decoder();
	if (!z->in || !z->decoder)
		return hp_fail_nomem(err);
	XXH3_128bits_reset(&z->hash);
	return 0;
}

void hp_pass_zst_end(struct hp_pass *p)
{
	struct hp_pass_zst *z = p->zst;

	if (!z)
		return;
	ZSTD_freeDCtx(z->decoder);
	free(z->in);
	free(z->met);
	free(z);
	p->zst = NULL;
}

static int damaged(struct hp_pass_zst *z, const char *reason)
{
	return hp_fail(&z->why, HPDSL_ECORRUPT, "%s", reason);
}

static int damaged_frame(struct hp_pass_zst *z, const char *reason)
{
	z->in_frame = true;
	return hp_fail(&z->why, HPDSL_ECORRUPT, "frame %" PRIu32 ": %s", z->n,
		       reason);
}

/* n bytes of the file at hand, at most AHEAD, or fewer at its end. */
static int need_stored(struct hp_pass *p, size_t n)
{
	struct hp_pass_zst *z = p->zst;

	if (z->have >= n)
		return 0;
	memmove(z->in, z->in + z->at, z->have);
	z->at = 0;
	while (z->have < n) {
		uint8_t *end = z->in + z->have;
		ssize_t k = hp_pass_pread(p, end, STORED - z->have);

		if (k == -EINTR)
			continue;
		if (k <= 0)
			return (int)k;
		XXH3_128bits_update(&p->hash, end, (size_t)k);
		if (p->sha256)
			hp_sha256_update(p->sha256, end, (size_t)k);
		p->read += (size_t)k;
		z->have += (size_t)k;
	}
	return 0;
}

static void take_stored(struct hp_pass_zst *z, size_t n)
{
	const uint8_t *end = z->in + z->at + n;
	size_t k = n < 4 ? n : 4;

	memmove(z->last_four, z->last_four + k, 4 - k);
	memcpy(z->last_four + 4 - k, end - k, k);
	z->at += n;
	z->have -= n;
	z->offset += n;
}

/* ---- The seek table --------------------------------------------------- */

/* The bytes that follow are these, unless want is NULL: then any. */
static int compare_stored(struct hp_pass *p, const uint8_t *want, uint64_t n)
{
	struct hp_pass_zst *z = p->zst;
	bool same = true;

	for (uint64_t done = 0; done < n;) {
		int r = need_stored(p, 1);
		size_t k = n - done < z->have ? (size_t)(n - done) : z->have;

		if (r < 0)
			return r;
		if (!k)
			return damaged(z, "the seek table is cut off");
		same &= !want || !memcmp(z->in + z->at, want + done, k);
		take_stored(z, k);
		done += k;
	}
	return same ? 0 : damaged(z, "the seek table is damaged");
}

/* What is left of the file is the table that the frames make. */
static int check_table(struct hp_pass *p)
{
	struct hp_pass_zst *z = p->zst;
	uint64_t n = hp_seek_table_bytes(z->n);
	hp_auto_free uint8_t *table = hp_array(n, 1);
	int r;

	if (!table)
		return -ENOMEM;
	z->in_frame = false;
	if (!z->skipped)
		hp_seek_table_write(z->met, z->n, table);
	r = compare_stored(p, z->skipped ? NULL : table, n);
	if (r == 0)
		r = need_stored(p, 1);
	if (r == 0 && z->have)
		r = damaged(z, "there are bytes behind the seek table");
	z->ended = r == 0;
	return r;
}

/* ---- Frames ----------------------------------------------------------- */

/* Where the next frame lies, as far as that is known. */
static int find_frame(struct hp_pass_zst *z)
{
	struct hpdsl_error why;
	int r;

	if (!z->index) {
		z->frame.stored = z->offset;
		z->frame.stored_end = z->offset + UINT32_MAX;
		return 0;
	}
	r = hp_index_frame(z->index, z->row, z->n, &z->frame, &why);
	return r < 0 ? damaged(z, why.msg) : 0;
}

static int read_head(struct hp_pass_zst *z)
{
	uint64_t left = z->frame.stored_end - z->frame.stored, plain;
	size_t n = left < z->have ? (size_t)left : z->have;
	struct hpdsl_error why;

	if (!n)
		return damaged_frame(z, "the file ends before it");
	if (hp_frame_head(z->in + z->at, n, &plain, &why) < 0)
		return damaged_frame(z, why.msg);
	if (z->index && z->frame.plain_end - z->frame.plain != plain)
		return damaged_frame(z, "has another size");
	z->frame.plain_end = z->frame.plain + plain;
	return 0;
}

/* Are there no more frames? */
static bool at_table(const struct hp_pass_zst *z)
{
	if (z->index)
		return z->n == z->row->frames;
	return z->n == HP_SEEK_FRAMES ||
	       (z->have >= 4 && hp_get32(z->in + z->at) == HP_SEEK_MAGIC);
}

/* 1: inside of a frame; 0: the end. */
static int begin_frame(struct hp_pass *p)
{
	struct hp_pass_zst *z = p->zst;
	int r = z->ended ? 0 : need_stored(p, AHEAD);

	if (r < 0 || z->ended)
		return r;
	if (at_table(z))
		return check_table(p);
	r = find_frame(z);
	if (r == 0)
		r = read_head(z);
	if (r < 0)
		return r;
	ZSTD_DCtx_reset(z->decoder, ZSTD_reset_session_only);
	z->plain_at = z->frame.plain;
	z->inside = true;
	return 1;
}

/* Notes what the seek table has to say of frame n. */
static int note_frame(struct hp_pass_zst *z)
{
	struct hp_seek_entry *met = hp_more(z->met, z->n, sizeof *met);

	if (!met)
		return -ENOMEM;
	z->met = met;
	met[z->n] = (struct hp_seek_entry){
		.stored = (uint32_t)(z->offset - z->frame.stored),
		.plain = (uint32_t)(z->frame.plain_end - z->frame.plain),
		/* The same as the frame's own, which is right. */
		.checksum = hp_get32(z->last_four),
	};
	return 0;
}

static int end_frame(struct hp_pass_zst *z)
{
	int r;

	if (z->index && z->offset != z->frame.stored_end)
		return damaged_frame(z, "ends early");
	r = z->skipped ? 0 : note_frame(z);
	if (r < 0)
		return r;
	z->n++;
	z->frame.plain = z->frame.plain_end;
	z->inside = false;
	return 0;
}

/* What is at hand of the frame; what was given before has been used. */
static int give(void *arg, const uint8_t **ret, size_t *ret_n,
		struct hpdsl_error *err)
{
	struct hp_pass *p = arg;
	struct hp_pass_zst *z = p->zst;
	uint64_t left;
	int r;

	take_stored(z, z->given);
	z->given = 0;
	left = z->frame.stored_end - z->offset;
	r = left ? need_stored(p, 1) : 0;
	if (r < 0)
		return r;
	z->given = left < z->have ? (size_t)left : z->have;
	if (!z->given)
		return hp_fail(err, HPDSL_ECORRUPT, "%s",
			       left ? "is cut off" : "goes on too long");
	*ret = z->in + z->at;
	*ret_n = z->given;
	return 0;
}

/*
 * Decodes into out until it is full or the frame ends, which needs more than
 * full: its checksum is read too.  1: it ends.
 */
static int decode(struct hp_pass *p, ZSTD_outBuffer *out, bool to_end)
{
	struct hp_pass_zst *z = p->zst;
	struct hp_frame_stream s = { .decoder = z->decoder,
				     .more = give,
				     .arg = p };
	struct hpdsl_error why;
	int r;

	z->given = 0;
	r = hp_frame_stream_next(&s, out, to_end, &why);
	take_stored(z, z->given - s.have);
	return r == HPDSL_ECORRUPT ? damaged_frame(z, why.msg) : r;
}

static int decode_some(struct hp_pass *p)
{
	struct hp_pass_zst *z = p->zst;
	uint64_t left = z->frame.plain_end - z->plain_at;
	bool whole = z->frame.plain_end - z->frame.plain <= WHOLE;
	size_t room = HP_PASS_PIECE - p->have;
	uint8_t *end = p->buf + p->have;
	ZSTD_outBuffer out = { end, left < room ? (size_t)left : room, 0 };
	int r = decode(p, &out, whole || left <= room);

	if (r < 0)
		return r;
	z->plain_at += out.pos;
	if (r > 0 && z->plain_at != z->frame.plain_end)
		return damaged_frame(z, "has another size");
	r = r > 0 ? end_frame(z) : 0;
	if (r < 0)
		return r;
	XXH3_128bits_update(&z->hash, end, out.pos);
	p->have += out.pos;
	return 1;
}

int hp_pass_zst_fill(struct hp_pass *p)
{
	struct hp_pass_zst *z = p->zst;
	int r = z->why.code;

	memmove(p->buf, p->at, p->have);
	p->at = p->buf;
	if (r == 0)
		r = z->inside ? 1 : begin_frame(p);
	return r > 0 ? decode_some(p) : r;
}

/* ---- What came of it -------------------------------------------------- */

const char *hp_pass_why(const struct hp_pass *p)
{
	return p->zst->why.msg;
}

bool hp_pass_damaged_frame(const struct hp_pass *p, struct hp_frame *ret)
{
	const struct hp_pass_zst *z = p->zst;

	if (!z || !z->why.code || !z->in_frame || !z->index)
		return false;
	*ret = z->frame;
	return true;
}

int hp_pass_skip_frame(struct hp_pass *p)
{
	struct hp_pass_zst *z = p->zst;

	while (z->offset < z->frame.stored_end) {
		uint64_t left = z->frame.stored_end - z->offset;
		int r = need_stored(p, 1);

		if (r < 0)
			return r;
		if (!z->have) /* which the next frame will tell */
			break;
		take_stored(z, left < z->have ? (size_t)left : z->have);
	}
	z->n++;
	z->skipped = true;
	z->inside = z->in_frame = false;
	z->why.code = 0;
	p->offset = z->frame.plain_end;
	p->have = 0;
	return 0;
}

int hp_pass_zst_frames(const struct hp_pass *p, struct hp_chunk_made *ret)
{
	ret->frames = hp_frame_rows(p->zst->met, p->zst->n);
	ret->n_frames = p->zst->n;
	return ret->frames ? 0 : -ENOMEM;
}

void hp_pass_zst_digest(const struct hp_pass *p, uint8_t ret[16])
{
	hp_hash_canonical(XXH3_128bits_digest(&p->zst->hash), ret);
}
