/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member's number by its path: a hash table with open addressing, its slots
 * in the order of the hashes.
 */
#include "index/copy.h"

#include "base/error.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>

struct query {
	const char *path;
	size_t len;
	uint64_t from; /* members before it are none */
	struct hpdsl_error *err;
};

__attribute__((cold, noinline)) static int not_found(const struct query *q)
{
	char buf[HP_PRINTABLE];

	if (!q->err)
		return -ENOENT;
	if (q->from)
		return hp_fail(q->err, -ENOENT,
			       "no member '%s' from number %" PRIu64 " on",
			       hp_printable(q->path, q->len, buf), q->from);
	return hp_fail(q->err, -ENOENT, "no member '%s'",
		       hp_printable(q->path, q->len, buf));
}

/*
 * 1: the member has this path; 0: another one.  Two fields of its row are read,
 * each once; whether the rest of it makes sense is for who asks for it.
 */
static inline __attribute__((always_inline)) int has_path(
	const struct hp_index *ix, uint64_t number, const struct query *q)
{
	const uint8_t *row, *have;
	int r;

	if (number >= ix->count.members)
		return hp_fail(q->err, HPDSL_ECORRUPT,
			       "%s: lookup table: no member %" PRIu64, ix->name,
			       number);
	r = hp_index_bytes(ix, HP_SECTION_MEMBERS, number * HP_MEMBER_ROW,
			   HP_MEMBER_ROW, &row, q->err);
	if (r < 0)
		return r;
	if (hp_once16(row + 36) != q->len)
		return 0;
	/* It will be asked for next, and its sample with it. */
	__builtin_prefetch(hp_index_section(ix, HP_SECTION_SAMPLES)->data +
			   hp_once48(row + 46) * HP_SAMPLE_ROW);
	r = hp_index_bytes(ix, HP_SECTION_PATHS, hp_once48(row + 40), q->len,
			   &have, q->err);
	if (r < 0)
		return r;
	return memcmp(have, q->path, q->len) == 0;
}

/* 1: the member has this path; all of it from the copy. */
static int copy_has_path(const struct hp_index *ix, uint64_t number,
			 const struct query *q)
{
	uint8_t row[HP_MEMBER_ROW];
	int r;

	if (number >= ix->count.members)
		return has_path(ix, number, q);
	r = hp_index_take(ix, HP_SECTION_MEMBERS, number * HP_MEMBER_ROW, row,
			  sizeof row, q->err);
	if (r < 0 || hp_get16(row + 36) != q->len)
		return r;
	r = hp_index_take(ix, HP_SECTION_PATHS, hp_get48(row + 40),
			  ix->copy->path, q->len, q->err);
	return r < 0 ? r : memcmp(ix->copy->path, q->path, q->len) == 0;
}

static inline __attribute__((always_inline)) int get_slot(
	const struct hp_index *ix, uint64_t i, bool copy, uint64_t *ret,
	struct hpdsl_error *err)
{
	const uint8_t *p;
	uint8_t slot[HP_SLOT_ROW];
	int r;

	if (copy) {
		p = slot;
		r = hp_index_take(ix, HP_SECTION_LOOKUP, i * HP_SLOT_ROW, slot,
				  sizeof slot, err);
	} else {
		r = hp_index_bytes(ix, HP_SECTION_LOOKUP, i * HP_SLOT_ROW,
				   HP_SLOT_ROW, &p, err);
	}
	if (r == 0)
		*ret = hp_once64(p);
	return r;
}

static inline __attribute__((always_inline)) int find(const struct hp_index *ix,
						      const struct query *q,
						      bool copy, uint64_t *ret)
{
	uint64_t hash = hp_hash64(q->path, q->len);

	for (uint64_t i = hp_lookup_home(hash, ix->homes); i < ix->slots; i++) {
		uint64_t slot = 0, number;
		int r = get_slot(ix, i, copy, &slot, q->err);

		if (r < 0)
			return r;
		if (!slot)
			return not_found(q);
		if (slot >> 40 != (hash & HP_SLOT_TAG))
			continue;
		/* One with a tag and no number wraps, and is too large. */
		number = (slot & HP_SLOT_NUMBER) - 1;
		if (number < q->from)
			continue;
		r = copy ? copy_has_path(ix, number, q) :
			   has_path(ix, number, q);
		if (r < 0)
			return r;
		if (r) {
			*ret = number;
			return 0;
		}
	}
	return hp_fail(q->err, HPDSL_ECORRUPT,
		       "%s: the lookup table has no end", ix->name);
}

__attribute__((noinline)) static int find_in_copy(const struct hp_index *ix,
						  const struct query *q,
						  uint64_t *ret)
{
	return find(ix, q, true, ret);
}

int hp_index_find(const struct hp_index *ix, const char *path, size_t path_len,
		  uint64_t *ret, struct hpdsl_error *err)
{
	struct query q = { path, path_len, 0, err };

	if (path_len == 0 || path_len > HPDSL_PATH_MAX)
		return not_found(&q);
	return ix->copy ? find_in_copy(ix, &q, ret) : find(ix, &q, false, ret);
}

/* Those of one path have one hash, and its slots are in the members' order. */
int hp_index_next(const struct hp_index *ix, const char *path, size_t path_len,
		  uint64_t after, uint64_t *ret, struct hpdsl_error *err)
{
	struct query q = { path, path_len, after + 1, err };

	if (path_len == 0 || path_len > HPDSL_PATH_MAX || after == UINT64_MAX)
		return not_found(&q);
	return find(ix, &q, ix->copy != NULL, ret);
}
