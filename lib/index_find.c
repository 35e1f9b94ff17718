/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member's number by its path: a hash table with open addressing, its slots
 * in the order of the hashes.
 */
#include "index_private.h"

#include "error.h"
#include "hash.h"

#include <errno.h>
#include <inttypes.h>

struct query {
	const char *path;
	size_t len;
	struct hpdsl_error *err;
};

__attribute__((cold, noinline)) static int not_found(const struct query *q)
{
	char buf[HP_PRINTABLE];

	if (!q->err)
		return -ENOENT;
	return hp_fail(q->err, -ENOENT, "no member '%s'",
		       hp_printable(q->path, q->len, buf));
}

/* 1: the member has this path; 0: another one. */
static int has_path(const struct hp_index *ix, uint64_t number,
		    const struct query *q)
{
	const uint8_t *row, *have;

	if (number >= ix->count.members)
		return hp_fail(q->err, HPDSL_ECORRUPT,
			       "%s: lookup table: no member %" PRIu64, ix->name,
			       number);
	row = hp_index_bytes(ix, HP_SECTION_MEMBERS, number * HP_MEMBER_ROW,
			     HP_MEMBER_ROW, q->err);
	if (!row)
		return HPDSL_ECORRUPT;
	if (hp_get16(row + 36) != q->len)
		return 0;
	have = hp_index_bytes(ix, HP_SECTION_PATHS, hp_get48(row + 40), q->len,
			      q->err);
	if (!have)
		return HPDSL_ECORRUPT;
	return memcmp(have, q->path, q->len) == 0;
}

int hp_index_find(const struct hp_index *ix, const char *path, size_t path_len,
		  uint64_t *ret, struct hpdsl_error *err)
{
	struct query q = { path, path_len, err };
	uint64_t hash;

	if (path_len == 0 || path_len > HPDSL_PATH_MAX)
		return not_found(&q);
	hash = hp_hash64(path, path_len);
	for (uint64_t i = hp_lookup_home(hash, ix->homes); i < ix->slots; i++) {
		const uint8_t *p =
			hp_index_bytes(ix, HP_SECTION_LOOKUP, i * HP_SLOT_ROW,
				       HP_SLOT_ROW, err);
		uint64_t slot, number;
		int r;

		if (!p)
			return HPDSL_ECORRUPT;
		slot = hp_get64(p);
		if (!slot)
			return not_found(&q);
		if (slot >> 40 != (hash & HP_SLOT_TAG))
			continue;
		/* One with a tag and no number wraps, and is too large. */
		number = (slot & HP_SLOT_NUMBER) - 1;
		r = has_path(ix, number, &q);
		if (r < 0)
			return r;
		if (r) {
			*ret = number;
			return 0;
		}
	}
	return hp_fail(err, HPDSL_ECORRUPT, "%s: the lookup table has no end",
		       ix->name);
}
