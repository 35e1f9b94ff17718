/* SPDX-License-Identifier: Apache-2.0 */
/* Is litter left out, and what does the manifest say of it? */
#include "pack/pack.h"

#include "base/error.h"
#include "base/litter.h"
#include "base/twins.h"
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

/* ---- Datasets beside others ------------------------------------------- */

/* The row of a file that a dataset has; -1: it is none, or of no dataset. */
static int row_of(const struct hp_list *list, const struct hp_file *f)
{
	const struct hp_root *root = &list->roots[f->root];

	return root->kind == HP_ROOT_DATASET ?
		       hp_litter_path(f->path + root->prefix_len,
				      f->path_len - root->prefix_len, false) :
		       -1;
}

/* For all that is called ._X: is X there? */
static int look_beside(const struct hp_list *list, struct hp_twins *twins,
		       struct hpdsl_error *err)
{
	int r = 0;

	for (uint64_t i = 0; i < list->n_files && r == 0; i++) {
		const struct hp_file *f = &list->files[i];

		if (row_of(list, f) == HPDSL_LITTER_TWIN)
			r = hp_twins_ask(twins, f->path, f->path_len);
	}
	for (uint64_t i = 0; i < list->n_files && r == 0 && twins->asked.n; i++)
		r = hp_twins_see(twins, list->files[i].path,
				 list->files[i].path_len);
	return r < 0 ? hp_fail_nomem(err) : 0;
}

/*
 * The manifest says of all files whether litter was left out, and who compares
 * with a source goes by it: it cannot be so of some inputs alone.
 */
static int refuse_litter(const struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;
	struct hp_twins twins = { .last = NULL };
	char name[HP_PRINTABLE];
	int r = look_beside(list, &twins, err);

	for (uint64_t i = 0; i < list->n_files && r == 0; i++) {
		const struct hp_file *f = &list->files[i];
		int row = row_of(list, f);

		if (row < 0 || (row == HPDSL_LITTER_TWIN &&
				!hp_twins_has(&twins, f->path, f->path_len)))
			continue;
		r = hp_fail(err, HPDSL_EUSAGE,
			    "%s: has kept its litter, as '%s', and that of "
			    "other inputs is left out: it is one or the other",
			    list->roots[f->root].name,
			    hp_printable(f->path, f->path_len, name));
	}
	hp_twins_release(&twins);
	return r;
}

int hp_pack_litter_of_inputs(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->w.opt;
	const struct hp_list *list = &p->w.list;
	bool leaves = true;
	size_t others = 0;
	int r = 0;

	/* What was begun is decided. */
	if (p->was.options.n)
		return 0;
	for (size_t i = 0; i < list->n_roots; i++)
		others += list->roots[i].kind != HP_ROOT_DATASET;
	/* What an include pattern matches is kept, in whatever it is. */
	if (others && others < list->n_roots && !opt->n_include &&
	    opt->litter == HPDSL_LITTER_LEAVE)
		return refuse_litter(p, err);
	if (others)
		return 0;
	for (size_t i = 0; i < list->n_roots && r == 0 && leaves; i++)
		r = leaves_litter(p, &list->roots[i], &leaves, err);
	/* So is that, whatever is asked for. */
	if (r == 0)
		p->opt.litter = leaves ? HPDSL_LITTER_LEAVE : HPDSL_LITTER_OLD;
	return r;
}
