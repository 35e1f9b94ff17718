/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and classes of a sorted list. */
#include "base/error.h"
#include "base/mem.h"
#include "plan/list.h"

#include <string.h>

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In order, each once. */
static uint32_t put_in_order(const char **v, size_t n)
{
	uint32_t kept = 0;

	qsort(v, n, sizeof *v, by_bytes);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(v[kept - 1], v[i]) != 0)
			v[kept++] = v[i];
	return kept;
}

static int check_doubles(enum hpdsl_group group, const char *const *v, size_t n,
			 struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];

	if (n && group != HPDSL_GROUP_LAST)
		return hp_fail(err, HPDSL_EUSAGE,
			       "double_suffix: goes with group last alone");
	for (size_t i = 0; i < n; i++)
		if (!hp_double_valid(v[i], strlen(v[i])))
			return hp_fail(
				err, HPDSL_EUSAGE,
				"double_suffix: '%s' is no suffix with a "
				"dot inside, such as seg.png",
				hp_printable(v[i], strlen(v[i]), text));
	return 0;
}

int hp_list_rule(struct hp_list *list, enum hpdsl_group group,
		 const char *const *doubles, size_t n, struct hpdsl_error *err)
{
	int r = check_doubles(group, doubles, n, err);
	const char **v;
	uint32_t kept;

	if (r < 0)
		return r;
	v = hp_array(n, sizeof *v);
	if (!v)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; i++)
		v[i] = doubles[i];
	kept = put_in_order(v, n);
	if (kept > HP_DOUBLES) {
		free(v);
		return hp_fail(err, HPDSL_EUSAGE,
			       "double_suffix: there are more than %d",
			       HP_DOUBLES);
	}
	free(list->doubles);
	list->doubles = v;
	list->key = (struct hp_key_rule){ .last = group == HPDSL_GROUP_LAST,
					  .doubles = v,
					  .n = kept };
	return 0;
}

static bool same_key(const struct hp_file *a, const struct hp_file *b)
{
	return a->key_len == b->key_len &&
	       memcmp(a->path, b->path, a->key_len) == 0;
}

int hp_list_group(struct hp_list *list, enum hpdsl_group group,
		  struct hpdsl_error *err)
{
	uint64_t n = 0, *samples = hp_array(list->n_files + 1, sizeof *samples);
	uint64_t *smaller;

	if (!samples)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < list->n_files; i++) {
		struct hp_file *f = list->files + i;

		if (i == 0 || group == HPDSL_GROUP_NONE || !same_key(f - 1, f))
			samples[n++] = i;
	}
	samples[n] = list->n_files;
	smaller = realloc(samples, (n + 1) * sizeof *samples);
	free(list->samples);
	list->samples = smaller ? smaller : samples;
	list->n_samples = n;
	return 0;
}

static const struct hp_file *of_another(const struct hp_list *list, uint64_t s)
{
	uint64_t first = list->samples[s];

	for (uint64_t i = first + 1; i < list->samples[s + 1]; i++)
		if (list->files[i].root != list->files[first].root)
			return &list->files[i];
	return NULL;
}

uint64_t hp_list_joined(const struct hp_list *list,
			const struct hp_file **ret_one,
			const struct hp_file **ret_two)
{
	uint64_t n = 0;

	for (uint64_t s = 0; list->n_roots > 1 && s < list->n_samples; s++) {
		const struct hp_file *two = of_another(list, s);

		if (!two || n++)
			continue;
		*ret_one = &list->files[list->samples[s]];
		*ret_two = two;
	}
	return n;
}

uint64_t hp_list_sample_of(const struct hp_list *list, uint64_t file)
{
	uint64_t low = 0, high = list->n_samples;

	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (list->samples[mid] <= file)
			low = mid;
		else
			high = mid;
	}
	return low;
}

struct folder {
	const struct hp_list *list;
	enum hpdsl_labels how;
	uint32_t dir;
};

static int parent_of(const struct hp_file *f, struct hp_class *ret)
{
	const char *end = memrchr(f->path, '/', f->path_len), *slash;

	if (!end)
		return 0;
	slash = memrchr(f->path, '/', (size_t)(end - f->path));
	ret->name = slash ? slash + 1 : f->path;
	ret->len = (uint32_t)(end - ret->name);
	return 0;
}

/* The folder of the sample's first file that names the class, if any. */
static int folder_of(void *arg, uint64_t sample, struct hp_class *ret,
		     struct hpdsl_error *err)
{
	const struct folder *z = arg;
	const struct hp_file *f = z->list->files + z->list->samples[sample];
	const char *name = f->path, *end = f->path + f->path_len, *slash;
	uint32_t dir = z->dir;

	(void)err;
	if (z->how == HPDSL_LABELS_PARENT)
		return parent_of(f, ret);
	for (; (slash = memchr(name, '/', (size_t)(end - name)));
	     name = slash + 1) {
		if (--dir == 0) {
			ret->name = name;
			ret->len = (uint32_t)(slash - name);
			return 0;
		}
	}
	return 0;
}

int hp_list_label(struct hp_list *list, enum hpdsl_labels how, uint32_t dir,
		  struct hpdsl_error *err)
{
	struct folder z = { list, how, dir ? dir : 1 };

	if (how != HPDSL_LABELS_DIR && how != HPDSL_LABELS_PARENT)
		return 0;
	return hp_list_classify(list, folder_of, &z, err);
}
