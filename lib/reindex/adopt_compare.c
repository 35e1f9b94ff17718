/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopted tars against the index and manifest that were made of them before:
 * by name, since both know them in the order of their names.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "format/names.h"

#include <errno.h>
#include <string.h>

/* A tar as it was. */
struct old {
	const char *name;
	uint64_t bytes;
	const uint8_t *checksum;
	uint64_t first_member, members; /* in the index */
};

static int old_in_index(const struct hp_reindex *x, uint64_t i,
			struct hpdsl_chunk *row, struct old *ret)
{
	if (hp_index_chunk(x->index, (uint32_t)i, row, NULL) < 0)
		return -1;
	*ret = (struct old){ row->name, row->bytes, row->checksum,
			     row->first_member, row->members };
	return 0;
}

static void old_in_manifest(const struct hp_reindex *x, uint64_t i,
			    struct old *ret)
{
	const struct hp_manifest_file *f = &x->manifest.chunks[i];

	*ret = (struct old){ .name = f->name,
			     .bytes = f->bytes,
			     .checksum = f->checksum };
}

/* The first member that is another one now, or NULL. */
static const struct hp_file *first_other(const struct hp_reindex *x,
					 const struct hp_found *c,
					 const struct old *was)
{
	for (uint64_t i = 0; i < c->n && i < was->members; i++) {
		const struct hp_file *f =
			&x->list.files[c->made.first_member + i];
		struct hpdsl_member m;

		if (hp_index_member(x->index, was->first_member + i, &m,
				    NULL) == 0 &&
		    (f->path_len != m.path_len ||
		     memcmp(f->path, m.path, m.path_len) != 0 ||
		     f->size != m.size || f->low64 != m.checksum))
			return f;
	}
	return NULL;
}

/* A tar that is there still; it may lie in another folder. */
static int compare_tar(struct hp_reindex *x, const char *file,
		       const struct hp_found *c, const struct old *was,
		       bool *ret_same, struct hpdsl_error *err)
{
	bool same = was->bytes == c->made.bytes &&
		    memcmp(was->checksum, c->made.checksum,
			   sizeof c->made.checksum) == 0;

	*ret_same &= same && strcmp(was->name, c->made.name) == 0;
	return same ? 0 :
		      hp_reindex_contradicts(x, file, c->made.name,
					     first_other(x, c, was), err);
}

/* Tars were added, removed or renamed: nothing is damaged. */
static const char *anew(const struct hp_reindex *x)
{
	return x->opt->force ? "" : "; it can be made anew";
}

/* n tars as they were, and those that are: both in the order of base names. */
static int compare(struct hp_reindex *x, const char *file, uint64_t n,
		   bool in_index, bool *ret_same, struct hpdsl_error *err)
{
	uint64_t i = 0;
	uint32_t c = 0;
	int r = 0;

	while (r == 0 && (i < n || c < x->n_chunks)) {
		struct hpdsl_chunk row;
		struct old was = { 0 };
		int d = -1;

		if (i == n)
			d = 1;
		else if (!in_index)
			old_in_manifest(x, i, &was);
		else if (old_in_index(x, i, &row, &was) < 0)
			return 0; /* what is damaged says nothing */
		if (i < n && c < x->n_chunks)
			d = strcmp(hp_adopt_base(was.name),
				   hp_adopt_base(x->chunks[c].made.name));
		if (d == 0)
			r = compare_tar(x, file, &x->chunks[c], &was, ret_same,
					err);
		else if (d < 0)
			r = hp_reindex_differs(x, -ENOENT, err,
					       "%s is missing, %s lists it%s",
					       was.name, file, anew(x));
		else
			r = hp_reindex_differs(x, HPDSL_EDIFFERS, err,
					       "%s is not listed in %s%s",
					       x->chunks[c].made.name, file,
					       anew(x));
		*ret_same &= d == 0;
		i += d <= 0;
		c += d >= 0;
	}
	return r;
}

int hp_adopt_compare(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hpdsl_counts n;
	bool same = true;
	int r = 0;

	if (x->index) {
		hp_index_count(x->index, &n);
		r = compare(x, HP_INDEX_NAME, n.chunks, true, &same, err);
	}
	if (r < 0 || !x->has_manifest)
		return r;
	x->manifest_agrees = true;
	return compare(x, HP_MANIFEST_NAME, x->manifest.n_chunks, false,
		       &x->manifest_agrees, err);
}
