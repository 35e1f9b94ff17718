/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows to keep: of the index as it was opened, with strings of their own.  For
 * whoever reads contents and needs names and sizes that surely belong to them.
 */
#include "dataset.h"

#include "error.h"
#include "index_copy.h"
#include "mem.h"

#include <string.h>

/* What is wanted: members first .. first + n - 1 of a sample. */
struct wanted {
	struct hp_index_copy *c;
	uint64_t sample, first, n;
};

/* Behind the struct: the members, then the key, then their paths. */
static int measure(const struct wanted *w, const struct hpdsl_sample *s,
		   uint64_t *ret, struct hpdsl_error *err)
{
	uint64_t sum = sizeof(struct hpdsl_rows) + s->key_len + 1;
	struct hpdsl_member m;

	for (uint64_t i = 0; i < w->n; i++) {
		int r = hp_index_member(&w->c->ix, w->first + i, &m, err);

		if (r < 0)
			return r;
		sum += sizeof m + m.path_len + 1;
	}
	*ret = sum;
	return 0;
}

/* n bytes, and a NUL that need not be there. */
static const char *put(char **at, const char *s, size_t n)
{
	char *to = *at;

	memcpy(to, s, n);
	to[n] = '\0';
	*at += n + 1;
	return to;
}

/* All of this was looked at before, and is the same as then, or an error. */
static int fill(const struct wanted *w, struct hpdsl_rows *rows, uint64_t bytes,
		struct hpdsl_error *err)
{
	struct hpdsl_member *m = (struct hpdsl_member *)(rows + 1);
	char *at = (char *)(m + w->n), *end = (char *)rows + bytes;
	const struct hp_index *ix = &w->c->ix;
	int r = hp_index_sample(ix, w->sample, &rows->sample, err);

	if (r < 0)
		return r;
	rows->member = m;
	rows->n = w->n;
	rows->sample.key = put(&at, rows->sample.key, rows->sample.key_len);
	for (uint64_t i = 0; i < w->n; i++) {
		r = hp_index_member(ix, w->first + i, &m[i], err);
		if (r == 0 && m[i].path_len >= (size_t)(end - at))
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "%s: changed while it was read", ix->name);
		if (r < 0)
			return r;
		m[i].path = put(&at, m[i].path, m[i].path_len);
	}
	return 0;
}

static int make(const struct wanted *w, struct hpdsl_rows **ret,
		struct hpdsl_error *err)
{
	hp_auto_free struct hpdsl_rows *rows = NULL;
	struct hpdsl_sample s;
	uint64_t bytes = 0;
	int r = hp_index_sample(&w->c->ix, w->sample, &s, err);

	if (r == 0)
		r = measure(w, &s, &bytes, err);
	if (r < 0)
		return r;
	rows = hp_array(bytes, 1);
	if (!rows)
		return hp_fail_nomem(err);
	r = fill(w, rows, bytes, err);
	if (r == 0)
		*ret = hp_take(rows);
	return r;
}

static int of_member(struct hp_index_copy *c, uint64_t number,
		     struct hpdsl_rows **ret, struct hpdsl_error *err)
{
	struct hpdsl_member m;
	int r = hp_index_member(&c->ix, number, &m, err);

	if (r < 0)
		return r;
	return make(&(struct wanted){ c, m.sample, number, 1 }, ret, err);
}

int hpdsl_sample_rows(const struct hpdsl_dataset *ds, uint64_t number,
		      struct hpdsl_rows **ret, struct hpdsl_error *err)
{
	struct hpdsl_sample s;
	hp_auto_index_copy c;
	int r;

	hp_index_copy_begin(&c, ds->index, false);
	r = hp_index_sample(&c.ix, number, &s, err);
	if (r == 0)
		r = make(&(struct wanted){ &c, number, s.first_member,
					   s.members },
			 ret, err);
	return hp_dataset_blame(ds, r, err);
}

int hpdsl_member_rows(const struct hpdsl_dataset *ds, uint64_t number,
		      struct hpdsl_rows **ret, struct hpdsl_error *err)
{
	hp_auto_index_copy c;

	hp_index_copy_begin(&c, ds->index, false);
	return hp_dataset_blame(ds, of_member(&c, number, ret, err), err);
}

int hpdsl_path_rows(const struct hpdsl_dataset *ds, const char *path,
		    size_t path_len, struct hpdsl_rows **ret,
		    struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	uint64_t number;
	int r;

	hp_index_copy_begin(&c, ds->index, false);
	r = hp_index_find(&c.ix, path, path_len, &number, err);
	if (r == 0)
		r = of_member(&c, number, ret, err);
	return hp_dataset_blame(ds, r, err);
}

void hpdsl_rows_free(struct hpdsl_rows *rows)
{
	free(rows);
}
