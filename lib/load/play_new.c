/* SPDX-License-Identifier: Apache-2.0 */
/* Is the job measured?  What a loader keeps of it, made and given back. */
#include "base/error.h"
#include "load/play.h"

#include <stdlib.h>

static int check_kind(const struct hpdsl_loader *l, struct hpdsl_error *err)
{
	if (l->opt.share.workers <= 1)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE,
		       "hpdsl-stall measures no loader that is one of several "
		       "workers': run the job without workers, or with "
		       "hpdsl.torch.Loader's");
}

int hp_load_play_new(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	const struct hpdsl_measured_options opt = {
		.rank = l->opt.share.rank,
		.ranks = l->opt.share.ranks,
		.io = l->opt.watch.io,
	};
	struct hpdsl_measured *m;
	int r = hpdsl_measured_new(&opt, &m, err);

	if (r < 0 || !m)
		return r;
	r = check_kind(l, err);
	if (r == 0)
		l->play = calloc(1, sizeof *l->play);
	if (!l->play) {
		hpdsl_measured_free(m);
		return r < 0 ? r : hp_fail_nomem(err);
	}
	/* Who lends batches to other processes plays above it. */
	if (l->opt.shared)
		hpdsl_measured_free(m);
	else
		l->play->m = m;
	return 0;
}

void hp_load_play_end(struct hpdsl_loader *l)
{
	if (!l->play)
		return;
	hpdsl_measured_free(l->play->m);
	l->play->m = NULL;
	l->paused = false;
}

void hp_load_play_free(struct hpdsl_loader *l)
{
	if (!l->play)
		return;
	for (uint32_t i = 0; i < l->play->n_kept; i++)
		hp_load_kept_release(&l->play->kept[i]);
	free(l->play);
}
