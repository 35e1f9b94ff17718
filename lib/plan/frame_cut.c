/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a chunk of a plan into frames.  Pure. */
#include "plan/frame_cut.h"

#include "chunk/seek_table.h"

void hp_frame_walk_begin(struct hp_frame_walk *w, const struct hp_plan *plan,
			 uint32_t chunk)
{
	*w = (struct hp_frame_walk){ .bytes =
					     hp_plan_chunk_bytes(plan, chunk) };
	hp_plan_walk_begin(&w->walk, plan, hp_plan_first(plan, chunk),
			   hp_plan_first(plan, chunk + 1));
	w->have = hp_plan_walk_next(&w->walk, &w->place) > 0;
}

/* Moves w->end behind the next sample. */
static bool next_sample(struct hp_frame_walk *w)
{
	uint64_t sample = w->place.sample;

	if (!w->have)
		return false;
	do {
		w->end = w->place.next;
		w->have = hp_plan_walk_next(&w->walk, &w->place) > 0;
	} while (w->have && w->place.sample == sample);
	return true;
}

/* The next frame of the large sample that ends at w->end. */
static uint64_t cut(struct hp_frame_walk *w)
{
	uint64_t left = w->end - w->at;
	uint64_t n = left < HP_FRAME_MAX ? left : HP_FRAME_MAX;

	w->at += n;
	w->large = n < left;
	return n;
}

uint64_t hp_frame_walk_next(struct hp_frame_walk *w)
{
	uint64_t from = w->at;

	/* [at, end) is a sample that did not fit the frame before. */
	if (w->at == w->end && !next_sample(w)) {
		w->at = w->end = w->bytes;
		return w->bytes - from;
	}
	if (w->large || w->end - from > HP_FRAME_BYTES)
		return cut(w);
	do
		w->at = w->end;
	while (next_sample(w) && w->end - from <= HP_FRAME_BYTES);
	return w->at - from;
}
