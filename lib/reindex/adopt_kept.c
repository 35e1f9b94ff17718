/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes that adopted samples have in the old index.  Paths may repeat in
 * several tars, and with force tars come and go: a member is known by the name
 * of its tar and its path, else, as one that was moved, by path and content.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Members of one path in the old index that are looked at, at most: shards that
 * all begin to count at 0 may have one in each. */
enum { ROWS_MOST = 16 };

struct keeping {
	struct hp_reindex *x;
	/* The old tar of each, by its name; .name NULL: there was none. */
	struct hpdsl_chunk *was;
};

/* ---- Which tar was which ---------------------------------------------- */

/* Both are in the order of base names, which differ among each. */
static void find_tars(struct keeping *k)
{
	const struct hp_reindex *x = k->x;
	struct hpdsl_counts n;
	uint64_t i = 0;
	uint32_t c = 0;

	hp_index_count(x->index, &n);
	while (i < n.chunks && c < x->n_chunks) {
		struct hpdsl_chunk row;
		int d;

		if (hp_index_chunk(x->index, (uint32_t)i, &row, NULL) < 0)
			return;
		d = strcmp(hp_adopt_base(row.name),
			   hp_adopt_base(x->chunks[c].made.name));
		if (d == 0)
			k->was[c] = row;
		i += d <= 0;
		c += d >= 0;
	}
}

/* ---- Its old row ------------------------------------------------------ */

/* The first of its path from number from on. */
static int find_row(const struct keeping *k, const struct hp_file *f,
		    uint64_t from, struct hpdsl_member *m)
{
	const struct hp_index *ix = k->x->index;
	uint64_t number;
	int r = from ? hp_index_next(ix, f->path, f->path_len, from - 1,
				     &number, NULL) :
		       hp_index_find(ix, f->path, f->path_len, &number, NULL);

	return r < 0 ? r : hp_index_member(ix, number, m, NULL);
}

/* The label of this row joins the class of its sample. */
static int take(const struct keeping *k, const struct hp_file *f,
		const struct hpdsl_member *m, struct hp_class *is,
		uint32_t *label, struct hpdsl_error *err)
{
	uint32_t was;

	if (!hp_reindex_old_label(k->x, m, &was))
		return hp_adopt_labels_lost(err);
	if (was == HPDSL_NO_LABEL)
		return 0;
	*label = was;
	return hp_class_keep(is, k->x->list.classes[was], f,
			     "; they have to be given again", err);
}

/* As one that was in another tar: all such have to agree. */
static int take_moved(const struct keeping *k, const struct hp_file *f,
		      struct hp_class *is, uint32_t *label, bool *ret_found,
		      struct hpdsl_error *err)
{
	struct hpdsl_member m = { .number = 0 };
	uint64_t from = 0;

	for (int i = 0; i < ROWS_MOST; i++) {
		int r = find_row(k, f, from, &m);

		if (r == -ENOENT)
			return 0;
		if (r < 0)
			return hp_adopt_labels_lost(err);
		from = m.number + 1;
		if (m.size != f->size || m.checksum != f->low64)
			continue;
		*ret_found = true;
		r = take(k, f, &m, is, label, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of tar c. */
static int take_file(const struct keeping *k, uint32_t c,
		     const struct hp_file *f, struct hp_class *is,
		     uint32_t *label, bool *ret_found, struct hpdsl_error *err)
{
	const struct hpdsl_chunk *was = &k->was[c];
	struct hpdsl_member m;
	int r = was->name ? find_row(k, f, was->first_member, &m) : -ENOENT;

	if (r == -ENOENT || (r == 0 && m.chunk != was->number))
		return take_moved(k, f, is, label, ret_found, err);
	if (r < 0)
		return hp_adopt_labels_lost(err);
	*ret_found = true;
	return take(k, f, &m, is, label, err);
}

/* ---- All -------------------------------------------------------------- */

/* *ret_without counts those of which nothing was there. */
static int keep_tar(const struct keeping *k, uint32_t c, uint64_t *ret_without,
		    struct hpdsl_error *err)
{
	struct hp_list *list = &k->x->list;
	uint64_t s = k->x->chunks[c].made.first_sample;
	uint64_t end = c + 1 < k->x->n_chunks ?
			       k->x->chunks[c + 1].made.first_sample :
			       list->n_samples;
	int r = 0;

	for (; r == 0 && s < end; s++) {
		struct hp_class is = { .name = NULL };
		bool found = false;

		for (uint64_t i = list->samples[s];
		     r == 0 && i < list->samples[s + 1]; i++)
			r = take_file(k, c, &list->files[i], &is,
				      &list->labels[s], &found, err);
		*ret_without += !found;
	}
	return r;
}

int hp_adopt_labels_lost(struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_EUSAGE,
		       "its classes were in the index, which is lost; they "
		       "have to be given again");
}

int hp_adopt_keep_labels(struct hp_reindex *x, struct hpdsl_error *err)
{
	hp_auto_free struct hpdsl_chunk *was = NULL;
	struct keeping k = { .x = x };
	uint64_t without = 0;
	int r = 0;

	if (!x->index && !x->has_manifest)
		return 0;
	if (!hp_reindex_take_classes(x))
		return hp_adopt_labels_lost(err);
	if (!x->list.n_classes)
		return 0;
	was = k.was = calloc(x->n_chunks, sizeof *was);
	if (!was)
		return hp_fail_nomem(err);
	find_tars(&k);
	for (uint32_t c = 0; r == 0 && c < x->n_chunks; c++)
		r = keep_tar(&k, c, &without, err);
	if (r == 0 && without)
		hp_reindex_warn(x,
				"%" PRIu64 " sample%s in no index before, and "
				"without a class",
				without, without == 1 ? " was" : "s were");
	return r;
}
