/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that runs for long shows of itself while it runs: a file of
 * Prometheus' text format, for the textfile collector of node_exporter.
 * hpdsl-metrics(7) has the families of the commands and of loaders.
 */
#ifndef HPDSL_METRICS_H
#define HPDSL_METRICS_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hpdsl_metric_type {
	HPDSL_COUNTER, /* only grows; its name ends in _total */
	HPDSL_GAUGE,   /* its name does not */
};

/* Those of one name stand together, with one help and type; each of them has
 * the same label, and a value of its own for it. */
struct hpdsl_metric {
	const char *name; /* "hpdsl_stage_origin_bytes_total" */
	const char *help; /* a sentence without its full stop */
	enum hpdsl_metric_type type;
	const char *label, *label_value; /* NULL: none; any bytes */
	double value; /* seconds, bytes, or a count; 6 digits behind the point
		       */
};

struct hpdsl_metrics;

struct hpdsl_metrics_options {
	const char *part; /* of the file's name: hpdsl-PART. and so on; letters,
			     digits and "_" */
	/* The name of the label by which several of a process are told apart,
	 * numbered from 0; NULL: a process has one at a time. */
	const char *which;
	bool ranked;   /* .. is the next one set; else the rank is what the */
	uint32_t rank; /* environment says, if it does */
	const struct hp_io *io; /* NULL: the system's */
};

/*
 * For the folder that HPDSL_METRICS names: *ret is NULL, and 0 is returned, if
 * it names none, or the program has more rights than its caller; the next three
 * do nothing with NULL.  Nothing is written yet.  Objects belong to one thread
 * at a time, and to the process that made them: in a child that was forked
 * nothing is written, nor taken away.  -errno: there is no such folder;
 * HPDSL_EUSAGE: options that make no sense; -ENOMEM.
 */
HPDSL_API int hpdsl_metrics_open(const struct hpdsl_metrics_options *opt,
				 struct hpdsl_metrics **ret,
				 struct hpdsl_error *err);
/* Is it five seconds since the last one was written, or was none? */
HPDSL_API bool hpdsl_metrics_due(const struct hpdsl_metrics *m);
/*
 * Writes these, and no others, whether it is due or not.  After an error it is
 * off: what was there is taken away, nothing is due any more, and this does
 * nothing.  HPDSL_EUSAGE: a name or a label that is none, one name in two
 * places, or twice the same; -EEXIST: another process has this name; -errno.
 */
HPDSL_API int hpdsl_metrics_put(struct hpdsl_metrics *m,
				const struct hpdsl_metric *v, size_t n,
				struct hpdsl_error *err);
/* Takes the file away, or, where its folder has one named last, there. */
HPDSL_API void hpdsl_metrics_close(struct hpdsl_metrics *m);

#ifdef __cplusplus
}
#endif
#endif
