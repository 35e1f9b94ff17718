/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest of a chunk's file.  Whoever writes one lets every byte of it, as
 * stored, pass here in order.
 */
#ifndef HP_FILE_DIGEST_H
#define HP_FILE_DIGEST_H

#include "hash.h"

struct hp_file_digest {
	XXH3_state_t xxh; /* 64-byte aligned */
};

static inline void hp_file_digest_begin(struct hp_file_digest *d)
{
	XXH3_128bits_reset(&d->xxh);
}

static inline void hp_file_digest_add(struct hp_file_digest *d, const void *p,
				      size_t n)
{
	XXH3_128bits_update(&d->xxh, p, n);
}

static inline void hp_file_digest_end(const struct hp_file_digest *d,
				      uint8_t ret[16])
{
	hp_hash_canonical(XXH3_128bits_digest(&d->xxh), ret);
}

#endif
