/* SPDX-License-Identifier: Apache-2.0 */
/* The look at the names of a list, or of paths that are to become one. */
#include "base/error.h"
#include "base/mem.h"
#include "plan/group_look.h"
#include "plan/list.h"

#include <string.h>

int hp_sample_names(struct hp_sample_names *names, const struct hp_list *list,
		    uint64_t s, bool stored, struct hpdsl_error *err)
{
	uint64_t first = list->samples[s];

	names->n = list->samples[s + 1] - first;
	if (names->n > names->room) {
		uint64_t room = names->n + names->n / 2 + 16;
		struct hp_name *v = hp_array(room, sizeof *v);

		if (!v)
			return hp_fail_nomem(err);
		free(names->v);
		names->v = v;
		names->room = room;
	}
	for (uint64_t i = 0; i < names->n; i++) {
		const struct hp_file *f = &list->files[first + i];
		const char *name = hp_stored_name(list, first + i);

		names->v[i] = stored && name != f->path ?
				      (struct hp_name){ name, strlen(name) } :
				      (struct hp_name){ f->path, f->path_len };
	}
	return 0;
}

void hp_sample_names_release(struct hp_sample_names *names)
{
	free(names->v);
	names->v = NULL;
	names->room = 0;
}

/* Calls hp_group_look_add for each sample. */
static int see_samples(const struct hp_list *list, struct hp_group_look *look,
		       struct hp_sample_names *names, struct hpdsl_error *err)
{
	int r = 0;

	for (uint64_t s = 0; s < list->n_samples && r == 0; s++) {
		r = hp_sample_names(names, list, s, false, err);
		if (r == 0)
			hp_group_look_add(
				look, names->v, (size_t)names->n,
				list->files[list->samples[s]].key_len);
	}
	return r;
}

int hp_list_look(const struct hp_list *list, struct hpdsl_group_look *ret,
		 struct hpdsl_error *err)
{
	struct hp_sample_names names = { 0 };
	struct hp_group_look look = { 0 };
	uint64_t example = 0;
	int r = see_samples(list, &look, &names, err);

	if (r == 0) {
		example = hp_group_look_end(&look, ret);
		r = hp_sample_names(&names, list, example, false, err);
	}
	if (r == 0)
		hp_group_look_example(
			names.v, (size_t)names.n,
			list->files[list->samples[example]].key_len,
			ret->example);
	hp_sample_names_release(&names);
	return r;
}

int hpdsl_group_look(const char *const *paths, size_t n,
		     struct hpdsl_group_look *ret, struct hpdsl_error *err)
{
	struct hp_list list = { .repeats = true };
	int r = 0;

	*ret = (struct hpdsl_group_look){ 0 };
	list.files = calloc(n ? n : 1, sizeof *list.files);
	if (!list.files)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(paths[i]);

		/* no member has such a path */
		if (!len || len > HPDSL_PATH_MAX)
			continue;
		list.files[list.n_files].path = paths[i];
		list.files[list.n_files++].path_len = (uint16_t)len;
	}
	if (list.n_files)
		r = hp_list_sort(&list, err);
	if (r == 0 && list.n_files)
		r = hp_list_group(&list, HPDSL_GROUP_KEY, err);
	if (r == 0 && list.n_files)
		r = hp_list_look(&list, ret, err);
	hp_list_release(&list);
	return r;
}
