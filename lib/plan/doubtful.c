/* SPDX-License-Identifier: Apache-2.0 */
/* What a clone, a cache and a broken download leave, among the files of a list,
 * and records of other libraries. */
#include "plan/doubtful.h"

#include <string.h>

enum { FOLDERS = 2, RECORDS = 5 };

/* Folders with all below, then how names end: those of records last. */
static const char *const patterns[HPDSL_DOUBTFUL] = {
	".git/",       ".cache/huggingface/", "*.incomplete",
	"*.part",      "*.crdownload",	      "*.mds",
	"*.tfrecord*", "*.array_record",      "*.mdb",
};

/* Is it there, where a component begins? */
static int folder_at(const char *path, size_t len)
{
	for (int i = 0; i < FOLDERS; i++) {
		size_t n = strlen(patterns[i]);

		if (len > n && !memcmp(path, patterns[i], n))
			return i;
	}
	return -1;
}

/* Does a name end so, from its last dot on? */
static bool ends_so(const char *last, size_t len, const char *pattern)
{
	const char *suffix = pattern + 1;
	size_t n = strlen(suffix);

	if (suffix[n - 1] == '*')
		return len >= n - 1 && !memcmp(last, suffix, n - 1);
	return len == n && !memcmp(last, suffix, n);
}

int hp_doubtful_row(const char *path, size_t len)
{
	const char *dot, *end = path + len, *last = NULL;

	for (const char *p = path; p < end; p = dot + 1) {
		int row;

		dot = memchr(p, '.', (size_t)(end - p));
		if (!dot)
			break;
		last = dot;
		if (dot > path && dot[-1] != '/')
			continue;
		row = folder_at(dot, (size_t)(end - dot));
		if (row >= 0)
			return row;
	}
	/* One that is called just so has no such end. */
	if (!last || last == path || last[-1] == '/')
		return -1;
	for (int i = FOLDERS; i < HPDSL_DOUBTFUL; i++)
		if (ends_so(last, (size_t)(end - last), patterns[i]))
			return i;
	return -1;
}

void hp_list_doubtful(const struct hp_list *list,
		      struct hpdsl_doubtful ret[HPDSL_DOUBTFUL])
{
	for (int i = 0; i < HPDSL_DOUBTFUL; i++)
		ret[i] = (struct hpdsl_doubtful){ .pattern = patterns[i],
						  .records = i >= RECORDS };
	for (uint64_t i = 0; i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];
		size_t prefix = list->roots[f->root].prefix_len;
		int row =
			hp_doubtful_row(f->path + prefix, f->path_len - prefix);

		if (row < 0 || list->roots[f->root].kind == HP_ROOT_DATASET)
			continue;
		ret[row].files++;
		ret[row].bytes += f->size;
	}
}
