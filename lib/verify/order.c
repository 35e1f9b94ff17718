/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the paths.  The seed says where each sample was in the list that
 * was packed, which is sorted by keys, so nearly by paths: where that list
 * turns out to be in order nothing is left to sort, and no key comes twice.
 */
#include "verify/order.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/perm.h"
#include "format/names.h"
#include "plan/list.h"
#include "verify/rules.h"

enum { PIECE = 1024, NEAR = 6, FAR = 12 }; /* samples */

int hp_verify_order_new(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hp_verify_order *o;
	struct hpdsl_counts n;

	if (!v->index || v->opt->quick)
		return 0;
	v->order = o = calloc(1, sizeof *o);
	if (!o)
		return hp_fail_nomem(err);
	hp_index_count(v->index, &n);
	o->members = n.members;
	o->item = hp_array(n.members, sizeof *o->item);
	o->content = hp_array(n.members, sizeof *o->content);
	return o->item && o->content ? 0 : hp_fail_nomem(err);
}

void hp_verify_order_free(struct hp_verify_order *o)
{
	if (!o)
		return;
	free(o->item);
	free(o->content);
	hp_text_release(&o->found);
	free(o);
}

/* ---- As they were packed ---------------------------------------------- */

/* Sets list[i] to the sample that was the i-th of what was packed. */
static void unshuffle(const struct hp_verify *v, uint64_t n, uint64_t *list)
{
	const struct hp_manifest *m = &v->manifest;
	uint64_t to[PIECE];
	struct hp_perm perm;

	if (!v->has_manifest || !m->has_seed || !n ||
	    strcmp(hp_rules_option(v, "shuffle"), "global") != 0) {
		for (uint64_t i = 0; i < n; i++)
			list[i] = i;
		return;
	}
	hp_perm_init(&perm, n, hp_perm_key(m->seed, "pack", NULL, 0));
	for (uint64_t i = 0; i < n; i += PIECE) {
		size_t k = n - i < PIECE ? (size_t)(n - i) : PIECE;

		hp_perm_range(&perm, i, k, to);
		for (size_t j = 0; j < k; j++)
			list[to[j]] = i + j;
	}
}

/* The rows of samples that come soon: they lie all over memory. */
static void fetch(const struct hp_index *ix, const uint64_t *list, uint64_t i,
		  uint64_t n)
{
	struct hp_sample_row row;
	struct hp_rule_row m;

	if (i + 2 * FAR < n)
		hp_index_sample_ahead(ix, list[i + 2 * FAR]);
	if (i + FAR < n &&
	    hp_index_sample_row(ix, list[i + FAR], &row, NULL) == 0)
		hp_index_member_ahead(ix, row.first);
	if (i + NEAR < n &&
	    hp_index_sample_row(ix, list[i + NEAR], &row, NULL) == 0 &&
	    hp_rule_row(ix, row.first, &m, NULL) == 0)
		__builtin_prefetch(m.path.s);
}

/* What of the order turns out to be so. */
struct sorted {
	bool paths, keys;
	struct hp_name path, key; /* the last ones */
};

static int add_sample(struct hp_verify *v, uint64_t sample, struct sorted *is,
		      struct hpdsl_error *err)
{
	struct hp_verify_order *o = v->order;
	struct hp_sample_row row;
	int r = hp_index_sample_row(v->index, sample, &row, err);

	if (r < 0)
		return r;
	/* Rows that were sound and are read again may be other ones now. */
	if (row.end - row.first > o->members - o->n)
		return hp_fail(err, HPDSL_ECHANGED,
			       HP_INDEX_NAME ": changed while it was read");
	for (uint64_t i = row.first; i < row.end; i++) {
		struct hp_rule_row m;

		r = hp_rule_row(v->index, i, &m, err);
		if (r < 0)
			return r;
		is->paths &= hp_name_compare(is->path, m.path) < 0;
		is->path = m.path;
		if (i == row.first && is->keys) {
			struct hp_name key = hp_key_of(v->index, m.path);

			is->keys = hp_name_compare(is->key, key) < 0;
			is->key = key;
		}
		if (!m.generated)
			o->item[o->n++] =
				(struct hp_verify_item){ m.path.s, m.size, i,
							 m.path.len };
	}
	return 0;
}

/* ---- Sorting ---------------------------------------------------------- */

static int sort(struct hp_verify_order *o, struct hpdsl_error *err)
{
	hp_auto_free struct hp_name *names = hp_array(o->n, sizeof *names);
	hp_auto_free uint64_t *order = hp_array(o->n, sizeof *order);
	struct hp_verify_item *sorted;
	int r;

	if (!names || !order)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < o->n; i++)
		names[i] = (struct hp_name){ o->item[i].path,
					     o->item[i].path_len };
	r = hp_names_order(names, o->n, order, err);
	if (r < 0)
		return r;
	free(hp_take(names));
	sorted = hp_array(o->n, sizeof *sorted);
	if (!sorted)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < o->n; i++)
		sorted[i] = o->item[order[i]];
	free(o->item);
	o->item = sorted;
	return 0;
}

/* As far as the list tells; it is given back before anything is sorted. */
static int arrange(struct hp_rules *r, struct sorted *is,
		   struct hpdsl_error *err)
{
	hp_auto_free uint64_t *list = NULL;
	struct hpdsl_counts n;
	int k = 0;

	hp_index_count(r->ix, &n);
	list = hp_array(n.samples, sizeof *list);
	if (!list)
		return hp_fail_nomem(err);
	unshuffle(r->v, n.samples, list);
	for (uint64_t i = 0; i < n.samples && k == 0; i++) {
		fetch(r->ix, list, i, n.samples);
		k = add_sample(r->v, list[i], is, err);
	}
	return k;
}

static int put_in_order(struct hp_rules *r, struct hpdsl_error *err)
{
	struct sorted is = { .paths = true,
			     .keys = r->unique,
			     .path = { "", 0 },
			     .key = { "", 0 } };
	int k = arrange(r, &is, err);

	if (k == 0 && !is.paths)
		k = sort(r->v->order, err);
	if (k == 0 && r->unique && !is.keys)
		k = hp_rules_unique(r, err);
	return k;
}

/* ---- The job ---------------------------------------------------------- */

static void found(void *arg, const char *reason)
{
	struct hp_verify *v = arg;
	struct hpdsl_error text;
	const char *why;

	hp_fail(&text, 0, "%s", reason);
	why = hp_verify_reason(&text, HP_INDEX_NAME);
	hp_text_add(&v->order->found, why, strlen(why) + 1);
}

int hp_verify_rows_tell(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hp_damage_place spot = { HP_INDEX_NAME, UINT64_MAX, NULL };
	const struct hp_text *t;

	if (!v->order)
		return 0;
	t = &v->order->found;
	if (t->failed)
		return hp_fail_nomem(err);
	for (size_t at = 0; at < t->n; at += strlen(t->p + at) + 1)
		hp_verify_tell(v, spot, "%s", t->p + at);
	v->report->damaged_files += t->n > 0;
	return 0;
}

int hp_verify_rows(struct hp_verify *v, struct hpdsl_error *err)
{
	uint32_t flags = hp_index_flags(v->index);
	struct hpdsl_error why, first;
	struct hp_rules r = {
		.v = v,
		.ix = v->index,
		.findings = { .name = HP_INDEX_NAME,
			      .told = found,
			      .arg = v,
			      .err = &first },
		.adopted = flags & HP_INDEX_FOREIGN,
		.packed = v->has_manifest && !v->manifest.rebuilt &&
			  !(flags & HP_INDEX_FOREIGN),
		.cls = !strcmp(hp_rules_option(v, "cls"), "true"),
	};
	int k;

	r.unique = r.packed && !(flags & HP_INDEX_GROUP_NONE);
	hp_rules_plain(&r);
	k = hp_rules_samples(&r, &why);
	if (k == 0)
		k = put_in_order(&r, &why);
	return k < 0 ? hp_fail(err, k, "%s: %s", v->path, why.msg) : 0;
}
