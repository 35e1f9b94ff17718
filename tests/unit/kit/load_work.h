/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets for tests of the loader, and what has to come out of it. */
#ifndef LOAD_WORK_H
#define LOAD_WORK_H

#include "packed.h"

/* One tree, packed plain and compressed, and one of large samples. */
extern struct packed load_fix, load_fix_big;
extern char load_plain[200], load_zst[200], load_big[200];

enum { LOAD_SAMPLES = 103, LOAD_BIG = 48, LOAD_BIG_SIZE = 700000 };

/* For cmocka. */
int load_setup(void **unused);
int load_teardown(void **unused);

struct load_case {
	struct hpdsl_loader_options opt;
	uint32_t hold; /* batches that are kept; 0: the last one */
	struct hpdsl_loader_stats stats; /* set, as the next */
	uint32_t warned;		 /* how often */
};

/*
 * All that a loader with these options gives is what hpdsl_epoch_step() says,
 * with the members' contents as hpdsl_member_read() has them.
 */
void load_check(const char *dataset, struct load_case *c);
/* One batch of this step; false: it is none of this share. */
void load_check_batch(const struct hpdsl_dataset *ds,
		      const struct hpdsl_loader_options *opt,
		      const struct hpdsl_epoch *e, const struct hpdsl_batch *b);

#endif
