/* SPDX-License-Identifier: Apache-2.0 */
#include "load/own.h"

/* Is it one of the own steps? */
static bool is_own(const struct hp_own *o, uint64_t step)
{
	return step >= o->first && step < o->end &&
	       (step - o->first) % o->stride == 0;
}

/* All slots that lack a sample lack it in one step: it is the same for all. */
static void init_fill(struct hp_own *o)
{
	uint64_t step = o->d->samples / o->d->batch;
	uint32_t has = (uint32_t)(o->d->samples % o->d->batch);

	o->fill = HP_OWN_NO_FILL;
	o->fill_step = step;
	o->fill_slot = has > o->slot ? has : o->slot;
	o->fill_end = o->slot_end;
	if (!has || !is_own(o, step) || o->fill_slot >= o->slot_end)
		return;
	o->fill = step >= o->every && is_own(o, step - o->every) ?
			  HP_OWN_BEFORE :
			  HP_OWN_APART;
}

/* One rank alone has what is left in its own lanes. */
static void init_short(struct hp_own *o, uint32_t rank, uint32_t ranks)
{
	uint64_t step = o->d->samples / o->d->batch;
	struct hp_deal_slots is =
		hp_deal_slots(o->d, HPDSL_END_SHORT, step, rank, ranks);

	if (o->d->samples % o->d->batch == 0)
		return;
	o->is_short = true;
	o->fill_step = step;
	o->fill_slot = is.first;
	o->fill_end = is.end;
	if (ranks == 1 || !is_own(o, step))
		return;
	o->fill = HP_OWN_DEALT;
	o->idle = is.idle;
	o->until = step;
}

/* Of the rows that have samples, those that have own slots. */
static void init_lanes(struct hp_own *o, const struct hp_deal_rows *rows)
{
	uint64_t row = o->slot / o->in_step;
	uint64_t end = (o->slot_end - 1) / o->in_step + 1;

	if (end > rows->rows)
		end = rows->rows;
	if (o->slot >= o->slot_end || row >= end)
		return;
	o->lane = row * o->every;
	o->lane_end = end * o->every;
}

void hp_own_init(struct hp_own *o, const struct hp_deal *d,
		 const struct hp_own_options *opt)
{
	struct hp_deal_rows rows = hp_deal_rows(d);

	*o = (struct hp_own){
		.d = d,
		.in_step = d->batch > d->lanes ? d->batch / d->lanes : 1,
		.every = rows.every,
		.turns = rows.turns,
		.slot = hp_deal_rank(d, opt->rank, opt->ranks),
		.slot_end = hp_deal_rank(d, opt->rank + 1, opt->ranks),
		.first = opt->first,
		.stride = opt->stride ? opt->stride : 1,
		.end = opt->end,
		.until = opt->end,
	};
	init_lanes(o, &rows);
	if (opt->fill)
		init_fill(o);
	if (opt->may_be_short)
		init_short(o, opt->rank, opt->ranks);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Steps that are so many apart have the same lanes, or have none in common. */
uint64_t hp_own_lanes(const struct hp_own *o)
{
	uint64_t apart = common_divisor(o->every, o->stride);

	return (o->lane_end - o->lane) / o->every *
	       ((o->turns + apart - 1) / apart);
}

/* The own samples that a lane gives to a step: from .. end - 1 of in_step. */
static void find_slots(const struct hp_own *o, uint64_t lane,
		       uint64_t *ret_from, uint64_t *ret_end)
{
	uint64_t slot = lane / o->every * o->in_step;

	*ret_from = o->slot > slot ? o->slot - slot : 0;
	*ret_end = o->slot_end > slot ? o->slot_end - slot : 0;
	if (*ret_end > o->in_step)
		*ret_end = o->in_step;
}

uint64_t hp_own_from(const struct hp_own *o, uint64_t lane, uint64_t x)
{
	uint64_t turn = lane % o->every, from, end;
	uint64_t i = x / o->in_step, at = x % o->in_step;

	find_slots(o, lane, &from, &end);
	if (from >= end)
		return UINT64_MAX;
	if (at < from)
		at = from;
	if (at >= end || i * o->every + turn < o->first) {
		i += at >= end;
		at = from;
	}
	if (i * o->every + turn < o->first)
		i = (o->first - turn + o->every - 1) / o->every;
	/* As many steps later it is the same again. */
	for (uint64_t n = 0; n < o->stride; n++, i++, at = from) {
		uint64_t step = i * o->every + turn;

		x = i * o->in_step + at;
		if (step >= o->until || x >= hp_deal_lane(o->d, lane))
			break;
		if ((step - o->first) % o->stride == 0)
			return x;
	}
	return UINT64_MAX;
}

bool hp_own_has(const struct hp_own *o, uint64_t lane, uint64_t x)
{
	return lane >= o->lane && lane < o->lane_end &&
	       hp_own_from(o, lane, x) == x;
}

bool hp_own_fills(const struct hp_own *o, uint64_t lane, uint64_t x, uint64_t n)
{
	uint64_t slot = lane / o->every * o->in_step, from, end, before;

	if (o->fill != HP_OWN_BEFORE ||
	    lane % o->every != o->fill_step % o->every)
		return false;
	find_slots(o, lane, &from, &end);
	if (slot + from < o->fill_slot)
		from = o->fill_slot - slot;
	/* Of the step in which the lane was before. */
	before = (o->fill_step / o->every - 1) * o->in_step;
	return from < end && before + from < x + n && before + end > x;
}
