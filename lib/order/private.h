/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the epoch share: the order's lanes, laid out. */
#ifndef HP_EPOCH_PRIVATE_H
#define HP_EPOCH_PRIVATE_H

#include "order/choice.h"
#include "order/epoch.h"

struct hp_epoch_lane {
	uint64_t samples;
	uint64_t first; /* piece */
	uint32_t pieces;
};

struct hpdsl_epoch {
	struct hpdsl_order o; /* filled */
	struct hp_draw draw;
	uint64_t *first;   /* occurrences before each chunk, and all */
	uint32_t n_chunks; /* of the dataset */
	uint64_t samples;  /* N */
	uint64_t chunks;   /* that have any of them */
	uint64_t windows;
	struct hp_epoch_lane *lane;
	uint32_t n_lanes; /* that have samples */
	struct hp_piece *piece;
	uint64_t n_pieces, room;
};

/*
 * An epoch of n chunks, of which chunk c has the samples first[c] ..
 * first[c + 1] - 1; as hpdsl_epoch_new.
 */
int hp_epoch_make(const struct hpdsl_order *o, const uint64_t *first,
		  uint32_t n, const struct hpdsl_choice *choice,
		  struct hpdsl_epoch **ret, struct hpdsl_error *err);

/* Where a position is. */
struct hp_epoch_spot {
	const struct hp_piece *piece;
	uint64_t occurrence; /* of the epoch's, by sample number */
};

/* Those of positions first .. first + n - 1, which there must be. */
void hp_epoch_spots(const struct hpdsl_epoch *e, uint64_t first, size_t n,
		    struct hp_epoch_spot *ret);

/*
 * How much likelier than in a full shuffle chunk-mates meet in a step: the
 * expectation over all shuffles of the windows, and as it is.  NAN where there
 * are no mates, or none could meet.  -ENOMEM.
 */
int hp_epoch_mates(const struct hpdsl_epoch *e, double *ret_expected,
		   double *ret_measured, struct hpdsl_error *err);

#endif
