/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small frames are compressed in one go and compared byte by byte.  Larger
 * ones stream through both contexts, and two digests are compared: so a frame
 * that arrives in pieces is made as one that is there at once.
 */
#include "chunk/compress.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	/* A larger window gains little, and would cost each thread and each
	 * reader its size; levels below 9 have no larger one. */
	WINDOW_LOG = 21,
	WINDOW_LEVEL = 9,
	/* Where zstd has smaller tables for frames this short, these make them
	 * 0.4 % smaller in the same time. */
	TUNED_LEVEL = 3,
	HASH_LOG = 17,
	CHAIN_LOG = 16,
	MIN_MATCH = 4,
	HEADER_MAX = 18, /* bytes of a frame's header */
	CHECKSUM_FLAG = 4,
};

struct hp_zstd {
	XXH3_state_t in, out; /* of the frame under way, plain */
	ZSTD_CCtx *c;
	ZSTD_DCtx *d;
	uint8_t *plain;	     /* HP_FRAME_BYTES, decompressed */
	uint32_t bytes;	     /* the frame under way will have, plain, .. */
	uint64_t went, came; /* .. went in, and came out again */
	uint64_t stored;
	bool complete; /* the decompressor has seen its end */
	uint8_t first[HEADER_MAX], last[4];
};

static bool set(struct hp_zstd *z, ZSTD_cParameter which, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(z->c, which, value));
}

static bool set_up(struct hp_zstd *z, int level)
{
	if (!z->c || !z->d || !z->plain ||
	    !set(z, ZSTD_c_compressionLevel, level) ||
	    !set(z, ZSTD_c_contentSizeFlag, 1) ||
	    !set(z, ZSTD_c_checksumFlag, 1))
		return false;
	if (level == TUNED_LEVEL)
		return set(z, ZSTD_c_hashLog, HASH_LOG) &&
		       set(z, ZSTD_c_chainLog, CHAIN_LOG) &&
		       set(z, ZSTD_c_minMatch, MIN_MATCH);
	return level < WINDOW_LEVEL || set(z, ZSTD_c_windowLog, WINDOW_LOG);
}

struct hp_zstd *hp_zstd_new(int level)
{
	struct hp_zstd *z = hp_aligned(sizeof *z);

	if (!z)
		return NULL;
	z->c = ZSTD_createCCtx();
	z->d = ZSTD_createDCtx();
	z->plain = malloc(HP_FRAME_BYTES);
	if (set_up(z, level))
		return z;
	hp_zstd_free(z);
	return NULL;
}

void hp_zstd_free(struct hp_zstd *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->c);
	ZSTD_freeDCtx(z->d);
	free(z->plain);
	free(z);
}

/*
 * What readers and the seek table rely on: content size and checksum, which is
 * the low half of XXH64 and which the decompressor has looked at.
 */
static bool has_facts(const uint8_t *first, uint64_t stored, uint64_t bytes)
{
	return stored > HEADER_MAX / 2 && first[4] & CHECKSUM_FLAG &&
	       ZSTD_getFrameContentSize(first, HEADER_MAX) == bytes;
}

static ssize_t compress(struct hp_zstd *z, ZSTD_outBuffer *out,
			ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
	size_t r = ZSTD_compressStream2(z->c, out, in, end);

	if (!ZSTD_isError(r))
		return (ssize_t)r;
	return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM :
								      -EIO;
}

int hp_zstd_frame(struct hp_zstd *z, const void *p, size_t n,
		  struct hp_zstd_out *out, struct hp_seek_entry *ret)
{
	uint8_t *frame = out->p + out->n, first[HEADER_MAX] = { 0 };
	ZSTD_inBuffer in = { p, n, 0 };
	ZSTD_outBuffer to = { frame, out->cap - out->n, 0 };
	ssize_t r;

	/* Else the bytes would depend on the room. */
	if (to.size < ZSTD_compressBound(n))
		return -EIO;
	ZSTD_CCtx_reset(z->c, ZSTD_reset_session_only);
	r = compress(z, &to, &in, ZSTD_e_end);
	if (r < 0)
		return (int)r;
	memcpy(first, frame, to.pos < sizeof first ? to.pos : sizeof first);
	if (r > 0 || !has_facts(first, to.pos, n) ||
	    ZSTD_findFrameCompressedSize(frame, to.pos) != to.pos ||
	    ZSTD_decompressDCtx(z->d, z->plain, HP_FRAME_BYTES, frame,
				to.pos) != n ||
	    memcmp(z->plain, p, n) != 0)
		return HPDSL_ECORRUPT;
	*ret = (struct hp_seek_entry){
		.stored = (uint32_t)to.pos,
		.plain = (uint32_t)n,
		.checksum = hp_get32(frame + to.pos - 4),
	};
	out->n += to.pos;
	return 0;
}

/* ---- In pieces -------------------------------------------------------- */

int hp_zstd_begin(struct hp_zstd *z, uint32_t bytes)
{
	z->bytes = bytes;
	z->went = z->came = z->stored = 0;
	z->complete = false;
	memset(z->first, 0, sizeof z->first);
	XXH3_128bits_reset(&z->in);
	XXH3_128bits_reset(&z->out);
	ZSTD_DCtx_reset(z->d, ZSTD_reset_session_only);
	ZSTD_CCtx_reset(z->c, ZSTD_reset_session_only);
	if (ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(z->c, bytes)))
		return -EIO;
	return 0;
}

/* The frame's first and last bytes. */
static void note_ends(struct hp_zstd *z, const uint8_t *p, size_t n)
{
	uint8_t both[8];
	size_t k = n < 4 ? n : 4;

	for (size_t i = 0; i < n && z->stored + i < sizeof z->first; i++)
		z->first[z->stored + i] = p[i];
	memcpy(both, z->last, 4);
	memcpy(both + 4, p + n - k, k);
	memcpy(z->last, both + k, 4);
	z->stored += n;
}

/* Decompresses what was produced. */
static int look_at(struct hp_zstd *z, const uint8_t *p, size_t n)
{
	ZSTD_inBuffer in = { p, n, 0 };
	ZSTD_outBuffer to;
	size_t r;

	if (n == 0)
		return 0;
	note_ends(z, p, n);
	do {
		if (z->complete)
			return HPDSL_ECORRUPT; /* bytes behind the end */
		to = (ZSTD_outBuffer){ z->plain, HP_FRAME_BYTES, 0 };
		r = ZSTD_decompressStream(z->d, &to, &in);
		if (ZSTD_isError(r))
			return HPDSL_ECORRUPT;
		XXH3_128bits_update(&z->out, z->plain, to.pos);
		z->came += to.pos;
		z->complete = r == 0;
	} while (in.pos < n || (to.pos == to.size && !z->complete));
	return 0;
}

static int run(struct hp_zstd *z, ZSTD_inBuffer *in, struct hp_zstd_out *out,
	       ZSTD_EndDirective end)
{
	ssize_t left;
	int r = 0;

	do {
		ZSTD_outBuffer to = { out->p + out->n, out->cap - out->n, 0 };
		size_t from = in->pos;

		left = compress(z, &to, in, end);
		if (left < 0)
			return (int)left;
		/* There is room enough, so it does not wait for some. */
		if (to.pos == 0 && in->pos == from && in->pos < in->size)
			return -EIO;
		if (to.pos == 0 && left > 0 && end == ZSTD_e_end)
			return -EIO;
		r = look_at(z, to.dst, to.pos);
		out->n += to.pos;
	} while (r == 0 &&
		 (in->pos < in->size || (end == ZSTD_e_end && left > 0)));
	return r;
}

int hp_zstd_more(struct hp_zstd *z, const void *p, size_t n,
		 struct hp_zstd_out *out)
{
	int r = 0;

	/* A block at a time, so that all that looks at it finds it near. */
	for (size_t at = 0, len; r == 0 && at < n; at += len) {
		ZSTD_inBuffer in;

		len = n - at < HP_FRAME_BYTES ? n - at : HP_FRAME_BYTES;
		in = (ZSTD_inBuffer){ (const uint8_t *)p + at, len, 0 };
		XXH3_128bits_update(&z->in, in.src, len);
		z->went += len;
		r = run(z, &in, out, ZSTD_e_continue);
	}
	return r;
}

int hp_zstd_end(struct hp_zstd *z, struct hp_zstd_out *out,
		struct hp_seek_entry *ret)
{
	ZSTD_inBuffer in = { NULL, 0, 0 };
	int r = run(z, &in, out, ZSTD_e_end);

	if (r < 0)
		return r;
	if (!z->complete || z->went != z->bytes || z->came != z->bytes ||
	    !XXH128_isEqual(XXH3_128bits_digest(&z->in),
			    XXH3_128bits_digest(&z->out)) ||
	    !has_facts(z->first, z->stored, z->bytes) || z->stored > UINT32_MAX)
		return HPDSL_ECORRUPT;
	*ret = (struct hp_seek_entry){
		.stored = (uint32_t)z->stored,
		.plain = z->bytes,
		.checksum = hp_get32(z->last),
	};
	return 0;
}
