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

/* A content begins, and goes on. */
static inline void hp_check_sha256_content(struct hp_check_sha256 *s)
{
	if (s->content)
		hp_sha256_begin(s->content);
}

static inline void hp_check_sha256_add(struct hp_check_sha256 *s, const void *p,
				       size_t n)
{
	if (s->content)
		hp_sha256_update(s->content, p, n);
}

/* Is the content the member's, all bytes of the file the chunk's? */
bool hp_check_sha256_member(struct hp_check_sha256 *s,
			    const struct hp_verify *v, uint64_t number);
bool hp_check_sha256_chunk(struct hp_check_sha256 *s, const struct hp_verify *v,
			   uint32_t number);

#endif
