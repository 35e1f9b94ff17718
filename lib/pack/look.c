/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample is, where nobody has said it: from packed inputs and names. */
#include "pack/pack.h"

#include "base/error.h"
#include "dataset/dataset.h"

/* How an input was grouped: by key, if it is no dataset. */
struct rule {
	bool none;
	struct hp_key_rule key;
};

static struct rule rule_of(const struct hp_root *root)
{
	const struct hp_index *ix;

	if (root->kind != HP_ROOT_DATASET)
		return (struct rule){ .none = false };
	ix = root->dataset->index;
	return (struct rule){ hp_index_flags(ix) & HP_INDEX_GROUP_NONE,
			      *hp_index_key_rule(ix) };
}

static const char *how(const struct rule *rule)
{
	return rule->none     ? "each file is a sample" :
	       rule->key.last ? "keys end at the last dot" :
				"keys end at the first dot";
}

static int differ(const struct rule *a, const struct rule *b,
		  struct hpdsl_error *err)
{
	if (a->key.last && b->key.last)
		return hp_fail(
			err, HPDSL_EUSAGE,
			"the inputs differ in their double suffixes; these "
			"have to be said");
	return hp_fail(err, HPDSL_EUSAGE,
		       "in some inputs %s, in others %s; how they are grouped "
		       "has to be said",
		       how(a), how(b));
}

/* The rule that all inputs have. */
static int take_rule(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;
	struct rule first = rule_of(&list->roots[0]);

	for (size_t i = 1; i < list->n_roots; i++) {
		struct rule other = rule_of(&list->roots[i]);

		if (first.none != other.none ||
		    !hp_key_rule_same(&first.key, &other.key))
			return differ(&first, &other, err);
	}
	if (first.none)
		p->opt.group = HPDSL_GROUP_NONE;
	if (first.key.last)
		p->opt.group = HPDSL_GROUP_LAST;
	p->opt.double_suffix = first.key.doubles;
	p->opt.n_double_suffix = first.key.n;
	return 0;
}

/* The suffixes of all inputs that end keys at the last dot, too: what was one
 * there is one here.  Other inputs have none to differ in. */
static int take_doubles(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;
	struct rule first = { .none = false };

	for (size_t i = 0; i < list->n_roots; i++) {
		struct rule other = rule_of(&list->roots[i]);

		if (!other.key.last)
			continue;
		if (first.key.last && !hp_key_rule_same(&first.key, &other.key))
			return differ(&first, &other, err);
		first = other;
	}
	p->opt.double_suffix = first.key.doubles;
	p->opt.n_double_suffix = first.key.n;
	return 0;
}

int hp_pack_group(struct hp_pack *p, struct hpdsl_error *err)
{
	int r = 0;

	if (p->w.list.n_roots && p->opt.group == HPDSL_GROUP_LOOK)
		r = take_rule(p, err);
	else if (p->w.list.n_roots && p->opt.group == HPDSL_GROUP_LAST &&
		 !p->opt.n_double_suffix)
		r = take_doubles(p, err);
	if (r == 0)
		r = hp_list_rule(&p->w.list, p->opt.group, p->opt.double_suffix,
				 p->opt.n_double_suffix, err);
	/* As index and manifest have them. */
	p->opt.double_suffix = p->w.list.key.doubles;
	p->opt.n_double_suffix = p->w.list.key.n;
	return r;
}

/* Who packed an input has seen what its samples are; so has who began this. */
static bool may_refuse(const struct hp_pack *p)
{
	size_t n = 0;

	if (hp_was_option(&p->was, "group"))
		return false;
	while (n < p->w.list.n_roots &&
	       p->w.list.roots[n].kind == HP_ROOT_DATASET)
		n++;
	return n < p->w.list.n_roots;
}

int hp_pack_look(const struct hp_pack *p, struct hpdsl_error *err)
{
	struct hpdsl_group_look *look = &p->w.report->look;
	char text[HPDSL_LOOK_TEXT];
	int r;

	if (p->w.opt->group == HPDSL_GROUP_NONE)
		return 0;
	r = hp_list_look(&p->w.list, look, err);
	if (r < 0 || p->w.opt->group != HPDSL_GROUP_LOOK)
		return r;
	if (look->verdict == HPDSL_LOOK_REFUSE && may_refuse(p)) {
		hp_warn_of_zarr(p);
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s%s; what a sample is has to be said",
			       hpdsl_look_text(look, text),
			       look->last ? HPDSL_LOOK_MENDS : "");
	}
	hp_warn_of_look(p);
	return 0;
}
