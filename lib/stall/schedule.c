/* SPDX-License-Identifier: Apache-2.0 */
/* Which phase a step is of. */
#include "stall/schedule.h"

uint64_t hp_stall_phase_steps(const struct hp_stall_schedule *s,
			      enum hpdsl_stall_phase phase)
{
	if (!s->steps[phase])
		return 0;
	return s->lead[phase] + (uint64_t)s->blocks * s->steps[phase];
}

static uint64_t round_steps(const struct hp_stall_schedule *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		n += hp_stall_phase_steps(s, i);
	return n;
}

uint64_t hp_stall_steps(const struct hp_stall_schedule *s)
{
	return s->rounds * round_steps(s);
}

/* Step i of a phase. */
static void place_in_phase(const struct hp_stall_schedule *s, uint64_t i,
			   struct hpdsl_stall_place *p)
{
	uint32_t lead = s->lead[p->phase], steps = s->steps[p->phase];

	p->begins = i == 0;
	p->counts = i >= lead;
	if (!p->counts)
		return;
	i -= lead;
	p->block = (uint32_t)(i / steps);
	p->first = i % steps == 0;
	p->last = i % steps == steps - 1;
}

struct hpdsl_stall_place hp_stall_at(const struct hp_stall_schedule *s,
				     uint64_t step)
{
	struct hpdsl_stall_place p = { .time = HPDSL_STALL_BEFORE };
	uint64_t i, n;

	if (step < s->from)
		return p;
	if (step - s->from >= hp_stall_steps(s)) {
		p.time = HPDSL_STALL_BEHIND;
		return p;
	}
	p.time = HPDSL_STALL_IN;
	p.round = (uint32_t)((step - s->from) / round_steps(s));
	i = (step - s->from) % round_steps(s);
	while (i >= (n = hp_stall_phase_steps(s, p.phase))) {
		i -= n;
		p.phase++;
	}
	place_in_phase(s, i, &p);
	return p;
}
