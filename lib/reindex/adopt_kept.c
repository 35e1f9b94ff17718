/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes that adopted samples have in the old index.  Paths may repeat in
 * several tars, and with force tars come and go: a tar is known by its content,
 * else by its name, and there a member by its path; a sample that is in none of
 * these is one that was moved if an old one has just its members.
 */
#include "reindex/moved.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_TAR UINT32_MAX

/* The old tar of one that there is. */
struct origin {
	struct hpdsl_chunk was; /* .name NULL: there was none */
	uint32_t other;		/* one of the same content with other classes */
};

struct keeping {
	struct hp_reindex *x;
	struct origin *origins; /* as many as tars */
	struct hp_moved moved;
	bool damaged; /* some of the old tars' rows cannot be read */
};

/* ---- Which tar was which ---------------------------------------------- */

static bool is_same_tar(const struct hpdsl_chunk *a, const uint8_t checksum[16],
			uint64_t bytes)
{
	return a->bytes == bytes && !memcmp(a->checksum, checksum, 16);
}

/* Both are in the order of base names, which differ among each. */
static void find_by_name(struct keeping *k, const struct hpdsl_chunk *old,
			 uint32_t n)
{
	const struct hp_reindex *x = k->x;
	uint32_t i = 0, c = 0;

	while (i < n && c < x->n_chunks) {
		int d = strcmp(hp_adopt_base(old[i].name),
			       hp_adopt_base(x->chunks[c].made.name));

		if (d == 0)
			k->origins[c].was = old[i];
		i += d <= 0;
		c += d >= 0;
	}
}

/* Have the samples of two tars of one content the same classes? */
static bool have_same_classes(const struct keeping *k,
			      const struct hpdsl_chunk *a,
			      const struct hpdsl_chunk *b)
{
	const struct hp_index *ix = k->x->index;
	uint32_t one[256], two[256];

	for (uint64_t i = 0, n; i < a->samples; i += n) {
		n = a->samples - i < 256 ? a->samples - i : 256;
		if (hp_index_labels(ix, a->first_sample + i, n, one, NULL) <
			    0 ||
		    hp_index_labels(ix, b->first_sample + i, n, two, NULL) <
			    0 ||
		    memcmp(one, two, n * sizeof *one) != 0)
			return false;
	}
	return true;
}

/* Each run of equal ones is looked at once: others[its first] says of it
 * whether there is one that has other classes. */
static void find_others(const struct keeping *k, const struct hpdsl_chunk *old,
			const struct hp_hashed *v, uint32_t n, uint32_t *others)
{
	for (uint32_t i = 0, first = 0; i < n; i++) {
		const struct hpdsl_chunk *a, *b = &old[v[i].number];

		others[i] = NO_TAR;
		if (v[i].hash != v[first].hash)
			first = i;
		a = &old[v[first].number];
		if (i != first && is_same_tar(a, b->checksum, b->bytes) &&
		    (a->samples != b->samples || !have_same_classes(k, a, b)))
			others[first] = b->number;
	}
}

/* Whatever their names are now; but one that is as it was by its name is that
 * one. */
static void find_by_content(struct keeping *k, const struct hpdsl_chunk *old,
			    const struct hp_hashed *v, uint32_t n,
			    const uint32_t *others)
{
	for (uint32_t c = 0; c < k->x->n_chunks; c++) {
		const struct hp_chunk_made *is = &k->x->chunks[c].made;
		struct origin *o = &k->origins[c];
		uint64_t hash, i;

		o->other = NO_TAR;
		if (o->was.name &&
		    is_same_tar(&o->was, is->checksum, is->bytes))
			continue;
		memcpy(&hash, is->checksum, sizeof hash);
		i = hp_hashed_first(v, n, hash);
		if (i == n ||
		    !is_same_tar(&old[v[i].number], is->checksum, is->bytes))
			continue;
		o->was = old[v[i].number];
		o->other = others[i];
	}
}

static int find_tars(struct keeping *k, struct hpdsl_error *err)
{
	const struct hp_index *ix = k->x->index;
	hp_auto_free struct hpdsl_chunk *old = NULL;
	hp_auto_free struct hp_hashed *v = NULL;
	hp_auto_free uint32_t *others = NULL;
	struct hpdsl_counts count;
	uint32_t n = 0;

	hp_index_count(ix, &count);
	old = hp_array(count.chunks, sizeof *old);
	v = hp_array(count.chunks, sizeof *v);
	others = hp_array(count.chunks, sizeof *others);
	if (!old || !v || !others)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < count.chunks; i++) {
		if (hp_index_chunk(ix, i, &old[n], NULL) < 0) {
			k->damaged = true;
			continue;
		}
		memcpy(&v[n].hash, old[n].checksum, sizeof v[n].hash);
		v[n].number = n;
		n++;
	}
	find_by_name(k, old, n);
	hp_lookup_sort(v, n);
	find_others(k, old, v, n, others);
	find_by_content(k, old, v, n, others);
	return 0;
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

/* What was is in the class of its sample from now on. */
static int take(const struct keeping *k, const struct hp_file *f, uint32_t was,
		struct hp_class *is, uint32_t *label, struct hpdsl_error *err)
{
	if (was == HPDSL_NO_LABEL)
		return 0;
	*label = was;
	return hp_class_keep(is, k->x->list.classes[was], f,
			     "; they have to be given again", err);
}

/* The same of two that are as good: no class is none that agrees with one. */
static int take_both(const struct keeping *k, const struct hp_file *f,
		     const uint32_t was[2], struct hp_class *is,
		     uint32_t *label, struct hpdsl_error *err)
{
	int r;

	if (was[0] != was[1] &&
	    (was[0] == HPDSL_NO_LABEL || was[1] == HPDSL_NO_LABEL))
		return hp_adopt_labels_lost(err);
	r = take(k, f, was[0], is, label, err);
	return r < 0 ? r : take(k, f, was[1], is, label, err);
}

/* That one's in the other tar of its tar's content. */
static bool label_in_other(const struct keeping *k, const struct origin *o,
			   const struct hpdsl_member *m, uint32_t *ret)
{
	const struct hp_index *ix = k->x->index;
	struct hpdsl_chunk tar;
	struct hpdsl_member same;

	return hp_index_chunk(ix, o->other, &tar, NULL) == 0 &&
	       hp_index_member(
		       ix, tar.first_member + (m->number - o->was.first_member),
		       &same, NULL) == 0 &&
	       hp_reindex_old_label(k->x, &same, ret);
}

/*
 * By its path in the old tar.  *next is the row behind the one before: as a
 * rule it is that one, and no row of the same path in other tars is looked at.
 */
static int take_file(const struct keeping *k, const struct origin *o,
		     const struct hp_file *f, uint64_t *next,
		     struct hp_class *is, uint32_t *label, bool *ret_found,
		     struct hpdsl_error *err)
{
	struct hpdsl_member m;
	uint32_t was[2];
	int r = 0;

	if (hp_index_member(k->x->index, *next, &m, NULL) < 0 ||
	    m.chunk != o->was.number || !hp_moved_path(&m, f))
		r = find_row(k, f, o->was.first_member, &m);
	if (r == -ENOENT || (r == 0 && m.chunk != o->was.number))
		return 0;
	if (r < 0 || !hp_reindex_old_label(k->x, &m, &was[0]))
		return hp_adopt_labels_lost(err);
	*next = m.number + 1;
	*ret_found = true;
	was[1] = was[0];
	if (o->other != NO_TAR && !label_in_other(k, o, &m, &was[1]))
		return hp_adopt_labels_lost(err);
	return take_both(k, f, was, is, label, err);
}

/* As one that was in another tar: all such have to agree. */
static int take_moved(struct keeping *k, uint64_t s, struct hp_class *is,
		      bool *ret_found, struct hpdsl_error *err)
{
	struct hp_list *list = &k->x->list;
	uint32_t was[2];
	int r = hp_moved_find(&k->moved, k->x, s, was, err);

	if (r < 0)
		return r;
	/* It may be one of those that cannot be read. */
	if (r == 0 && (k->damaged || k->moved.damaged))
		return hp_adopt_labels_lost(err);
	*ret_found = r;
	return r ? take_both(k, &list->files[list->samples[s]], was, is,
			     &list->labels[s], err) :
		   0;
}

/* ---- All -------------------------------------------------------------- */

/* *ret_without counts those of which nothing was there. */
static int keep_tar(struct keeping *k, uint32_t c, uint64_t *ret_without,
		    struct hpdsl_error *err)
{
	struct hp_list *list = &k->x->list;
	const struct origin *o = &k->origins[c];
	uint64_t s = k->x->chunks[c].made.first_sample;
	uint64_t end = c + 1 < k->x->n_chunks ?
			       k->x->chunks[c + 1].made.first_sample :
			       list->n_samples;
	uint64_t next = o->was.first_member;
	int r = 0;

	for (; r == 0 && s < end; s++) {
		struct hp_class is = { .name = NULL };
		bool found = false;

		for (uint64_t i = list->samples[s];
		     r == 0 && o->was.name && i < list->samples[s + 1]; i++)
			r = take_file(k, o, &list->files[i], &next, &is,
				      &list->labels[s], &found, err);
		if (r == 0 && !found)
			r = take_moved(k, s, &is, &found, err);
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
	hp_auto_free struct origin *origins = NULL;
	struct keeping k = { .x = x };
	uint64_t without = 0;
	int r = 0;

	if (!x->index && !x->has_manifest)
		return 0;
	if (!hp_reindex_take_classes(x))
		return hp_adopt_labels_lost(err);
	if (!x->list.n_classes)
		return 0;
	origins = k.origins = calloc(x->n_chunks, sizeof *origins);
	if (!origins)
		return hp_fail_nomem(err);
	r = find_tars(&k, err);
	for (uint32_t c = 0; r == 0 && c < x->n_chunks; c++)
		r = keep_tar(&k, c, &without, err);
	free(k.moved.v);
	if (r == 0 && without)
		hp_reindex_warn(x,
				"%" PRIu64 " sample%s in no index before, and "
				"without a class",
				without, without == 1 ? " was" : "s were");
	return r;
}
