/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: where they come from, and whether whole numbers among them keep
 * their value.  A pack that is gone on with keeps the numbers that were.
 */
#include "base/error.h"
#include "base/hash.h"
#include "pack/pack.h"
#include "plan/labels.h"

#include <string.h>

/* Do samples keep the classes that they have in packed inputs? */
static bool keeps_labels(const struct hp_pack *p)
{
	return p->w.opt->labels == HPDSL_LABELS_KEEP &&
	       hp_list_has_classes(&p->w.list);
}

/* More than ten classes that are called their numbers are in no other order. */
static bool tells_by_index(const struct hpdsl_dataset *ds, uint64_t classes)
{
	const char *name;
	uint32_t value;

	for (uint32_t i = 0; i < classes; i++)
		if (hpdsl_class_name(ds, i, &name, NULL) < 0 ||
		    !hp_class_number(name, strlen(name), &value) || value != i)
			return false;
	return classes > 10;
}

/* Have all inputs with classes numbers that are values? */
static bool inputs_by_value(const struct hp_pack *p)
{
	for (size_t i = 0; i < p->w.list.n_roots; i++) {
		const struct hp_root *root = &p->w.list.roots[i];
		struct hpdsl_counts n;

		if (root->kind != HP_ROOT_DATASET)
			continue;
		hpdsl_count(root->dataset, &n);
		if (n.classes && !tells_by_index(root->dataset, n.classes) &&
		    !hp_was_input_option(root, p->w.opt->watch.io,
					 HP_LABEL_NUMBERS,
					 HP_LABEL_NUMBERS_VALUE))
			return false;
	}
	return true;
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

	if (r < 0 || were_lines(p))
		return r;
	return hp_labels_take_table(&p->labels, p->w.opt, err);
}

static bool by_value(const struct hp_pack *p)
{
	if (p->labels.table || hp_labels_of_members(p->w.opt))
		return true;
	if (!p->known.kept)
		return false;
	/* With force a new one may come of it, from what the inputs are now. */
	if (!p->w.opt->force && goes_on(p, "keep"))
		return hp_was_option(&p->was, HP_LABEL_NUMBERS);
	return inputs_by_value(p);
}

int hp_pack_labels(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->w.opt;

	p->known.kept = keeps_labels(p);
	p->known.by_value = p->w.list.by_value = by_value(p);
	if (p->known.kept)
		return hp_list_keep_labels(&p->w.list, err);
	if (opt->labels == HPDSL_LABELS_FILE) {
		p->known.checksum = p->labels.checksum;
		return hp_labels_by_file(&p->w.list, &p->labels, opt, err);
	}
	if (hp_labels_of_members(opt))
		return hp_pack_labels_of_members(p, err);
	return hp_labels_by_folder(&p->w.list, opt, err);
}
