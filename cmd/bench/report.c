/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-bench: how it went. */
#include "bench.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the sorted waits: the smallest that share of them does not exceed. */
static double quantile(const struct bench *r, double share)
{
	size_t i = (size_t)(share * (double)r->n_waits);

	if (!r->n_waits)
		return 0;
	return r->waits[i < r->n_waits ? i : r->n_waits - 1];
}

static void print_json(const struct bench *r, int status,
		       const struct hpdsl_loader_stats *s)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_bool(&j, "complete", status == CMD_DONE || status == CMD_NO);
	cmd_json_u64(&j, "steps", s->steps);
	cmd_json_u64(&j, "samples", s->samples);
	cmd_json_u64(&j, "bytes", s->bytes);
	cmd_json_u64(&j, "bad_samples", s->bad_samples);
	cmd_json_u64(&j, "lacking", s->lacking);
	cmd_json_u64(&j, "filling_samples", r->filling);
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_real(&j, "first_batch_seconds", r->first);
	cmd_json_real(&j, "stall_seconds", s->stall_seconds);
	cmd_json_real(&j, "wait_p50_seconds", quantile(r, .5));
	cmd_json_real(&j, "wait_p99_seconds", quantile(r, .99));
	cmd_json_real(&j, "wait_max_seconds", quantile(r, 1));
	cmd_json_u64(&j, "reads", s->reads);
	cmd_json_u64(&j, "read_bytes", s->read_bytes);
	cmd_json_u64(&j, "direct_bytes", s->direct_bytes);
	cmd_json_u64(&j, "median_read", s->median_read);
	cmd_json_bool(&j, "staged", s->sources.staged);
	cmd_json_u64(&j, "local_bytes", s->sources.local_bytes);
	cmd_json_u64(&j, "origin_bytes", s->sources.origin_bytes);
	cmd_json_u64(&j, "absent_chunks", s->sources.absent_chunks);
	cmd_json_u64(&j, "overtaken_chunks", s->sources.overtaken_chunks);
	cmd_json_u64(&j, "failed_chunks", s->sources.failed_chunks);
	cmd_json_real(&j, "staging_wait_seconds", s->sources.wait_seconds);
	cmd_json_u64(&j, "peer_bytes", s->sources.peer_bytes);
	cmd_json_u64(&j, "peer_chunks", s->sources.peer_chunks);
	cmd_json_u64(&j, "peer_reads", s->sources.peer_reads);
	cmd_json_u64(&j, "peer_failed", s->sources.peer_failed);
	cmd_json_u64(&j, "hedged", s->sources.hedged);
	cmd_json_u64(&j, "adopted", s->sources.adopted);
	cmd_json_u64(&j, "memory", s->memory);
	cmd_json_u64(&j, "memory_peak", s->memory_peak);
	cmd_json_u64(&j, "held_peak", s->held_peak);
	cmd_json_u64(&j, "lanes", s->lanes);
	cmd_json_u64(&j, "share_bytes", s->share_bytes);
	cmd_json_bool(&j, "unchecked", s->unchecked);
	cmd_json_line(&j);
}

static void tell_speed(const struct bench *r,
		       const struct hpdsl_loader_stats *s)
{
	char bad[48] = "", filled[64] = "";

	if (r->filling)
		snprintf(filled, sizeof(filled), " (filled up with %llu again)",
			 (unsigned long long)r->filling);
	if (s->bad_samples)
		snprintf(bad, sizeof(bad), " (%llu bad)",
			 (unsigned long long)s->bad_samples);
	cmd_message(
		"%s%s, %s, in %s%s in %s: %s/s, %s/s",
		cmd_many(s->samples, "sample").s, bad, cmd_bytes(s->bytes).s,
		cmd_many(s->steps, "step").s, filled, cmd_seconds(r->seconds).s,
		cmd_many((uint64_t)cmd_rate(s->samples, r->seconds), "sample")
			.s,
		cmd_bytes((uint64_t)cmd_rate(s->bytes, r->seconds)).s);
	if (!r->n_waits)
		return;
	cmd_message("waited %s for data, %.1f %% of the time; a step half of "
		    "the time up to %.3f ms, 99 %% up to %.3f ms, at most "
		    "%.3f ms; first batch after %.3f s",
		    cmd_seconds(s->stall_seconds).s,
		    r->seconds > 0 ? 100 * s->stall_seconds / r->seconds : 0,
		    1e3 * quantile(r, .5), 1e3 * quantile(r, .99),
		    1e3 * quantile(r, 1), r->first);
}

static void tell_reads(const struct hpdsl_loader_stats *s)
{
	cmd_message("%s of chunk files, %s%s%s; %s past the page cache; memory "
		    "%s of %s, held %s for %s%s",
		    cmd_many(s->reads, "read").s, cmd_bytes(s->read_bytes).s,
		    s->reads ? ", the median " : "",
		    s->reads ? cmd_bytes(s->median_read).s : "",
		    cmd_bytes(s->direct_bytes).s, cmd_bytes(s->memory_peak).s,
		    cmd_bytes(s->memory).s, cmd_bytes(s->held_peak).s,
		    cmd_many(s->lanes, "lane").s,
		    s->unchecked ? "; checksums were not compared" : "");
	if (!s->sources.staged)
		return;
	cmd_message("%s from here, %s from the origin (chunks: %llu %s, "
		    "%llu overtaken, %llu failed); %s of waiting for chunks "
		    "that were coming",
		    cmd_bytes(s->sources.local_bytes).s,
		    cmd_bytes(s->sources.origin_bytes).s,
		    (unsigned long long)s->sources.absent_chunks,
		    s->sources.peer_chunks ? "neither here nor had of others" :
					     "not here",
		    (unsigned long long)s->sources.overtaken_chunks,
		    (unsigned long long)s->sources.failed_chunks,
		    cmd_seconds(s->sources.wait_seconds).s);
	if (!s->sources.peer_chunks)
		return;
	cmd_message("%s from other nodes, %s in %s (%llu in vain, %llu "
		    "asked of a second one, %llu of chunks fetched for all)",
		    cmd_many(s->sources.peer_chunks, "chunk").s,
		    cmd_bytes(s->sources.peer_bytes).s,
		    cmd_many(s->sources.peer_reads, "read").s,
		    (unsigned long long)s->sources.peer_failed,
		    (unsigned long long)s->sources.hedged,
		    (unsigned long long)s->sources.adopted);
}

void bench_report(struct bench *r, int status)
{
	/* zeros behind an error tell nobody anything */
	bool any = r->n_waits || status == CMD_DONE;
	struct hpdsl_loader_stats s;

	hpdsl_loader_stats(r->loader, &s);
	if (r->n_waits)
		qsort(r->waits, r->n_waits, sizeof(*r->waits), compare);
	if (r->common.json)
		print_json(r, status, &s);
	else if (any && !r->common.quiet) {
		tell_speed(r, &s);
		tell_reads(&s);
	}
}
