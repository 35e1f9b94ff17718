/* SPDX-License-Identifier: Apache-2.0 */
/* A table beside the files that may say their classes. */
#include "info.h"

#include <string.h>

static bool is_table(const char *path)
{
	static const char *const ends[] = { ".csv", ".tsv", ".jsonl" };
	const char *dot = strrchr(path, '.');

	for (size_t k = 0; dot && k < sizeof(ends) / sizeof(*ends); k++)
		if (!strcmp(dot, ends[k]))
			return true;
	return false;
}

char *info_table(const char *root, const struct cmd_strings *names)
{
	const char *only = NULL;
	struct hpdsl_error err;
	char *path;

	/* One of several may be of a part, and where all are, they are data. */
	for (size_t k = 0; k < names->n; k++) {
		if (!is_table(names->v[k]))
			continue;
		if (only)
			return NULL;
		only = names->v[k];
	}
	if (!only || names->n < 2)
		return NULL;
	if (asprintf(&path, "%s/%s", root, only) < 0)
		cmd_no_memory();
	if (hpdsl_labels_look(path, NULL, &err) == 1)
		return path;
	free(path);
	return NULL;
}
