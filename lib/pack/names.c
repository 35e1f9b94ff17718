/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan's report says of the members' names in the chunks. */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "plan/keys_again.h"
#include "plan/name_risk.h"
#include "plan/portable.h"

static int count(const struct hp_list *list, struct hp_risk_counts *counts,
		 struct hpdsl_error *err)
{
	struct hp_sample_names names = { 0 };
	struct hp_keys_again again;
	int r = hp_keys_again_begin(&again, list, err);

	for (uint64_t s = 0; s < list->n_samples && r == 0; s++) {
		uint32_t also = hp_key_is_again(&again, s) ?
					UINT32_C(1) << HP_RISK_KEY_AGAIN :
					0;

		r = hp_sample_names(&names, list, s, true, err);
		if (r == 0)
			r = hp_risk_counts_add(counts, names.v, (size_t)names.n,
					       also, err);
	}
	hp_sample_names_release(&names);
	hp_keys_again_end(&again);
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
