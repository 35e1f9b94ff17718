/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the epoch share. */
#ifndef HP_EPOCH_PRIVATE_H
#define HP_EPOCH_PRIVATE_H

#include "order/epoch.h"
#include "order/lists.h"

struct hpdsl_epoch {
	struct hpdsl_order o;
	struct hp_lists lists;
	struct hp_seq *seq;
};

/*
 * An epoch of n chunks, of which chunk c has the samples first[c] ..
 * first[c + 1] - 1; as hpdsl_epoch_new.
 */
int hp_epoch_make(const struct hpdsl_order *o, const uint64_t *first,
		  uint32_t n, const struct hpdsl_choice *choice,
		  struct hpdsl_epoch **ret, struct hpdsl_error *err);

/* The first sample of each chunk, and behind the last. */
int hp_epoch_chunks(const struct hpdsl_dataset *ds, uint64_t **ret_first,
		    uint32_t *ret_n, struct hpdsl_error *err);

#endif
