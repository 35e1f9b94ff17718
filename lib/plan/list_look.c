/* SPDX-License-Identifier: Apache-2.0 */
/* The look at the names of a list, or of paths that are to become one. */
#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "plan/group_look.h"
#include "plan/list.h"
#include "plan/suffix_sets.h"

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
		       struct hp_suffix_sets *sets,
		       struct hp_sample_names *names, struct hpdsl_error *err)
{
	int r = 0;

	for (uint64_t s = 0; s < list->n_samples && r == 0; s++) {
		size_t key = list->files[list->samples[s]].key_len;

		r = hp_sample_names(names, list, s, false, err);
		if (r < 0)
			break;
		hp_group_look_add(look, names->v, (size_t)names->n, key);
		hp_suffix_sets_add(sets, names->v, (size_t)names->n, key);
	}
	return r;
}

static int say_sets(const struct hp_list *list, struct hp_suffix_sets *sets,
		    struct hp_sample_names *names, struct hpdsl_group_look *ret,
		    struct hpdsl_error *err)
{
	int r = 0;

	hp_suffix_sets_end(sets, ret);
	for (size_t i = 0; i < ret->n_sets && r == 0; i++) {
		uint64_t s = sets->v[i].first;

		r = hp_sample_names(names, list, s, false, err);
		if (r == 0)
			hp_suffix_set_text(
				names->v, (size_t)names->n,
				list->files[list->samples[s]].key_len,
				&ret->sets[i]);
	}
	return r;
}

/* ---- With keys that end at the last dot ------------------------------- */

static const struct hp_key_rule by_last = { .last = true };

static struct hp_name key_of(const struct hp_name *name)
{
	return (struct hp_name){ name->s,
				 hp_key_length(&by_last, name->s, name->len) };
}

static int compare(const struct hp_name *a, const struct hp_name *b)
{
	int r = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);

	return r ? r : (a->len > b->len) - (a->len < b->len);
}

static int compare_keys(const void *va, const void *vb)
{
	struct hp_name a = key_of(va), b = key_of(vb);
	int r = compare(&a, &b);

	return r ? r : compare(va, vb);
}

/*
 * The same look at what each sample would fall into: files of one key by the
 * last dot have one by the first.
 */
static int see_last(const struct hp_list *list, struct hp_group_look *look,
		    struct hp_sample_names *names, struct hpdsl_error *err)
{
	int r = 0;

	for (uint64_t s = 0; s < list->n_samples && r == 0; s++) {
		r = hp_sample_names(names, list, s, false, err);
		if (r < 0)
			break;
		qsort(names->v, names->n, sizeof *names->v, compare_keys);
		for (uint64_t i = 0, end; i < names->n; i = end) {
			struct hp_name key = key_of(&names->v[i]), other;

			for (end = i + 1; end < names->n; end++) {
				other = key_of(&names->v[end]);
				if (compare(&key, &other))
					break;
			}
			hp_group_look_add(look, &names->v[i], (size_t)(end - i),
					  key.len);
		}
	}
	return r;
}

/* ---- What lies in two folders ----------------------------------------- */

/* Samples are in the order of their keys. */
static bool has_key(const struct hp_list *list, const char *key, size_t len)
{
	uint64_t from = 0, to = list->n_samples;

	while (from < to) {
		uint64_t mid = from + (to - from) / 2;
		const struct hp_file *f = &list->files[list->samples[mid]];
		size_t n = f->key_len < len ? f->key_len : len;
		int d = memcmp(f->path, key, n);

		if (!d && f->key_len == len)
			return true;
		if (d < 0 || (!d && f->key_len < len))
			from = mid + 1;
		else
			to = mid;
	}
	return false;
}

static void see_key(const struct hp_list *list, const struct hp_file *f,
		    struct hpdsl_group_look *ret)
{
	char other[HPDSL_PATH_MAX + 1];
	size_t len;

	for (unsigned k = 0;; k++) {
		len = hp_parted_key(f->path, f->key_len, k, other);
		ret->images += len && !k;
		if (!len)
			return;
		if (has_key(list, other, len))
			break;
	}
	if (ret->parted++)
		return;
	hp_key_text(f->path, f->key_len, ret->parted_keys[0]);
	hp_key_text(other, len, ret->parted_keys[1]);
}

static void see_keys(const struct hp_list *list, struct hpdsl_group_look *ret)
{
	uint64_t step = list->n_samples / HP_PARTED_OF + 1;

	for (uint64_t s = 0; s < list->n_samples; s += step)
		see_key(list, &list->files[list->samples[s]], ret);
}

static int try_last(const struct hp_list *list, struct hp_sample_names *names,
		    bool *ret, struct hpdsl_error *err)
{
	struct hp_group_look look = { 0 };
	struct hpdsl_group_look found;
	int r = see_last(list, &look, names, err);

	if (r < 0)
		return r;
	hp_group_look_end(&look, &found);
	*ret = found.verdict == HPDSL_LOOK_PASS;
	return 0;
}

int hp_list_look(const struct hp_list *list, struct hpdsl_group_look *ret,
		 struct hpdsl_error *err)
{
	struct hp_sample_names names = { 0 };
	struct hp_group_look look = { 0 };
	struct hp_suffix_sets sets = { 0 };
	uint64_t example = 0;
	int r = see_samples(list, &look, &sets, &names, err);

	if (r == 0) {
		example = hp_group_look_end(&look, ret);
		if (ret->verdict != HPDSL_LOOK_PASS && !list->key.last)
			r = try_last(list, &names, &ret->last, err);
	}
	if (r == 0)
		r = hp_sample_names(&names, list, example, false, err);
	if (r == 0)
		hp_group_look_example(
			names.v, (size_t)names.n,
			list->files[list->samples[example]].key_len,
			ret->example);
	if (r == 0)
		r = say_sets(list, &sets, &names, ret, err);
	if (r == 0)
		see_keys(list, ret);
	hp_sample_names_release(&names);
	return r;
}

/* ---- Paths that are no list yet --------------------------------------- */

static int compare_file_keys(const struct hp_file *a, const struct hp_file *b)
{
	return compare(&(struct hp_name){ a->path, a->key_len },
		       &(struct hp_name){ b->path, b->key_len });
}

/* By key, of one key by sample. */
static int compare_files(const void *va, const void *vb)
{
	const struct hp_file *a = va, *b = vb;
	int r = compare_file_keys(a, b);

	if (!r)
		r = (a->source > b->source) - (a->source < b->source);
	return r ? r : strcmp(a->path, b->path);
}

/*
 * Makes samples of a dataset's files, which are in its order: of neighbours of
 * one key, as shards may each count from 0, so that keys repeat.  If one ends
 * and the next one begins with samples of one key, the borders that the caller
 * gave, in source, tell them apart.  Samples are then put in the order of their
 * keys.  A file's source is meanwhile the number of its sample.
 */
static int group_stored(struct hp_list *list, bool each,
			struct hpdsl_error *err)
{
	struct hp_file *f = list->files, *end = f + list->n_files;
	uint64_t n = 0, borders = 0;

	for (; f < end; f++) {
		f->key_len = (uint16_t)hp_key_length(&list->key, f->path,
						     f->path_len);
		n += f == list->files || each || f->source != borders ||
		     compare_file_keys(f - 1, f);
		borders = f->source;
		f->source = n;
	}
	list->samples = hp_array(n + 1, sizeof *list->samples);
	if (!list->samples)
		return hp_fail_nomem(err);
	qsort(list->files, list->n_files, sizeof *list->files, compare_files);
	for (f = list->files; f < end; f++)
		if (f == list->files || f[-1].source != f->source)
			list->samples[list->n_samples++] =
				(uint64_t)(f - list->files);
	list->samples[list->n_samples] = list->n_files;
	return 0;
}

static int group_paths(struct hp_list *list, const struct hpdsl_dataset *of,
		       struct hpdsl_error *err)
{
	int r;

	if (of) {
		list->key = *hp_index_key_rule(of->index);
		return group_stored(
			list, hp_index_flags(of->index) & HP_INDEX_GROUP_NONE,
			err);
	}
	r = hp_list_sort(list, err);
	return r < 0 ? r : hp_list_group(list, HPDSL_GROUP_KEY, err);
}

int hpdsl_group_look(const struct hpdsl_dataset *of, const char *const *paths,
		     size_t n, struct hpdsl_group_look *ret,
		     struct hpdsl_error *err)
{
	struct hp_list list = { .repeats = true };
	uint64_t borders = 0;
	int r = 0;

	*ret = (struct hpdsl_group_look){ 0 };
	list.files = calloc(n ? n : 1, sizeof *list.files);
	if (!list.files)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		size_t len = paths[i] ? strlen(paths[i]) : 0;

		borders += of && !paths[i];
		/* no member has such a path */
		if (!len || len > HPDSL_PATH_MAX)
			continue;
		list.files[list.n_files].source = borders;
		list.files[list.n_files].path = paths[i];
		list.files[list.n_files++].path_len = (uint16_t)len;
	}
	if (list.n_files)
		r = group_paths(&list, of, err);
	if (r == 0 && list.n_files)
		r = hp_list_look(&list, ret, err);
	hp_list_release(&list);
	return r;
}
