/* SPDX-License-Identifier: Apache-2.0 */
/* When a sequence wants which chunk first. */
#ifndef HP_FIRST_USE_H
#define HP_FIRST_USE_H

#include "order/lists.h"

/*
 * The chunks in the order in which the sequence, from this step on, first wants
 * them; those that it wants no more come behind them, in the order in which it
 * first did, and those that it never wants last, by number.  ret: a number for
 * each of l->n_chunks.  It looks at each piece once.  -ENOMEM.
 */
int hp_seq_first_use(const struct hp_seq *s, const struct hp_lists *l,
		     uint64_t step, uint32_t *ret, struct hpdsl_error *err);

#endif
