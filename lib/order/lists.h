/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of an epoch: list (c, t) has the chosen samples of chunk c that
 * come more than t times, by number.  Lists without samples do not exist.
 *
 * Pure functions of how many samples each chunk has, and of the choice.  A few
 * numbers a chunk are held; with weights four bytes for each time that a sample
 * comes.  All functions read struct hp_lists only.
 */
#ifndef HP_LISTS_H
#define HP_LISTS_H

#include "order/choice.h"
#include "order/sequence.h"

/* So often a sample comes at most in an epoch. */
#define HP_TIMES_MOST 65536

/* A list, as hp_seq_new() wants them, in the order of (c, t). */
struct hp_lists {
	struct hp_seq_list *v;
	size_t n;
	/* By chunk, and one more. */
	uint32_t n_chunks;
	uint64_t *first; /* sample */
	uint32_t *list;	 /* its first list */
	struct hp_draw draw;
	/* With weights: samples of a list, counted from the chunk's first. */
	uint64_t *begin; /* by list: of its samples in .. */
	uint32_t *sample;
};

/*
 * Chunk c has the samples first[c] .. first[c + 1] - 1, n chunks; choice: NULL,
 * or borrowed.  HPDSL_EUSAGE: a choice of another dataset, a sample that comes
 * more than HP_TIMES_MOST times, no samples at all, or 2^32 - 1 lists; -ENOMEM.
 */
int hp_lists_init(struct hp_lists *l, const uint64_t *first, uint32_t n,
		  const struct hpdsl_choice *choice, uint64_t seed,
		  uint64_t epoch, struct hpdsl_error *err);
void hp_lists_release(struct hp_lists *l); /* all zero is harmless */

/* The numbers of the list's samples index .. index + n - 1, which there are. */
void hp_lists_samples(const struct hp_lists *l, uint32_t list, uint64_t index,
		      uint64_t n, uint64_t *ret);

/*
 * Where a sample is for the nth time, from 0.  -ERANGE: there is no such
 * sample; -ENOENT: it does not come that often.
 */
int hp_lists_find(const struct hp_lists *l, uint64_t sample, uint64_t nth,
		  struct hp_seq_spot *ret);

#endif
