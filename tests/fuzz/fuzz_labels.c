/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of labels: its first line is the end of its name and the columns that
 * are meant, the rest is the file.  Each row lies in the file, and the labels
 * are those of the classes.
 */
#include "make_list.h"
#include "plan/labels_table.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct hp_labels_file *f)
{
	for (uint32_t i = 0; i < f->n_rows; i++) {
		size_t at = f->rows[i].at;

		for (int k = 0; k < 2; k++) {
			if (at > f->len ||
			    !memchr(f->text + at, '\0', f->len + 1 - at))
				abort();
			at += strlen(f->text + at) + 1;
		}
		if (i + 1 < f->n_rows &&
		    (f->rows[i + 1].at != at ||
		     f->rows[i + 1].line <= f->rows[i].line))
			abort();
	}
}

static void check_labels(const struct hp_list *list)
{
	for (uint64_t s = 0; s < list->n_samples; s++)
		if (list->labels[s] != HPDSL_NO_LABEL &&
		    list->labels[s] >= list->n_classes)
			abort();
}

static void label(const struct hp_labels_file *f)
{
	struct hp_labels_told told;
	struct hp_list list;

	LIST_OF(&list, "a/1.jpg", "a/1.json", "a/2.jpg", "b/2.jpg", "b/3.x.jpg",
		"4.jpg", "c/only.jpg");
	list.by_value = true;
	if (hp_list_sort(&list, NULL) < 0 ||
	    hp_list_group(&list, HPDSL_GROUP_KEY, NULL) < 0)
		abort();
	if (hp_list_label_file(&list, f, &told, NULL) == 0)
		check_labels(&list);
	hp_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	struct hp_labels_file f = { .name = "t" };
	char *name, *columns;
	size_t n;
	char comma;

	if (!newline || memchr(data, '\0', size))
		return 0;
	n = (size_t)(newline - data);
	name = strndup((const char *)data, n);
	f.len = size - n - 1;
	f.text = strndup((const char *)newline + 1, f.len);
	if (!name || !f.text)
		abort();
	columns = strchr(name, ' ');
	if (columns)
		*columns++ = '\0';
	comma = hp_labels_comma(name);
	if (comma && hp_labels_table_read(&f, comma, columns, NULL) == 0) {
		check_rows(&f);
		label(&f);
	}
	hp_labels_file_release(&f);
	free(name);
	return 0;
}
