/* SPDX-License-Identifier: Apache-2.0 */
/* Classes from folders, and from the file that is named. */
#include "plan/labels.h"

#include "base/error.h"
#include "plan/labels_table.h"
#include "plan/splits.h"

#include <string.h>

static char comma_of(const struct hpdsl_pack_options *opt)
{
	return hp_labels_comma(opt->label_file);
}

static int check(const struct hpdsl_pack_options *opt, struct hpdsl_error *err)
{
	char name[HP_PRINTABLE];

	if (opt->labels == HPDSL_LABELS_JSON && !opt->label_field)
		return hp_fail(err, HPDSL_EUSAGE, "no field of labels");
	if (opt->labels == HPDSL_LABELS_FILE && !opt->label_file)
		return hp_fail(err, HPDSL_EUSAGE, "no file of labels");
	if (!opt->label_columns)
		return 0;
	if (opt->labels != HPDSL_LABELS_FILE)
		return hp_fail(err, HPDSL_EUSAGE,
			       "label_columns: there is no file of labels");
	if (!comma_of(opt))
		return hp_fail(
			err, HPDSL_EUSAGE,
			"label_columns: %s is no table (.csv, .tsv, .jsonl)",
			hp_printable(opt->label_file, strlen(opt->label_file),
				     name));
	return 0;
}

int hp_labels_read(struct hp_labels_file *f, const struct hp_io *io,
		   const struct hpdsl_pack_options *opt,
		   struct hpdsl_error *err)
{
	int r = check(opt, err);

	return r == 0 && opt->labels == HPDSL_LABELS_FILE ?
		       hp_labels_file_read(f, io, opt->label_file, err) :
		       r;
}

int hp_labels_take_table(struct hp_labels_file *f,
			 const struct hpdsl_pack_options *opt,
			 struct hpdsl_error *err)
{
	char comma = f->name ? comma_of(opt) : '\0';

	return comma ? hp_labels_table_read(f, comma, opt->label_columns, err) :
		       0;
}

int hp_labels_by_file(struct hp_list *list, const struct hp_labels_file *f,
		      const struct hpdsl_pack_options *opt,
		      struct hpdsl_error *err)
{
	struct hp_labels_told told;
	int r = hp_list_label_file(list, f, &told, err);

	if (r == 0) {
		hp_labels_tell_file(opt, f, &told);
		hp_labels_tell_numbers(opt, list, f->table);
	}
	return r;
}

/* Has the first sample a folder in that of its class? */
static bool lies_deeper(const struct hp_list *list)
{
	const struct hp_file *f = &list->files[list->samples[0]];
	const char *slash = memchr(f->path, '/', f->path_len);

	return slash && strchr(slash + 1, '/');
}

/*
 * Folders that nobody asked for by their number, and that are train and val: a
 * pack of hours would have these as classes.  One alone may be meant so.
 */
static int look_for_splits(const struct hp_list *list,
			   const struct hpdsl_pack_options *opt,
			   struct hpdsl_error *err)
{
	char names[HP_SPLITS_TEXT];
	unsigned splits = 0;

	for (uint32_t i = 0; i < list->n_classes; i++)
		splits |=
			hpdsl_split(list->classes[i], strlen(list->classes[i]));
	hp_splits_text(splits, names);
	if (splits & (splits - 1))
		return hp_fail(err, HPDSL_EUSAGE,
			       "the class folders look like splits (%s); "
			       "another folder of the path may name the class",
			       names);
	if (splits && list->n_classes == 1)
		hp_labels_tell_split(opt, names);
	else if (list->n_classes == 1 && lies_deeper(list))
		hp_labels_tell_one(opt, list->classes[0]);
	return 0;
}

int hp_labels_by_folder(struct hp_list *list,
			const struct hpdsl_pack_options *opt,
			struct hpdsl_error *err)
{
	int r = hp_list_label(list, opt->labels,
			      opt->label_dir ? opt->label_dir : 1, err);

	if (r == 0 && opt->labels == HPDSL_LABELS_DIR && !opt->label_dir)
		r = look_for_splits(list, opt, err);
	return r;
}
