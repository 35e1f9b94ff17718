/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: where they come from, and whether whole numbers among them keep
 * their value.  A pack that is gone on with keeps the numbers that were.
 */
#include "base/error.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "pack/pack.h"
#include "plan/labels.h"
#include "plan/lost.h"

#include <string.h>

/* Do samples keep the classes that they have in packed inputs? */
static bool keeps_labels(const struct hp_pack *p)
{
	return p->w.opt->labels == HPDSL_LABELS_KEEP &&
	       hp_list_has_classes(&p->w.list);
}

static int input_by_value(const struct hp_pack *p, const struct hp_root *root,
			  bool *ret, struct hpdsl_error *err)
{
	struct hp_was is;
	int r = hp_was_input(&is, root, p->w.opt->watch.io, err);

	if (r < 0)
		return r;
	*ret = hp_lost_by_value(root->dataset->index,
				hp_was_lost_option(&is, HP_LABEL_NUMBERS));
	hp_was_close(&is);
	return 0;
}

/* Have all inputs with classes numbers that are values? */
static int inputs_by_value(const struct hp_pack *p, bool *ret,
			   struct hpdsl_error *err)
{
	int r = 0;

	*ret = true;
	for (size_t i = 0; i < p->w.list.n_roots && r == 0 && *ret; i++) {
		const struct hp_root *root = &p->w.list.roots[i];
		struct hpdsl_counts n;

		if (root->kind != HP_ROOT_DATASET)
			continue;
		hpdsl_count(root->dataset, &n);
		if (n.classes)
			r = input_by_value(p, root, ret, err);
	}
	return r;
}

/*
 * Is labels what it was in the pack that is gone on with?  Else that one does
 * not matter: it is refused, or replaced.
 */
static bool goes_on(const struct hp_pack *p, const char *labels)
{
	const char *was = hp_was_option(&p->was, "labels");

	return was && strcmp(was, labels) == 0;
}

/* Of old a file was lines, whatever its name.  This very file? */
static bool were_lines(const struct hp_pack *p)
{
	const char *was = hp_was_option(&p->was, "labels_xxh3_128");
	char is[33];

	hp_hex128(p->labels.checksum, is);
	return goes_on(p, "file") && was && !strcmp(was, is) &&
	       !hp_was_option(&p->was, HP_LABEL_NUMBERS);
}

int hp_pack_labels_read(struct hp_pack *p, struct hpdsl_error *err)
{
	int r = hp_labels_read(&p->labels, p->w.io, p->w.opt, err);

	if (r == 0)
		r = hp_pack_own_table(p, goes_on(p, "file") && !p->w.opt->force,
				      err);
	if (r < 0 || were_lines(p))
		return r;
	return hp_labels_take_table(&p->labels, p->w.opt, err);
}

static int by_value(const struct hp_pack *p, bool *ret, struct hpdsl_error *err)
{
	*ret = p->labels.table || hp_labels_of_members(p->w.opt);
	if (*ret || !p->known.kept)
		return 0;
	/* With force a new one may come of it, from what the inputs are now. */
	if (p->w.opt->force || !goes_on(p, "keep"))
		return inputs_by_value(p, ret, err);
	*ret = hp_was_option(&p->was, HP_LABEL_NUMBERS);
	return 0;
}

int hp_pack_labels(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->w.opt;
	int r;

	p->known.kept = keeps_labels(p);
	r = by_value(p, &p->known.by_value, err);
	if (r < 0)
		return r;
	p->w.list.by_value = p->known.by_value;
	if (p->known.kept) {
		r = hp_list_keep_labels(&p->w.list, err);
		if (r == 0)
			hp_labels_tell_kept(opt, &p->w.list);
		return r;
	}
	if (opt->labels == HPDSL_LABELS_FILE) {
		p->known.checksum = p->labels.checksum;
		return hp_labels_by_file(&p->w.list, &p->labels, opt, err);
	}
	if (hp_labels_of_members(opt))
		return hp_pack_labels_of_members(p, err);
	return hp_labels_by_folder(&p->w.list, opt, err);
}
