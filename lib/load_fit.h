/* SPDX-License-Identifier: Apache-2.0 */
/* What the windows of an epoch take, for one reader: estimated. */
#ifndef HP_LOAD_FIT_H
#define HP_LOAD_FIT_H

#include "epoch.h"
#include "load_share.h"

/* Chunks, as an estimate sees them. */
struct hp_load_sizes {
	/* Bytes and samples of a chunk. */
	void (*chunk)(const void *arg, uint32_t chunk, uint64_t *ret_bytes,
		      uint64_t *ret_samples);
	const void *arg;
	double chosen; /* share of the samples that the epoch has */
};

/* Which share of a lane's runs are this reader's; 0: none. */
double hp_load_part(const struct hp_load_share *s, uint32_t lane);
/* How many lanes have any. */
uint32_t hp_load_lanes(const struct hp_load_share *s, uint32_t lanes);
/* Bytes: the largest window of each lane, in slots of this size. */
uint64_t hp_load_windows(const struct hpdsl_epoch *e,
			 const struct hp_load_share *s,
			 const struct hp_load_sizes *sizes, size_t slot);

#endif
