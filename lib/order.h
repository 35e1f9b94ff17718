/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an epoch, as far as staging needs it: which chunks it wants
 * first.  A pure function of the number of samples in each chunk and of these
 * parameters; position by position it is the loader's business.
 *
 *   Runs and lanes.  The N samples are dealt in runs of K, run j to lane j mod
 *   L; lane l is in part l mod D and gets n_l samples.
 *   Parts.  Chunk c is in part c mod D.  A part's m chunks that have samples
 *   stand in the order P(0), P(1), .. of those chunks by number, P being the
 *   permutation of m with key H(seed, "chunks", epoch, part).  What a part has
 *   over its need goes to one queue, in order of the parts, from which those
 *   that lack are filled at their end, in that order.
 *   Cut.  A part's sequence is cut, in order of l, into its lanes.  A piece is
 *   a maximal stretch of one chunk in a lane.
 *   Windows.  A lane of q pieces has v = max(1, ceil(q / W)) windows, of the
 *   pieces floor(i q / v) to floor((i + 1) q / v) - 1.
 *
 * Permutation and H are those of hpdsl-format(5), "ORDER".
 */
#ifndef HP_ORDER_H
#define HP_ORDER_H

#include "hpdsl.h"

/* The defaults, as hpdsl.h has them, for what is zero. */
struct hpdsl_order hp_order_filled(const struct hpdsl_order *o);

/* With these: 0, or HPDSL_EUSAGE where D does not divide L. */
int hp_order_check(const struct hpdsl_order *o, struct hpdsl_error *err);

/*
 * The chunks in the order in which the epoch, from step o->step on, first wants
 * them: by the first run, from that step on, of the window that holds them,
 * then by place in the lane; those that are wanted no more in this epoch come
 * last, by the run that first wanted them.  samples[c] of n chunks; those
 * without samples come behind all others, by number.  ret: n numbers.  -ENOMEM,
 * HPDSL_EUSAGE.
 */
int hp_order_first_use(const struct hpdsl_order *o, const uint64_t *samples,
		       uint32_t n, uint32_t *ret, struct hpdsl_error *err);

#endif
