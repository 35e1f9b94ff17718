/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An epoch: its sequence, and which samples its lists have.  hpdsl-order(7)
 * defines it.  All of it is pure; an epoch never changes, and may be used by
 * any number of threads.
 */
#ifndef HP_EPOCH_H
#define HP_EPOCH_H

#include "hpdsl/order.h"
#include "order/mixing.h"

/* Positions, lanes and lists; lives as long as the epoch. */
const struct hp_seq *hp_epoch_seq(const struct hpdsl_epoch *e);

/* What it was made with; NULL: all samples. */
const struct hpdsl_choice *hp_epoch_choice(const struct hpdsl_epoch *e);

/* Samples of the longest list. */
uint64_t hp_epoch_longest(const struct hpdsl_epoch *e);
/* The chunk of a list. */
uint32_t hp_epoch_list_chunk(const struct hpdsl_epoch *e, uint32_t list);
/* Numbers of the list's samples index .. index + n - 1, which there must be;
 * they rise. */
void hp_epoch_list_samples(const struct hpdsl_epoch *e, uint32_t list,
			   uint64_t index, uint64_t n, uint64_t *ret);

/* HPDSL_EUSAGE: the epoch's steps cannot be shared that way. */
int hp_epoch_check_share(const struct hpdsl_epoch *e,
			 const struct hpdsl_share *s, struct hpdsl_error *err);
/* The slots of a step that are a rank's: first .. end - 1. */
void hp_epoch_slots(const struct hpdsl_epoch *e, const struct hpdsl_share *s,
		    uint32_t *ret_first, uint32_t *ret_end);

/* As hp_seq_mixing. */
int hp_epoch_mixing(const struct hpdsl_epoch *e, uint64_t first, uint64_t steps,
		    struct hp_mixing *ret, struct hpdsl_error *err);

#endif
