/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and classes of a sorted list. */
#include "error.h"
#include "list.h"
#include "mem.h"
#include "name_risk.h"

#include <string.h>

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

/*
 * Neighbours in the list mostly share their folder, so names are collected run
 * by run: samples, one behind the other, of the same folder.  labels[] first
 * holds numbers of runs.  Sorting the runs' names gives each its class.
 */
struct run {
	const char *name; /* not terminated; NULL: no folder */
	uint32_t len;
	uint32_t number;
};

struct runs {
	struct run *v;
	uint64_t n, room;
};

/* The folder that names the class, or no name. */
static struct hp_name folder_of(const struct hp_file *f, enum hpdsl_labels how,
				uint32_t dir)
{
	const char *name = f->path, *end = f->path + f->path_len, *slash;
	struct hp_name none = { NULL, 0 };

	if (how == HPDSL_LABELS_PARENT) {
		end = memrchr(name, '/', f->path_len);
		if (!end)
			return none;
		slash = memrchr(name, '/', (size_t)(end - name));
		name = slash ? slash + 1 : name;
		return (struct hp_name){ name, (size_t)(end - name) };
	}
	for (; (slash = memchr(name, '/', (size_t)(end - name)));
	     name = slash + 1)
		if (--dir == 0)
			return (struct hp_name){ name, (size_t)(slash - name) };
	return none;
}

static bool same_name(const struct run *a, const struct run *b)
{
	if (!a->name || !b->name)
		return a->name == b->name;
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static int runs_add(struct runs *r, struct run run, struct hpdsl_error *err)
{
	if (r->n == HPDSL_NO_LABEL)
		return hp_fail(err, HPDSL_EUSAGE, "too many classes");
	if (r->n == r->room) {
		uint64_t room = r->room ? r->room * 2 : 64;
		struct run *v = realloc(r->v, room * sizeof *v);

		if (!v)
			return hp_fail_nomem(err);
		r->v = v;
		r->room = room;
	}
	run.number = (uint32_t)r->n;
	r->v[r->n++] = run;
	return 0;
}

static int collect(const struct hp_list *list,
		   struct hp_name (*class_of)(const void *arg, uint64_t sample),
		   const void *arg, struct runs *runs, uint32_t *labels,
		   struct hpdsl_error *err)
{
	for (uint64_t s = 0; s < list->n_samples; s++) {
		struct hp_name name = class_of(arg, s);
		struct run run = { name.s, (uint32_t)name.len, 0 };

		if (runs->n == 0 || !same_name(&run, runs->v + runs->n - 1)) {
			int r = runs_add(runs, run, err);

			if (r < 0)
				return r;
		}
		labels[s] = (uint32_t)(runs->n - 1);
	}
	return 0;
}

/* By bytes, those without a name last. */
static int compare_names(const void *va, const void *vb)
{
	const struct run *a = va, *b = vb;
	int d;

	if (!a->name || !b->name)
		return !a->name - !b->name;
	d = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);
	if (d == 0)
		d = (a->len > b->len) - (a->len < b->len);
	return d;
}

/*
 * Sorts the runs by name and keeps the first of each name, in order, as the
 * classes; class_of[number of a run] is the class.  Returns their number.
 */
static uint32_t rank(struct runs *runs, uint32_t *class_of)
{
	uint32_t n = 0;

	if (runs->n)
		qsort(runs->v, runs->n, sizeof *runs->v, compare_names);
	for (uint64_t i = 0; i < runs->n; i++) {
		struct run run = runs->v[i];

		if (!run.name) {
			class_of[run.number] = HPDSL_NO_LABEL;
			continue;
		}
		if (n == 0 || !same_name(&run, runs->v + n - 1))
			runs->v[n++] = run;
		class_of[run.number] = n - 1;
	}
	return n;
}

static const char **copy_names(struct hp_list *list, const struct run *v,
			       uint32_t n)
{
	const char **names = hp_array(n, sizeof *names);

	for (uint32_t i = 0; names && i < n; i++) {
		names[i] = hp_arena_add(list->arena, v[i].name, v[i].len);
		if (!names[i]) {
			free(names);
			return NULL;
		}
	}
	return names;
}

/* Takes over labels. */
static int set_labels(struct hp_list *list, struct runs *runs,
		      uint32_t **labels, struct hpdsl_error *err)
{
	uint32_t *hp_auto_free class_of = hp_array(runs->n, sizeof *class_of);
	const char **names;
	uint32_t n;

	if (!class_of)
		return hp_fail_nomem(err);
	n = rank(runs, class_of);
	names = copy_names(list, runs->v, n);
	if (!names)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < list->n_samples; s++)
		(*labels)[s] = class_of[(*labels)[s]];
	free(list->labels);
	free(list->classes);
	list->labels = hp_take(*labels);
	list->classes = names;
	list->n_classes = n;
	return 0;
}

int hp_list_classes(struct hp_list *list,
		    struct hp_name (*class_of)(const void *arg,
					       uint64_t sample),
		    const void *arg, struct hpdsl_error *err)
{
	uint32_t *hp_auto_free labels = NULL;
	struct runs runs = { .v = NULL };
	int r;

	labels = hp_array(list->n_samples, sizeof *labels);
	if (!labels)
		return hp_fail_nomem(err);
	r = collect(list, class_of, arg, &runs, labels, err);
	if (r == 0)
		r = set_labels(list, &runs, &labels, err);
	free(runs.v);
	return r;
}

struct folders {
	const struct hp_list *list;
	enum hpdsl_labels how;
	uint32_t dir;
};

static struct hp_name folder_class(const void *arg, uint64_t sample)
{
	const struct folders *f = arg;
	const struct hp_list *list = f->list;

	return folder_of(list->files + list->samples[sample], f->how, f->dir);
}

int hp_list_label(struct hp_list *list, enum hpdsl_labels how, uint32_t dir,
		  struct hpdsl_error *err)
{
	struct folders f = { list, how, dir ? dir : 1 };

	if (how != HPDSL_LABELS_DIR && how != HPDSL_LABELS_PARENT)
		return 0;
	return hp_list_classes(list, folder_class, &f, err);
}
