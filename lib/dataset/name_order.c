/* SPDX-License-Identifier: Apache-2.0 */
/* Members of one folder in the order of their names. */
#include "dataset/name_order.h"

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

	hp_lookup_sort_room(v, n, room, HP_NAMES_ROOM);
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
