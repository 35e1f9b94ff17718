/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks with portable names: what their members were called, and which of them
 * the packer made.
 */
#include "reindex/reindex.h"

#include "base/error.h"
#include "base/mem.h"
#include "index/index.h"

#include <string.h>

#define SUFFIX ".cls"

/* Sample s gets the names of its rows, if all are there: its key must be one.
 */
static bool take_sample(struct hp_reindex *x, uint64_t s)
{
	struct hp_list *list = &x->list;
	struct hpdsl_member m;
	uint64_t i;

	for (i = list->samples[s]; i < list->samples[s + 1]; i++)
		if (!hp_reindex_row(x, i, &m))
			return false;
	for (i = list->samples[s]; i < list->samples[s + 1]; i++) {
		struct hp_file *f = &list->files[i];

		hp_reindex_row(x, i, &m);
		if (m.generated)
			f->flags |= HP_FILE_GENERATED;
		if (!strcmp(m.path, f->path))
			continue;
		list->stored[i] = f->path;
		f->path = m.path;
		f->path_len = (uint16_t)m.path_len;
		f->key_len =
			(uint16_t)hp_key_length(&list->key, m.path, m.path_len);
	}
	return true;
}

/* With --cls each sample has one, and no other of this name. */
static void find_generated(struct hp_reindex *x, uint64_t s)
{
	struct hp_list *list = &x->list;

	for (uint64_t i = list->samples[s]; i < list->samples[s + 1]; i++) {
		struct hp_file *f = &list->files[i];

		if (!strcmp(f->path + f->key_len, SUFFIX))
			f->flags |= HP_FILE_GENERATED;
	}
}

int hp_reindex_names(struct hp_reindex *x, struct hpdsl_error *err)
{
	bool portable = !strcmp(hp_reindex_option(x, "names"), "portable");
	bool cls = !strcmp(hp_reindex_option(x, "cls"), "true");
	struct hp_list *list = &x->list;
	bool lost = false, stored = false;

	list->stored = calloc(list->n_files + 1, sizeof *list->stored);
	if (!list->stored)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < list->n_samples; s++) {
		if (take_sample(x, s))
			continue;
		lost = true;
		if (cls)
			find_generated(x, s);
	}
	for (uint64_t i = 0; i < list->n_files && !stored; i++)
		stored = list->stored[i];
	/* Rows that are damaged still say that there were names. */
	if (x->index && hp_index_has_stored(x->index))
		stored = true;
	if (lost && (portable || stored))
		x->lost |= HP_LOST_NAMES;
	return 0;
}
