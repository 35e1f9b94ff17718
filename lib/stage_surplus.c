/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier plan has left in a stage directory. */
#include "stage.h"
#include "stage_fit.h"
#include "stage_plan.h"

uint64_t hpdsl_stage_surplus(const struct hpdsl_stage *s,
			     const struct hpdsl_stage_plan *plan)
{
	uint64_t sum = 0;

	for (uint64_t c = 0; c < plan->chunks; c++)
		if (hpdsl_stage_holds(s, c) && !hp_plan_holds(plan, s->node, c))
			sum = hp_fit_add(sum, plan->weight[c]);
	return sum;
}
