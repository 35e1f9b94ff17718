/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader reads of an epoch, and in which order: shares, each so many
 * bytes of the samples that one of its lanes has next.  Decided from the
 * sequence and from where samples lie alone: the same shares whether they are
 * read, or only counted.
 *
 * A share is a stretch of the sequence, or the beginning of what is left of
 * one: as many samples as fit into the bytes of a share, at least one.  Of a
 * lane that several readers have, and of a choice that leaves samples out, what
 * lies between two samples is read too, unless it is more than the gap.
 */
#ifndef HP_LOAD_SHARES_H
#define HP_LOAD_SHARES_H

#include "load/own.h"
#include "order/sequence.h"

/* Of what lies between two samples so much is read with them. */
#define HP_SHARE_GAP (UINT64_C(64) << 10)
/* What a lane's first share has at most, so that the first batch comes soon. */
#define HP_SHARE_FIRST (UINT64_C(512) << 10)
/* The lane of a share of samples of the last step that fill it up or were dealt
 * to this reader: of slots from x on, one after the other. */
#define HP_SHARE_APART UINT64_MAX

/* Bytes of a chunk; as many at the end as at the beginning: none. */
struct hp_extent {
	uint64_t begin, end;
};

struct hp_share;

struct hp_shares_options {
	const struct hp_seq *seq; /* borrowed */
	/*
	 * Where sample index of a list lies; of compressed chunks, its frames.
	 * What comes later in a list does not begin or end before it.  Of a
	 * share they are asked for in their order, and of the next only when
	 * that is.
	 */
	struct hp_extent (*extent)(void *arg, uint32_t list, uint64_t index);
	/*
	 * Do n samples of a list, from index on, lie one behind the other in
	 * its chunk, with nothing else between them?  Then only a few of them
	 * are looked at.
	 */
	bool (*dense)(void *arg, uint32_t list, uint64_t index, uint64_t n);
	/* For counting alone: what of a share's extent is kept once it is read;
	 * NULL: all of it. */
	struct hp_extent (*kept)(void *arg, const struct hp_share *share);
	void *arg;
	struct hp_own_options own;
	uint64_t bytes; /* of a share; at least 1 */
};

struct hp_share {
	uint64_t lane, x;     /* of the lane, its first sample */
	uint64_t samples;     /* of the lane, to its last one */
	uint32_t list;	      /* where they are from */
	uint64_t index;	      /* of the first in the list */
	struct hp_extent at;  /* in the chunk */
	uint64_t wanted;      /* bytes of it that own samples have, with
				 the headers between them */
	uint64_t need, until; /* the steps of the first and of the last one, be
				 it to fill that up */
};

struct hp_shares;

/* -ENOMEM. */
int hp_shares_new(const struct hp_shares_options *opt, struct hp_shares **ret,
		  struct hpdsl_error *err);
void hp_shares_free(struct hp_shares *s); /* NULL is fine */

/* The step that needs the next share; UINT64_MAX: there are no more. */
uint64_t hp_shares_need(const struct hp_shares *s);
/* The next one in order of need, of the lanes of one step by number; false:
 * there are no more. */
bool hp_shares_next(struct hp_shares *s, struct hp_share *ret);

const struct hp_own *hp_shares_own(const struct hp_shares *s);
/* Lanes that have own samples; one that is shared counts. */
uint64_t hp_shares_lanes(const struct hp_shares *s);

/*
 * The bytes of a share for a rank of so many lanes: two thirds of the memory
 * that three batches leave, but of half of it at least, are the lanes'; the
 * rest is for reading ahead.
 */
uint64_t hp_shares_bytes(uint64_t memory, uint64_t batch, uint64_t lanes);

struct hp_shares_cost {
	uint64_t lanes;
	uint64_t reads, bytes; /* whole pages */
	uint64_t wanted;       /* bytes of the rank's samples */
	uint64_t median;       /* half of the bytes are in reads of no more,
				  within 3 % */
	uint64_t held_peak;    /* of shares whose steps are not over */
	uint64_t first_batch;  /* bytes that its first step needs */
};

/*
 * stored: NULL, or where in its file a list's chunk has these bytes; that is
 * what is read.  -ENOMEM.
 */
int hp_shares_count(const struct hp_shares_options *opt,
		    struct hp_extent (*stored)(void *arg, uint32_t list,
					       struct hp_extent at),
		    struct hp_shares_cost *ret, struct hpdsl_error *err);

#endif
