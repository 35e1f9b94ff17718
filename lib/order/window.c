/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and positions: steps 5 and 6 of hpdsl-order(7). */
#include "order/private.h"

#include "base/error.h"
#include "base/perm.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

uint32_t hp_epoch_lanes(const struct hpdsl_epoch *e)
{
	return e->n_lanes;
}

uint64_t hp_epoch_lane_samples(const struct hpdsl_epoch *e, uint32_t lane)
{
	return e->lane[lane].samples;
}

uint64_t hp_epoch_windows(const struct hpdsl_epoch *e, uint32_t lane)
{
	return hp_lane_windows(&e->o, e->lane[lane].pieces);
}

void hp_epoch_window(const struct hpdsl_epoch *e, uint32_t lane,
		     uint64_t number, struct hp_window *ret)
{
	const struct hp_epoch_lane *l = &e->lane[lane];
	uint64_t v = hp_lane_windows(&e->o, l->pieces);
	uint32_t from = hp_window_first(l->pieces, v, number);
	uint32_t to = hp_window_first(l->pieces, v, number + 1);
	const struct hp_piece *piece = &e->piece[l->first];

	*ret = (struct hp_window){
		.lane = lane,
		.number = number,
		.begin = piece[from].begin,
		.samples = (to < l->pieces ? piece[to].begin : l->samples) -
			   piece[from].begin,
		.piece = piece + from,
		.pieces = to - from,
	};
}

/* Which of n pieces holds sample x of their lane. */
static uint32_t find_piece(const struct hp_piece *piece, uint32_t n, uint64_t x)
{
	uint32_t low = 0;

	while (n - low > 1) {
		uint32_t middle = low + (n - low) / 2;

		if (piece[middle].begin <= x)
			low = middle;
		else
			n = middle;
	}
	return low;
}

uint64_t hp_epoch_window_of(const struct hpdsl_epoch *e, uint32_t lane,
			    uint64_t x)
{
	const struct hp_epoch_lane *l = &e->lane[lane];
	uint64_t v = hp_lane_windows(&e->o, l->pieces);
	uint64_t p = find_piece(&e->piece[l->first], l->pieces, x);

	/* the last i with floor(i * pieces / v) <= p */
	return ((p + 1) * v - 1) / l->pieces;
}

void hp_epoch_shuffle(const struct hpdsl_epoch *e, const struct hp_window *w,
		      uint64_t first, size_t n, uint64_t *ret)
{
	struct hp_perm perm;

	hp_perm_init(&perm, w->samples,
		     hp_perm_key(e->o.seed, "window",
				 (uint64_t[]){ e->o.epoch, w->lane, w->number },
				 3));
	hp_perm_range(&perm, first, n, ret);
}

void hp_epoch_samples(const struct hpdsl_epoch *e, const struct hp_piece *p,
		      uint64_t *ret)
{
	hp_draw_list(&e->draw, e->first[p->chunk] + p->skip, p->samples, ret);
}

/* ---- Positions -------------------------------------------------------- */

static struct hp_epoch_spot spot_of(const struct hpdsl_epoch *e,
				    const struct hp_window *w, uint64_t sample)
{
	uint64_t x = w->begin + sample;
	const struct hp_piece *p =
		&w->piece[find_piece(w->piece, w->pieces, x)];

	return (struct hp_epoch_spot){
		.piece = p,
		.occurrence = e->first[p->chunk] + p->skip + (x - p->begin),
	};
}

/* Samples x .. x + n - 1 of the lane. */
static void lane_spots(const struct hpdsl_epoch *e, uint32_t lane, uint64_t x,
		       size_t n, struct hp_epoch_spot *ret)
{
	enum { SOME = 64 };
	uint64_t at[SOME];
	struct hp_window w;

	for (size_t some; n; n -= some, x += some) {
		uint64_t room;

		hp_epoch_window(e, lane, hp_epoch_window_of(e, lane, x), &w);
		room = w.begin + w.samples - x;
		some = n < SOME ? n : SOME;
		if (some > room)
			some = (size_t)room;
		hp_epoch_shuffle(e, &w, x - w.begin, some, at);
		for (size_t i = 0; i < some; i++)
			*ret++ = spot_of(e, &w, at[i]);
	}
}

void hp_epoch_spots(const struct hpdsl_epoch *e, uint64_t first, size_t n,
		    struct hp_epoch_spot *ret)
{
	uint64_t k = e->o.run, lanes = e->o.lanes;

	assert(first <= e->samples && n <= e->samples - first);
	for (size_t some; n; n -= some, first += some, ret += some) {
		uint64_t run = first / k, o = first % k;

		some = n < k - o ? n : (size_t)(k - o);
		lane_spots(e, (uint32_t)(run % lanes), run / lanes * k + o,
			   some, ret);
	}
}

int hpdsl_epoch_at(const struct hpdsl_epoch *e, uint64_t position,
		   uint64_t *ret_sample, struct hpdsl_error *err)
{
	struct hp_epoch_spot spot;

	if (position >= e->samples)
		return hp_fail(err, -ERANGE,
			       "no position %" PRIu64
			       ", the epoch has %" PRIu64,
			       position, e->samples);
	hp_epoch_spots(e, position, 1, &spot);
	hp_draw_list(&e->draw, spot.occurrence, 1, ret_sample);
	return 0;
}
