/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of batches, to be handed out again and again. */
#ifndef HP_LOAD_KEPT_H
#define HP_LOAD_KEPT_H

#include "load/load.h"

struct hp_load_kept {
	struct hpdsl_batch b; /* arrays of its own; the bytes are in .. */
	uint8_t *bytes;
};

/* -ENOMEM. */
int hp_load_keep(const struct hpdsl_batch *b, struct hp_load_kept *ret,
		 struct hpdsl_error *err);
void hp_load_kept_release(struct hp_load_kept *k);
/* A batch for the caller with what was kept, which stays where it is.  Under
 * the lock, which it gives up meanwhile.  -ENOMEM. */
int hp_load_hand_kept(struct hpdsl_loader *l, const struct hp_load_kept *k,
		      struct hp_load_batch **ret, struct hpdsl_error *err);

#endif
