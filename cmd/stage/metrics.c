/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's leader shows to Prometheus while it runs: its row of the
 * report, under the same names.
 */
#include "run.h"

#define NUMBER(type, name, help, member) \
	CMD_METRIC(type, "hpdsl_stage_" name, false, help, stage_row, member)
#define REAL(type, name, help, member) \
	CMD_METRIC(type, "hpdsl_stage_" name, true, help, stage_row, member)

static const struct cmd_metric rows[] = {
	NUMBER(GAUGE, "planned_chunks", "Chunks that this node is to have",
	       r.planned_chunks),
	NUMBER(GAUGE, "planned_bytes", "Bytes that this node is to have",
	       r.planned_bytes),
	NUMBER(GAUGE, "held_chunks", "Chunks that were here at the start",
	       r.held_chunks),
	NUMBER(GAUGE, "held_bytes", "Bytes that were here at the start",
	       r.held_bytes),
	NUMBER(COUNTER, "chunks_total", "Chunks that have come", r.chunks),
	NUMBER(COUNTER, "origin_bytes_total", "Bytes read from the origin",
	       r.origin_bytes),
	NUMBER(COUNTER, "peer_bytes_total", "Bytes received from other nodes",
	       r.peer_bytes),
	NUMBER(COUNTER, "sent_bytes_total", "Bytes sent to other nodes",
	       r.sent_bytes),
	NUMBER(COUNTER, "written_bytes_total", "Bytes written here",
	       r.written_bytes),
	NUMBER(COUNTER, "retries_total",
	       "Reads that failed, and were tried again", r.retries),
	NUMBER(COUNTER, "refetch_chunks_total",
	       "Chunks fetched again, as checksums did not agree",
	       r.refetch_chunks),
	NUMBER(COUNTER, "refetch_bytes_total", "Bytes of these",
	       r.refetch_bytes),
	NUMBER(COUNTER, "lost_chunks_total",
	       "Chunks that cannot be had from the origin", r.lost_chunks),
	NUMBER(COUNTER, "side_files_total", "Side files that have come",
	       sides.files),
	NUMBER(COUNTER, "side_bytes_total", "Bytes of these", sides.bytes),
	NUMBER(COUNTER, "side_origin_bytes_total",
	       "Bytes of side files read from the origin", sides.origin_bytes),
	NUMBER(COUNTER, "lost_side_files_total",
	       "Side files that were given up", sides.lost),
	REAL(COUNTER, "seconds_total", "Time since it began", seconds),
	REAL(COUNTER, "read_seconds_total", "Time in reads, of all threads",
	     r.read_seconds),
	REAL(COUNTER, "write_seconds_total", "Time in writes, of all threads",
	     r.write_seconds),
	REAL(COUNTER, "hash_seconds_total", "Time in hashing, of all threads",
	     r.hash_seconds),
	REAL(COUNTER, "expand_seconds_total",
	     "Time in decompressing, of all threads", r.expand_seconds),
	REAL(GAUGE, "stuck_seconds",
	     "How long the longest operation has been under way",
	     r.stuck_seconds),
};

void stage_metrics_begin(struct stage_run *r)
{
	const struct hpdsl_metrics_options opt = {
		.part = "stage",
		.ranked = true,
		.rank = (uint32_t)r->j->rank,
	};

	r->metrics = (struct cmd_metrics){
		.rows = rows,
		.n = sizeof(rows) / sizeof(*rows),
		.quiet = r->j->rank != 0,
	};
	cmd_metrics_open(&r->metrics, &opt);
	stage_metrics_put(r);
}

void stage_metrics_put(struct stage_run *r)
{
	struct stage_row row = { .seconds = stage_now() - r->begin };

	if (!r->metrics.m)
		return;
	/* before, another thread may be making all that */
	if (r->carry_begin > 0) {
		row.sides = r->sides;
		hpdsl_stager_report(r->stager, &row.r);
	}
	cmd_metrics_put(&r->metrics, &row);
}

void stage_metrics_end(struct stage_run *r)
{
	stage_metrics_put(r);
	cmd_metrics_close(&r->metrics);
}
