/* SPDX-License-Identifier: Apache-2.0 */
/* An epoch that is being loaded: this reader's shares, and its lanes' units. */
#include "load/load.h"

#include "base/error.h"
#include "dataset/dataset.h"

#include <inttypes.h>
#include <stdlib.h>

static struct hp_shares_options options(const struct hpdsl_loader *l,
					struct hp_load_epoch *e, uint64_t first)
{
	const struct hpdsl_share *is = &l->opt.share;

	return (struct hp_shares_options){
		.seq = hp_epoch_seq(e->e),
		.extent = hp_load_extent,
		.dense = hp_load_dense,
		.arg = &e->extents,
		.own = {
			.rank = is->rank,
			.ranks = is->ranks,
			.first = first + is->worker,
			.stride = is->workers,
			.end = hpdsl_epoch_steps(e->e, l->opt.end),
			.fill = hp_deal_fills(l->opt.end),
			.may_be_short = l->opt.end == HPDSL_END_SHORT,
		},
		.bytes = l->division.share_bytes,
	};
}

/* Before the first epoch nobody knows how large shares are. */
static int divide(const struct hpdsl_loader *l, struct hp_load_epoch *e,
		  struct hp_shares_options *opt, struct hpdsl_error *err)
{
	struct hp_own own;
	int r = 0;

	e->division = l->division;
	hp_own_init(&own, hp_seq_deal(opt->seq), &opt->own);
	if (!opt->bytes)
		r = hp_load_divide(l->ds, e->e, &own, l->memory, &e->division,
				   err);
	opt->bytes = e->division.share_bytes;
	return r;
}

static int begin(const struct hpdsl_loader *l, struct hp_load_epoch *e,
		 uint64_t first, struct hpdsl_error *err)
{
	struct hp_shares_options opt = options(l, e, first);
	struct hp_load_wanted wanted = {
		.suffixes = (const char *const *)l->suffix,
		.n_suffixes = (uint32_t)l->opt.n_suffixes,
	};
	int r;

	e->extents = (struct hp_load_extents){ .e = e->e, .wanted = wanted };
	r = divide(l, e, &opt, err);
	if (r == 0)
		r = hp_shares_new(&opt, &e->shares, err);
	if (r < 0)
		return r;
	e->plan = (struct hp_load_plan){
		.e = e->e,
		.own = hp_shares_own(e->shares),
		.index = l->ds->index,
		.wanted = wanted,
	};
	e->end = e->base + hp_own_steps(e->plan.own);
	return 0;
}

/* Lanes that the reader has slots of. */
static uint64_t lanes_of(const struct hpdsl_loader *l,
			 const struct hpdsl_epoch *e)
{
	struct hp_own_options opt = { .rank = l->opt.share.rank,
				      .ranks = l->opt.share.ranks };
	struct hp_own own;

	hp_own_init(&own, hp_seq_deal(hp_epoch_seq(e)), &opt);
	return hp_own_lane_count(&own);
}

/* The order, if its steps can be shared that way. */
static int find_order(const struct hpdsl_loader *l, const struct hpdsl_order *o,
		      struct hpdsl_epoch **ret, struct hpdsl_error *err)
{
	int r = hpdsl_epoch_new(l->ds, l->opt.choice, o, ret, err);

	if (r < 0)
		return r;
	r = hp_epoch_check_share(*ret, &l->opt.share, err);
	if (r < 0)
		hpdsl_epoch_free(*ret);
	return r;
}

/* Nothing is in its lanes yet; e goes with it.  NULL: no memory. */
static struct hp_load_epoch *allocate(const struct hpdsl_loader *l,
				      struct hpdsl_epoch *e)
{
	uint64_t lanes = lanes_of(l, e);
	struct hp_load_epoch *n =
		calloc(1, sizeof *n + lanes * sizeof *n->lane);

	if (!n) {
		hpdsl_epoch_free(e);
		return NULL;
	}
	n->e = e;
	n->lanes = lanes;
	return n;
}

static void release(struct hp_load_epoch *n)
{
	hp_shares_free(n->shares);
	hpdsl_epoch_free(n->e);
	free(n);
}

int hp_load_epoch_new(const struct hpdsl_loader *l, const struct hpdsl_order *o,
		      uint64_t base, struct hp_load_epoch **ret,
		      struct hpdsl_error *err)
{
	struct hp_load_epoch *n;
	struct hpdsl_epoch *e;
	int r = find_order(l, o, &e, err);

	if (r < 0)
		return r;
	n = allocate(l, e);
	if (!n)
		return hp_fail_nomem(err);
	n->number = o->epoch;
	n->base = base;
	r = begin(l, n, o->step, err);
	if (r < 0)
		release(n);
	else
		*ret = n;
	return r;
}

int hp_load_check_step(uint64_t step, uint64_t steps, struct hpdsl_error *err)
{
	if (step <= steps)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE,
		       "no step %" PRIu64 ", the epoch has %" PRIu64, step,
		       steps);
}

struct hp_load_lane *hp_load_lane(struct hp_load_epoch *e, uint64_t lane)
{
	return lane == HP_SHARE_APART ?
		       &e->apart :
		       &e->lane[hp_own_lane_number(e->plan.own, lane)];
}

void hp_load_unit_drop(struct hpdsl_loader *l, struct hp_load_unit *u)
{
	if (--u->refs)
		return;
	if (u->place.p)
		hp_arena_put(&l->arena, &u->place);
	hp_arena_charge(&l->arena, -(int64_t)u->bytes);
	hp_load_unit_free(u);
}

/* What was read and not handed out goes, too: nobody will ask for it. */
static void free_lane(struct hpdsl_loader *l, struct hp_load_lane *lane)
{
	struct hp_load_unit *u = lane->head, *next;

	for (; u; u = next) {
		next = u->next;
		hp_load_unit_drop(l, u);
	}
}

void hp_load_epoch_free(struct hpdsl_loader *l, struct hp_load_epoch *e)
{
	if (!e)
		return;
	free_lane(l, &e->apart);
	for (uint64_t i = 0; i < e->lanes; i++)
		free_lane(l, &e->lane[i]);
	release(e);
}
