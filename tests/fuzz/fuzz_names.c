/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any paths, each ended by a NUL, up to an empty one: their portable names keep
 * all promises, with class members too.  The bytes behind are a file of labels.
 */
#include "check_names.h"
#include "make_list.h"
#include "plan/labels_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 400 };

/* Makes a path of it as the scan gives them; false: there is nothing left. */
static bool clean(char *path)
{
	size_t n = 0;

	for (char *s = path; *s;) {
		size_t len = strcspn(s, "/");
		bool dots = len && len <= 2 && strspn(s, ".") >= len;

		if (len && !dots) {
			if (n)
				path[n++] = '/';
			memmove(path + n, s, len);
			n += len;
		}
		s += len;
		s += *s == '/';
	}
	path[n] = '\0';
	return n > 0;
}

static bool is_there(const struct hp_list *list, const char *path)
{
	for (uint64_t i = 0; i < list->n_files; i++)
		if (!strcmp(list->files[i].path, path))
			return true;
	return false;
}

/* Returns how many bytes were paths. */
static size_t fill(struct hp_list *list, const uint8_t *data, size_t size)
{
	char path[HPDSL_PATH_MAX + 1];
	size_t at = 0;

	while (at < size && data[at] && list->n_files < FILES_MAX) {
		size_t n = strnlen((const char *)data + at, size - at);

		snprintf(path, sizeof path, "%.*s", (int)n, data + at);
		at += n + (at + n < size);
		if (clean(path) && !is_there(list, path))
			list_add(list, path);
	}
	return at + (at < size);
}

static void name_all(struct hp_list *list, enum hpdsl_group group)
{
	const char *wrong;

	if (hp_list_rule(list, group, NULL, 0, NULL) < 0 ||
	    hp_list_sort(list, NULL) < 0 ||
	    hp_list_group(list, group, NULL) < 0 ||
	    hp_list_portable(list, group, NULL) < 0)
		abort();
	wrong = names_wrong(list);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
}

/* Every sample gets a class, whatever the lines said. */
static void label_all(struct hp_list *list)
{
	if (!list->labels)
		list->labels = calloc(list->n_samples + 1, sizeof(uint32_t));
	for (uint64_t s = 0; list->labels && s < list->n_samples; s++)
		list->labels[s] = (uint32_t)(s * 77);
}

static void check_members(const struct hp_list *list)
{
	for (uint64_t s = 0; s < list->n_samples; s++) {
		uint64_t made = 0;

		for (uint64_t i = list->samples[s]; i < list->samples[s + 1];
		     i++) {
			made += !!(list->files[i].flags & HP_FILE_GENERATED);
			if (i > list->samples[s] &&
			    strcmp(list->files[i - 1].path,
				   list->files[i].path) >= 0)
				abort();
		}
		if (made != 1)
			abort();
	}
	if (names_wrong(list))
		abort();
}

static void label(struct hp_list *list, const uint8_t *data, size_t size)
{
	struct hp_labels_told told = { 0 };
	struct hp_labels_file f = { .name = "labels", .len = size };

	f.text = malloc(size + 1); /* of the exact size */
	if (!f.text)
		return;
	for (size_t i = 0; i < size; i++)
		f.text[i] = data[i] ? (char)data[i] : ' ';
	f.text[size] = '\0';
	if (hp_list_label_file(list, &f, &told, NULL) == 0 &&
	    told.unmatched > told.lines)
		abort();
	hp_labels_file_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum hpdsl_group groups[] = { HPDSL_GROUP_KEY,
						   HPDSL_GROUP_LAST,
						   HPDSL_GROUP_NONE };

	for (int i = 0; i < 3; i++) {
		struct hp_list list;
		size_t at;

		list_begin(&list, FILES_MAX);
		at = fill(&list, data, size);
		name_all(&list, groups[i]);
		label(&list, data + at, size - at);
		label_all(&list);
		/* It may be there already. */
		if (i < 2 && hp_list_cls(&list, NULL) == 0)
			check_members(&list);
		hp_list_release(&list);
	}
	return 0;
}
