/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence as it is kept: what its maker and those who ask it share. */
#ifndef HP_SEQUENCE_PRIVATE_H
#define HP_SEQUENCE_PRIVATE_H

#include "order/sequence.h"

struct hp_seq_part {
	struct hp_deal_part lanes;
	uint64_t need;	       /* samples of its lanes */
	uint64_t has;	       /* samples of its lists */
	uint64_t turn;	       /* Z begins with this one of them */
	uint64_t pieces;       /* whole ones */
	size_t first, n;       /* lists, in struct hp_seq's order */
	uint64_t over_before;  /* surplus of the parts before it */
	uint64_t lacks_before; /* what those lack */
};

struct hp_seq {
	struct hp_seq_order o;
	struct hp_deal deal;
	size_t n;
	struct hp_seq_part *part;
	/* The lists of each part in its order. */
	uint32_t *list;	  /* which */
	uint64_t *before; /* samples of the part before it */
	/* By list. */
	uint32_t *place; /* where it is in list[] */
	uint64_t *has;
};

/* floor(a * b / c) */
static inline uint64_t hp_seq_floor(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)((unsigned __int128)a * b / c);
}

#endif
