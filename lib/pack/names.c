/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan's report says of the members' names in the chunks. */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "plan/name_risk.h"
#include "plan/portable.h"

#include <string.h>

static bool same_key(const struct hp_list *list, uint64_t a, uint64_t b)
{
	const struct hp_file *f = &list->files[list->samples[a]];
	const struct hp_file *g = &list->files[list->samples[b]];

	return f->key_len == g->key_len &&
	       memcmp(f->path, g->path, f->key_len) == 0;
}

/* With --group=none: samples are sorted by key. */
static bool key_again(const struct hp_list *list, uint64_t s)
{
	return (s && same_key(list, s - 1, s)) ||
	       (s + 1 < list->n_samples && same_key(list, s, s + 1));
}

static int count(const struct hp_list *list, struct hp_risk_counts *counts,
		 struct hpdsl_error *err)
{
	struct hp_sample_names names = { 0 };
	int r = 0;

	for (uint64_t s = 0; s < list->n_samples && r == 0; s++) {
		uint32_t also = key_again(list, s) ?
					UINT32_C(1) << HP_RISK_KEY_AGAIN :
					0;

		r = hp_sample_names(&names, list, s, true, err);
		if (r == 0)
			r = hp_risk_counts_add(counts, names.v, (size_t)names.n,
					       also, err);
	}
	hp_sample_names_release(&names);
	return r;
}

int hp_pack_names(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hpdsl_pack_report *rep = p->w.report;
	struct hp_risk_counts *counts;
	int r;

	if (p->w.opt->names == HPDSL_NAMES_PORTABLE) {
		rep->names_changed = hp_list_renamed(&p->w.list);
		return 0;
	}
	counts = calloc(1, sizeof *counts);
	if (!counts)
		return hp_fail_nomem(err);
	r = count(&p->w.list, counts, err);
	if (r == 0) {
		rep->risky_names = counts->risky;
		rep->n_risks = hp_risk_counts_tell(counts, rep->risks);
	}
	hp_risk_counts_release(counts);
	free(counts);
	return r;
}
