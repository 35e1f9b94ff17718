/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes from a file of lines: a path or a key, then the class.  A tab stands
 * before the class, else the last blank of the line.  Or from a table: a file
 * with a header, labels_table.h.
 */
#ifndef HP_LABELS_FILE_H
#define HP_LABELS_FILE_H

#include "plan/list.h"
#include "plan/name_risk.h"

#define HP_LABELS_MAX (UINT64_C(1) << 30) /* bytes of the file */

struct hp_labels_row {
	uint32_t at;   /* in the text: the name, a NUL, the class, a NUL */
	uint32_t line; /* of the file, from 1 */
};

struct hp_labels_file {
	const char *name; /* as given, for messages */
	char *text;	  /* len bytes, with a newline behind the last line */
	size_t len;
	uint8_t checksum[16]; /* XXH3-128 of the file */
	bool table;
	bool maybe_header; /* its first row, unless that names a sample */
	struct hp_labels_row *rows; /* n_rows, of a table */
	uint32_t n_rows;
};

enum { HP_LABELS_FIRST = 3 };

/* What of the lines was of use. */
struct hp_labels_told {
	uint64_t lines; /* that are not empty */
	/* That name nothing; in a table, or by base names several samples. */
	uint64_t unmatched;
	uint64_t classless; /* rows of a table without a class */
	/* The first of both: their numbers, from 1, and names. */
	struct hp_labels_first {
		uint32_t line;
		struct hp_name name;
	} first[HP_LABELS_FIRST], first_classless[HP_LABELS_FIRST];
};

/*
 * Reads the file.  HPDSL_EUSAGE: it is too long or holds a NUL byte; -errno.
 */
int hp_labels_file_read(struct hp_labels_file *f, const struct hp_io *io,
			const char *name, struct hpdsl_error *err);
void hp_labels_file_release(struct hp_labels_file *f);

/* The first of n, for a message: "line 4 'x', line 5 'y', ...". */
#define HP_LABELS_TEXT 700
const char *hp_labels_list_first(const struct hp_labels_first *first,
				 uint64_t n, char ret[HP_LABELS_TEXT]);

/*
 * Gives the sorted, grouped list its labels.  A line that is the path of a
 * member is for the member's sample; else one that is a key, for the samples of
 * this key.  HPDSL_EUSAGE: a line without a class, two classes for one sample.
 * 4 bytes a line and 4 a sample meanwhile, 24 where neighbours differ in class.
 *
 * The name in a row of a table may be a base name, too, or the key of one, if
 * it is that of one sample alone: 24 bytes more a file and sample meanwhile.  A
 * row may lack a class.  HPDSL_EUSAGE: no row names a sample, or none has a
 * class.
 */
int hp_list_label_file(struct hp_list *list, const struct hp_labels_file *f,
		       struct hp_labels_told *ret, struct hpdsl_error *err);

#endif
