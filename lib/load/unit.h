/* SPDX-License-Identifier: Apache-2.0 */
/* Making a unit: sample after sample, in stored order. */
#ifndef HP_LOAD_UNIT_H
#define HP_LOAD_UNIT_H

#include "index/copy.h"
#include "load/plan.h"

struct hp_load_maker {
	const struct hp_load_plan *plan;
	struct hp_load_unit *u; /* owned until it is taken */
	uint32_t row_room, member_room, block_room;
	struct hp_fetch_room room; /* of the last block */
	struct hp_index_copy copy; /* of the rows */
};

/* About that many rows will come; -ENOMEM. */
int hp_load_make(struct hp_load_maker *m, const struct hp_load_plan *plan,
		 uint64_t rows);
/* Adds a sample, if it is not the last one: its row, in *ret. */
int hp_load_make_row(struct hp_load_maker *m, uint64_t sample, uint32_t *ret);
/* A turn needs the row; turns never fall. */
void hp_load_make_use(struct hp_load_maker *m, uint32_t row, uint64_t turn);
/* All is in it. */
struct hp_load_unit *hp_load_make_end(struct hp_load_maker *m);
void hp_load_make_release(struct hp_load_maker *m);

#endif
