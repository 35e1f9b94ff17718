/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of a directory are chunks: those with names of ours, numbered
 * without gaps.  Where there are none but other tars, these are adopted.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "sys/dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct names {
	/* Chunks: twice the number, and one more if it is compressed. */
	uint32_t *v;
	size_t n;
	uint64_t others; /* other tar files */
	char first[256]; /* of these */
};

static void note_other(struct names *found, const char *name)
{
	size_t n = strlen(name);

	if (name[0] == '.' || n < 5 || strcmp(name + n - 4, ".tar") != 0)
		return;
	if (!found->others++ || strcmp(name, found->first) < 0)
		snprintf(found->first, sizeof found->first, "%s", name);
}

static int note_name(void *arg, const char *name)
{
	struct names *found = arg;
	int64_t number = hp_chunk_number(name);
	uint32_t *more;

	if (number < 0) {
		note_other(found, name);
		return 0;
	}
	more = hp_more(found->v, found->n, sizeof *more);
	if (!more)
		return -ENOMEM;
	found->v = more;
	found->v[found->n++] =
		2 * (uint32_t)number + hp_chunk_name_is_zst(name);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int missing(uint32_t number, struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];

	hp_chunk_name(number, name);
	if (number == 0)
		return hp_fail(err, HPDSL_ENOTOURS, "not a dataset (no %s)",
			       name);
	return hp_fail(err, -ENOENT, "%s is missing", name);
}

/* Chunks are numbered from 0 without gaps, each there in one form. */
static int check_numbers(const struct names *found, struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];

	for (uint32_t i = 0; i < found->n; i++) {
		if (i && found->v[i] / 2 == found->v[i - 1] / 2) {
			hp_chunk_name(found->v[i] / 2, name);
			return hp_fail(err, -EEXIST,
				       "both %s and %s.zst are there: remove "
				       "the one that is not wanted",
				       name, name);
		}
		if (found->v[i] / 2 != i)
			return missing(i, err);
	}
	return found->n ? 0 : missing(0, err);
}

static int make_chunks(struct hp_reindex *x, const struct names *found,
		       struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];
	int r = check_numbers(found, err);

	if (r == 0)
		r = hp_reindex_chunks(x, found->n, err);
	for (uint32_t i = 0; i < found->n && r == 0; i++) {
		x->chunks[i].made.compressed = found->v[i] % 2;
		hp_chunk_name_of(i, x->chunks[i].made.compressed, name);
		x->chunks[i].made.name =
			hp_arena_add(x->names, name, strlen(name));
		if (!x->chunks[i].made.name)
			r = hp_fail_nomem(err);
	}
	return r;
}

static int take(struct hp_reindex *x, struct names *found,
		struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];

	if (!found->n && !x->has_manifest && !x->index)
		return hp_adopt_find(x, err);
	if (found->n)
		qsort(found->v, found->n, sizeof *found->v, by_number);
	if (found->n && found->others)
		hp_meter_warn(
			&x->meter,
			"%" PRIu64 " tar file%s beside the chunks %s "
			"passed over, first %s",
			found->others, found->others == 1 ? "" : "s",
			found->others == 1 ? "is" : "are",
			hp_printable(found->first, strlen(found->first), text));
	return make_chunks(x, found, err);
}

int hp_reindex_find(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct names found = { 0 };
	int r;

	if (hp_adopt_wanted(x))
		return hp_adopt_find(x, err);
	r = hp_listdir(x->io, x->dir, note_name, &found);
	if (r < 0)
		r = hp_fail_errno(err, r, "cannot be listed");
	else
		r = take(x, &found, err);
	free(found.v);
	return r;
}
