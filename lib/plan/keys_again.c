/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are sorted by the dataset's keys.  Where these end at the first dot,
 * equal ones are neighbours; else what other readers find may lie anywhere, and
 * is looked up by its hash.
 */
#include "plan/keys_again.h"

#include "base/mem.h"

static uint64_t hash_of(const struct hp_list *list, uint64_t sample)
{
	const struct hp_file *f = &list->files[list->samples[sample]];

	return hp_hash64(f->path, hp_key_first(f->path, f->path_len));
}

static int by_number(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return (a > b) - (a < b);
}

int hp_keys_again_begin(struct hp_keys_again *k, const struct hp_list *list,
			struct hpdsl_error *err)
{
	*k = (struct hp_keys_again){ .list = list };
	if (!list->key.last)
		return 0;
	k->sorted = hp_array(list->n_samples, sizeof *k->sorted);
	if (!k->sorted)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < list->n_samples; s++)
		k->sorted[s] = hash_of(list, s);
	qsort(k->sorted, list->n_samples, sizeof *k->sorted, by_number);
	return 0;
}

void hp_keys_again_end(struct hp_keys_again *k)
{
	free(k->sorted);
	k->sorted = NULL;
}

static bool same_key(const struct hp_list *list, uint64_t a, uint64_t b)
{
	const struct hp_file *f = &list->files[list->samples[a]];
	const struct hp_file *g = &list->files[list->samples[b]];

	return f->key_len == g->key_len &&
	       memcmp(f->path, g->path, f->key_len) == 0;
}

/* Is it there twice? */
static bool is_twice(const uint64_t *sorted, uint64_t n, uint64_t hash)
{
	uint64_t low = 0, high = n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (sorted[mid] < hash)
			low = mid + 1;
		else
			high = mid;
	}
	return low + 1 < n && sorted[low + 1] == hash;
}

bool hp_key_is_again(const struct hp_keys_again *k, uint64_t sample)
{
	const struct hp_list *list = k->list;

	if (k->sorted)
		return is_twice(k->sorted, list->n_samples,
				hash_of(list, sample));
	return (sample && same_key(list, sample - 1, sample)) ||
	       (sample + 1 < list->n_samples &&
		same_key(list, sample, sample + 1));
}
