/* SPDX-License-Identifier: Apache-2.0 */
/* An epoch that is being loaded: this reader's share, and its lanes' units. */
#include "load/load.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

static struct hp_load_share share_of(const struct hpdsl_loader *l,
				     const struct hpdsl_epoch *e,
				     const struct hpdsl_order *o, uint64_t base)
{
	const struct hpdsl_share *is = &l->opt.share;
	struct hpdsl_epoch_info info;

	hpdsl_epoch_info(e, &info);
	return (struct hp_load_share){
		.samples = info.samples,
		.lanes = info.order.lanes,
		.run = info.order.run,
		.step_runs = info.order.step_runs,
		.rank = is->rank,
		.ranks = is->ranks,
		.first = o->step + is->worker,
		.stride = is->workers,
		.steps = hpdsl_epoch_steps(e, l->opt.end),
		.base = base,
	};
}

int hp_load_epoch_new(const struct hpdsl_loader *l, const struct hpdsl_order *o,
		      uint64_t base, struct hp_load_epoch **ret,
		      struct hpdsl_error *err)
{
	struct hp_load_epoch *n;
	struct hpdsl_epoch *e;
	uint32_t lanes;
	int r = hpdsl_epoch_new(l->ds, l->opt.choice, o, &e, err);

	if (r < 0)
		return r;
	lanes = hp_epoch_lanes(e);
	n = calloc(1, sizeof *n + lanes * sizeof *n->lane);
	if (!n) {
		hpdsl_epoch_free(e);
		return hp_fail_nomem(err);
	}
	n->e = e;
	n->lanes = lanes;
	n->share = share_of(l, e, o, base);
	n->number = o->epoch;
	n->end = base + hp_load_turns(&n->share);
	*ret = n;
	return 0;
}

void hp_load_lane_add(struct hp_load_lane *lane, struct hp_load_unit *u)
{
	if (lane->tail)
		lane->tail->next = u;
	else
		lane->head = u;
	lane->tail = u;
}

void hp_load_unit_drop(struct hpdsl_loader *l, struct hp_load_unit *u)
{
	if (--u->refs)
		return;
	hp_slots_charge(&l->slots, -(int64_t)u->bytes);
	hp_load_unit_free(u);
}

/* What was read and not handed out goes, too: nobody will ask for it. */
static void free_lane(struct hpdsl_loader *l, struct hp_load_lane *lane)
{
	struct hp_load_unit *u = lane->head, *next;

	for (; u; u = next) {
		next = u->next;
		if (!l->ending) {
			hp_load_unit_drop(l, u);
			continue;
		}
		for (uint32_t i = 0; i < u->blocks; i++)
			if (u->block[i].slot.p)
				hp_slots_put(&l->slots, &u->block[i].slot);
		hp_load_unit_free(u);
	}
}

void hp_load_epoch_free(struct hpdsl_loader *l, struct hp_load_epoch *e)
{
	if (!e)
		return;
	free_lane(l, &e->turns);
	for (uint32_t i = 0; i < e->lanes; i++)
		free_lane(l, &e->lane[i]);
	hpdsl_epoch_free(e->e);
	free(e);
}
