/* SPDX-License-Identifier: Apache-2.0 */
/* Batches, and which samples a turn has. */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>

/* ---- Arrays ----------------------------------------------------------- */

bool hp_load_batch_members(struct hp_load_batch *b, size_t n)
{
	free(b->member_data);
	free(b->member_size);
	free(b->member_number);
	b->member_room = n;
	b->member_data = hp_array(n, sizeof *b->member_data);
	b->member_size = hp_array(n, sizeof *b->member_size);
	b->member_number = hp_array(n, sizeof *b->member_number);
	b->pub.member_data = b->member_data;
	b->pub.member_size = b->member_size;
	b->pub.member_number = b->member_number;
	return b->member_data && b->member_size && b->member_number;
}

static bool alloc(struct hp_load_batch *b, uint32_t n)
{
	b->of = hp_array(n, sizeof(*b->of));
	b->x = hp_array(n, sizeof *b->x);
	b->row = hp_array(n, sizeof(*b->row));
	b->unit = hp_array(n, sizeof(*b->unit));
	b->data = hp_array(n, sizeof *b->data);
	b->size = hp_array(n, sizeof *b->size);
	b->number = hp_array(n, sizeof *b->number);
	b->label = hp_array(n, sizeof *b->label);
	b->mask = hp_array(n, 1);
	b->bad = hp_array(n, 1);
	b->first = hp_array(n + UINT64_C(1), sizeof *b->first);
	return b->of && b->x && b->row && b->unit && b->data && b->size &&
	       b->number && b->label && b->mask && b->bad && b->first &&
	       hp_load_batch_members(b, n);
}

struct hp_load_batch *hp_load_batch_new(const struct hpdsl_loader *l)
{
	struct hp_load_batch *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	if (!alloc(b, l->places)) {
		hp_load_batch_free(b);
		return NULL;
	}
	b->pub.data = b->data;
	b->pub.size = b->size;
	b->pub.number = b->number;
	b->pub.label = b->label;
	b->pub.mask = b->mask;
	b->pub.bad = b->bad;
	b->pub.first = b->first;
	return b;
}

void hp_load_batch_free(struct hp_load_batch *b)
{
	if (!b)
		return;
	free(b->of);
	free(b->x);
	free(b->row);
	free(b->unit);
	free(b->data);
	free(b->size);
	free(b->number);
	free(b->label);
	free(b->mask);
	free(b->bad);
	free(b->first);
	free(b->member_data);
	free(b->member_size);
	free(b->member_number);
	free(b);
}

/* ---- Gathering -------------------------------------------------------- */

/* The lane's unit that has this, which is planned: as a rank's samples come in
 * the order of a lane, not far from the one before. */
static struct hp_load_unit *unit_at(struct hp_load_lane *lane, uint64_t x)
{
	struct hp_load_unit *u = lane->near;

	if (!u || x < u->share.x)
		u = lane->head;
	while (x >= u->share.x + u->share.samples)
		u = u->next;
	lane->near = u;
	return u;
}

/* Sample i of the batch: what its slot has, or what fills it. */
static void gather_slot(struct hpdsl_loader *l, struct hp_load_batch *b,
			uint32_t i)
{
	struct hp_load_epoch *e = l->caller.epoch;
	const struct hp_own *own = e->plan.own;
	struct hp_deal_place at = hp_own_place(own, b->pub.step, l->slot + i);
	bool filled = own->fill && b->pub.step == own->fill_step;
	bool real = !filled || l->slot + i < own->fill_slot;

	if (filled && own->fill == HP_OWN_DEALT) {
		at = (struct hp_deal_place){ HP_SHARE_APART,
					     own->fill_slot + i };
		real = !own->idle;
	} else if (!real && own->fill == HP_OWN_APART)
		at = (struct hp_deal_place){ HP_SHARE_APART, l->slot + i };
	else if (!real)
		at.x -= own->in_step;
	b->of[i] = unit_at(hp_load_lane(e, at.lane), at.x);
	b->x[i] = at.x;
	b->mask[i] = real || l->opt.end == HPDSL_END_REPEAT;
}

static void collect(struct hpdsl_loader *l, struct hp_load_batch *b,
		    struct hp_load_unit *u)
{
	if (u->collected == l->turn + 1)
		return;
	u->collected = l->turn + 1;
	b->unit[b->units++] = u;
	if (u->last > l->turn)
		return;
	u->over = l->caller.over;
	l->caller.over = u;
}

void hp_load_gather(struct hpdsl_loader *l, struct hp_load_batch *b)
{
	b->pub.epoch = l->caller.epoch->number;
	b->pub.step = hp_load_step(l->caller.epoch, l->turn);
	b->pub.n = hp_own_places(l->caller.epoch->plan.own, b->pub.step);
	b->pub.whole = hp_deal_whole(l->caller.epoch->plan.own->d, l->opt.end,
				     b->pub.step);
	b->units = 0;
	for (uint32_t i = 0; i < b->pub.n; i++) {
		gather_slot(l, b, i);
		collect(l, b, b->of[i]);
	}
	b->left = b->units;
}

/* ---- The end of a turn ------------------------------------------------ */

/* The lane's units that no later turn needs. */
static void drop_over(struct hpdsl_loader *l, struct hp_load_lane *lane)
{
	struct hp_load_unit *u;

	lane->near = NULL;
	while ((u = lane->head) && u->last <= l->turn) {
		lane->head = u->next;
		if (!u->next)
			lane->tail = NULL;
		if (u->held)
			l->caller.held -= u->b.room;
		hp_load_unit_drop(l, u);
	}
}

void hp_load_end_turn(struct hpdsl_loader *l)
{
	struct hp_load_unit *u;

	/* The batch still has them. */
	for (u = l->caller.over; u; u = u->over)
		drop_over(l, hp_load_lane(l->caller.epoch, u->share.lane));
	l->caller.over = NULL;
	l->turn++;
}
