/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <stddef.h>
#include <zstd_errors.h>

static long count, fail_at;
static bool fail_forever;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
size_t __real_ZSTD_compressStream2(ZSTD_CCtx *c, ZSTD_outBuffer *out,
				   ZSTD_inBuffer *in, ZSTD_EndDirective end);
size_t __wrap_ZSTD_compressStream2(ZSTD_CCtx *c, ZSTD_outBuffer *out,
				   ZSTD_inBuffer *in, ZSTD_EndDirective end);
void *__wrap_malloc(size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void wrap_fail_at(long k, bool forever)
{
	__atomic_store_n(&fail_at, k, __ATOMIC_RELAXED);
	__atomic_store_n(&fail_forever, forever, __ATOMIC_RELAXED);
	__atomic_store_n(&count, 0, __ATOMIC_RELAXED);
}

long wrap_count(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

static bool fails(void)
{
	long n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	long k = __atomic_load_n(&fail_at, __ATOMIC_RELAXED);
	bool forever = __atomic_load_n(&fail_forever, __ATOMIC_RELAXED);

	return k && (n == k || (n > k && forever));
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : __real_aligned_alloc(align, n);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

size_t (*wrap_compress)(ZSTD_CCtx *c, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
			ZSTD_EndDirective end);

size_t wrap_compress_really(ZSTD_CCtx *c, ZSTD_outBuffer *out,
			    ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
	return __real_ZSTD_compressStream2(c, out, in, end);
}

size_t __wrap_ZSTD_compressStream2(ZSTD_CCtx *c, ZSTD_outBuffer *out,
				   ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
	if (fails())
		return (size_t)-ZSTD_error_memory_allocation;
	return wrap_compress ? wrap_compress(c, out, in, end) :
			       wrap_compress_really(c, out, in, end);
}
