/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Into how few parts a dataset has to be cut, for each node to have room for
 * its part: of the numbers of parts that will do, the smallest.
 */
#ifndef HP_STAGE_FIT_H
#define HP_STAGE_FIT_H

#include "hpdsl/stage.h"

/* a + b, or UINT64_MAX. */
static inline uint64_t hp_fit_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Bytes of a part's chunks. */
uint64_t hp_fit_part(const struct hpdsl_stage_wish *w, uint32_t parts,
		     uint32_t part);

/* 1 .. nodes; 0: not even with as many parts as nodes; -ENOMEM. */
int64_t hp_fit_parts(const struct hpdsl_stage_wish *w);

#endif
