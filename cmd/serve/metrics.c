/* SPDX-License-Identifier: Apache-2.0 */
/* What a server shows to Prometheus: what --status tells, under the same names.
 */
#include "life.h"

struct shown {
	struct hpdsl_serve_stats s;
	double seconds, rate_seconds;
};

#define NUMBER(type, name, help, member) \
	CMD_METRIC(type, "hpdsl_serve_" name, false, help, shown, s.member)
#define REAL(name, help, member) \
	CMD_METRIC(COUNTER, "hpdsl_serve_" name, true, help, shown, member)

static const struct cmd_metric rows[] = {
	NUMBER(GAUGE, "chunks", "Chunks of the dataset", chunks),
	NUMBER(GAUGE, "here", "Chunks on this node", here),
	NUMBER(GAUGE, "coming", "Chunks that are coming", coming),
	NUMBER(COUNTER, "requests_total", "Requests of other nodes answered",
	       requests),
	NUMBER(COUNTER, "bytes_total", "Bytes sent to other nodes", bytes),
	NUMBER(COUNTER, "unproven_total", "Requests without a proof (403)",
	       unproven),
	NUMBER(COUNTER, "absent_total", "Requests for what is not here (404)",
	       absent),
	NUMBER(COUNTER, "busy_total", "Requests that were put off (503)", busy),
	NUMBER(COUNTER, "wrong_total", "Requests that make no sense", wrong),
	NUMBER(COUNTER, "cold_total", "Answers that waited for the disk", cold),
	NUMBER(COUNTER, "cold_bytes_total", "Bytes of these", cold_bytes),
	NUMBER(COUNTER, "local_requests_total",
	       "Requests of programs of this node", local_requests),
	NUMBER(COUNTER, "local_bytes_total", "Bytes sent to these",
	       local_bytes),
	NUMBER(COUNTER, "fetched_bytes_total",
	       "Bytes fetched for these from other nodes or the origin",
	       fetched_bytes),
	NUMBER(COUNTER, "adopted_total",
	       "Chunks fetched from the origin for all nodes", adopted),
	NUMBER(COUNTER, "adopted_bytes_total", "Bytes of these", adopted_bytes),
	NUMBER(COUNTER, "rehomed_total",
	       "Chunks fetched for all that nobody had asked for", rehomed),
	NUMBER(COUNTER, "adopted_peer_bytes_total",
	       "Bytes fetched for all from nodes that hold them",
	       adopted_peer_bytes),
	NUMBER(COUNTER, "passed_bytes_total",
	       "Bytes fetched for all that were not kept", passed_bytes),
	NUMBER(GAUGE, "memory_bytes", "Bytes of chunks held in memory",
	       memory_bytes),
	NUMBER(GAUGE, "owed_bytes", "Bytes that are on their way", owes),
	NUMBER(GAUGE, "rate_bytes",
	       "Bytes a second for other nodes at most, 0 for any", rate),
	NUMBER(COUNTER, "rate_waits_total", "Answers that waited for the rate",
	       paced),
	REAL("rate_seconds_total", "Time that these waited", rate_seconds),
	REAL("seconds_total", "Time since it began to serve", seconds),
};

void serve_metrics_begin(struct serve_life *l)
{
	const struct hpdsl_metrics_options opt = { .part = "serve" };

	l->metrics = (struct cmd_metrics){
		.rows = rows,
		.n = sizeof(rows) / sizeof(*rows),
	};
	cmd_metrics_open(&l->metrics, &opt);
	serve_metrics_look(l);
}

static void put(struct serve_life *l)
{
	struct shown of = { .seconds = serve_now() - l->begun };

	hpdsl_serve_stats(l->s, &of.s);
	of.rate_seconds = (double)of.s.paced_ns / 1e9;
	cmd_metrics_put(&l->metrics, &of);
}

void serve_metrics_look(struct serve_life *l)
{
	if (hpdsl_metrics_due(l->metrics.m))
		put(l);
}

void serve_metrics_end(struct serve_life *l)
{
	if (l->metrics.m && l->s)
		put(l);
	cmd_metrics_close(&l->metrics);
}
