/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus' text format, version 0.0.4, over memory: a line of HELP and one
 * of TYPE for each family, no timestamps.  What is written is what a scraper
 * takes, whatever is in the labels.
 */
#ifndef HP_METRICS_TEXT_H
#define HP_METRICS_TEXT_H

#include "base/text.h"
#include "hpdsl/metrics.h"

/* Of every line; the value may be any bytes. */
struct hp_metrics_label {
	const char *name, *value;
};

struct hp_metrics_labels {
	const struct hp_metrics_label *v;
	size_t n;
};

/* Adds them to t.  HPDSL_EUSAGE as hpdsl_metrics_put(); -ENOMEM. */
int hp_metrics_text(const struct hpdsl_metric *v, size_t n,
		    const struct hp_metrics_labels *common, struct hp_text *t,
		    struct hpdsl_error *err);

/* Is it a name of a label? */
bool hp_metrics_is_label(const char *s);

#endif
