/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: first those with files of streams, then all others. */
#include "pack/pack.h"

#include "scatter/scatter.h"

static bool all_done(const struct hp_pack *p)
{
	for (uint32_t c = 0; c < p->w.plan.n_chunks; c++)
		if (!p->w.done[c].done)
			return false;
	return true;
}

int hp_write_chunks(struct hp_pack *p, struct hpdsl_error *err)
{
	int r;

	p->w.report->xattrs = 0;
	if (p->w.opt->snapshot)
		p->w.report->hard_links = p->w.report->sparse = 0;
	r = hp_scatter_chunks(&p->w, err);
	return r < 0 || all_done(p) ? r : hp_write_in_order(&p->w, err);
}
