/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, their ranks and the end: steps 7 and 8 of hpdsl-order(7). */
#include "order/private.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>

static uint64_t batch(const struct hpdsl_epoch *e)
{
	return (uint64_t)e->o.step_runs * e->o.run;
}

uint64_t hpdsl_epoch_steps(const struct hpdsl_epoch *e, enum hpdsl_end end)
{
	uint64_t g = batch(e);

	return e->samples / g + (end != HPDSL_END_DROP && e->samples % g > 0);
}

/* n positions from first on, all in one stretch and all there are. */
static void put_places(const struct hpdsl_epoch *e, uint64_t first, size_t n,
		       bool real, struct hpdsl_place *ret)
{
	enum { SOME = 64 };
	struct hp_epoch_spot spot[SOME];

	for (size_t some; n; n -= some, first += some) {
		some = n < SOME ? n : SOME;
		hp_epoch_spots(e, first, some, spot);
		for (size_t i = 0; i < some; i++, ret++) {
			ret->position = first + i;
			ret->real = real;
			hp_draw_list(&e->draw, spot[i].occurrence, 1,
				     &ret->sample);
		}
	}
}

/* A whole run; behind N the epoch begins anew, as often as it takes. */
static void put_run(const struct hpdsl_epoch *e, enum hpdsl_end end,
		    uint64_t run, struct hpdsl_place *ret)
{
	uint64_t at = run * e->o.run, n = e->samples, left = e->o.run;
	bool real = true;

	while (left) {
		uint64_t some;

		if (at >= n) {
			at %= n;
			real = end == HPDSL_END_REPEAT;
		}
		some = n - at < left ? n - at : left;
		put_places(e, at, (size_t)some, real, ret);
		ret += some;
		left -= some;
		at += some;
	}
}

/* Whatever is 0 of is 1. */
static uint32_t of(uint32_t n)
{
	return n ? n : 1;
}

int hp_epoch_check_share(const struct hpdsl_epoch *e,
			 const struct hpdsl_share *s, struct hpdsl_error *err)
{
	uint32_t ranks = of(s->ranks), workers = of(s->workers);
	uint32_t q = e->o.step_runs;

	if (s->rank >= ranks || s->worker >= workers)
		return hp_fail(err, HPDSL_EUSAGE,
			       "no rank %u of %u, worker %u of %u", s->rank,
			       ranks, s->worker, workers);
	if (ranks > q)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%u ranks cannot share steps of %u runs", ranks,
			       q);
	if (q % ranks && !s->uneven)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%u ranks do not divide a step of %u runs "
			       "(uneven: let ranks differ by a run)",
			       ranks, q);
	return 0;
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

int64_t hpdsl_epoch_step(const struct hpdsl_epoch *e, enum hpdsl_end end,
			 uint64_t step, const struct hpdsl_share *share,
			 struct hpdsl_place *ret, size_t room,
			 struct hpdsl_error *err)
{
	uint32_t rank = share ? share->rank : 0;
	uint32_t ranks = of(share ? share->ranks : 1);
	uint64_t q = e->o.step_runs, n;
	int r = check(e, end, step, share, err);

	if (r < 0)
		return r;
	n = ((q - 1 - rank) / ranks + 1) * e->o.run;
	if (n > INT64_MAX || (ret && n > room))
		return hp_fail(err, -ENOSPC,
			       "a step of %" PRIu64 " places, room for %zu", n,
			       room);
	for (uint64_t m = rank; ret && m < q; m += ranks) {
		put_run(e, end, step * q + m, ret);
		ret += e->o.run;
	}
	return (int64_t)n;
}
