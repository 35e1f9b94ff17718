/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that are wanted by their suffixes: which member that is, and whether
 * there are any.  Who mistypes one would be given samples without bytes.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/near.h"
#include "dataset/dataset.h"
#include "hpdsl/loader.h"
#include "index/copy.h"
#include "load/extent.h"

#include <string.h>

/* Of what follows the key the dot between them belongs to neither. */
static size_t suffix_at(const struct hp_index *ix, const struct hpdsl_member *m)
{
	size_t key = hp_index_key_length(ix, m->path, m->path_len);

	return key < m->path_len ? key + 1 : key;
}

bool hp_load_has_suffix(const struct hp_index *ix, const struct hpdsl_member *m,
			const char *suffix)
{
	const char *want = hp_load_without_dot(suffix);
	size_t at = suffix_at(ix, m), n = strlen(want);

	return n == m->path_len - at && !memcmp(m->path + at, want, n);
}

/* ---- Are there any? --------------------------------------------------- */

struct look {
	const struct hp_index *ix;
	struct hp_load_wanted w;
	bool *seen;	     /* of each that is wanted */
	uint32_t left;	     /* are not */
	struct hp_near near; /* of those that there are */
	bool unsure;	     /* not all samples could be looked at */
};

static void see_member(struct look *k, const struct hpdsl_member *m)
{
	size_t at = suffix_at(k->ix, m);

	for (uint32_t i = 0; i < k->w.n_suffixes; i++)
		if (!k->seen[i] &&
		    hp_load_has_suffix(k->ix, m, k->w.suffixes[i])) {
			k->seen[i] = true;
			k->left--;
		}
	hp_near_add(&k->near, m->path + at, m->path_len - at);
}

/* A sample whose rows are damaged is no proof. */
static void see_sample(struct look *k, const struct hp_index *ix,
		       uint64_t number)
{
	struct hp_sample_row row;
	struct hpdsl_member m;

	if (hp_index_sample_row(ix, number, &row, NULL) < 0) {
		k->unsure = true;
		return;
	}
	for (uint64_t i = row.first; i < row.end && k->left; i++)
		if (hp_index_member(ix, i, &m, NULL) < 0)
			k->unsure = true;
		else
			see_member(k, &m);
}

static int tell(struct look *k, const char *which, struct hpdsl_error *err)
{
	char text[HP_NEAR_TEXT], shown[HP_PRINTABLE];
	const char *want;
	uint32_t i = 0;

	while (k->seen[i])
		i++;
	want = hp_load_without_dot(k->w.suffixes[i]);
	return hp_fail(err, HPDSL_EUSAGE,
		       "suffix '%s': %s has such a member; there are %s",
		       hp_printable(want, strlen(want), shown), which,
		       hp_near_list(&k->near, text));
}

/* Most often the first one has them all. */
static void look(struct look *k, const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice *choice, uint64_t most)
{
	hp_auto_index_copy copy;
	struct hpdsl_counts n;

	hp_index_copy_begin(&copy, ds->index, true);
	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.samples && k->left; i++) {
		if (choice && !hpdsl_choice_has(choice, i))
			continue;
		if (!most--) {
			k->unsure = true;
			return;
		}
		see_sample(k, &copy.ix, i);
	}
}

int hp_load_look(const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice *choice,
		 const struct hp_load_wanted *w, uint64_t most,
		 struct hpdsl_error *err)
{
	hp_auto_free bool *seen = NULL;
	struct look k = { .ix = ds->index, .w = *w, .left = w->n_suffixes };
	const char *want;

	if (!k.left)
		return 0;
	seen = calloc(k.left, sizeof *seen);
	if (!seen)
		return hp_fail_nomem(err);
	k.seen = seen;
	want = hp_load_without_dot(w->suffixes[0]);
	hp_near_begin(&k.near, want, strlen(want));
	look(&k, ds, choice, most);
	if (!k.left || k.unsure || !k.near.n)
		return 0;
	return tell(&k, choice ? "none of the samples chosen" : "no sample",
		    err);
}
