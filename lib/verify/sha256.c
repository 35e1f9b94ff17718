/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of one chunk and its members, while the chunk is verified. */
#include "verify/sha256.h"

#include "base/error.h"

#include <string.h>

int hp_check_sha256_begin(struct hp_check_sha256 *s, const struct hp_verify *v,
			  struct hpdsl_error *err)
{
	*s = (struct hp_check_sha256){ 0 };
	if (!v->sha256 || v->opt->quick)
		return 0;
	s->file = hp_sha256_new();
	if (v->index)
		s->content = hp_sha256_new();
	if (!s->file || (v->index && !s->content))
		return hp_fail_nomem(err);
	hp_sha256_begin(s->file);
	return 0;
}

int hp_check_sha256_end(struct hp_check_sha256 *s, struct hpdsl_error *err)
{
	int r = hp_sha256_check(s->file, err);

	if (r == 0)
		r = hp_sha256_check(s->content, err);
	hp_sha256_free(s->file);
	hp_sha256_free(s->content);
	return r;
}

bool hp_check_sha256_member(const struct hp_check_sha256 *s,
			    const struct hp_verify *v, uint64_t number,
			    const uint8_t is[HP_SHA256])
{
	uint8_t want[HP_SHA256];

	return !s->content ||
	       (hp_index_member_sha256(v->index, number, want, NULL) == 0 &&
		memcmp(is, want, sizeof want) == 0);
}

bool hp_check_sha256_chunk(struct hp_check_sha256 *s, const struct hp_verify *v,
			   uint32_t number)
{
	uint8_t want[HP_SHA256], is[HP_SHA256];

	/* Of an expanded chunk nobody wrote it down; its members have it. */
	if (!s->file || hp_verify_expanded(v, number))
		return true;
	hp_sha256_end(s->file, is);
	if (!v->index)
		memcpy(want, v->manifest.chunks[number].sha256, sizeof want);
	else if (hp_index_chunk_sha256(v->index, number, want, NULL) < 0)
		return false;
	return memcmp(is, want, sizeof is) == 0;
}
