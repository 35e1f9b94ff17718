/* SPDX-License-Identifier: Apache-2.0 */
/* Making an epoch: how many samples each chunk has, and the lanes' pieces. */
#include "order/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "format/names.h"

#include <string.h>

static bool make_room(struct hpdsl_epoch *e, uint64_t more)
{
	uint64_t room = e->room ? e->room : 64;
	struct hp_piece *p;

	while (room - e->n_pieces < more)
		room *= 2;
	if (room == e->room)
		return true;
	p = reallocarray(e->piece, room, sizeof *p);
	if (!p)
		return false;
	e->piece = p;
	e->room = room;
	return true;
}

static int see_lane(void *arg, const struct hp_lane *lane,
		    struct hpdsl_error *err)
{
	struct hpdsl_epoch *e = arg;

	if (!make_room(e, lane->pieces))
		return hp_fail_nomem(err);
	e->lane[lane->number] =
		(struct hp_epoch_lane){ .samples = lane->samples,
					.first = e->n_pieces,
					.pieces = lane->pieces };
	memcpy(e->piece + e->n_pieces, lane->piece,
	       lane->pieces * sizeof *e->piece);
	e->n_pieces += lane->pieces;
	e->windows += hp_lane_windows(&e->o, lane->pieces);
	return 0;
}

/* Occurrences before each chunk, and of each chunk. */
static int count(struct hpdsl_epoch *e, const uint64_t *first, uint64_t *of,
		 struct hpdsl_error *err)
{
	e->first = hp_array((uint64_t)e->n_chunks + 1, sizeof *e->first);
	if (!e->first)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c <= e->n_chunks; c++)
		e->first[c] = hp_draw_before(&e->draw, first[c]);
	for (uint32_t c = 0; c < e->n_chunks; c++) {
		of[c] = e->first[c + 1] - e->first[c];
		e->chunks += of[c] > 0;
	}
	e->samples = e->first[e->n_chunks];
	if (!e->samples)
		return hp_fail(err, HPDSL_EUSAGE,
			       "an order of no samples: there are none%s",
			       e->draw.choice ? " chosen in this epoch" : "");
	return 0;
}

static int fill(struct hpdsl_epoch *e, const struct hpdsl_choice *choice,
		const uint64_t *first, struct hpdsl_error *err)
{
	hp_auto_free uint64_t *of = hp_array(e->n_chunks, sizeof *of);
	uint64_t runs;
	int r;

	if (!of)
		return hp_fail_nomem(err);
	r = hp_draw_init(&e->draw, choice, e->o.seed, e->o.epoch, err);
	if (r == 0)
		r = count(e, first, of, err);
	if (r < 0)
		return r;
	runs = hp_order_runs(&e->o, e->samples);
	e->n_lanes = e->o.lanes < runs ? e->o.lanes : (uint32_t)runs;
	e->lane = hp_array(e->n_lanes, sizeof *e->lane);
	if (!e->lane)
		return hp_fail_nomem(err);
	return hp_order_lanes(&e->o, of, e->n_chunks, see_lane, e, err);
}

int hp_epoch_make(const struct hpdsl_order *o, const uint64_t *first,
		  uint32_t n, const struct hpdsl_choice *choice,
		  struct hpdsl_epoch **ret, struct hpdsl_error *err)
{
	struct hpdsl_epoch *e;
	int r = hp_order_check(o, err);

	if (r < 0)
		return r;
	if (choice && choice->n != first[n])
		return hp_fail(err, HPDSL_EUSAGE,
			       "the choice is of another dataset");
	e = calloc(1, sizeof *e);
	if (!e)
		return hp_fail_nomem(err);
	e->o = hp_order_filled(o);
	e->n_chunks = n;
	r = fill(e, choice, first, err);
	if (r < 0) {
		hpdsl_epoch_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

int hpdsl_epoch_new(const struct hpdsl_dataset *ds,
		    const struct hpdsl_choice *choice,
		    const struct hpdsl_order *order, struct hpdsl_epoch **ret,
		    struct hpdsl_error *err)
{
	hp_auto_free uint64_t *first = NULL;
	struct hpdsl_counts counts;
	struct hpdsl_chunk chunk;

	hpdsl_count(ds, &counts);
	first = hp_array(counts.chunks + 1, sizeof *first);
	if (!first)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < counts.chunks; c++) {
		int r = hpdsl_chunk_get(ds, c, &chunk, err);

		if (r < 0)
			return r;
		first[c] = chunk.first_sample;
	}
	first[counts.chunks] = counts.samples;
	if (first[0] != 0)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s/%s: sample 0 is in no chunk", ds->path,
			       HP_INDEX_NAME);
	return hp_epoch_make(order, first, (uint32_t)counts.chunks, choice, ret,
			     err);
}

void hpdsl_epoch_free(struct hpdsl_epoch *e)
{
	if (!e)
		return;
	hp_draw_release(&e->draw);
	free(e->first);
	free(e->lane);
	free(e->piece);
	free(e);
}

void hpdsl_epoch_info(const struct hpdsl_epoch *e, struct hpdsl_epoch_info *ret)
{
	*ret = (struct hpdsl_epoch_info){
		.order = e->o,
		.samples = e->samples,
		.chunks = e->chunks,
		.windows = e->windows,
		.batch = (uint64_t)e->o.step_runs * e->o.run,
	};
}
