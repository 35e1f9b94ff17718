/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders of forged datasets, for tests of memory: what they read and hold. */
#ifndef CELL_H
#define CELL_H

#include "forged.h"

#define MIB (UINT64_C(1) << 20)

/* Bytes of samples: 40,000; 300 to 799; 100 KB, but a hundredth 10 MiB; 50 KB,
 * but a tenth 5 MiB; about 20 KB, but 150 KB in the mean. */
uint64_t size_even(uint64_t i);
uint64_t size_small(uint64_t i);
uint64_t size_ragged(uint64_t i);
uint64_t size_lumpy(uint64_t i);
uint64_t size_lognormal(uint64_t i);

struct cell {
	struct hpdsl_loader_options opt;
	uint32_t hold; /* batches that are kept */
	/* Set: */
	struct hpdsl_loader_stats stats;
	uint64_t small, over; /* how often it was told */
	char text[200];	      /* of small reads */
};

/* A loader of one epoch, in which no checksum is right. */
struct hpdsl_loader *cell_begin(const struct hpdsl_dataset *ds, struct cell *c);
/* All of an epoch, with so many batches kept; memory beyond the bound is told.
 */
void cell_read(const struct hpdsl_dataset *ds, struct cell *c);

#endif
