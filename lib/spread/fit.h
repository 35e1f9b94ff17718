/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Into how few parts a dataset has to be cut, for each node to have room for
 * its parts: of the numbers of parts that will do, the smallest.
 */
#ifndef HP_STAGE_FIT_H
#define HP_STAGE_FIT_H

#include "hpdsl/stage.h"

/* a + b, or UINT64_MAX. */
static inline uint64_t hp_fit_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Bytes of a part's chunks; of the only part with what goes with the whole. */
uint64_t hp_fit_part(const struct hpdsl_stage_wish *w, uint32_t parts,
		     uint32_t part);

/* Bytes of a node's parts. */
uint64_t hp_fit_need(const uint64_t *part_bytes, uint32_t nodes, uint32_t parts,
		     uint32_t node);

/* What the order has, if these are parts; else 0. */
uint32_t hp_fit_wanted(const struct hpdsl_stage_wish *w);

/*
 * 1 where everything has room on each node, or else as many as wanted if these
 * have; or else the smallest number up to that of nodes; 0: none; -ENOMEM.
 */
int64_t hp_fit_parts(const struct hpdsl_stage_wish *w);

#endif
