/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/base_names.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static struct hp_name base_of(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t n = slash ? (size_t)(slash + 1 - path) : 0;

	return (struct hp_name){ path + n, len - n };
}

static int begin(struct hp_base_order *o, uint64_t n, struct hpdsl_error *err)
{
	o->n = n;
	o->names = hp_array(n, sizeof *o->names);
	o->order = hp_array(n, sizeof *o->order);
	return o->names && o->order ? 0 : hp_fail_nomem(err);
}

static int make(struct hp_base_names *b, const struct hp_list *list,
		struct hpdsl_error *err)
{
	int r = begin(&b->files, list->n_files, err);

	if (r == 0)
		r = begin(&b->samples, list->n_samples, err);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < list->n_files; i++)
		b->files.names[i] =
			base_of(list->files[i].path, list->files[i].path_len);
	for (uint64_t i = 0; i < list->n_samples; i++) {
		const struct hp_file *f = &list->files[list->samples[i]];

		b->samples.names[i] = base_of(f->path, f->key_len);
	}
	r = hp_names_order(b->files.names, b->files.n, b->files.order, err);
	if (r == 0)
		r = hp_names_order(b->samples.names, b->samples.n,
				   b->samples.order, err);
	b->made = r == 0;
	return r;
}

static int compare(const struct hp_name *a, const struct hp_name *b)
{
	int r = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);

	return r ? r : (a->len > b->len) - (a->len < b->len);
}

/* The place of the first name, in order, that is not below this one. */
static uint64_t find(const struct hp_base_order *o, const struct hp_name *name)
{
	uint64_t low = 0, high = o->n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (compare(&o->names[o->order[mid]], name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_at(const struct hp_base_order *o, uint64_t at,
		  const struct hp_name *name)
{
	return at < o->n && !compare(&o->names[o->order[at]], name);
}

int hp_base_names_find(struct hp_base_names *b, const struct hp_list *list,
		       const struct hp_name *name, uint64_t *ret_sample,
		       struct hpdsl_error *err)
{
	uint64_t at;
	int r = b->made ? 0 : make(b, list, err);

	if (r < 0)
		return r;
	at = find(&b->files, name);
	if (is_at(&b->files, at, name)) {
		*ret_sample = hp_list_sample_of(list, b->files.order[at]);
		while (is_at(&b->files, ++at, name))
			if (hp_list_sample_of(list, b->files.order[at]) !=
			    *ret_sample)
				return 2;
		return 1;
	}
	at = find(&b->samples, name);
	if (!is_at(&b->samples, at, name))
		return 0;
	if (is_at(&b->samples, at + 1, name))
		return 2;
	*ret_sample = b->samples.order[at];
	return 1;
}

static void release(struct hp_base_order *o)
{
	free(o->names);
	free(o->order);
}

void hp_base_names_release(struct hp_base_names *b)
{
	release(&b->files);
	release(&b->samples);
}
