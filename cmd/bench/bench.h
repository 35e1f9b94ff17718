/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-bench: what was asked for, what was measured, and how it is told. */
#ifndef CMD_BENCH_H
#define CMD_BENCH_H

#include "common/order_options.h"

struct bench {
	struct cmd_common common;
	struct cmd_order order;
	const char *dataset;
	struct hpdsl_loader_options opt;
	struct cmd_strings suffixes;
	const char *save; /* file for the state, or NULL */
	uint64_t deadline;
	uint64_t steps; /* to read at most; 0: all */
	double compute; /* seconds a step takes without its data */
	double pace;	/* samples a second at most; 0: no bound */

	struct hpdsl_dataset *ds;
	struct hpdsl_loader *loader;
	uint64_t filling; /* samples that only fill a step up */
	double *waits;	  /* seconds for each step */
	size_t n_waits;
	double first;	/* seconds until the first batch */
	double seconds; /* in all */
};

/* Parser of the command line; its input is a struct bench. */
void bench_parse(int argc, char **argv, struct bench *r);

/* Bad samples that are skipped: bad.c. */
struct bench_bad;
struct bench_bad *bench_bad_new(void);
/* For the loader: names the sample, unless there were many like it. */
void bench_bad_add(void *bad, const struct hpdsl_damage *d);
/* Says how many were not named, and frees it; how many samples there were. */
uint64_t bench_bad_end(struct bench_bad *b);

/* The summary, on standard error or, with --json, on standard output. */
void bench_report(struct bench *r, int status);

#endif
