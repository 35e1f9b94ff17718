/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets for tests of the loader, and what has to come out of it. */
#ifndef LOAD_WORK_H
#define LOAD_WORK_H

#include "packed.h"

#include "sys/io.h"

/* One tree, packed plain and compressed, and one of large samples. */
extern struct packed load_fix, load_fix_big;
extern char load_plain[200], load_zst[200], load_big[200];

enum { LOAD_SAMPLES = 103, LOAD_BIG = 48, LOAD_BIG_SIZE = 700000 };
/* Of the first tree a quarter of the samples has no txt, one alone has a png,
 * of no bytes. */
enum { LOAD_NO_TXT = 26, LOAD_PNG = 50 };

/* For cmocka. */
int load_setup(void **unused);
int load_teardown(void **unused);

/* Two steps take turns with the lanes; nine of them are an epoch. */
struct hpdsl_loader_options load_base(void);
/* Each fails the test if there is none. */
struct hpdsl_dataset *load_open(const char *dir, const struct hp_io *io);
struct hpdsl_loader *load_new(const struct hpdsl_dataset *ds,
			      const struct hpdsl_loader_options *opt);
struct hpdsl_epoch *load_epoch(const struct hpdsl_dataset *ds,
			       const struct hpdsl_loader_options *opt);

struct load_case {
	struct hpdsl_loader_options opt;
	/* Batches that are kept while the next one is asked for. */
	uint32_t hold;
	/* Set: */
	struct hpdsl_loader_stats stats;
	/* How often: of reads that are smaller than pieces, of steps that do
	 * not fit, of samples that lack a suffix. */
	uint32_t told_small, told_over, told_lacking;
};

/* The order of such a loader: what it does not say filled in. */
struct hpdsl_order load_order(const struct hpdsl_dataset *ds,
			      const struct hpdsl_loader_options *opt);
/*
 * All that a loader with these options gives is what hpdsl_epoch_step() says,
 * with the members' contents as hpdsl_member_read() has them; its states are
 * those of the steps; and memory beyond the bound is told.
 */
void load_check(const char *dataset, struct load_case *c);
/* One batch of this step, all of it. */
void load_check_batch(const struct hpdsl_dataset *ds,
		      const struct hpdsl_loader_options *opt,
		      const struct hpdsl_epoch *e, const struct hpdsl_batch *b);

#endif
