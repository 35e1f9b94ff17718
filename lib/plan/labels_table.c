/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of labels with a header, and its rows.  These are rewritten in place,
 * as two strings that end with a NUL byte, which is never longer than the row
 * was.
 */
#include "plan/labels_table.h"

#include "base/error.h"
#include "base/mem.h"
#include "plan/csv.h"
#include "plan/json_field.h"
#include "plan/labels_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	COLUMNS = 4096,
	LINES = 1000, /* of JSON, looked at for names of fields */
};

char hp_labels_comma(const char *name)
{
	size_t n = strlen(name);

	if (n > 4 && !strcasecmp(name + n - 4, ".csv"))
		return ',';
	if (n > 6 && !strcasecmp(name + n - 6, ".jsonl"))
		return '{';
	return n > 4 && !strcasecmp(name + n - 4, ".tsv") ? '\t' : '\0';
}

struct table {
	struct hp_labels_file *f;
	struct hp_csv csv;
	struct hp_label_columns all;
	struct hp_text cell[2], other; /* of a row: name and class */
	char *to;		       /* where the next row is kept */
};

static int fail_at(const struct table *t, uint32_t line, const char *what,
		   struct hpdsl_error *err)
{
	char name[HP_PRINTABLE];

	return hp_fail(err, HPDSL_EUSAGE, "%s: line %" PRIu32 ": %s",
		       hp_printable(t->f->name, strlen(t->f->name), name), line,
		       what);
}

static int read_header(struct table *t, struct hpdsl_error *err)
{
	const char *why = NULL;
	int more = 1;

	while (more == 1) {
		more = hp_csv_field(&t->csv, &t->other, &why);
		if (more < 0)
			return fail_at(t, t->csv.line, why, err);
		if (++t->all.n > COLUMNS)
			return fail_at(t, 1, "more than 4096 columns", err);
		hp_text_add(&t->all.header, t->other.p, t->other.n);
		hp_text_add(&t->all.header, "", 1);
		if (t->all.header.failed || t->other.failed)
			return hp_fail_nomem(err);
	}
	return 0;
}

/* ---- Rows ------------------------------------------------------------- */

static int read_row(struct table *t, size_t *ret_fields,
		    struct hpdsl_error *err)
{
	uint32_t line = t->csv.line;
	const char *why = NULL;
	int more = 1;

	for (*ret_fields = 0; more == 1; ++*ret_fields) {
		struct hp_text *to = *ret_fields == t->all.name	 ? &t->cell[0] :
				     *ret_fields == t->all.class ? &t->cell[1] :
								   &t->other;

		more = hp_csv_field(&t->csv, to, &why);
		if (more < 0)
			return fail_at(t, line, why, err);
	}
	if (t->cell[0].failed || t->cell[1].failed || t->other.failed)
		return hp_fail_nomem(err);
	return 0;
}

static int keep_row(struct table *t, uint32_t line, struct hpdsl_error *err)
{
	struct hp_labels_file *f = t->f;
	struct hp_labels_row *rows = hp_more(f->rows, f->n_rows, sizeof *rows);
	size_t n = t->cell[1].n;

	if (!rows || t->cell[0].failed || t->cell[1].failed)
		return hp_fail_nomem(err);
	f->rows = rows;
	rows[f->n_rows++] =
		(struct hp_labels_row){ .at = (uint32_t)(t->to - f->text),
					.line = line };
	for (int k = 0; k < 2; k++) {
		size_t len = k ? n : t->cell[0].n;

		if (len)
			memcpy(t->to, t->cell[k].p, len);
		t->to[len] = '\0';
		t->to += len + 1;
	}
	return 0;
}

static int read_rows(struct table *t, struct hpdsl_error *err)
{
	char text[80];

	while (t->csv.at < t->csv.end) {
		const char *begin = t->csv.at;
		uint32_t line = t->csv.line;
		size_t fields;
		int r = read_row(t, &fields, err);

		if (r < 0)
			return r;
		/* An empty line is none. */
		if (fields == 1 &&
		    strspn(begin, " \t\r") == (size_t)(t->csv.at - begin) -
						      (t->csv.at[-1] == '\n'))
			continue;
		if (fields != t->all.n) {
			snprintf(text, sizeof text,
				 "%zu column%s, where the header has %zu",
				 fields, fields == 1 ? "" : "s", t->all.n);
			return fail_at(t, line, text, err);
		}
		if (!hp_label_is_class(t->cell[1].p, t->cell[1].n))
			t->cell[1].n = 0;
		r = keep_row(t, line, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Lines of JSON ---------------------------------------------------- */

/* The next line that is not empty; its length, the newline not counted. */
static const char *next_line(struct hp_csv *c, size_t *ret_len)
{
	while (c->at < c->end) {
		const char *s = c->at;
		const char *newline = memchr(s, '\n', (size_t)(c->end - s));

		*ret_len = (size_t)((newline ? newline : c->end) - s);
		c->at = newline ? newline + 1 : c->end;
		c->line++;
		if (strspn(s, " \t\r") < *ret_len)
			return s;
	}
	return NULL;
}

/* The known names among the fields of the first lines, as a header. */
static int look_at_lines(struct table *t, struct hpdsl_error *err)
{
	const char *const *const all[] = { hp_label_sample_names,
					   hp_label_class_names };
	uint32_t seen[2] = { 0, 0 };
	struct hp_csv c = t->csv;
	const char *s;
	size_t n;

	for (int i = 0; i < LINES && (s = next_line(&c, &n)); i++)
		for (int k = 0; k < 2; k++)
			for (int w = 0; all[k][w]; w++)
				if (!(seen[k] & 1u << w) &&
				    hp_json_field(s, n, all[k][w], &t->other)) {
					seen[k] |= 1u << w;
					t->all.n++;
					hp_text_puts(&t->all.header, all[k][w]);
					hp_text_add(&t->all.header, "", 1);
				}
	return t->all.header.failed || t->other.failed ? hp_fail_nomem(err) : 0;
}

/* name and class: their fields. */
static int read_lines(struct table *t, const char *name, const char *class,
		      struct hpdsl_error *err)
{
	const char *s;
	size_t n;

	while ((s = next_line(&t->csv, &n))) {
		int r;

		if (!hp_json_field(s, n, name, &t->cell[0]) &&
		    !t->cell[0].failed)
			return fail_at(t, t->csv.line - 1,
				       "it is no object that names a sample",
				       err);
		if (!hp_json_field(s, n, class, &t->cell[1]))
			t->cell[1].n = 0;
		r = keep_row(t, t->csv.line - 1, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_json(struct table *t, const char *columns,
		     struct hpdsl_error *err)
{
	hp_auto_free char *name = NULL, *class = NULL;
	int r;

	if (columns) {
		r = hp_label_columns_split(columns, t->cell, err);
		if (r < 0)
			return r;
		name = strdup(t->cell[0].p);
		class = strdup(t->cell[1].p);
	} else {
		r = look_at_lines(t, err);
		if (r == 0)
			r = hp_label_columns_known(&t->all, err);
		if (r < 0)
			return r;
		name = strdup(hp_label_column(&t->all, t->all.name));
		class = strdup(hp_label_column(&t->all, t->all.class));
	}
	if (!name || !class)
		return hp_fail_nomem(err);
	if (!strcmp(name, class)) /* there would be no room for both */
		return hp_fail(err, HPDSL_EUSAGE,
			       "label_columns is not NAME,CLASS");
	return read_lines(t, name, class, err);
}

/* What stands where a header would, as a row. */
static int keep_first(struct table *t, struct hpdsl_error *err)
{
	const size_t columns[] = { t->all.name, t->all.class };

	for (int k = 0; k < 2; k++) {
		t->cell[k].n = 0;
		hp_text_puts(&t->cell[k], hp_label_column(&t->all, columns[k]));
	}
	if (t->cell[1].n && !hp_label_is_class(t->cell[1].p, t->cell[1].n))
		t->cell[1].n = 0;
	return keep_row(t, 1, err);
}

static int find_columns(struct table *t, const char *columns,
			struct hpdsl_error *err)
{
	int r;

	if (!columns)
		return hp_label_columns_known(&t->all, err);
	r = hp_label_columns_split(columns, t->cell, err);
	return r < 0 ? r :
		       hp_label_columns_given(&t->all, t->cell[0].p,
					      t->cell[1].p, err);
}

static int read_csv(struct table *t, const char *columns,
		    struct hpdsl_error *err)
{
	int r = read_header(t, err);

	if (r == 0)
		r = find_columns(t, columns, err);
	t->f->maybe_header = t->all.numbers;
	if (r == 0 && t->all.numbers)
		r = keep_first(t, err);
	return r < 0 ? r : read_rows(t, err);
}

int hp_labels_table_read(struct hp_labels_file *f, char comma,
			 const char *columns, struct hpdsl_error *err)
{
	struct table t = { .f = f,
			   .csv = { f->text, f->text + f->len, comma, 1 },
			   .all = { .file = f->name },
			   .to = f->text };
	int r;

	f->table = true;
	if (f->len >= 3 && !memcmp(f->text, "\xef\xbb\xbf", 3))
		t.csv.at += 3;
	r = comma == '{' ? read_json(&t, columns, err) :
			   read_csv(&t, columns, err);
	hp_text_release(&t.all.header);
	hp_text_release(&t.cell[0]);
	hp_text_release(&t.cell[1]);
	hp_text_release(&t.other);
	return r;
}
