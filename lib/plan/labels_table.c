/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of labels with a header: which of its columns name sample and class,
 * and its rows.  These are rewritten in place, as two strings that end with a
 * NUL byte, which is never longer than the row was.
 */
#include "plan/labels_table.h"

#include "base/error.h"
#include "base/mem.h"
#include "plan/csv.h"
#include "plan/json_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	COLUMNS = 4096,
	SHOWN = 16,
	LINES = 1000, /* of JSON, looked at for names of fields */
};

static const char *const sample_names[] = { "path",	 "file",  "filename",
					    "file_name", "image", "name",
					    "key",	 "id",	  NULL };
static const char *const class_names[] = { "class", "label", "category",
					   "target", NULL };

char hp_labels_comma(const char *name)
{
	size_t n = strlen(name);

	if (n > 4 && !strcasecmp(name + n - 4, ".csv"))
		return ',';
	if (n > 6 && !strcasecmp(name + n - 6, ".jsonl"))
		return '{';
	return n > 4 && !strcasecmp(name + n - 4, ".tsv") ? '\t' : '\0';
}

/* ---- Columns ---------------------------------------------------------- */

struct table {
	struct hp_labels_file *f;
	struct hp_csv csv;
	struct hp_text header; /* the names, a NUL behind each */
	size_t columns;
	size_t name, class;	       /* which of them, from 0 */
	struct hp_text cell[2], other; /* of a row: name and class */
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
		if (++t->columns > COLUMNS)
			return fail_at(t, 1, "more than 4096 columns", err);
		hp_text_add(&t->header, t->other.p, t->other.n);
		hp_text_add(&t->header, "", 1);
		if (t->header.failed || t->other.failed)
			return hp_fail_nomem(err);
	}
	return 0;
}

/* "'id', 'breed'": what there is, for a message. */
static void list_columns(const struct table *t, char *ret, size_t cap)
{
	const char *s = t->header.p;
	char name[HP_PRINTABLE];
	size_t n = 0;

	*ret = '\0';
	for (size_t i = 0; i < t->columns && n < cap; i++) {
		if (i == SHOWN) {
			snprintf(ret + n, cap - n, ", ..");
			return;
		}
		n += (size_t)snprintf(ret + n, cap - n, "%s'%.40s'",
				      i ? ", " : "",
				      hp_printable(s, strlen(s), name));
		s += strlen(s) + 1;
	}
}

static int fail_columns(const struct table *t, const char *what,
			struct hpdsl_error *err)
{
	char file[HP_PRINTABLE], all[1024];

	list_columns(t, all, sizeof all);
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: of its columns %s %s; the two have to be named",
		       hp_printable(t->f->name, strlen(t->f->name), file), all,
		       what);
}

static bool is_one_of(const char *s, const char *const *names)
{
	for (; *names; names++)
		if (!strcasecmp(s, *names))
			return true;
	return false;
}

/* How many columns are called so; *ret is the first of them. */
static size_t count_known(const struct table *t, const char *const *names,
			  size_t *ret)
{
	const char *s = t->header.p;
	size_t found = 0;

	for (size_t i = 0; i < t->columns; i++, s += strlen(s) + 1)
		if (is_one_of(s, names) && !found++)
			*ret = i;
	return found;
}

static int find_known(struct table *t, struct hpdsl_error *err)
{
	size_t names = count_known(t, sample_names, &t->name);
	size_t classes = count_known(t, class_names, &t->class);

	if (!names)
		return fail_columns(t,
				    "none is called path, file, filename, "
				    "file_name, image, name, key or id",
				    err);
	if (!classes)
		return fail_columns(t,
				    "none is called class, label, category or "
				    "target",
				    err);
	if (names > 1)
		return fail_columns(t, "several may name the sample", err);
	if (classes > 1)
		return fail_columns(t, "several may name the class", err);
	return 0;
}

/* A column by its name, which has to be that of one alone, or its number. */
static int find_given(const struct table *t, const char *given, size_t *ret,
		      struct hpdsl_error *err)
{
	const char *const names[] = { given, NULL };
	char text[HP_PRINTABLE + 40], name[HP_PRINTABLE];
	const char *s = t->header.p;
	size_t found = 0, n = strlen(given), number = 0;

	for (size_t i = 0; i < t->columns; i++, s += strlen(s) + 1)
		if (!strcmp(s, given) && !found++)
			*ret = i;
	if (!found)
		found = count_known(t, names, ret);
	if (!found && n && n < 5 && strspn(given, "0123456789") == n) {
		for (const char *d = given; *d; d++)
			number = 10 * number + (size_t)(*d - '0');
		found = number && number <= t->columns;
		*ret = number - 1;
	}
	if (found == 1)
		return 0;
	snprintf(text, sizeof text, "%s is '%s'",
		 found ? "more than one" : "none",
		 hp_printable(given, n, name));
	return fail_columns(t, text, err);
}

/* "NAME,CLASS", itself a line of CSV: as strings into the two cells. */
static int split_columns(struct table *t, const char *columns,
			 struct hpdsl_error *err)
{
	struct hp_csv c = { columns, columns + strlen(columns), ',', 1 };
	const char *why = NULL;
	int more = 1, n;

	for (n = 0; more == 1 && n < 2; n++) {
		more = hp_csv_field(&c, &t->cell[n], &why);
		hp_text_add(&t->cell[n], "", 1);
		if (t->cell[n].failed)
			return hp_fail_nomem(err);
	}
	if (more || n != 2)
		return hp_fail(err, HPDSL_EUSAGE,
			       "label_columns is not NAME,CLASS");
	return 0;
}

static int find_columns(struct table *t, const char *columns,
			struct hpdsl_error *err)
{
	int r = split_columns(t, columns, err);

	if (r == 0)
		r = find_given(t, t->cell[0].p, &t->name, err);
	if (r == 0)
		r = find_given(t, t->cell[1].p, &t->class, err);
	if (r == 0 && t->name == t->class)
		r = fail_columns(t, "one is given twice", err);
	return r;
}

/* ---- Rows ------------------------------------------------------------- */

static int read_row(struct table *t, size_t *ret_fields,
		    struct hpdsl_error *err)
{
	uint32_t line = t->csv.line;
	const char *why = NULL;
	int more = 1;

	for (*ret_fields = 0; more == 1; ++*ret_fields) {
		struct hp_text *to = *ret_fields == t->name  ? &t->cell[0] :
				     *ret_fields == t->class ? &t->cell[1] :
							       &t->other;

		more = hp_csv_field(&t->csv, to, &why);
		if (more < 0)
			return fail_at(t, line, why, err);
	}
	if (t->cell[0].failed || t->cell[1].failed || t->other.failed)
		return hp_fail_nomem(err);
	return 0;
}

static int keep_row(struct table *t, uint32_t line, char **to,
		    struct hpdsl_error *err)
{
	struct hp_labels_file *f = t->f;
	struct hp_labels_row *rows = hp_more(f->rows, f->n_rows, sizeof *rows);
	size_t n = t->cell[1].n;

	if (!rows || t->cell[0].failed || t->cell[1].failed)
		return hp_fail_nomem(err);
	f->rows = rows;
	rows[f->n_rows++] =
		(struct hp_labels_row){ .at = (uint32_t)(*to - f->text),
					.line = line };
	for (int k = 0; k < 2; k++) {
		size_t len = k ? n : t->cell[0].n;

		if (len)
			memcpy(*to, t->cell[k].p, len);
		(*to)[len] = '\0';
		*to += len + 1;
	}
	return 0;
}

static int read_rows(struct table *t, struct hpdsl_error *err)
{
	char *to = t->f->text, text[80];

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
		if (fields != t->columns) {
			snprintf(text, sizeof text,
				 "%zu column%s, where the header has %zu",
				 fields, fields == 1 ? "" : "s", t->columns);
			return fail_at(t, line, text, err);
		}
		if (!hp_label_is_class(t->cell[1].p, t->cell[1].n))
			t->cell[1].n = 0;
		r = keep_row(t, line, &to, err);
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
	const char *const *const all[] = { sample_names, class_names };
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
					t->columns++;
					hp_text_puts(&t->header, all[k][w]);
					hp_text_add(&t->header, "", 1);
				}
	return t->header.failed || t->other.failed ? hp_fail_nomem(err) : 0;
}

static const char *column_name(const struct table *t, size_t number)
{
	const char *s = t->header.p;

	while (number--)
		s += strlen(s) + 1;
	return s;
}

/* name and class: their fields. */
static int read_lines(struct table *t, const char *name, const char *class,
		      struct hpdsl_error *err)
{
	char *to = t->f->text;
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
		r = keep_row(t, t->csv.line - 1, &to, err);
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
		r = split_columns(t, columns, err);
		if (r < 0)
			return r;
		name = strdup(t->cell[0].p);
		class = strdup(t->cell[1].p);
	} else {
		r = look_at_lines(t, err);
		if (r == 0)
			r = find_known(t, err);
		if (r < 0)
			return r;
		name = strdup(column_name(t, t->name));
		class = strdup(column_name(t, t->class));
	}
	if (!name || !class)
		return hp_fail_nomem(err);
	if (!strcmp(name, class)) /* there would be no room for both */
		return hp_fail(err, HPDSL_EUSAGE,
			       "label_columns is not NAME,CLASS");
	return read_lines(t, name, class, err);
}

static int read_csv(struct table *t, const char *columns,
		    struct hpdsl_error *err)
{
	int r = read_header(t, err);

	if (r == 0)
		r = columns ? find_columns(t, columns, err) :
			      find_known(t, err);
	return r < 0 ? r : read_rows(t, err);
}

int hp_labels_table_read(struct hp_labels_file *f, char comma,
			 const char *columns, struct hpdsl_error *err)
{
	struct table t = { .f = f,
			   .csv = { f->text, f->text + f->len, comma, 1 } };
	int r;

	f->table = true;
	if (f->len >= 3 && !memcmp(f->text, "\xef\xbb\xbf", 3))
		t.csv.at += 3;
	r = comma == '{' ? read_json(&t, columns, err) :
			   read_csv(&t, columns, err);
	hp_text_release(&t.header);
	hp_text_release(&t.cell[0]);
	hp_text_release(&t.cell[1]);
	hp_text_release(&t.other);
	return r;
}
