/* SPDX-License-Identifier: Apache-2.0 */
/* What windows of this size take: memory, and how long their reads are. */
#include "order/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "index/index.h"

/* Bytes of a chunk's file that hold bytes from .. to - 1 of its plain tar. */
static int stored_bytes(const struct hp_index *ix, uint32_t number,
			uint64_t from, uint64_t to, uint64_t *ret,
			struct hpdsl_error *err)
{
	struct hp_frame first, last;
	struct hpdsl_chunk chunk;
	uint32_t a, b;
	int r = hp_index_chunk(ix, number, &chunk, err);

	if (r < 0)
		return r;
	if (to <= from) {
		*ret = 0;
		return 0;
	}
	if (!chunk.compressed) {
		*ret = to - from;
		return 0;
	}
	r = hp_index_frame_find(ix, &chunk, from, &a, err);
	if (r == 0)
		r = hp_index_frame_find(ix, &chunk, to - 1, &b, err);
	if (r == 0)
		r = hp_index_frame(ix, &chunk, a, &first, err);
	if (r == 0)
		r = hp_index_frame(ix, &chunk, b, &last, err);
	if (r == 0)
		*ret = last.stored_end - first.stored;
	return r;
}

/* From the first byte of its first sample to the last one of its last. */
static int piece_bytes(const struct hpdsl_epoch *e, const struct hp_index *ix,
		       const struct hp_piece *p, uint64_t *ret,
		       struct hpdsl_error *err)
{
	uint64_t at = e->first[p->chunk] + p->skip, first, last;
	struct hp_sample_row a, b;
	struct hpdsl_member from, to;
	int r;

	hp_draw_list(&e->draw, at, 1, &first);
	hp_draw_list(&e->draw, at + p->samples - 1, 1, &last);
	r = hp_index_sample_row(ix, first, &a, err);
	if (r == 0)
		r = hp_index_sample_row(ix, last, &b, err);
	if (r == 0)
		r = hp_index_member(ix, a.first, &from, err);
	if (r == 0)
		r = hp_index_member(ix, b.end - 1, &to, err);
	if (r < 0)
		return r;
	return stored_bytes(ix, p->chunk, from.offset, to.offset + to.size, ret,
			    err);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* bytes: of each of the epoch's pieces. */
static void windows(const struct hpdsl_epoch *e, const uint64_t *bytes,
		    struct hpdsl_epoch_cost *cost)
{
	struct hp_window w;

	for (uint32_t l = 0; l < e->n_lanes; l++) {
		uint64_t most = 0;

		for (uint64_t i = 0; i < hp_epoch_windows(e, l); i++) {
			uint64_t sum = 0;

			hp_epoch_window(e, l, i, &w);
			for (uint32_t k = 0; k < w.pieces; k++)
				sum += bytes[w.piece - e->piece + k];
			if (sum > most)
				most = sum;
		}
		cost->job_bytes += most;
		if (most > cost->window_bytes)
			cost->window_bytes = most;
	}
}

int hpdsl_epoch_cost(const struct hpdsl_epoch *e,
		     const struct hpdsl_dataset *ds,
		     struct hpdsl_epoch_cost *ret, struct hpdsl_error *err)
{
	hp_auto_free uint64_t *bytes = hp_array(e->n_pieces, sizeof *bytes);
	struct hpdsl_epoch_cost cost = { .reads = e->n_pieces };
	int r = 0;

	if (!bytes)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; r == 0 && i < e->n_pieces; i++)
		r = piece_bytes(e, ds->index, &e->piece[i], &bytes[i], err);
	if (r == 0)
		r = hp_epoch_mates(e, &cost.mates_expected,
				   &cost.mates_measured, err);
	if (r < 0)
		return r;
	windows(e, bytes, &cost);
	qsort(bytes, e->n_pieces, sizeof *bytes, compare);
	cost.smallest_read = bytes[0];
	cost.median_read = bytes[e->n_pieces / 2];
	*ret = cost;
	return 0;
}
