/* SPDX-License-Identifier: Apache-2.0 */
/* What an epoch costs a reader: its shares gone through, and nothing read. */
#include "base/error.h"
#include "dataset/dataset.h"
#include "hpdsl/loader.h"
#include "load/divide.h"
#include "load/extent.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

static int check(const struct hpdsl_epoch *e,
		 const struct hpdsl_cost_options *opt, uint64_t steps,
		 struct hpdsl_error *err)
{
	int r = hp_epoch_check_share(e, &opt->share, err);
	uint32_t slot, slot_end;

	if (r < 0)
		return r;
	hp_epoch_slots(e, &opt->share, &slot, &slot_end);
	r = hp_load_check_places(slot_end - slot, opt->memory, err);
	if (r < 0)
		return r;
	if (opt->memory && opt->memory < HPDSL_LOADER_MEMORY_LEAST)
		return hp_fail(err, HPDSL_EUSAGE,
			       "a loader needs a memory of 16 MiB or more, not "
			       "%" PRIu64 " bytes",
			       opt->memory);
	if (opt->first > steps || opt->steps > steps - opt->first)
		return hp_fail(err, -ERANGE,
			       "no such steps: %" PRIu64 " from step %" PRIu64
			       " on, and the epoch has %" PRIu64,
			       opt->steps, opt->first, steps);
	return 0;
}

static uint32_t of(uint32_t n)
{
	return n ? n : 1;
}

static void copy(const struct hp_shares_cost *c,
		 const struct hp_load_division *d, struct hpdsl_epoch_cost *ret)
{
	ret->lanes = c->lanes;
	ret->share_bytes = d->share_bytes;
	ret->piece_bytes = d->piece_bytes;
	ret->cure = d->cure;
	ret->reads = c->reads;
	ret->read_bytes = c->bytes;
	ret->wanted_bytes = c->wanted;
	ret->median_read = c->median;
	ret->held_peak = c->held_peak;
	ret->first_batch = c->first_batch;
}

static int count(const struct hpdsl_epoch *e, const struct hpdsl_dataset *ds,
		 const struct hpdsl_cost_options *opt,
		 const struct hp_own_options *own, struct hpdsl_epoch_cost *ret,
		 struct hpdsl_error *err)
{
	struct hp_load_extents x = {
		.e = e,
		.index = ds->index,
		.wanted = { opt->suffixes, (uint32_t)opt->n_suffixes },
	};
	struct hp_shares_options shares = {
		.seq = hp_epoch_seq(e),
		.extent = hp_load_extent,
		.dense = hp_load_dense,
		.kept = hp_load_kept,
		.arg = &x,
		.own = *own,
	};
	struct hp_load_division d;
	struct hp_shares_cost c;
	struct hp_own is;
	int r;

	hp_own_init(&is, hp_seq_deal(shares.seq), own);
	r = hp_load_divide(ds, e, &is,
			   opt->memory ? opt->memory : HPDSL_LOADER_MEMORY, &d,
			   err);
	if (r < 0)
		return r;
	shares.bytes = d.share_bytes;
	r = hp_shares_count(&shares, hp_load_stored, &c, err);
	if (r < 0)
		return r;
	copy(&c, &d, ret);
	ret->steps = hp_own_steps(&is);
	return 0;
}

static int mix(const struct hpdsl_epoch *e, uint64_t first, uint64_t steps,
	       struct hpdsl_epoch_cost *ret, struct hpdsl_error *err)
{
	struct hp_mixing m;
	int r = hp_epoch_mixing(e, first, steps, &m, err);

	if (r < 0)
		return r;
	ret->mates = m.mates;
	ret->step_pieces = m.stretches;
	ret->step_chunks = m.chunks;
	return 0;
}

int hpdsl_epoch_cost(const struct hpdsl_epoch *e,
		     const struct hpdsl_dataset *ds,
		     const struct hpdsl_cost_options *opt,
		     struct hpdsl_epoch_cost *ret, struct hpdsl_error *err)
{
	uint64_t all = hpdsl_epoch_steps(e, opt->end);
	struct hp_own_options own = {
		.rank = opt->share.rank,
		.ranks = of(opt->share.ranks),
		.first = opt->first + opt->share.worker,
		.stride = of(opt->share.workers),
		.end = opt->steps ? opt->first + opt->steps : all,
		.fill = hp_deal_fills(opt->end),
		.may_be_short = opt->end == HPDSL_END_SHORT,
	};
	struct hpdsl_epoch_cost cost = { .mates = NAN };
	const struct hp_load_wanted w = { opt->suffixes,
					  (uint32_t)opt->n_suffixes };
	int r = check(e, opt, all, err);

	if (r == 0)
		r = hp_load_look(ds, hp_epoch_choice(e), &w, HP_LOAD_LOOK, err);
	if (r == 0)
		r = count(e, ds, opt, &own, &cost, err);
	if (r == 0 && own.end > opt->first)
		r = mix(e, opt->first, own.end - opt->first, &cost, err);
	if (r == 0)
		*ret = cost;
	return r;
}
