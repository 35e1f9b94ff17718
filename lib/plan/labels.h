/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes by every way of opt->labels, for a list that is grouped; what is told
 * of them goes to opt->watch.warn.  Only contents are read by others.
 */
#ifndef HP_LABELS_H
#define HP_LABELS_H

#include "plan/labels_file.h"

/* Are they what members of the samples say? */
static inline bool hp_labels_of_members(const struct hpdsl_pack_options *opt)
{
	return opt->labels == HPDSL_LABELS_CLS ||
	       opt->labels == HPDSL_LABELS_JSON;
}

/*
 * Reads opt->label_file, where that is asked for.  HPDSL_EUSAGE: there is none,
 * or no field, or columns of what is no table; -errno.
 */
int hp_labels_read(struct hp_labels_file *f, const struct hp_io *io,
		   const struct hpdsl_pack_options *opt,
		   struct hpdsl_error *err);
/* If it is called as tables are, it is one: hp_labels_table_read. */
int hp_labels_take_table(struct hp_labels_file *f,
			 const struct hpdsl_pack_options *opt,
			 struct hpdsl_error *err);

/* For a sorted list. */
int hp_labels_by_file(struct hp_list *list, const struct hp_labels_file *f,
		      const struct hpdsl_pack_options *opt,
		      struct hpdsl_error *err);

/*
 * By folders.  HPDSL_EUSAGE: two or more are train, val and the like, and
 * opt->label_dir is 0; of one alone a line says so.
 */
int hp_labels_by_folder(struct hp_list *list,
			const struct hpdsl_pack_options *opt,
			struct hpdsl_error *err);

/* ---- By members ------------------------------------------------------- */

#define HP_LABEL_MEMBER_MAX (1u << 20) /* larger ones say no class */

struct hp_label_member {
	uint64_t file, sample;
};

struct hp_label_members {
	const struct hp_list *list;
	const struct hpdsl_pack_options *opt;
	struct hp_label_member *v; /* n, in the order of the files */
	uint64_t n;
	char **class; /* of each sample, or NULL */
};

/* Which members have to be read: .cls, or .json. */
int hp_label_members_find(struct hp_label_members *m,
			  const struct hp_list *list,
			  const struct hpdsl_pack_options *opt,
			  struct hpdsl_error *err);
/* What is in the one of this sample: n bytes.  Of any thread, once each. */
int hp_label_members_take(const struct hp_label_members *m, uint64_t sample,
			  const char *s, size_t n, struct hpdsl_error *err);
/* All were read.  HPDSL_EUSAGE: there were none, or none gives a class. */
int hp_label_members_give(const struct hp_label_members *m,
			  struct hp_list *list, struct hpdsl_error *err);
void hp_label_members_release(struct hp_label_members *m);

/* ---- What is told ----------------------------------------------------- */

/* The one class there is, called so, looks like a split. */
void hp_labels_tell_split(const struct hpdsl_pack_options *opt,
			  const char *name);
/* It is called otherwise, and has folders, as has what an archive wraps. */
void hp_labels_tell_one(const struct hpdsl_pack_options *opt, const char *name);
/* What a file of labels does not label. */
void hp_labels_tell_file(const struct hpdsl_pack_options *opt,
			 const struct hp_labels_file *f,
			 const struct hp_labels_told *told);
/* Members of this suffix, n of all, give no class; first are text. */
void hp_labels_tell_members(const struct hpdsl_pack_options *opt,
			    const char *suffix, uint64_t n, uint64_t all,
			    const char *first);
/* Classes that are kept have other numbers now. */
void hp_labels_tell_kept(const struct hpdsl_pack_options *opt,
			 const struct hp_list *list);
/* Whole numbers that are classes have others for labels. */
void hp_labels_tell_numbers(const struct hpdsl_pack_options *opt,
			    const struct hp_list *list, bool table);

#endif
