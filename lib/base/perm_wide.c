/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rounds of perm.c with AVX-512: eight values a vector, four vectors side
 * by side, so that their chains of multiplications overlap.
 */
#include "base/perm_wide.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define WIDE __attribute__((target("avx512f,avx512dq")))

enum { VALUES = 8, AT_ONCE = 4 * VALUES };

/* One of perm.c's mix. */
WIDE static inline __m512i mix(__m512i v)
{
	v = _mm512_xor_si512(v, _mm512_srli_epi64(v, 32));
	return _mm512_mullo_epi64(
		v, _mm512_set1_epi64((int64_t)0xD6E8FEB86659FD93u));
}

WIDE static inline __m512i swap_or_not(__m512i x, __m512i n, __m512i shift,
				       __m512i salt)
{
	__m512i y = _mm512_sub_epi64(shift, x), v;

	/* A negative one is above 2^63, and comes below that with n. */
	y = _mm512_min_epu64(y, _mm512_add_epi64(y, n));
	v = mix(mix(_mm512_xor_si512(_mm512_max_epu64(x, y), salt)));
	return _mm512_mask_mov_epi64(x, _mm512_movepi64_mask(v), y);
}

WIDE static void vectors_at(const struct hp_perm *p, uint64_t first,
			    uint64_t ret[AT_ONCE])
{
	__m512i n = _mm512_set1_epi64((int64_t)p->n);
	__m512i a = _mm512_add_epi64(_mm512_set1_epi64((int64_t)first),
				     _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
	__m512i b = _mm512_add_epi64(a, _mm512_set1_epi64(VALUES));
	__m512i c = _mm512_add_epi64(b, _mm512_set1_epi64(VALUES));
	__m512i d = _mm512_add_epi64(c, _mm512_set1_epi64(VALUES));

	for (int r = 0; r < HP_PERM_ROUNDS; r++) {
		__m512i shift = _mm512_set1_epi64((int64_t)p->shift[r]);
		__m512i salt = _mm512_set1_epi64((int64_t)p->salt[r]);

		a = swap_or_not(a, n, shift, salt);
		b = swap_or_not(b, n, shift, salt);
		c = swap_or_not(c, n, shift, salt);
		d = swap_or_not(d, n, shift, salt);
	}
	_mm512_storeu_si512(ret, a);
	_mm512_storeu_si512(ret + VALUES, b);
	_mm512_storeu_si512(ret + 2 * VALUES, c);
	_mm512_storeu_si512(ret + 3 * VALUES, d);
}

bool hp_perm_wide(const struct hp_perm *p, uint64_t first, size_t count,
		  uint64_t *ret)
{
	uint64_t rest[AT_ONCE];

	if (p->n > INT64_MAX || !__builtin_cpu_supports("avx512dq"))
		return false;
	for (; count >= AT_ONCE; count -= AT_ONCE) {
		vectors_at(p, first, ret);
		first += AT_ONCE;
		ret += AT_ONCE;
	}
	if (count) {
		/* What comes of numbers that are no values is of no use. */
		vectors_at(p, first, rest);
		memcpy(ret, rest, count * sizeof *ret);
	}
	return true;
}

#else

bool hp_perm_wide(const struct hp_perm *p, uint64_t first, size_t count,
		  uint64_t *ret)
{
	(void)p;
	(void)first;
	(void)count;
	(void)ret;
	return false;
}

#endif
