/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of a table names the sample, and which one the class? */
#include "plan/labels_columns.h"

#include "base/error.h"
#include "plan/csv.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 16 }; /* in a message */

const char *const hp_label_sample_names[] = { "path",	   "file",  "filename",
					      "file_name", "image", "name",
					      "key",	   "id",    NULL };
const char *const hp_label_class_names[] = { "class", "label", "category",
					     "target", NULL };

const char *hp_label_column(const struct hp_label_columns *c, size_t number)
{
	const char *s = c->header.p;

	while (number--)
		s += strlen(s) + 1;
	return s;
}

/* "'id', 'breed'": what there is, for a message. */
static void list_columns(const struct hp_label_columns *c, char *ret,
			 size_t cap)
{
	const char *s = c->header.p;
	char name[HP_PRINTABLE];
	size_t n = 0;

	*ret = '\0';
	for (size_t i = 0; i < c->n && n < cap; i++) {
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

static int fail_columns(const struct hp_label_columns *c, const char *what,
			struct hpdsl_error *err)
{
	char file[HP_PRINTABLE], all[1024];

	/* As spreadsheets write it in half of the world. */
	if (c->n == 1 && strchr(c->header.p, ';'))
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: its columns are parted by ';': wanted "
			       "commas, or tabs in a file called .tsv",
			       hp_printable(c->file, strlen(c->file), file));
	list_columns(c, all, sizeof all);
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: of its columns %s %s; the two have to be named",
		       hp_printable(c->file, strlen(c->file), file), all, what);
}

static bool is_one_of(const char *s, const char *const *names)
{
	for (; *names; names++)
		if (!strcasecmp(s, *names))
			return true;
	return false;
}

/* How many columns are called so; *ret is the first of them. */
static size_t count_known(const struct hp_label_columns *c,
			  const char *const *names, size_t *ret)
{
	const char *s = c->header.p;
	size_t found = 0;

	for (size_t i = 0; i < c->n; i++, s += strlen(s) + 1)
		if (is_one_of(s, names) && !found++)
			*ret = i;
	return found;
}

int hp_label_columns_known(struct hp_label_columns *c, struct hpdsl_error *err)
{
	size_t names = count_known(c, hp_label_sample_names, &c->name);
	size_t classes = count_known(c, hp_label_class_names, &c->class);

	if (!names)
		return fail_columns(c,
				    "none is called path, file, filename, "
				    "file_name, image, name, key or id",
				    err);
	if (!classes)
		return fail_columns(c,
				    "none is called class, label, category or "
				    "target",
				    err);
	if (names > 1)
		return fail_columns(c, "several may name the sample", err);
	if (classes > 1)
		return fail_columns(c, "several may name the class", err);
	return 0;
}

/* How many are called as it is given: so exactly, or else in either case. */
static size_t count_given(const struct hp_label_columns *c, const char *given,
			  size_t *ret)
{
	const char *const names[] = { given, NULL };
	const char *s = c->header.p;
	size_t found = 0;

	for (size_t i = 0; i < c->n; i++, s += strlen(s) + 1)
		if (!strcmp(s, given) && !found++)
			*ret = i;
	return found ? found : count_known(c, names, ret);
}

/* Is it the number of a column, from 1? */
static bool is_number(const struct hp_label_columns *c, const char *given,
		      size_t *ret)
{
	size_t n = strlen(given), number = 0;

	if (!n || n > 4 || strspn(given, "0123456789") != n)
		return false;
	for (const char *d = given; *d; d++)
		number = 10 * number + (size_t)(*d - '0');
	*ret = number - 1;
	return number && number <= c->n;
}

/* A column by its name, which has to be that of one alone, or its number. */
static int find_given(const struct hp_label_columns *c, const char *given,
		      size_t *ret, struct hpdsl_error *err)
{
	char text[HP_PRINTABLE + 40], name[HP_PRINTABLE];
	size_t found = count_given(c, given, ret), n = strlen(given);

	if (!found)
		found = is_number(c, given, ret);
	if (found == 1)
		return 0;
	snprintf(text, sizeof text, "%s is '%s'",
		 found ? "more than one" : "none",
		 hp_printable(given, n, name));
	return fail_columns(c, text, err);
}

int hp_label_columns_split(const char *columns, struct hp_text cell[2],
			   struct hpdsl_error *err)
{
	struct hp_csv c = { columns, columns + strlen(columns), ',', 1 };
	const char *why = NULL;
	int more = 1, n;

	for (n = 0; more == 1 && n < 2; n++) {
		more = hp_csv_field(&c, &cell[n], &why);
		hp_text_add(&cell[n], "", 1);
		if (cell[n].failed)
			return hp_fail_nomem(err);
	}
	if (more || n != 2)
		return hp_fail(err, HPDSL_EUSAGE,
			       "label_columns is not NAME,CLASS");
	return 0;
}

/*
 * By numbers alone, unless both are names, too: then nothing says that the
 * first line is a header.
 */
static bool by_numbers(struct hp_label_columns *c, const char *name,
		       const char *class)
{
	size_t n;

	return !(count_given(c, name, &n) && count_given(c, class, &n)) &&
	       is_number(c, name, &c->name) && is_number(c, class, &c->class);
}

int hp_label_columns_given(struct hp_label_columns *c, const char *name,
			   const char *class, struct hpdsl_error *err)
{
	int r = 0;

	c->numbers = by_numbers(c, name, class);
	if (!c->numbers)
		r = find_given(c, name, &c->name, err);
	if (r == 0 && !c->numbers)
		r = find_given(c, class, &c->class, err);
	if (r == 0 && c->name == c->class)
		r = fail_columns(c, "one is given twice", err);
	return r;
}
