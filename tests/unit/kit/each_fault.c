/* SPDX-License-Identifier: Apache-2.0 */
#include "each_fault.h"

bool each_fault(struct each_fault *e)
{
	long step = e->step ? e->step : 1;

	if (e->k && !e->f.failed)
		return false;
	e->k += e->k ? step : 1;
	faultio_init(&e->f, e->k, e->forever || (e->in_turn && e->k % 2),
		     e->code);
	return true;
}

bool each_alloc(struct each_alloc *e)
{
	if (e->last)
		return false;
	e->k++;
	return true;
}

void each_alloc_begin(const struct each_alloc *e)
{
	wrap_fail_at(e->k, e->forever || (e->in_turn && e->k % 2));
}

void each_alloc_end(struct each_alloc *e)
{
	e->last = wrap_count() < e->k;
	wrap_fail_at(0, false);
}
