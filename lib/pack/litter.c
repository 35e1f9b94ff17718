/* SPDX-License-Identifier: Apache-2.0 */
/* Is litter left out, and what does the manifest say of it? */
#include "pack/pack.h"

#include "dataset/dataset.h"
#include "plan/lost.h"

void hp_pack_litter(struct hp_pack *p)
{
	enum hpdsl_litter_how *how = &p->opt.litter;

	/* Who names files means them. */
	if (p->opt.list && *how == HPDSL_LITTER_LEAVE)
		*how = HPDSL_LITTER_OLD;
	if (p->was.options.n && !hp_was_option(&p->was, HP_LITTER))
		*how = HPDSL_LITTER_OLD;
}

static int leaves_litter(const struct hp_pack *p, const struct hp_root *root,
			 bool *ret, struct hpdsl_error *err)
{
	enum hpdsl_litter_how how = HPDSL_LITTER_OLD;
	struct hp_was is;
	int r = hp_was_input(&is, root, p->w.opt->watch.io, err);

	if (r < 0)
		return r;
	r = hp_lost_litter(root->dataset->index,
			   hp_was_lost_option(&is, HP_LITTER), &how, err);
	*ret = how == HPDSL_LITTER_LEAVE;
	hp_was_close(&is);
	return r;
}

int hp_pack_litter_of_inputs(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;
	bool leaves = true;
	int r = 0;

	/* What was begun is decided. */
	if (p->was.options.n)
		return 0;
	for (size_t i = 0; i < list->n_roots; i++)
		if (list->roots[i].kind != HP_ROOT_DATASET)
			return 0;
	for (size_t i = 0; i < list->n_roots && r == 0 && leaves; i++)
		r = leaves_litter(p, &list->roots[i], &leaves, err);
	/* So is that, whatever is asked for. */
	if (r == 0)
		p->opt.litter = leaves ? HPDSL_LITTER_LEAVE : HPDSL_LITTER_OLD;
	return r;
}
