/* SPDX-License-Identifier: Apache-2.0 */
#include "each_fault.h"

#include "level.h"

/* Where nearly all has failed once, check leaves to check-more what is between.
 */
static long step_behind(long k)
{
	return k < 64 || at_level("more") ? 1 : 7;
}

bool each_fault(struct each_fault *e)
{
	const long step = e->step > 1 ? e->step : step_behind(e->k);

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
	e->k += step_behind(e->k);
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
