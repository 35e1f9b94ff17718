/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the frames of a compressed chunk begin: whole samples share one, and a
 * large sample has some of its own.  hpdsl-format(5), "Compressed chunks".
 */
#ifndef HP_FRAME_CUT_H
#define HP_FRAME_CUT_H

#include "plan/plan.h"

/* Cuts a chunk of a plan into frames. */
struct hp_frame_walk {
	struct hp_plan_walk walk;
	struct hp_plan_place place; /* the next member, if have */
	bool have;
	uint64_t at;  /* offset in the plain tar: where the next frame begins */
	uint64_t end; /* of the sample that begins there */
	bool large;   /* frames of it were handed out already */
	uint64_t bytes; /* of the chunk */
};

void hp_frame_walk_begin(struct hp_frame_walk *w, const struct hp_plan *plan,
			 uint32_t chunk);
/* Plain bytes of the next frame, or 0 behind the last (the trailer's). */
uint64_t hp_frame_walk_next(struct hp_frame_walk *w);

#endif
