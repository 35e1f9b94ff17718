/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian integers in byte arrays, and checked arithmetic on sizes. */
#ifndef HP_BYTES_H
#define HP_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t hp_get16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return le16toh(v);
}

static inline uint32_t hp_get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static inline uint64_t hp_get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

/* 40 bits: the low 32 first, then 8. */
static inline uint64_t hp_get40(const void *p)
{
	return hp_get32(p) | (uint64_t)((const uint8_t *)p)[4] << 32;
}

/* 48 bits: the low 32 first, then 16. */
static inline uint64_t hp_get48(const void *p)
{
	return hp_get32(p) | (uint64_t)hp_get16((const char *)p + 4) << 32;
}

static inline void hp_put16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof v);
}

static inline void hp_put32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}

static inline void hp_put64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
}

static inline void hp_put40(void *p, uint64_t v)
{
	hp_put32(p, (uint32_t)v);
	((uint8_t *)p)[4] = (uint8_t)(v >> 32);
}

static inline void hp_put48(void *p, uint64_t v)
{
	hp_put32(p, (uint32_t)v);
	hp_put16((char *)p + 4, (uint16_t)(v >> 32));
}

/*
 * Of memory that others may write to: what is read here is read once, and the
 * compiler does not go back to it for what it has already.
 */
static inline __attribute__((always_inline)) void hp_copy_once(void *to,
							       const void *from,
							       size_t n)
{
	memcpy(to, from, n);
	__asm__ volatile("" : : "r"(to) : "memory");
}

static inline uint16_t hp_once16(const void *p)
{
	uint16_t v = hp_get16(p);

	__asm__ volatile("" : "+r"(v));
	return v;
}

static inline uint64_t hp_once64(const void *p)
{
	uint64_t v = hp_get64(p);

	__asm__ volatile("" : "+r"(v));
	return v;
}

static inline uint64_t hp_once48(const void *p)
{
	uint64_t v = hp_get48(p);

	__asm__ volatile("" : "+r"(v));
	return v;
}

/* memcpy for strings that are short, without a call for it. */
static inline void hp_copy_short(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (n > 32) {
		memcpy(d, s, n);
	} else if (n >= 16) {
		memcpy(d, s, 16);
		memcpy(d + n - 16, s + n - 16, 16);
	} else if (n >= 8) {
		memcpy(d, s, 8);
		memcpy(d + n - 8, s + n - 8, 8);
	} else if (n >= 4) {
		memcpy(d, s, 4);
		memcpy(d + n - 4, s + n - 4, 4);
	} else {
		while (n--)
			*d++ = *s++;
	}
}

/* Do [off, off + len) lie within size bytes?  Never wraps. */
static inline bool hp_within(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

#endif
