/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A share on its way: from when it is planned until all steps that need it are
 * over and all batches that point into it are released.  Its rows are made by
 * whoever reads it; it is read, and given back, as a whole.
 */
#ifndef HP_LOAD_UNIT_H
#define HP_LOAD_UNIT_H

#include "dataset/fetch.h"
#include "load/arena.h"
#include "load/extent.h"

#define HP_LOAD_NONE UINT32_MAX

/* What is the same for all units of an epoch. */
struct hp_load_plan {
	const struct hpdsl_epoch *e;
	const struct hp_own *own;
	const struct hp_index *index;
	struct hp_load_wanted wanted;
};

/* A sample of a unit. */
struct hp_load_row {
	uint64_t number;
	uint32_t label;
	uint32_t member;  /* the first wanted one, in the unit */
	uint32_t members; /* wanted; none if nothing is read of it */
	int code;	  /* the index is damaged there */
};

struct hp_load_unit {
	struct hp_load_unit *next;	 /* in its lane */
	struct hp_load_unit *queued;	 /* planned behind it, and to be read */
	struct hp_load_unit *over;	 /* ends with the same turn */
	const struct hp_load_plan *plan; /* until it has been read */
	struct hp_share share;
	uint64_t first, last; /* turns that need it */
	/* Of each sample of the lane its row; HP_LOAD_NONE: it is another
	 * reader's.  NULL: each has one, in order. */
	uint32_t *at;
	struct hp_load_row *row;
	struct hp_block_member *member;
	/* With suffixes: of each row as many, in their order; HP_LOAD_NONE. */
	uint32_t *pick;
	uint32_t rows, members;
	struct hp_block b; /* buf is set while it is read, and later */
	struct hp_place place;
	uint64_t members_most; /* how many there may be */
	uint64_t made;	       /* bytes of these arrays, and of this */
	/* Under the loader's lock: */
	uint64_t bytes; /* that it is charged for, but for its place: from when
			   somebody reads it */
	uint32_t refs;	/* its lane, batches, and who reads it */
	uint32_t lent;	/* of these, batches that the caller has */
	bool read;
	int code; /* once it is read: -ENOMEM, and there is nothing of it */
	/* The caller's: the turn that it was last looked at for, plus 1, and
	 * whether a turn has needed it. */
	uint64_t collected;
	bool held;
	uint64_t ahead; /* bytes of it that count as read ahead; under the lock
			 */
};

/* What it takes, once somebody reads it. */
static inline uint64_t hp_load_unit_takes(const struct hp_load_unit *u)
{
	return u->place.bytes + u->bytes;
}

/* Bytes that a share takes when it is read, as far as its extent says. */
static inline uint64_t hp_load_unit_room(const struct hp_load_unit *u)
{
	uint64_t page = HP_FETCH_PAGE, end = u->share.at.end;

	return (end + page - 1) / page * page - u->share.at.begin / page * page;
}

/* NULL: no memory. */
struct hp_load_unit *hp_load_unit_new(const struct hp_load_plan *p,
				      const struct hp_share *share);
/* Bytes that its arrays will take, or fewer. */
uint64_t hp_load_unit_arrays(const struct hp_load_unit *u);
/* Its rows, members, and what they take: b.room.  -ENOMEM. */
int hp_load_unit_make(struct hp_load_unit *u);
void hp_load_unit_free(struct hp_load_unit *u); /* NULL is harmless */

/* The row of sample x of its lane, which is this reader's. */
static inline uint32_t hp_load_unit_row(const struct hp_load_unit *u,
					uint64_t x)
{
	uint64_t i = x - u->share.x;

	return u->at ? u->at[i] : (uint32_t)i;
}

#endif
