/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of compressed chunks, over memory. */
#include "chunk/frame.h"

#include "base/bytes.h"
#include "base/error.h"
#include "chunk/seek_table.h"

#include <errno.h>
#include <zstd_errors.h>

#define MAGIC 0xfd2fb528u

/* Bits of the byte behind the magic. */
enum { CHECKSUM = 4, RESERVED = 8, DICTIONARY = 3, SINGLE = 32 };

ZSTD_DCtx *hp_frame_decoder(void)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();

	if (d && ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax,
						     HP_FRAME_WINDOW_LOG))) {
		ZSTD_freeDCtx(d);
		return NULL;
	}
	return d;
}

int hp_frame_fail(size_t zstd_error, struct hpdsl_error *err)
{
	switch (ZSTD_getErrorCode(zstd_error)) {
	case ZSTD_error_memory_allocation:
		return hp_fail_nomem(err);
	case ZSTD_error_checksum_wrong:
		return hp_fail(err, HPDSL_ECORRUPT, "checksum differs");
	default:
		return hp_fail(err, HPDSL_ECORRUPT, "cannot be decompressed");
	}
}

/*
 * The decoder looks at the window only when it decodes in pieces.  Its bytes,
 * from a header of at least 6 bytes: RFC 8878, 3.1.1.1.2.
 */
static uint64_t window_of(const uint8_t *head, uint64_t plain)
{
	unsigned log = 10u + (head[5] >> 3);
	uint64_t base = UINT64_C(1) << log;

	return head[4] & SINGLE ? plain : base + base / 8 * (head[5] & 7);
}

int hp_frame_head(const void *p, size_t n, uint64_t *ret_plain,
		  struct hpdsl_error *err)
{
	unsigned long long plain;
	uint8_t bits;

	if (n < 6 || hp_get32(p) != MAGIC)
		return hp_fail(err, HPDSL_ECORRUPT, "is no zstd frame");
	bits = ((const uint8_t *)p)[4];
	plain = ZSTD_getFrameContentSize(p, n);
	if (bits & (RESERVED | DICTIONARY) || !(bits & CHECKSUM) ||
	    plain == ZSTD_CONTENTSIZE_ERROR ||
	    plain == ZSTD_CONTENTSIZE_UNKNOWN || !plain || plain > HP_FRAME_MAX)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "has a header that is none of ours");
	if (window_of(p, plain) > UINT64_C(1) << HP_FRAME_WINDOW_LOG)
		return hp_fail(err, HPDSL_ECORRUPT, "has too large a window");
	*ret_plain = plain;
	return 0;
}

int hp_frame_decode(ZSTD_DCtx *d, const void *p, size_t stored, void *out,
		    size_t plain, struct hpdsl_error *err)
{
	uint64_t is;
	size_t n;
	int r = hp_frame_head(p, stored, &is, err);

	if (r < 0)
		return r;
	if (is != plain)
		return hp_fail(err, HPDSL_ECORRUPT, "has another size");
	n = ZSTD_findFrameCompressedSize(p, stored);
	if (!ZSTD_isError(n) && n != stored)
		return hp_fail(err, HPDSL_ECORRUPT, "ends early");
	n = ZSTD_decompressDCtx(d, out, plain, p, stored);
	if (ZSTD_isError(n))
		return hp_frame_fail(n, err);
	return n == plain ? 0 :
			    hp_fail(err, HPDSL_ECORRUPT, "has another size");
}
