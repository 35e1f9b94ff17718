/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of one folder in the order of their names.  Keys of a folder that is
 * not large are sorted by each byte in which some of them differ, the last one
 * first, into another array and back, which keeps the order of those that are
 * the same; others, and few, as hashes are.
 */
#include "dataset/name_order.h"

enum { FEW = 48 };

/* By the byte at shift, in another place. */
static void sort_byte(const struct hp_hashed *v, uint64_t n, unsigned shift,
		      struct hp_hashed *to)
{
	uint32_t at[256] = { 0 }, sum = 0;

	for (uint64_t i = 0; i < n; i++)
		at[v[i].hash >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++) {
		uint32_t count = at[b];

		at[b] = sum;
		sum += count;
	}
	for (uint64_t i = 0; i < n; i++)
		to[at[v[i].hash >> shift & 255]++] = v[i];
}

static void sort_by_key(struct hp_hashed *v, uint64_t n, struct hp_hashed *room)
{
	struct hp_hashed *from = v, *to = room;
	uint64_t differ = 0;

	if (n <= FEW || n > HP_NAMES_ROOM) {
		hp_lookup_sort(v, n);
		return;
	}
	for (uint64_t i = 1; i < n; i++)
		differ |= v[i].hash ^ v[0].hash;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct hp_hashed *other = from;

		if (!(differ >> shift & 255))
			continue;
		sort_byte(from, n, shift, to);
		from = to;
		to = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
}

int hp_name_key_of(const struct hp_index *ix, uint64_t member, size_t at,
		   uint64_t *ret, struct hpdsl_error *err)
{
	struct hp_index_look m;
	const char *name;
	size_t len;
	int r = hp_index_look(ix, member, &m, err);

	if (r < 0)
		return r;
	name = hp_name_of(&m, &len);
	*ret = hp_name_key(name, len, at);
	return 0;
}

/* Where names that are the same before at are not any more. */
static int find_end_of_same(const struct hp_index *ix,
			    const struct hp_hashed *v, uint64_t n, size_t at,
			    size_t *ret, struct hpdsl_error *err)
{
	struct hp_names s = { .n = 0 };

	for (uint64_t i = 0; i < n; i++) {
		struct hp_index_look m;
		const char *name;
		size_t len;
		int r = hp_index_look(ix, v[i].number, &m, err);

		if (r < 0)
			return r;
		name = hp_name_of(&m, &len);
		hp_names_add(&s, name, len);
	}
	*ret = s.same > at ? s.same : at;
	return 0;
}

static int sort_ties(const struct hp_index *ix, struct hp_hashed *v, uint64_t n,
		     size_t at, struct hp_hashed *room, struct hpdsl_error *err)
{
	int r = find_end_of_same(ix, v, n, at, &at, err);

	for (uint64_t i = 0; i < n && r == 0; i++)
		r = hp_name_key_of(ix, v[i].number, at, &v[i].hash, err);
	return r < 0 ? r : hp_sort_names(ix, v, n, at, room, err);
}

int hp_sort_names(const struct hp_index *ix, struct hp_hashed *v, uint64_t n,
		  size_t at, struct hp_hashed *room, struct hpdsl_error *err)
{
	int r = 0;

	sort_by_key(v, n, room);
	for (uint64_t i = 0, end; i < n && r == 0; i = end) {
		for (end = i + 1; end < n && v[end].hash == v[i].hash; end++)
			;
		if (end - i == 1)
			continue;
		if (v[i].hash & 0xff)
			r = sort_ties(ix, v + i, end - i, at + 8, room, err);
		else /* one name: the first of them has it */
			for (uint64_t k = i + 1; k < end; k++)
				v[k].number = HP_REPEATED;
	}
	return r;
}
