/* SPDX-License-Identifier: Apache-2.0 */
/* Files of labels that name their columns: CSV, TSV, JSON lines. */
#ifndef HP_LABELS_TABLE_H
#define HP_LABELS_TABLE_H

#include "plan/labels_file.h"

/*
 * What is between columns of the file of this name; '{': each line is a JSON
 * object; 0: it is no table.
 */
char hp_labels_comma(const char *name);

/*
 * Takes f->text apart: f->rows.  columns: NULL, or which two name sample and
 * class, "NAME,CLASS" as a line of CSV, by their names or numbers from 1.
 * HPDSL_EUSAGE: two such columns are not to be found, or a row has not as many
 * fields as the header, with its line.
 */
int hp_labels_table_read(struct hp_labels_file *f, char comma,
			 const char *columns, struct hpdsl_error *err);

/*
 * Is the text a class: not empty, no list or mapping in brackets, no null or
 * NaN, and, if it is a number in decimal digits, without point and exponent?
 */
bool hp_label_is_class(const char *s, size_t n);

#endif
