/* SPDX-License-Identifier: Apache-2.0 */
#include "reindex/moved.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

uint64_t hp_hashed_first(const struct hp_hashed *v, uint64_t n, uint64_t hash)
{
	uint64_t low = 0, high = n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (v[mid].hash < hash)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Of one member; the sum of a sample's does not depend on their order. */
static uint64_t hash_of(const char *path, size_t len, uint64_t size,
			uint64_t checksum)
{
	const uint64_t v[3] = { hp_hash64(path, len), size, checksum };

	return hp_hash64(v, sizeof v);
}

static bool hash_old(const struct hp_reindex *x, uint64_t s, uint64_t *ret,
		     uint32_t *ret_label)
{
	struct hp_sample_row row;
	struct hpdsl_member m;

	*ret = 0;
	if (hp_index_sample_row(x->index, s, &row, NULL) < 0 ||
	    (row.label != HPDSL_NO_LABEL && row.label >= x->list.n_classes))
		return false;
	*ret_label = row.label;
	for (uint64_t i = row.first; i < row.end; i++) {
		if (hp_index_member(x->index, i, &m, NULL) < 0)
			return false;
		*ret += hash_of(m.path, m.path_len, m.size, m.checksum);
	}
	return true;
}

static uint32_t label_of(const struct hp_reindex *x, uint64_t s)
{
	struct hp_sample_row row;

	return hp_index_sample_row(x->index, s, &row, NULL) < 0 ?
		       HPDSL_NO_LABEL :
		       row.label;
}

/* Shards may hold any number of equal samples: two that differ in their class
 * tell as much as all. */
static void thin(struct hp_moved *m, const struct hp_reindex *x)
{
	struct hp_hashed *v = m->v;
	uint64_t n = 0, first = 0;

	for (uint64_t i = 0; i < m->n; i++) {
		if (!i || v[i].hash != v[first].hash)
			first = n;
		else if (n - first == 2 || label_of(x, v[i].number) ==
						   label_of(x, v[first].number))
			continue;
		v[n++] = v[i];
	}
	m->n = n;
}

static int find_samples(struct hp_moved *m, const struct hp_reindex *x,
			struct hpdsl_error *err)
{
	struct hpdsl_counts count;

	hp_index_count(x->index, &count);
	m->v = hp_array(count.samples, sizeof *m->v);
	if (!m->v)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < count.samples; s++) {
		struct hp_hashed *to = &m->v[m->n];
		uint32_t label;

		to->number = s;
		if (hash_old(x, s, &to->hash, &label))
			m->n++;
		else
			m->damaged = true;
	}
	hp_lookup_sort(m->v, m->n);
	thin(m, x);
	return 0;
}

static bool is_member(const struct hp_reindex *x, uint64_t number,
		      const struct hp_file *f)
{
	struct hpdsl_member m;

	return hp_index_member(x->index, number, &m, NULL) == 0 &&
	       hp_moved_path(&m, f) && m.size == f->size &&
	       m.checksum == f->low64;
}

/* In one tar no path is there twice: as many, and each of them, are all. */
static bool is_same_sample(const struct hp_reindex *x, uint64_t s, uint64_t old)
{
	const struct hp_list *list = &x->list;
	uint64_t first = list->samples[s], n = list->samples[s + 1] - first;
	struct hp_sample_row row;

	if (hp_index_sample_row(x->index, old, &row, NULL) < 0 ||
	    row.end - row.first != n)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		const struct hp_file *f = &list->files[first + i];
		uint64_t j = row.first;

		if (is_member(x, row.first + i, f))
			continue;
		while (j < row.end && !is_member(x, j, f))
			j++;
		if (j == row.end)
			return false;
	}
	return true;
}

int hp_moved_find(struct hp_moved *m, const struct hp_reindex *x, uint64_t s,
		  uint32_t ret[2], struct hpdsl_error *err)
{
	const struct hp_list *list = &x->list;
	uint64_t hash = 0, i;
	unsigned n = 0;
	int r = m->v ? 0 : find_samples(m, x, err);

	if (r < 0)
		return r;
	for (i = list->samples[s]; i < list->samples[s + 1]; i++) {
		const struct hp_file *f = &list->files[i];

		hash += hash_of(f->path, f->path_len, f->size, f->low64);
	}
	i = hp_hashed_first(m->v, m->n, hash);
	for (; n < 2 && i < m->n && m->v[i].hash == hash; i++)
		if (is_same_sample(x, s, m->v[i].number))
			ret[n++] = label_of(x, m->v[i].number);
	if (n == 1)
		ret[1] = ret[0];
	return n != 0;
}
