/* SPDX-License-Identifier: Apache-2.0 */
/* A bound on bytes a second. */
#include "base/pace.h"

double hp_pace_take(struct hp_pace *p, double now, uint64_t n)
{
	double wait;

	if (p->rate <= 0)
		return 0;
	if (p->next < now - HP_PACE_BURST)
		p->next = now - HP_PACE_BURST;
	wait = p->next - now;
	p->next += (double)n / p->rate;
	return wait > 0 ? wait : 0;
}
