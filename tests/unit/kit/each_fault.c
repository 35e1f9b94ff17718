/* SPDX-License-Identifier: Apache-2.0 */
#include "each_fault.h"

#include "level.h"

long each_next(long k)
{
	return k < 64 || at_level("more") ? k + 1 : k + 7;
}

bool each_fault(struct each_fault *e)
{
	const long next = each_next(e->k);

	if (e->k && !e->f.failed)
		return false;
	e->k = e->k && next < e->k + e->step ? e->k + e->step : next;
	faultio_init(&e->f, e->k, e->forever || (e->in_turn && e->k % 2),
		     e->code);
	return true;
}

bool each_alloc(struct each_alloc *e)
{
	if (e->last)
		return false;
	e->k = each_next(e->k);
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
