/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of a table names the sample, and which one the class? */
#ifndef HP_LABELS_COLUMNS_H
#define HP_LABELS_COLUMNS_H

#include "base/error.h"
#include "base/text.h"

struct hp_label_columns {
	const char *file;      /* whose they are, for messages */
	struct hp_text header; /* n names, a NUL behind each */
	size_t n;
	size_t name, class; /* which of them, from 0 */
	bool numbers;	    /* given so, and no name: is there a header? */
};

/* What they may be called; NULL at the end. */
extern const char *const hp_label_sample_names[], *const hp_label_class_names[];

/* The name of one of them. */
const char *hp_label_column(const struct hp_label_columns *c, size_t number);

/* "NAME,CLASS", itself a line of CSV: as strings into the two.  HPDSL_EUSAGE.
 */
int hp_label_columns_split(const char *columns, struct hp_text cell[2],
			   struct hpdsl_error *err);

/*
 * Sets name and class: the two that are called as such are, or those given, by
 * their names or their numbers from 1.  HPDSL_EUSAGE lists the columns.
 */
int hp_label_columns_known(struct hp_label_columns *c, struct hpdsl_error *err);
int hp_label_columns_given(struct hp_label_columns *c, const char *name,
			   const char *class, struct hpdsl_error *err);

#endif
