/* SPDX-License-Identifier: Apache-2.0 */
/* What the windows of an epoch take, for one reader: estimated. */
#ifndef HP_LOAD_FIT_H
#define HP_LOAD_FIT_H

#include "load/share.h"
#include "order/epoch.h"

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

struct hp_load_fit {
	uint32_t lanes;	  /* that have any */
	uint64_t bytes;	  /* the largest window of each of these */
	uint64_t largest; /* of all of them */
};
void hp_load_windows(const struct hpdsl_epoch *e, const struct hp_load_share *s,
		     const struct hp_load_sizes *sizes,
		     struct hp_load_fit *ret);

#endif
