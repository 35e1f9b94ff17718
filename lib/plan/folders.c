/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path cannot be a file and a folder: in no tree that is ever unpacked.
 * Trees cannot have both, but two of them can, any archive, and a tree with
 * generated members.
 */
#include "base/error.h"
#include "base/mem.h"
#include "plan/list.h"

#include <string.h>

struct search {
	const struct hp_list *list;
	const uint64_t *order; /* of path bytes */
};

/* Compares a file's path with len bytes of another one. */
static int compare(const struct hp_file *f, const char *path, size_t len)
{
	size_t n = f->path_len < len ? f->path_len : len;
	int d = memcmp(f->path, path, n);

	return d ? d : (f->path_len > len) - (f->path_len < len);
}

static const struct hp_file *find(const struct search *s, const char *path,
				  size_t len)
{
	uint64_t low = 0, high = s->list->n_files;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		const struct hp_file *f = &s->list->files[s->order[mid]];
		int d = compare(f, path, len);

		if (d == 0)
			return f;
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static size_t folder_length(const struct hp_file *f)
{
	const char *slash = memrchr(f->path, '/', f->path_len);

	return slash ? (size_t)(slash - f->path) : 0;
}

static int fail(const struct hp_list *list, const struct hp_file *file,
		const struct hp_file *inside, struct hpdsl_error *err)
{
	const char *one = list->roots[file->root].name;
	const char *two = list->roots[inside->root].name;
	char path[HP_PRINTABLE], a[HP_PRINTABLE], b[HP_PRINTABLE];

	hp_printable(two, strlen(two), b);
	if (file->flags & HP_FILE_GENERATED)
		return hp_fail(err, HPDSL_EUSAGE,
			       "cls: '%s' would be a file, and is a folder, "
			       "from %s",
			       hp_printable(file->path, file->path_len, path),
			       b);
	hp_printable(file->path, file->path_len, path);
	if (file->root == inside->root)
		return hp_fail(err, HPDSL_EUSAGE,
			       "'%s' would be a file and a folder, both from "
			       "%s",
			       path, b);
	return hp_fail(err, HPDSL_EUSAGE,
		       "'%s' would be a file, from %s, and a folder, from %s",
		       path, hp_printable(one, strlen(one), a), b);
}

/* The folders above f that are not those of the path before. */
static int check(const struct search *s, const struct hp_file *f, size_t shared,
		 size_t folder, struct hpdsl_error *err)
{
	for (size_t i = shared; i <= folder; i++) {
		const struct hp_file *file;

		if (i == 0 || f->path[i] != '/')
			continue;
		file = find(s, f->path, i);
		if (file)
			return fail(s->list, file, f, err);
	}
	return 0;
}

static size_t shared_length(const struct hp_file *a, size_t a_folder,
			    const struct hp_file *b, size_t b_folder)
{
	size_t n = a_folder < b_folder ? a_folder : b_folder, i = 0;

	while (i < n && a->path[i] == b->path[i])
		i++;
	return i;
}

int hp_list_check_folders(const struct hp_list *list, struct hpdsl_error *err)
{
	hp_auto_free uint64_t *order = hp_array(list->n_files, sizeof *order);
	struct search s = { list, order };
	const struct hp_file *last = NULL;
	size_t last_folder = 0;
	int r;

	if (!order)
		return hp_fail_nomem(err);
	r = hp_list_path_order(list, order, err);
	for (uint64_t i = 0; r == 0 && i < list->n_files; i++) {
		const struct hp_file *f = &list->files[order[i]];
		size_t folder = folder_length(f), shared = 0;

		if (last)
			shared = shared_length(last, last_folder, f, folder);
		/* The same folder again, mostly. */
		if (!last || folder != last_folder || shared != folder)
			r = check(&s, f, shared, folder, err);
		last = f;
		last_folder = folder;
	}
	return r;
}
