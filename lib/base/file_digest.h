/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digests of a chunk's file.  Whoever writes one lets every byte of it, as
 * stored, pass here in order.
 */
#ifndef HP_FILE_DIGEST_H
#define HP_FILE_DIGEST_H

#include "base/error.h"
#include "base/hash.h"
#include "base/sha256.h"

struct hp_file_digest {
	XXH3_state_t xxh;	  /* 64-byte aligned */
	struct hp_sha256 *sha256; /* owned, or NULL */
};

/* Of a new one, whatever is there. */
static inline void hp_file_digest_begin(struct hp_file_digest *d)
{
	XXH3_128bits_reset(&d->xxh);
	d->sha256 = NULL;
}

/* Of one that was begun, before its first byte: SHA-256 too. */
static inline int hp_file_digest_want_sha256(struct hp_file_digest *d,
					     struct hpdsl_error *err)
{
	d->sha256 = hp_sha256_new();
	if (!d->sha256)
		return hp_fail_nomem(err);
	hp_sha256_begin(d->sha256);
	return 0;
}

/* The same for another file. */
static inline void hp_file_digest_again(struct hp_file_digest *d)
{
	XXH3_128bits_reset(&d->xxh);
	if (d->sha256)
		hp_sha256_begin(d->sha256);
}

static inline void hp_file_digest_add(struct hp_file_digest *d, const void *p,
				      size_t n)
{
	XXH3_128bits_update(&d->xxh, p, n);
	if (d->sha256)
		hp_sha256_update(d->sha256, p, n);
}

static inline void hp_file_digest_end(const struct hp_file_digest *d,
				      uint8_t ret[16])
{
	hp_hash_canonical(XXH3_128bits_digest(&d->xxh), ret);
}

/* Nothing happens to ret if it was not asked for.  -EIO. */
static inline int hp_file_digest_end_sha256(struct hp_file_digest *d,
					    uint8_t ret[HP_SHA256],
					    struct hpdsl_error *err)
{
	if (d->sha256)
		hp_sha256_end(d->sha256, ret);
	return hp_sha256_check(d->sha256, err);
}

static inline void hp_file_digest_release(struct hp_file_digest *d)
{
	hp_sha256_free(d->sha256);
	d->sha256 = NULL;
}

#endif
