/* SPDX-License-Identifier: Apache-2.0 */
/* Is litter left out, and what does the manifest say of it? */
#include "pack/pack.h"

#include "base/litter.h"

void hp_pack_litter(struct hp_pack *p)
{
	enum hpdsl_litter_how *how = &p->opt.litter;

	/* Who names files means them. */
	if (p->opt.list && *how == HPDSL_LITTER_LEAVE)
		*how = HPDSL_LITTER_OLD;
	if (p->was.options.n && !hp_was_option(&p->was, HP_LITTER))
		*how = HPDSL_LITTER_OLD;
}

void hp_pack_litter_of_inputs(struct hp_pack *p)
{
	const struct hp_list *list = &p->w.list;
	bool all = true, old = false;

	for (size_t i = 0; i < list->n_roots && all; i++) {
		const struct hp_root *root = &list->roots[i];

		all = root->kind == HP_ROOT_DATASET;
		old = old || (all && !hp_was_input_option(
					     root, p->w.opt->watch.io,
					     HP_LITTER, HP_LITTER_VERSION));
	}
	/* That is decided, whatever is asked for; so is what was begun. */
	if (all && !p->was.options.n)
		p->opt.litter = old ? HPDSL_LITTER_OLD : HPDSL_LITTER_LEAVE;
}
