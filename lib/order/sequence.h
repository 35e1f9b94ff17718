/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sequence of an epoch: which sample comes at a position, and at which
 * position a sample comes.  A step takes its samples from many lanes; a lane
 * reads pieces, samples that lie one behind the other, from front to back.
 *
 * Pure functions of the numbers of samples in the lists of the epoch: the list
 * (c, t) has the chosen samples of chunk c that come more than t times, by
 * number; without repeats each chunk that has samples is a list.  Each function
 * but the first takes a logarithm of the number of lists.
 *
 * All functions read struct hp_seq only; a memo belongs to one thread.
 */
#ifndef HP_SEQUENCE_H
#define HP_SEQUENCE_H

#include "base/perm.h"
#include "hpdsl/order.h"
#include "order/deal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_seq_order {
	uint64_t seed, epoch;
	uint32_t batch;	  /* G: samples of a step, of all ranks together */
	uint64_t lanes;	  /* L: a multiple or a divisor of batch */
	uint64_t piece;	  /* b: samples in a row that a lane reads */
	uint32_t windows; /* v: of an epoch, shuffled by themselves */
	uint32_t parts;	  /* D: chunk c is in part c mod D */
	bool plain;	  /* not shuffled: in stored order, and lanes, piece,
			     windows and parts play no part */
};

/* What the numbers of an order follow from. */
struct hp_seq_set {
	uint64_t samples; /* chosen ones, each once; at least 1 */
	uint64_t bytes;	  /* theirs in plain chunks; at least 1 */
	uint32_t chunks;
	bool shuffled;		    /* when it was packed */
	uint32_t batch_size, ranks; /* at least 1 */
	uint32_t workers;	    /* that take a rank's steps in turn; 0: 1 */
};

/*
 * Sets what is 0 of batch, lanes, piece, windows and parts: of as many lanes as
 * a batch has samples where the set has bytes for that, and pieces of some MiB.
 * HPDSL_EUSAGE: a batch of 2^32 samples or more.
 */
int hp_seq_fill(const struct hp_seq_set *set, struct hp_seq_order *o,
		struct hpdsl_error *err);

struct hp_seq_list {
	uint32_t chunk;
	uint64_t samples; /* at least 1 */
};

struct hp_seq;

/*
 * The lists in the order of (c, t), 2^32 - 2 at most; they are copied.  Of a
 * plain order they are one behind the other, in a single lane.
 * HPDSL_EUSAGE: a number of the order is 0, more than 2^20 parts, batch and
 * lanes do not divide each other, no samples, or 2^62 and more; -ENOMEM.
 */
int hp_seq_new(const struct hp_seq_order *o, const struct hp_seq_list *lists,
	       size_t n, struct hp_seq **ret, struct hpdsl_error *err);
void hp_seq_free(struct hp_seq *s); /* NULL is fine */

/* The order's numbers, with N. */
const struct hp_deal *hp_seq_deal(const struct hp_seq *s);

/* Permutations of windows that were used last. */
struct hp_seq_memo {
	struct hp_seq_window {
		uint64_t id; /* 1 + number among all parts' windows; 0: none */
		struct hp_perm perm;
	} window[16];
};

/* As all zeros does, and quicker. */
static inline void hp_seq_memo_init(struct hp_seq_memo *memo)
{
	for (size_t i = 0; i < sizeof memo->window / sizeof *memo->window; i++)
		memo->window[i].id = 0;
}

/* A sample: of which list, and which one of it, from 0. */
struct hp_seq_spot {
	uint32_t list;
	uint64_t index;
};

/* Of a position below N. */
struct hp_seq_spot hp_seq_at(const struct hp_seq *s, struct hp_seq_memo *memo,
			     uint64_t position);
/* The inverse. */
uint64_t hp_seq_where(const struct hp_seq *s, struct hp_seq_memo *memo,
		      struct hp_seq_spot spot);

/* Samples of one list, one behind the other. */
struct hp_seq_stretch {
	struct hp_seq_spot first;
	uint64_t samples; /* at least 1 */
};

/*
 * What a lane reads from its sample x on, which there must be, as far as that
 * lies one behind the other: within a piece and a list.
 */
struct hp_seq_stretch hp_seq_stretch(const struct hp_seq *s,
				     struct hp_seq_memo *memo,
				     struct hp_deal_place place);

#endif
