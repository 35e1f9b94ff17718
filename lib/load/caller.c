/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader's caller asks for: its own order, or what a measured job plays.
 */
#include "load/play.h"

int hpdsl_loader_next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		      struct hpdsl_error *err)
{
	int r = hp_load_may_go_on(l, err);

	if (r < 0)
		return r;
	if (l->play && l->play->m) {
		r = hp_load_play_next(l, ret, err);
	} else {
		pthread_mutex_lock(&l->lock);
		r = hp_load_next(l, ret, err);
		pthread_mutex_unlock(&l->lock);
	}
	return r == HPDSL_ESTOPPED ? hp_load_stopped(l, err) : r;
}

int hpdsl_loader_seek(struct hpdsl_loader *l, uint64_t epoch, uint64_t step,
		      struct hpdsl_error *err)
{
	int r = hp_load_may_go_on(l, err);

	if (r < 0)
		return r;
	if (l->play && l->play->m && hp_load_play_seek(l, epoch, step))
		return 0;
	return hp_load_seek(l, epoch, step, err);
}
