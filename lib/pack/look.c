/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample is, where nobody has said it: from packed inputs and names. */
#include "pack/pack.h"

#include "base/error.h"
#include "dataset/dataset.h"

static size_t count_datasets(const struct hp_list *list, uint32_t flags)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n_roots; i++) {
		const struct hp_root *root = &list->roots[i];

		n += root->kind == HP_ROOT_DATASET &&
		     (hp_index_flags(root->dataset->index) & flags) == flags;
	}
	return n;
}

int hp_pack_group(const struct hp_list *list, enum hpdsl_group *group,
		  struct hpdsl_error *err)
{
	size_t none = count_datasets(list, HP_INDEX_GROUP_NONE);

	if (none && none < list->n_roots)
		return hp_fail(
			err, HPDSL_EUSAGE,
			"in some inputs each file is a sample, in others "
			"not; how they are grouped has to be said");
	if (none)
		*group = HPDSL_GROUP_NONE;
	return 0;
}

/* Who packed an input has seen what its samples are. */
static bool may_refuse(const struct hp_pack *p)
{
	return count_datasets(&p->w.list, 0) < p->w.list.n_roots;
}

int hp_pack_look(const struct hp_pack *p, struct hpdsl_error *err)
{
	struct hpdsl_group_look *look = &p->w.report->look;
	char text[HPDSL_LOOK_TEXT];
	int r;

	if (p->w.opt->group == HPDSL_GROUP_NONE)
		return 0;
	r = hp_list_look(&p->w.list, look, err);
	if (r < 0 || p->w.opt->group != HPDSL_GROUP_LOOK)
		return r;
	if (look->verdict == HPDSL_LOOK_REFUSE && may_refuse(p)) {
		hp_warn_of_zarr(p);
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s; what a sample is has to be said",
			       hpdsl_look_text(look, text));
	}
	hp_warn_of_look(p);
	return 0;
}
