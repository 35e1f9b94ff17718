/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of classes: what gives none, and numbers that moved. */
#include "plan/labels.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void warn(const struct hpdsl_pack_options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void warn(const struct hpdsl_pack_options *opt, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!opt->watch.warn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	opt->watch.warn(opt->watch.arg, text);
}

void hp_labels_tell_split(const struct hpdsl_pack_options *opt,
			  const char *name)
{
	warn(opt,
	     "the one class folder looks like a split (%s); another folder of "
	     "the path may name the class",
	     name);
}

void hp_labels_tell_one(const struct hpdsl_pack_options *opt, const char *name)
{
	char text[HP_PRINTABLE];

	warn(opt,
	     "all samples with a class have one, '%s'; another folder of the "
	     "path may name the class",
	     hp_printable(name, strlen(name), text));
}

/* Rows of a table: more than one line may be said of them. */
static void tell_rows(const struct hpdsl_pack_options *opt, const char *file,
		      const struct hp_labels_told *told)
{
	char text[HP_LABELS_TEXT];

	if (told->unmatched)
		warn(opt,
		     "%s: %" PRIu64 " of %" PRIu64
		     " rows name no sample, or more than one: %s%s",
		     file, told->unmatched, told->lines,
		     hp_labels_list_first(told->first, told->unmatched, text),
		     told->unmatched * 2 > told->lines ?
			     "; are these paths below the input?" :
			     "");
	if (told->classless)
		warn(opt,
		     "%s: %" PRIu64 " of %" PRIu64
		     " rows have no class that is text or a whole number: %s",
		     file, told->classless, told->lines,
		     hp_labels_list_first(told->first_classless,
					  told->classless, text));
}

static bool has_comma(const struct hp_labels_told *told)
{
	const struct hp_labels_first *f = &told->first[0];

	return told->unmatched && f->line == 1 &&
	       memchr(f->name.s, ',', f->name.len);
}

void hp_labels_tell_file(const struct hpdsl_pack_options *opt,
			 const struct hp_labels_file *f,
			 const struct hp_labels_told *told)
{
	const char *title = f->name;
	char file[HP_PRINTABLE], text[HP_LABELS_TEXT];

	hp_printable(title, strlen(title), file);
	if (f->table) {
		tell_rows(opt, file, told);
		return;
	}
	if (told->unmatched == told->lines)
		warn(opt,
		     "%s: no line names a member or a key: no sample has a "
		     "class",
		     file);
	else if (told->unmatched)
		warn(opt,
		     "%s: %" PRIu64 " of %" PRIu64
		     " lines name no member and no key: %s",
		     file, told->unmatched, told->lines,
		     hp_labels_list_first(told->first, told->unmatched, text));
	if (has_comma(told))
		warn(opt,
		     "%s: line 1 has a comma: is it a table with a header "
		     "(.csv)?",
		     file);
}

void hp_labels_tell_members(const struct hpdsl_pack_options *opt,
			    const char *suffix, uint64_t n, uint64_t all,
			    const char *first)
{
	warn(opt,
	     "%" PRIu64 " of %" PRIu64 " members %s say no class that is text "
	     "or a whole number: %s%s",
	     n, all, suffix, first, n > 3 ? ", ..." : "");
}

void hp_labels_tell_kept(const struct hpdsl_pack_options *opt,
			 const struct hp_list *list)
{
	char text[HP_PRINTABLE];
	const char *name = "";
	uint32_t was = 0, is = 0;
	uint64_t n = hp_list_renumbered(list, &name, &was, &is);

	if (n)
		warn(opt,
		     "%" PRIu64 " class%s other numbers than in the packed "
		     "inputs, first '%s': %" PRIu32 ", was %" PRIu32,
		     n, n == 1 ? " has" : "es have",
		     hp_printable(name, strlen(name), text), is, was);
}

void hp_labels_tell_numbers(const struct hpdsl_pack_options *opt,
			    const struct hp_list *list, bool table)
{
	const char *text = NULL, *moved = NULL;
	uint32_t value, label = 0;
	char name[HP_PRINTABLE];

	for (uint32_t i = 0; i < list->n_classes; i++) {
		const char *c = list->classes[i];

		if (!hp_class_number(c, strlen(c), &value)) {
			text = text ? text : c;
		} else if (value != i && !moved) {
			moved = c;
			label = i;
		}
	}
	if (moved && opt->labels == HPDSL_LABELS_FILE && !table)
		warn(opt,
		     "class '%s' has the label %" PRIu32
		     ": a file of lines numbers classes by their bytes; a "
		     "table with a header (.csv, .tsv) keeps whole numbers",
		     moved, label);
	else if (moved && text)
		warn(opt,
		     "class '%s' has the label %" PRIu32
		     ": classes are numbered by their bytes, as not all are "
		     "whole numbers from 0 to 65534: '%s' is none",
		     moved, label, hp_printable(text, strlen(text), name));
}
