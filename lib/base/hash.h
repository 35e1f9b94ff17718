/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3 through xxhash's dispatching entry points, where the machine has them:
 * they use AVX2 or AVX-512 and are two to four times as fast as the plain ones.
 *
 * The one place where a content is hashed for a member: XXH3-128, whose low
 * half is XXH3-64 above 240 bytes; hp_content_hash gives both for every size.
 */
#ifndef HP_HASH_H
#define HP_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_STATIC_LINKING_ONLY /* the state as a plain object */
#if defined(__x86_64__) && !defined(HP_NO_DISPATCH)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

/* XXH3-128 as xxhsum prints it: big-endian, high half first. */
static inline void hp_hash_canonical(XXH128_hash_t h, uint8_t out[16])
{
	XXH128_canonical_t c;

	XXH128_canonicalFromHash(&c, h);
	for (int i = 0; i < 16; i++)
		out[i] = c.digest[i];
}

static inline uint64_t hp_hash64(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

static inline void hp_hash128(const void *p, size_t n, uint8_t out[16])
{
	hp_hash_canonical(XXH3_128bits(p, n), out);
}

struct hp_sha256;

/* The checksums of a member's content. */
struct hp_content_hash {
	uint64_t low64;	    /* XXH3-64 */
	uint8_t full[16];   /* XXH3-128, canonical */
	uint8_t sha256[32]; /* zeros if it was not asked for */
};

void hp_content_hash(const void *p, size_t n, struct hp_content_hash *ret);
/* SHA-256 too, unless sha256 is NULL. */
void hp_content_hash_sha256(const void *p, size_t n, struct hp_sha256 *sha256,
			    struct hp_content_hash *ret);

/*
 * The same in pieces.  The state is 64-byte aligned and some 1.1 KiB large.
 */
struct hp_content_state {
	XXH3_state_t x128;
	uint8_t head[240]; /* contents this small have a separate XXH3-64 */
	uint64_t bytes;
	struct hp_sha256 *sha256; /* borrowed, or NULL */
};

void hp_content_begin(struct hp_content_state *s);
/* With SHA-256, unless it is NULL. */
void hp_content_begin_sha256(struct hp_content_state *s,
			     struct hp_sha256 *sha256);
void hp_content_update(struct hp_content_state *s, const void *p, size_t n);
void hp_content_end(struct hp_content_state *s, struct hp_content_hash *ret);

/* 2 * n lower-case hex digits and a NUL. */
void hp_hex(const uint8_t *h, size_t n, char *out);
/* n bytes, or -1 and out as it was if text is not 2 * n hex digits. */
int hp_unhex(const char *text, size_t len, uint8_t *out, size_t n);
/* The same for XXH3-128. */
void hp_hex128(const uint8_t h[16], char out[33]);
int hp_unhex128(const char *text, size_t len, uint8_t out[16]);

#endif
