/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of one chunk and its members, while the chunk is verified. */
#ifndef HP_VERIFY_SHA256_H
#define HP_VERIFY_SHA256_H

#include "base/sha256.h"
#include "verify/verify.h"

/* Both NULL if the dataset has none, or contents are not read. */
struct hp_check_sha256 {
	struct hp_sha256 *file, *content; /* content: with an index */
};

/* To be ended in every case. */
int hp_check_sha256_begin(struct hp_check_sha256 *s, const struct hp_verify *v,
			  struct hpdsl_error *err);
/* Did anything fail?  Releases it. */
int hp_check_sha256_end(struct hp_check_sha256 *s, struct hpdsl_error *err);

/* Is the content the member's, all bytes of the file the chunk's? */
bool hp_check_sha256_member(const struct hp_check_sha256 *s,
			    const struct hp_verify *v, uint64_t number,
			    const uint8_t is[32]);
bool hp_check_sha256_chunk(struct hp_check_sha256 *s, const struct hp_verify *v,
			   uint32_t number);

#endif
