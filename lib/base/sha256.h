/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256, from OpenSSL.  What can fail there is remembered: whoever made the
 * context asks, before a digest is used for anything, whether all went well.
 */
#ifndef HP_SHA256_H
#define HP_SHA256_H

#include "hpdsl/core.h"

#define HP_SHA256 32 /* bytes of a digest */

struct hp_sha256;

/*
 * Finds the algorithm, once for the process.  Who does that before there are
 * threads and forks, has none of what follows wait for a lock.  False: no
 * memory.
 */
bool hp_sha256_ready(void);

/* NULL: no memory.  One thread at a time. */
struct hp_sha256 *hp_sha256_new(void);
void hp_sha256_free(struct hp_sha256 *s);

/* Any number of digests, one after the other. */
void hp_sha256_begin(struct hp_sha256 *s);
void hp_sha256_update(struct hp_sha256 *s, const void *p, size_t n);
void hp_sha256_end(struct hp_sha256 *s, uint8_t ret[HP_SHA256]);

/* Did anything fail since the context was made?  -EIO.  NULL is fine: 0. */
int hp_sha256_check(const struct hp_sha256 *s, struct hpdsl_error *err);

/* All of it in one call: 0, -ENOMEM, -EIO. */
int hp_sha256(const void *p, size_t n, uint8_t ret[HP_SHA256],
	      struct hpdsl_error *err);

#define HP_HMAC_KEY 32 /* bytes */

/* HMAC-SHA256 (RFC 2104).  False: no memory. */
bool hp_hmac_sha256(const uint8_t key[HP_HMAC_KEY], const void *p, size_t n,
		    uint8_t ret[HP_SHA256]);

static inline void hp_sha256_free_at(struct hp_sha256 **s)
{
	hp_sha256_free(*s);
}

#define hp_auto_sha256 __attribute__((cleanup(hp_sha256_free_at)))

#endif
