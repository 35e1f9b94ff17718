/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command shows to Prometheus while it runs (hpdsl-metrics(7)): a table
 * of the members of a struct that it counts in.
 */
#ifndef CMD_METRICS_H
#define CMD_METRICS_H

#include "common.h"

#include <stddef.h>

struct cmd_metric {
	const char *name, *help;
	enum hpdsl_metric_type type;
	bool real; /* a double, else a uint64_t */
	size_t at; /* in the struct */
};

#define CMD_METRIC(type, name, real, help, of, member)                      \
	{                                                                   \
		name, help, HPDSL_##type, real, offsetof(struct of, member) \
	}

struct cmd_metrics {
	struct hpdsl_metrics *m; /* NULL: none are wanted, or can be */
	const struct cmd_metric *rows;
	size_t n;   /* at most CMD_METRICS */
	bool quiet; /* what is wrong is no warning: another one tells it */
};

enum { CMD_METRICS = 64 };

/* All but m is set. */
void cmd_metrics_open(struct cmd_metrics *c,
		      const struct hpdsl_metrics_options *opt);
/* Of the struct that the table is of. */
void cmd_metrics_put(const struct cmd_metrics *c, const void *of);
/* Once there are none this does nothing. */
void cmd_metrics_close(struct cmd_metrics *c);

#endif
