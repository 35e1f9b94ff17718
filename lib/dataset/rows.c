/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows to keep: of the index as it was opened, with strings of their own.  For
 * whoever reads contents and needs names and sizes that surely belong to them.
 */
#include "dataset/dataset.h"

#include "base/error.h"
#include "base/mem.h"
#include "index/beside.h"
#include "index/copy.h"

#include <errno.h>
#include <string.h>

/* Rows, and behind them their members and strings, which are said by where they
 * begin: all of it moves as it grows. */
struct build {
	const struct hp_index *ix;
	char *p;
	size_t used, room;
	size_t n; /* rows that are made */
};

/* What is wanted: members first .. first + n - 1 of a sample. */
struct wanted {
	uint64_t sample, first, n;
};

/* Room for bytes behind what there is, as for any object. */
static int grow(struct build *b, size_t bytes, size_t *ret,
		struct hpdsl_error *err)
{
	size_t at = (b->used + 7) & ~(size_t)7, end, room;
	char *p;

	if (__builtin_add_overflow(at, bytes, &end) || end > SIZE_MAX / 2)
		return hp_fail_nomem(err);
	if (end > b->room) {
		room = end > 2 * b->room ? end : 2 * b->room;
		p = realloc(b->p, room);
		if (!p)
			return hp_fail_nomem(err);
		b->p = p;
		b->room = room;
	}
	b->used = end;
	*ret = at;
	return 0;
}

/* n bytes, and a NUL that need not be there. */
static int put(struct build *b, const char *s, size_t n, const char **ret,
	       struct hpdsl_error *err)
{
	size_t at = 0;
	int r = grow(b, n + 1, &at, err);

	if (r < 0)
		return r;
	memcpy(b->p + at, s, n);
	b->p[at + n] = '\0';
	*ret = (const char *)(uintptr_t)at;
	return 0;
}

static int add_members(struct build *b, const struct wanted *w, size_t at,
		       struct hpdsl_error *err)
{
	struct hpdsl_member m;

	for (uint64_t i = 0; i < w->n; i++) {
		int r = hp_index_member(b->ix, w->first + i, &m, err);

		if (r == 0)
			r = put(b, m.path, m.path_len, &m.path, err);
		if (r < 0)
			return r;
		memcpy(b->p + at + i * sizeof m, &m, sizeof m);
	}
	return 0;
}

static int add(struct build *b, const struct wanted *w,
	       const struct hpdsl_sample *s, struct hpdsl_error *err)
{
	struct hpdsl_rows rows = { .sample = *s, .n = w->n };
	size_t at = 0, bytes;
	int r = put(b, s->key, s->key_len, &rows.sample.key, err);

	if (r == 0 &&
	    __builtin_mul_overflow(w->n, sizeof(struct hpdsl_member), &bytes))
		r = hp_fail_nomem(err);
	if (r == 0)
		r = grow(b, bytes, &at, err);
	if (r == 0)
		r = add_members(b, w, at, err);
	if (r < 0)
		return r;
	rows.member = (const struct hpdsl_member *)(uintptr_t)at;
	memcpy(b->p + b->n++ * sizeof rows, &rows, sizeof rows);
	return 0;
}

static int add_sample(struct build *b, uint64_t number, struct hpdsl_error *err)
{
	struct hpdsl_sample s;
	int r = hp_index_sample(b->ix, number, &s, err);

	if (r < 0)
		return r;
	return add(b, &(struct wanted){ number, s.first_member, s.members }, &s,
		   err);
}

static int add_member(struct build *b, uint64_t number, struct hpdsl_error *err)
{
	struct hpdsl_sample s;
	struct hpdsl_member m;
	int r = hp_index_place(b->ix, number, &m, err);

	if (r == 0)
		r = hp_index_sample(b->ix, m.sample, &s, err);
	if (r < 0)
		return r;
	return add(b, &(struct wanted){ m.sample, number, 1 }, &s, err);
}

/* It moves no more: pointers instead of places. */
static struct hpdsl_rows *finish(struct build *b)
{
	struct hpdsl_rows *rows = (struct hpdsl_rows *)b->p;

	for (size_t i = 0; i < b->n; i++) {
		struct hpdsl_member *m =
			(struct hpdsl_member *)(b->p +
						(uintptr_t)rows[i].member);

		rows[i].sample.key = b->p + (uintptr_t)rows[i].sample.key;
		rows[i].member = m;
		for (uint64_t k = 0; k < rows[i].n; k++)
			m[k].path = b->p + (uintptr_t)m[k].path;
	}
	return rows;
}

/* What somebody asks for: samples or a member by number, a member by path. */
struct question {
	const uint64_t *sample, *member;
	const char *path;
	size_t path_len;
	size_t n;
};

static int answer(struct build *b, const struct question *q,
		  struct hpdsl_error *err)
{
	size_t at, bytes;
	uint64_t number;
	int r = 0;

	b->n = 0;
	b->used = 0;
	if (__builtin_mul_overflow(q->n, sizeof(struct hpdsl_rows), &bytes))
		return hp_fail_nomem(err);
	r = grow(b, bytes, &at, err);
	for (size_t i = 0; q->sample && i < q->n && r == 0; i++)
		r = add_sample(b, q->sample[i], err);
	if (r == 0 && q->member)
		r = add_member(b, *q->member, err);
	if (r == 0 && q->path) {
		r = hp_index_find(b->ix, q->path, q->path_len, &number, err);
		if (r == 0)
			r = add_member(b, number, err);
	}
	return r;
}

static int ask(const struct hpdsl_dataset *ds, const struct question *q,
	       struct hpdsl_rows **ret, struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	struct build b = { .ix = &c.ix };
	int r;

	hp_index_copy_begin_later(&c, ds->index);
	do
		r = answer(&b, q, err);
	while (hp_index_copy_again(&c, &r, err));
	if (r == 0)
		*ret = finish(&b);
	else
		free(b.p);
	return hp_dataset_blame(ds, r, err);
}

int hpdsl_sample_rows(const struct hpdsl_dataset *ds, uint64_t number,
		      struct hpdsl_rows **ret, struct hpdsl_error *err)
{
	return ask(ds, &(struct question){ .sample = &number, .n = 1 }, ret,
		   err);
}

int hpdsl_samples_rows(const struct hpdsl_dataset *ds, const uint64_t *number,
		       size_t n, struct hpdsl_rows **ret,
		       struct hpdsl_error *err)
{
	return ask(ds, &(struct question){ .sample = number, .n = n }, ret,
		   err);
}

int hpdsl_member_rows(const struct hpdsl_dataset *ds, uint64_t number,
		      struct hpdsl_rows **ret, struct hpdsl_error *err)
{
	return ask(ds, &(struct question){ .member = &number, .n = 1 }, ret,
		   err);
}

int hpdsl_path_rows(const struct hpdsl_dataset *ds, const char *path,
		    size_t path_len, struct hpdsl_rows **ret,
		    struct hpdsl_error *err)
{
	int r = ask(ds,
		    &(struct question){
			    .path = path, .path_len = path_len, .n = 1 },
		    ret, err);

	if (r == -ENOENT)
		hp_index_tell_near(ds->index, path, path_len, err);
	return r;
}

void hpdsl_rows_free(struct hpdsl_rows *rows)
{
	free(rows);
}
