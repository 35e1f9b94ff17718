/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader shows of itself while it runs.  The names are those of its
 * statistics, by the rule of hpdsl-metrics(7), "Loaders".
 */
#include "load/load.h"

#include "sys/clock.h"

#include <stddef.h>

enum kind { NUMBER, REAL, FLAG };

#define AT(kind, type, name, field, help)                          \
	{                                                          \
		"hpdsl_loader_" name, help, HPDSL_##type, kind,    \
			offsetof(struct hpdsl_loader_stats, field) \
	}
/* A counter's name has an end of its own. */
#define COUNTED(name, help) AT(NUMBER, COUNTER, #name "_total", name, help)
#define SOURCE(name, help) \
	AT(NUMBER, COUNTER, #name "_total", sources.name, help)

static const struct {
	const char *name, *help;
	enum hpdsl_metric_type type;
	enum kind kind;
	size_t at; /* in the statistics */
} rows[] = {
	COUNTED(steps, "Steps handed out"),
	COUNTED(samples, "Samples handed out"),
	COUNTED(bytes, "Bytes of members handed out"),
	COUNTED(bad_samples, "Samples that came without bytes"),
	COUNTED(lacking, "Wanted members that samples have not"),
	COUNTED(failed_steps, "Steps that gave an error"),
	AT(REAL, COUNTER, "stall_seconds_total", stall_seconds,
	   "Time that the training loop waited for data"),
	AT(REAL, COUNTER, "seconds_total", seconds,
	   "Time since the loader was made"),
	COUNTED(reads, "Reads of chunk files"),
	COUNTED(read_bytes, "Bytes read of chunk files"),
	COUNTED(direct_bytes, "Bytes read past the page cache"),
	AT(NUMBER, GAUGE, "median_read_bytes", median_read,
	   "Half of the bytes are in reads of no more"),
	AT(FLAG, GAUGE, "staged", sources.staged,
	   "1 if it reads a stage directory"),
	SOURCE(local_bytes, "Bytes read of the stage directory"),
	SOURCE(origin_bytes, "Bytes read of the origin"),
	SOURCE(absent_chunks, "Chunks read of the origin, not planned here"),
	SOURCE(overtaken_chunks,
	       "Chunks read of the origin, as they had not come in time"),
	SOURCE(failed_chunks,
	       "Chunks read of the origin, no longer as they were staged"),
	AT(REAL, COUNTER, "staging_wait_seconds_total", sources.wait_seconds,
	   "Time that all threads waited for chunks that were coming"),
	SOURCE(peer_bytes, "Bytes read of the job's other nodes"),
	SOURCE(peer_chunks, "Chunks for which other nodes were asked"),
	SOURCE(peer_reads, "Requests that other nodes answered"),
	SOURCE(peer_failed, "Requests that other nodes did not answer"),
	SOURCE(hedged, "Requests made of a second node, the first was late"),
	SOURCE(adopted, "Requests answered by a node that fetched it for all"),
	AT(NUMBER, GAUGE, "memory_bytes", memory, "Bound of the memory"),
	AT(NUMBER, GAUGE, "memory_peak_bytes", memory_peak,
	   "Memory held at most"),
	AT(NUMBER, GAUGE, "held_peak_bytes", held_peak,
	   "Memory held for steps that were not over, at most"),
	AT(NUMBER, GAUGE, "lanes", lanes,
	   "Lanes that have samples of this rank"),
	AT(NUMBER, GAUGE, "share_bytes", share_bytes,
	   "Bytes read of a lane at a time, at most"),
	AT(FLAG, GAUGE, "unchecked", unchecked,
	   "1 if checksums are not compared"),
};

enum { ROWS = sizeof rows / sizeof *rows };

static double value_of(const struct hpdsl_loader_stats *s, size_t row)
{
	const char *p = (const char *)s + rows[row].at;

	switch (rows[row].kind) {
	case REAL:
		return *(const double *)(const void *)p;
	case FLAG:
		return *(const bool *)(const void *)p;
	default:
		return (double)*(const uint64_t *)(const void *)p;
	}
}

/* Without them it loads as well. */
static void warn(struct hpdsl_loader *l, const struct hpdsl_error *err)
{
	hp_load_warn(l, err->msg);
}

void hp_load_metrics_put(struct hpdsl_loader *l)
{
	struct hpdsl_metric v[ROWS];
	struct hpdsl_loader_stats s;
	struct hpdsl_error err;

	hpdsl_loader_stats(l, &s);
	if (l->caller.stalls > 0)
		s.stall_seconds += hp_now() - l->caller.stalls;
	for (size_t i = 0; i < ROWS; i++)
		v[i] = (struct hpdsl_metric){
			.name = rows[i].name,
			.help = rows[i].help,
			.type = rows[i].type,
			.value = value_of(&s, i),
		};
	if (hpdsl_metrics_put(l->metrics, v, ROWS, &err) < 0)
		warn(l, &err);
}

void hp_load_metrics_begin(struct hpdsl_loader *l)
{
	const struct hpdsl_metrics_options opt = {
		.part = "loader",
		.which = "loader",
		.ranked = l->opt.share.ranks > 1,
		.rank = l->opt.share.rank,
		.io = l->opt.watch.io,
	};
	struct hpdsl_error err;

	if (hpdsl_metrics_open(&opt, &l->metrics, &err) < 0)
		warn(l, &err);
	else if (l->metrics)
		hp_load_metrics_put(l);
}

void hp_load_metrics_end(struct hpdsl_loader *l)
{
	if (l->metrics)
		hp_load_metrics_put(l);
	hpdsl_metrics_close(l->metrics);
	l->metrics = NULL;
}
