/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations of the library, and of what it uses, that can be made to fail; so
 * can compressing, for lack of memory, or it can be another function.
 */
#ifndef WRAP_H
#define WRAP_H

#include <stdbool.h>
#include <zstd.h>

/* The k-th allocation from now on fails (0: none), once or for ever. */
void wrap_fail_at(long k, bool forever);
/* Allocations since then. */
long wrap_count(void);

/* What stands for ZSTD_compressStream2; NULL: itself. */
extern size_t (*wrap_compress)(ZSTD_CCtx *c, ZSTD_outBuffer *out,
			       ZSTD_inBuffer *in, ZSTD_EndDirective end);
size_t wrap_compress_really(ZSTD_CCtx *c, ZSTD_outBuffer *out,
			    ZSTD_inBuffer *in, ZSTD_EndDirective end);

#endif
