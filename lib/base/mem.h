/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locals that clean up after themselves, allocation without overflow, and code
 * that is kept out of the way.
 */
#ifndef HP_MEM_H
#define HP_MEM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void hp_free_p(void *p)
{
	free(*(void **)p);
}

/* char *hp_auto_free name = NULL; freed when it goes out of scope. */
#define hp_auto_free __attribute__((cleanup(hp_free_p)))

/* Moves a pointer out of an hp_auto_free local. */
#define hp_take(p)                          \
	__extension__({                     \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/* Of what only happens when something is wrong: not among what is fast. */
#define HP_COLD __attribute__((cold, noinline))

/* n objects of size bytes, not cleared; NULL on overflow or no memory. */
static inline void *hp_array(uint64_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return malloc(bytes ? bytes : 1);
}

/* One object, cleared, at a multiple of 64 as XXH3's states want; or NULL. */
static inline void *hp_aligned(size_t size)
{
	size_t whole = (size + 63) / 64 * 64;
	void *p = aligned_alloc(64, whole);

	return p ? memset(p, 0, whole) : NULL;
}

/*
 * The block v of n elements, with room for one more: where it is full, one of
 * twice the size.  It must have grown in this way alone, from none.  NULL: no
 * memory, and v is as it was.
 */
static inline void *hp_more(void *v, uint64_t n, size_t size)
{
	if (n && (n < 16 || n & (n - 1)))
		return v;
	return reallocarray(v, n ? 2 * n : 16, size);
}

#endif
