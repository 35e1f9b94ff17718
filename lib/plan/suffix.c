/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in which one suffix stands for two members: "a" and "a.", or, in tars
 * of others, one path twice.  Asked for by suffix, only the first can be had.
 */
#include "base/error.h"
#include "base/mem.h"
#include "plan/list.h"

#include <stdlib.h>
#include <string.h>

static size_t suffix_of(const struct hp_file *f, const char **ret)
{
	/* The dot between the two belongs to neither. */
	size_t key = f->key_len + (size_t)(f->key_len < f->path_len);

	*ret = f->path + key;
	return f->path_len - key;
}

static int by_suffix(const void *a, const void *b)
{
	const char *p, *q;
	size_t m = suffix_of(*(const struct hp_file *const *)a, &p);
	size_t n = suffix_of(*(const struct hp_file *const *)b, &q);
	int d = memcmp(p, q, m < n ? m : n);

	return d ? d : (m > n) - (m < n);
}

static bool has_two(const struct hp_file *files, uint64_t n,
		    const struct hp_file **v)
{
	for (uint64_t i = 0; i < n; i++)
		v[i] = &files[i];
	qsort(v, n, sizeof(*v), by_suffix);
	for (uint64_t i = 1; i < n; i++)
		if (by_suffix(&v[i - 1], &v[i]) == 0)
			return true;
	return false;
}

static uint64_t most_members(const struct hp_list *list)
{
	uint64_t most = 1;

	for (uint64_t s = 0; s < list->n_samples; s++)
		if (list->samples[s + 1] - list->samples[s] > most)
			most = list->samples[s + 1] - list->samples[s];
	return most;
}

int hp_list_same_suffixes(const struct hp_list *list, uint64_t *ret_samples,
			  uint64_t *ret_first, struct hpdsl_error *err)
{
	uint64_t most = most_members(list), samples = 0, first = UINT64_MAX;
	hp_auto_free const struct hp_file **v = hp_array(most, sizeof(*v));

	if (!v)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; most > 1 && s < list->n_samples; s++) {
		uint64_t at = list->samples[s], n = list->samples[s + 1] - at;

		if (n > 1 && has_two(list->files + at, n, v) && !samples++)
			first = s;
	}
	*ret_samples = samples;
	*ret_first = first;
	return 0;
}
