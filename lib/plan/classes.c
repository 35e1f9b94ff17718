/* SPDX-License-Identifier: Apache-2.0 */
/* From a class name for each sample to numbered classes. */
#include "base/error.h"
#include "base/mem.h"
#include "plan/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool hp_class_number(const char *name, size_t len, uint32_t *ret)
{
	uint32_t n = 0;

	if (!len || len > 5 || (len > 1 && *name == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		n = 10 * n + (uint32_t)(name[i] - '0');
	}
	*ret = n;
	return n <= HP_CLASS_NUMBER_MAX;
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
	uint64_t n;
};

static bool same_name(const struct run *a, const struct run *b)
{
	if (!a->name || !b->name)
		return a->name == b->name;
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static int runs_add(struct runs *r, struct run run, struct hpdsl_error *err)
{
	struct run *v;

	if (r->n == HPDSL_NO_LABEL)
		return hp_fail(err, HPDSL_EUSAGE, "too many classes");
	v = hp_more(r->v, r->n, sizeof *v);
	if (!v)
		return hp_fail_nomem(err);
	r->v = v;
	run.number = (uint32_t)r->n;
	r->v[r->n++] = run;
	return 0;
}

static int collect(const struct hp_list *list, hp_class_fn *name, void *arg,
		   struct runs *runs, uint32_t *labels, struct hpdsl_error *err)
{
	for (uint64_t s = 0; s < list->n_samples; s++) {
		struct hp_class c = { .name = NULL };
		int r = name(arg, s, &c, err);
		struct run run = { c.name, c.len, 0 };

		if (r == 0 &&
		    (runs->n == 0 || !same_name(&run, runs->v + runs->n - 1)))
			r = runs_add(runs, run, err);
		if (r < 0)
			return r;
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

/* How many classes there are if each is called its number; 0: they are not. */
static uint32_t count_by_value(const struct hp_list *list, const struct run *v,
			       uint32_t n)
{
	uint32_t value, most = 0;

	if (!list->by_value || !n)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!hp_class_number(v[i].name, v[i].len, &value))
			return 0;
		most = value > most ? value : most;
	}
	return most + 1;
}

/* Names 0 to n - 1, and the ranks that class_of[] has become values. */
static const char **names_by_value(struct hp_list *list,
				   const struct runs *runs, uint32_t n,
				   uint32_t *class_of)
{
	const char **names = hp_array(n, sizeof *names);

	for (uint32_t i = 0; names && i < n; i++) {
		char text[16];
		int len = snprintf(text, sizeof text, "%" PRIu32, i);

		names[i] = hp_arena_add(list->arena, text, (size_t)len);
		if (!names[i]) {
			free(names);
			return NULL;
		}
	}
	for (uint64_t i = 0; names && i < runs->n; i++) {
		const struct run *run;

		if (class_of[i] == HPDSL_NO_LABEL)
			continue;
		run = runs->v + class_of[i];
		hp_class_number(run->name, run->len, &class_of[i]);
	}
	return names;
}

/* Takes over labels. */
static int set_labels(struct hp_list *list, struct runs *runs,
		      uint32_t **labels, struct hpdsl_error *err)
{
	uint32_t *hp_auto_free class_of = hp_array(runs->n, sizeof *class_of);
	const char **names;
	uint32_t n, values;

	if (!class_of)
		return hp_fail_nomem(err);
	n = rank(runs, class_of);
	values = count_by_value(list, runs->v, n);
	names = values ? names_by_value(list, runs, values, class_of) :
			 copy_names(list, runs->v, n);
	if (!names)
		return hp_fail_nomem(err);
	n = values ? values : n;
	for (uint64_t s = 0; s < list->n_samples; s++)
		(*labels)[s] = class_of[(*labels)[s]];
	free(list->labels);
	free(list->classes);
	list->labels = hp_take(*labels);
	list->classes = names;
	list->n_classes = n;
	return 0;
}

int hp_list_classify(struct hp_list *list, hp_class_fn *name, void *arg,
		     struct hpdsl_error *err)
{
	hp_auto_free uint32_t *labels =
		hp_array(list->n_samples, sizeof *labels);
	struct runs runs = { .v = NULL };
	int r;

	if (!labels)
		return hp_fail_nomem(err);
	r = collect(list, name, arg, &runs, labels, err);
	if (r == 0)
		r = set_labels(list, &runs, &labels, err);
	free(runs.v);
	return r;
}
