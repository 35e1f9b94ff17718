/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives and datasets among the INPUTs.  The list tells names, sizes and
 * times of what they hold; that a resumed run reads the same contents, too, is
 * for the journal to say.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "pack/pack.h"

/* What tells the INPUT from another one. */
static uint64_t identity(const struct hp_root *root)
{
	struct hpdsl_counts n;

	if (root->kind != HP_ROOT_DATASET)
		return hp_journal_archive(root);
	hpdsl_count(root->dataset, &n);
	return hp_hash64(n.dataset_id, sizeof n.dataset_id);
}

int hp_archives_check(const struct hp_pack *p, struct hpdsl_error *err)
{
	for (size_t i = 0; i < p->w.list.n_roots; i++) {
		const struct hp_root *root = &p->w.list.roots[i];
		const struct hp_journal_position *pos =
			hp_journal_position(p->target.journal, (uint32_t)i);
		char name[HP_INPUT_NAME];

		if (root->kind == HP_ROOT_DIR || !pos ||
		    pos->archive == identity(root))
			continue;
		return hp_fail(err, HPDSL_EDIFFERS,
			       "the input has changed since the interrupted "
			       "run: %s is another %s",
			       hp_input_name(root, "", 0, name),
			       root->kind == HP_ROOT_DATASET ? "dataset" :
							       "archive");
	}
	return 0;
}

int hp_archives_note(const struct hp_pack *p, struct hpdsl_error *err)
{
	struct hp_journal *j = p->target.journal;
	hp_auto_free struct hp_journal_position *pos =
		hp_array(p->w.list.n_roots, sizeof *pos);
	size_t n = 0;

	if (!pos)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < p->w.list.n_roots; i++) {
		const struct hp_root *root = &p->w.list.roots[i];

		/* Streams are noted with their positions. */
		if (root->kind == HP_ROOT_DIR || root->kind == HP_ROOT_STREAM ||
		    hp_journal_position(j, (uint32_t)i))
			continue;
		pos[n++] = (struct hp_journal_position){
			.root = (uint32_t)i,
			.archive = identity(root),
		};
	}
	return n ? hp_journal_add_positions(j, pos, n, err) : 0;
}
