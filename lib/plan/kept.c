/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that samples had before: in packed inputs, or in an older index. */
#include "plan/list.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int hp_class_keep(struct hp_class *is, const char *name,
		  const struct hp_file *f, const char *why,
		  struct hpdsl_error *err)
{
	char path[HP_PRINTABLE];

	if (!name)
		return 0;
	if (is->name && strcmp(is->name, name) != 0)
		return hp_fail(err, HPDSL_EUSAGE,
			       "the sample of '%s' would have two classes%s",
			       hp_printable(f->path, f->path_len, path), why);
	*is = (struct hp_class){ name, (uint32_t)strlen(name) };
	return 0;
}

/* The class of a member's sample there; *ret NULL: it had none. */
static int class_of(const struct hpdsl_dataset *ds, uint64_t member,
		    const char **ret, struct hpdsl_error *err)
{
	struct hpdsl_sample was;
	struct hpdsl_member m;
	int r = hpdsl_member_get(ds, member, &m, err);

	*ret = NULL;
	if (r == 0)
		r = hpdsl_sample_get(ds, m.sample, &was, err);
	if (r == 0 && was.label != HPDSL_NO_LABEL)
		r = hpdsl_class_name(ds, was.label, ret, err);
	return r;
}

static int kept_class(void *arg, uint64_t sample, struct hp_class *ret,
		      struct hpdsl_error *err)
{
	const struct hp_list *list = arg;
	int r = 0;

	for (uint64_t i = list->samples[sample];
	     r == 0 && i < list->samples[sample + 1]; i++) {
		const struct hp_file *f = &list->files[i];
		const struct hp_root *root = &list->roots[f->root];
		const char *name;

		if (root->kind != HP_ROOT_DATASET)
			continue;
		r = class_of(root->dataset, f->source, &name, err);
		if (r == 0)
			r = hp_class_keep(
				ret, name, f,
				", as its files have in their datasets", err);
	}
	return r;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The number that this class has now; HPDSL_NO_LABEL: no sample has it. */
static uint32_t number_now(const struct hp_list *list, const char *name)
{
	uint32_t n = list->n_classes, value;
	const char **is;

	if (hp_class_number(name, strlen(name), &value) && value < n &&
	    !strcmp(list->classes[value], name))
		return value;
	is = n ? bsearch(&name, list->classes, n, sizeof name, by_bytes) : NULL;
	return is ? (uint32_t)(is - list->classes) : HPDSL_NO_LABEL;
}

uint64_t hp_list_renumbered(const struct hp_list *list, const char **ret_name,
			    uint32_t *ret_was, uint32_t *ret_is)
{
	uint64_t n = 0;

	for (size_t i = 0; i < list->n_roots; i++) {
		const struct hp_root *root = &list->roots[i];
		struct hpdsl_counts had = { .classes = 0 };

		if (root->kind == HP_ROOT_DATASET)
			hpdsl_count(root->dataset, &had);
		for (uint32_t was = 0; was < had.classes; was++) {
			const char *name;
			uint32_t is;

			if (hpdsl_class_name(root->dataset, was, &name, NULL))
				continue;
			is = number_now(list, name);
			if (is == HPDSL_NO_LABEL || is == was || n++)
				continue;
			*ret_name = name;
			*ret_was = was;
			*ret_is = is;
		}
	}
	return n;
}

bool hp_list_has_classes(const struct hp_list *list)
{
	for (size_t i = 0; i < list->n_roots; i++) {
		struct hpdsl_counts n;

		if (list->roots[i].kind != HP_ROOT_DATASET)
			continue;
		hpdsl_count(list->roots[i].dataset, &n);
		if (n.classes)
			return true;
	}
	return false;
}

int hp_list_keep_labels(struct hp_list *list, struct hpdsl_error *err)
{
	return hp_list_classify(list, kept_class, list, err);
}
