/* SPDX-License-Identifier: Apache-2.0 */
/* The side files of a manifest, over memory. */
#include "stage/sides.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/sha256sums.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ------------------------------------------------------------ */

void hp_side_row_name(const struct hp_side_row *r, char ret[HP_SIDE_NAME])
{
	if (r->kind == HP_SIDE_SUMS)
		strcpy(ret, HP_SHA256SUMS_NAME);
	else
		hp_side_name((enum hp_side_file)r->kind, r->chunk, ret);
}

/* Is it a name that the page has, in its folder or in none? */
static bool is_known(const char *name)
{
	size_t n = strlen(HP_SIDE_FOLDER);

	if (strncmp(name, HP_SIDE_FOLDER, n) == 0 && name[n] == '/')
		return hp_side_is_name(name + n + 1, true);
	return !strchr(name, '/') && hp_side_is_name(name, false);
}

bool hp_side_read(const char *name, uint64_t chunks, uint8_t *ret_kind,
		  uint32_t *ret_chunk)
{
	int64_t chunk;

	if (!is_known(name))
		return false;
	chunk = hp_side_chunk(name);
	if (chunk >= 0 && (uint64_t)chunk >= chunks)
		return false;
	for (uint8_t kind = 0; kind <= HP_SIDE_SUMS; kind++) {
		struct hp_side_row r = { .kind = kind };
		char is[HP_SIDE_NAME];

		if (chunk >= 0)
			r.chunk = (uint32_t)chunk;
		hp_side_row_name(&r, is);
		if (hp_side_row_of_chunk(&r) != (chunk >= 0) ||
		    strcmp(is, name) != 0)
			continue;
		*ret_kind = kind;
		*ret_chunk = r.chunk;
		return true;
	}
	return false;
}

/* ---- Rows ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct hp_side_row *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* A name that is listed twice counts once. */
static void sort(struct hp_sides *s)
{
	uint32_t n = 0;

	qsort(s->row, s->n, sizeof *s->row, compare);
	for (uint32_t i = 0; i < s->n; i++)
		if (!n || compare(&s->row[n - 1], &s->row[i]) != 0)
			s->row[n++] = s->row[i];
	s->n = n;
}

/* Where a chunk is expanded, or has a name of another kind at the origin. */
static bool has_other_chunks(const struct hp_manifest *m, bool keep_compressed)
{
	for (size_t i = 0; i < m->n_chunks; i++)
		if (m->chunks[i].compressed && !keep_compressed)
			return true;
	return m->adopted;
}

int hp_sides_new(const struct hp_manifest *m, bool keep_compressed,
		 void (*other)(void *arg, const char *name), void *arg,
		 struct hp_sides *ret, struct hpdsl_error *err)
{
	struct hp_sides s = {
		.row = hp_array(m->n_files, sizeof *s.row),
		.other_chunks = has_other_chunks(m, keep_compressed),
	};

	if (!s.row)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < m->n_files; i++) {
		const struct hp_manifest_file *f = &m->files[i];
		struct hp_side_row *r = &s.row[s.n];

		*r = (struct hp_side_row){ .bytes = f->bytes };
		memcpy(r->checksum, f->checksum, sizeof r->checksum);
		if (hp_side_read(f->name, m->n_chunks, &r->kind, &r->chunk))
			s.n++;
		else if (other)
			other(arg, f->name);
	}
	sort(&s);
	*ret = s;
	return 0;
}

int hp_sides_all(uint32_t chunks, struct hp_sides *ret, struct hpdsl_error *err)
{
	const uint32_t of_chunk = HP_SIDE_ENERGON + 1;
	const uint32_t rest = HP_SIDE_SUMS + 1 - of_chunk;
	uint64_t all = (uint64_t)of_chunk * chunks + rest;
	struct hp_sides s = { .row = hp_array(all, sizeof *s.row) };

	if (!s.row)
		return hp_fail_nomem(err);
	for (uint8_t kind = 0; kind <= HP_SIDE_SUMS; kind++) {
		struct hp_side_row r = { .kind = kind };
		uint32_t n = hp_side_row_of_chunk(&r) ? chunks : 1;

		for (; r.chunk < n; r.chunk++)
			s.row[s.n++] = r;
	}
	*ret = s;
	return 0;
}

void hp_sides_release(struct hp_sides *s)
{
	free(s->row);
	s->row = NULL;
	s->n = 0;
}

bool hp_sides_in_folder(const struct hp_sides *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->row[i].kind >= HP_SIDE_ENERGON_INFO &&
		    s->row[i].kind <= HP_SIDE_ENERGON_DATASET)
			return true;
	return false;
}

/* a + b, or the most there is: what has no room anyhow. */
static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t hp_sides_weigh(const struct hp_sides *s, uint64_t *add)
{
	uint64_t whole = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct hp_side_row *r = &s->row[i];

		if (!hp_side_row_of_chunk(r) &&
		    !(r->kind == HP_SIDE_SUMS && s->other_chunks))
			whole = plus(whole, r->bytes);
		else if (add && hp_side_row_of_chunk(r))
			add[r->chunk] = plus(add[r->chunk], r->bytes);
	}
	return whole;
}

struct hp_side_row *hp_sides_find(const struct hp_sides *s, const char *name,
				  uint64_t chunks)
{
	struct hp_side_row key = { .bytes = 0 };

	if (!s->n || !hp_side_read(name, chunks, &key.kind, &key.chunk))
		return NULL;
	return bsearch(&key, s->row, s->n, sizeof *s->row, compare);
}
