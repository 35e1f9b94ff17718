/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read, and for what: decided from the order and the index alone, so
 * that it is tested without files and threads.
 *
 * A unit is a window of a lane, as far as this reader needs it, or what one of
 * its turns needs of windows that are not read as wholes.  Its samples stand in
 * stored order, each once, however often it occurs; they are cut into blocks,
 * which are read, and given back, as wholes.
 */
#ifndef HP_LOAD_PLAN_H
#define HP_LOAD_PLAN_H

#include "dataset/fetch.h"
#include "index/index.h"
#include "load/share.h"
#include "load/slots.h"
#include "order/epoch.h"

#define HP_LOAD_NONE UINT32_MAX

/* A sample of a unit. */
struct hp_load_row {
	uint64_t number;
	uint32_t label;
	uint32_t member;  /* the first wanted one, in the unit */
	uint32_t members; /* wanted */
	uint32_t block;	  /* HP_LOAD_NONE: nothing is wanted of it */
	int code;	  /* the index is damaged there */
};

enum hp_load_state { HP_LOAD_PLANNED, HP_LOAD_READING, HP_LOAD_READ };

struct hp_load_block {
	struct hp_block b; /* buf is set while it is read, and later */
	struct hp_load_unit *unit;
	uint64_t first, last; /* turns that need it */
	uint32_t uses;	      /* turns that need it and are not over */
	uint32_t lent;	      /* of these, batches that the caller has */
	enum hp_load_state state;
	uint64_t serial; /* of all blocks, as they were planned */
	struct hp_slot slot;
	uint64_t collected; /* by this turn, plus 1; the caller's alone */
};

struct hp_load_unit {
	struct hp_load_unit *next; /* in its lane */
	/* What it stands for: samples of the lane, or a turn. */
	uint64_t begin, end;
	/* The row of each sample of the lane, or place of the turn;
	 * HP_LOAD_NONE: another unit has it.  NULL: of all. */
	uint32_t *at;
	struct hp_load_row *row;
	struct hp_block_member *member;
	/* With suffixes: of each row as many, in their order; HP_LOAD_NONE. */
	uint32_t *pick;
	struct hp_load_block *block;
	uint32_t rows, members, blocks;
	uint32_t refs;	/* blocks that hold memory, and its lane */
	bool late;	/* of a turn */
	uint64_t bytes; /* of these arrays */
	uint64_t room;	/* that its blocks take, as hp_slots_cost() */
};

/* What is the same for all units. */
struct hp_load_plan {
	const struct hp_index *index;
	const char *const *suffixes; /* none: all but generated members */
	uint32_t n_suffixes;
	size_t slot;
};

/*
 * The unit of a window.  NULL: nothing of it is needed.  -ENOMEM; -E2BIG: it
 * has more samples or members than a unit may have.
 */
int hp_load_plan_window(const struct hp_load_plan *p,
			const struct hpdsl_epoch *e,
			const struct hp_load_share *s,
			const struct hp_window *w, struct hp_load_unit **ret);
/* One that stands for a window which is not read as a whole. */
struct hp_load_unit *hp_load_plan_nothing(const struct hp_window *w);
/*
 * The unit of those of a turn's n places for which want[i] is set.
 * -ENOMEM, -E2BIG.
 */
int hp_load_plan_places(const struct hp_load_plan *p, uint64_t turn,
			const struct hpdsl_place *place, const bool *want,
			uint32_t n, struct hp_load_unit **ret);
/* NULL is harmless. */
void hp_load_unit_free(struct hp_load_unit *u);

#endif
