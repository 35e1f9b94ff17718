/* SPDX-License-Identifier: Apache-2.0 */
/* A member's checksums in one pass; digests as text. */
#include "base/hash.h"

#include "base/sha256.h"

#include <string.h>

/*
 * The dispatched functions may leave the upper halves of vector registers in
 * use; all that comes after them without AVX is slower then, by a tenth of the
 * time of a verification.
 */
#if defined(__x86_64__) && !defined(HP_NO_DISPATCH)
#include <immintrin.h>

__attribute__((target("avx"))) static void zero_upper(void)
{
	_mm256_zeroupper();
}

static void leave_vectors(void)
{
	if (__builtin_cpu_supports("avx"))
		zero_upper();
}
#else
static void leave_vectors(void)
{
}
#endif

void hp_content_hash(const void *p, size_t n, struct hp_content_hash *ret)
{
	XXH128_hash_t h = XXH3_128bits(p, n);

	leave_vectors();
	ret->low64 = n > 240 ? h.low64 : XXH3_64bits(p, n);
	hp_hash_canonical(h, ret->full);
	memset(ret->sha256, 0, sizeof ret->sha256);
}

void hp_content_hash_sha256(const void *p, size_t n, struct hp_sha256 *sha256,
			    struct hp_content_hash *ret)
{
	hp_content_hash(p, n, ret);
	if (!sha256)
		return;
	hp_sha256_begin(sha256);
	hp_sha256_update(sha256, p, n);
	hp_sha256_end(sha256, ret->sha256);
}

void hp_content_begin(struct hp_content_state *s)
{
	XXH3_128bits_reset(&s->x128);
	s->bytes = 0;
	s->sha256 = NULL;
}

void hp_content_begin_sha256(struct hp_content_state *s,
			     struct hp_sha256 *sha256)
{
	hp_content_begin(s);
	s->sha256 = sha256;
	if (sha256)
		hp_sha256_begin(sha256);
}

void hp_content_update(struct hp_content_state *s, const void *p, size_t n)
{
	if (s->bytes < sizeof s->head) {
		size_t room = sizeof s->head - (size_t)s->bytes;

		memcpy(s->head + s->bytes, p, n < room ? n : room);
	}
	XXH3_128bits_update(&s->x128, p, n);
	leave_vectors();
	if (s->sha256)
		hp_sha256_update(s->sha256, p, n);
	s->bytes += n;
}

void hp_content_end(struct hp_content_state *s, struct hp_content_hash *ret)
{
	XXH128_hash_t h = XXH3_128bits_digest(&s->x128);

	memset(ret->sha256, 0, sizeof ret->sha256);
	if (s->sha256)
		hp_sha256_end(s->sha256, ret->sha256);
	ret->low64 = s->bytes > sizeof s->head ?
			     h.low64 :
			     XXH3_64bits(s->head, (size_t)s->bytes);
	hp_hash_canonical(h, ret->full);
}

void hp_hex(const uint8_t *h, size_t n, char *out)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digit[h[i] >> 4];
		out[2 * i + 1] = digit[h[i] & 15];
	}
	out[2 * n] = '\0';
}

void hp_hex128(const uint8_t h[16], char out[33])
{
	hp_hex(h, 16, out);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int hp_unhex(const char *text, size_t len, uint8_t *out, size_t n)
{
	if (len != 2 * n)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (digit_value(text[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(digit_value(text[2 * i]) << 4 |
				   digit_value(text[2 * i + 1]));
	return 0;
}

int hp_unhex128(const char *text, size_t len, uint8_t out[16])
{
	return hp_unhex(text, len, out, 16);
}
