/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, their ranks and the end. */
#include "order/private.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>

uint64_t hpdsl_epoch_steps(const struct hpdsl_epoch *e, enum hpdsl_end end)
{
	return hp_deal_steps(hp_seq_deal(e->seq), end);
}

/* Whatever is 0 of is 1. */
static uint32_t of(uint32_t n)
{
	return n ? n : 1;
}

/* A divisor of the batch: is it nearer to ranks than those known so far? */
static void see_divisor(uint32_t ranks, uint32_t d, uint32_t *below,
			uint32_t *above)
{
	if (d < ranks && d > *below)
		*below = d;
	if (d > ranks && d < *above)
		*above = d;
}

/* What would do: the next divisors of the batch below and above ranks. */
static int refuse_ranks(uint32_t batch, uint32_t ranks, struct hpdsl_error *err)
{
	uint32_t below = 1, above = batch;

	for (uint32_t d = 1; d <= batch / d; d++) {
		if (batch % d != 0)
			continue;
		see_divisor(ranks, d, &below, &above);
		see_divisor(ranks, batch / d, &below, &above);
	}
	return hp_fail(
		err, HPDSL_EUSAGE,
		"a batch of %" PRIu32 ": %" PRIu32
		" ranks do not divide it; %" PRIu32 " or %" PRIu32
		" do (uneven: %" PRIu32 " or %" PRIu32 " samples a rank)",
		batch, ranks, below, above, batch / ranks, batch / ranks + 1);
}

int hp_epoch_check_share(const struct hpdsl_epoch *e,
			 const struct hpdsl_share *s, struct hpdsl_error *err)
{
	uint32_t ranks = of(s->ranks), workers = of(s->workers);
	uint32_t batch = e->o.batch;

	if (s->rank >= ranks || s->worker >= workers)
		return hp_fail(err, HPDSL_EUSAGE,
			       "no rank %u of %u, worker %u of %u", s->rank,
			       ranks, s->worker, workers);
	if (ranks > batch)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%u ranks cannot share a batch of %u samples",
			       ranks, batch);
	if (batch % ranks && !s->uneven)
		return refuse_ranks(batch, ranks, err);
	return 0;
}

void hp_epoch_slots(const struct hpdsl_epoch *e, const struct hpdsl_share *s,
		    uint32_t *ret_first, uint32_t *ret_end)
{
	const struct hp_deal *d = hp_seq_deal(e->seq);
	uint32_t rank = s ? s->rank : 0, ranks = of(s ? s->ranks : 1);

	*ret_first = hp_deal_rank(d, rank, ranks);
	*ret_end = hp_deal_rank(d, rank + 1, ranks);
}

static int check(const struct hpdsl_epoch *e, enum hpdsl_end end, uint64_t step,
		 const struct hpdsl_share *share, struct hpdsl_error *err)
{
	uint64_t steps = hpdsl_epoch_steps(e, end);

	if (step >= steps)
		return hp_fail(err, -ERANGE,
			       "no step %" PRIu64 ", the epoch has %" PRIu64,
			       step, steps);
	return share ? hp_epoch_check_share(e, share, err) : 0;
}

static void put(const struct hpdsl_epoch *e, struct hp_seq_memo *memo,
		uint64_t position, struct hpdsl_place *ret)
{
	struct hp_seq_spot at;

	ret->position = position;
	at = hp_seq_at(e->seq, memo, ret->position);
	hp_lists_samples(&e->lists, at.list, at.index, 1, &ret->sample);
}

int64_t hpdsl_epoch_step(const struct hpdsl_epoch *e, enum hpdsl_end end,
			 uint64_t step, const struct hpdsl_share *share,
			 struct hpdsl_place *ret, size_t room,
			 struct hpdsl_error *err)
{
	const struct hp_deal *d = hp_seq_deal(e->seq);
	struct hp_deal_slots is;
	struct hp_seq_memo memo;
	int r = check(e, end, step, share, err);

	if (r < 0)
		return r;
	is = hp_deal_slots(d, end, step, share ? share->rank : 0,
			   of(share ? share->ranks : 1));
	if (ret && is.end - is.first > room)
		return hp_fail(err, -ENOSPC,
			       "a step of %" PRIu32 " places, room for %zu",
			       is.end - is.first, room);
	hp_seq_memo_init(&memo);
	for (uint32_t slot = is.first; ret && slot < is.end; slot++, ret++) {
		uint64_t position = hp_deal_slot(d, step, slot, &ret->real);

		ret->real |= end == HPDSL_END_REPEAT;
		ret->real &= !is.idle;
		put(e, &memo, is.idle ? hp_deal_fill(d, step, slot) : position,
		    ret);
	}
	return is.end - is.first;
}
