/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 tells in the end: the summary, and the file of --report. */
#include "reach.h"
#include "run.h"

#include <errno.h>
#include <string.h>

#define LLU unsigned long long

/* ---- What was planned ------------------------------------------------- */

void report_plan(struct stage_run *r)
{
	struct hpdsl_stage_sums s;

	if (r->j->rank != 0 || r->o->common.quiet)
		return;
	hpdsl_stage_plan_sums(r->plan, &s);
	if (s.left_chunks)
		cmd_message("%s, %s, left at the origin: there is no room",
			    cmd_many(s.left_chunks, "chunk").s,
			    cmd_bytes(s.left_bytes).s);
}

/* ---- The summary ------------------------------------------------------ */

struct totals {
	uint64_t origin, peer, chunks, held, retries, refetch, sides,
		side_files;
};

static struct totals add_up(const struct stage_run *r)
{
	struct totals t = { 0 };

	for (uint32_t i = 0; i < r->j->nodes; i++) {
		const struct hpdsl_stager_report *s = &r->rows[i].r;

		t.origin += s->origin_bytes;
		t.peer += s->peer_bytes;
		t.chunks += s->chunks;
		t.held += s->held_chunks;
		t.retries += s->retries;
		t.refetch += s->refetch_bytes;
		t.sides += r->rows[i].sides.origin_bytes;
		t.side_files += r->rows[i].sides.files;
	}
	return t;
}

/* The mode, and with it what --parts of readers wants. */
static struct cmd_text spread(const struct stage_run *r)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	struct cmd_text t = stage_mode_of(parts, r->j->nodes);
	size_t n = strlen(t.s);
	struct hpdsl_stage_sums s;

	hpdsl_stage_plan_sums(r->plan, &s);
	if (parts == 1 && s.left_chunks)
		snprintf(t.s, sizeof(t.s), "what there is room for");
	if (parts > 1)
		snprintf(t.s + n, sizeof(t.s) - n, ", %u parts", parts);
	return t;
}

static void tell_summary(const struct stage_run *r)
{
	struct totals t = add_up(r);
	double seconds = r->carry_end - r->begin;
	struct hpdsl_stage_sums s;
	char held[80] = "", sides[80] = "";

	hpdsl_stage_plan_sums(r->plan, &s);
	if (!t.chunks && t.held && !t.side_files) {
		cmd_message("nothing to do: %s, %s, on %s already (%s): %s",
			    cmd_many(s.chunks, "chunk").s, cmd_bytes(s.bytes).s,
			    cmd_many(r->j->nodes, "node").s,
			    cmd_seconds(seconds).s, spread(r).s);
		return;
	}
	if (t.held)
		snprintf(held, sizeof(held), ", %s of %llu there already",
			 cmd_thousands(t.held).s, (LLU)(t.held + t.chunks));
	if (t.side_files)
		snprintf(sides, sizeof(sides), ", %s",
			 cmd_many(t.side_files, "side file").s);
	cmd_message("staged %s, %s, to %s in %s (%s/s): %s, %s from the "
		    "origin, %s between nodes%s%s",
		    cmd_many(s.chunks, "chunk").s, cmd_bytes(s.bytes).s,
		    cmd_many(r->j->nodes, "node").s, cmd_seconds(seconds).s,
		    cmd_bytes((uint64_t)cmd_rate(s.bytes, seconds)).s,
		    spread(r).s, cmd_bytes(t.origin).s, cmd_bytes(t.peer).s,
		    held, sides);
	if (t.refetch)
		cmd_message("fetched again, as checksums did not agree: %s",
			    cmd_bytes(t.refetch).s);
}

static const char *word(int status)
{
	return status == CMD_DONE    ? "complete" :
	       status == CMD_STOPPED ? "stopped" :
				       "failed";
}

static void json_head(struct cmd_json *j, const struct stage_run *r, int status)
{
	cmd_json_string(j, "status", word(status));
	if (r->failure.err.code)
		cmd_json_name(j, "error", r->failure.err.msg,
			      strlen(r->failure.err.msg));
	else
		cmd_json_null(j, "error");
	cmd_json_string(j, "mode", stage_mode(r->o->mode, r->o->copies).s);
	if (r->plan)
		cmd_json_u64(j, "parts", hpdsl_stage_plan_parts(r->plan));
	else
		cmd_json_null(j, "parts");
	if (r->port)
		cmd_json_u64(j, "peer_port", r->port);
	else
		cmd_json_null(j, "peer_port");
	cmd_json_real(j, "seconds", stage_now() - r->begin);
	cmd_json_real(j, "staging_seconds", r->carry_end - r->carry_begin);
}

static void print_json(struct stage_run *r, int status)
{
	struct cmd_json j = { .out = stdout };
	struct totals t = add_up(r);
	struct hpdsl_stage_sums s = { 0 };

	if (r->plan)
		hpdsl_stage_plan_sums(r->plan, &s);
	cmd_json_open(&j, NULL, '{');
	json_head(&j, r, status);
	cmd_json_u64(&j, "nodes", r->j->nodes);
	cmd_json_u64(&j, "chunks", s.chunks);
	cmd_json_u64(&j, "bytes", s.bytes);
	cmd_json_u64(&j, "left_chunks", s.left_chunks);
	cmd_json_u64(&j, "left_bytes", s.left_bytes);
	cmd_json_u64(&j, "origin_bytes", t.origin);
	cmd_json_u64(&j, "peer_bytes", t.peer);
	cmd_json_u64(&j, "retries", t.retries);
	cmd_json_u64(&j, "refetch_bytes", t.refetch);
	cmd_json_u64(&j, "side_origin_bytes", t.sides);
	report_paths_json(&j, r);
	cmd_json_line(&j);
}

/* ---- The report ------------------------------------------------------- */

/* Nodes whose chunks are on their way to rank 0. */
#define ASKED 16

/* A chunk that is on a node, and since when. */
struct entry {
	uint64_t chunk;
	double seconds;
};

/* How the others reach a node. */
static void json_peer(struct cmd_json *j, const struct stage_run *r, uint32_t i)
{
	const struct hpdsl_peer_address *a =
		r->peers && r->peers[i].offers ? r->peers[i].offer : NULL;

	if (a) {
		cmd_json_name(j, "interface", a->interface,
			      strnlen(a->interface, sizeof(a->interface)));
		cmd_json_string(j, "address", reach_text(a->ip).s);
		cmd_json_u64(j, "address_mbits", a->mbits);
	} else {
		cmd_json_null(j, "interface");
		cmd_json_null(j, "address");
		cmd_json_null(j, "address_mbits");
	}
}

static void json_row(struct cmd_json *j, const struct stage_run *r, uint32_t i)
{
	const struct stage_row *row = &r->rows[i];
	const struct hpdsl_stager_report *s = &row->r;

	cmd_json_open(j, NULL, '{');
	cmd_json_u64(j, "node", i);
	cmd_json_string(j, "host", row->host);
	json_peer(j, r, i);
	if (r->plan)
		stage_json_parts(j, r->j->nodes,
				 hpdsl_stage_plan_parts(r->plan), i);
	cmd_json_u64(j, "planned_chunks", s->planned_chunks);
	cmd_json_u64(j, "planned_bytes", s->planned_bytes);
	cmd_json_u64(j, "chunks", s->chunks);
	cmd_json_u64(j, "held_chunks", s->held_chunks);
	cmd_json_u64(j, "held_bytes", s->held_bytes);
	cmd_json_u64(j, "origin_bytes", s->origin_bytes);
	cmd_json_u64(j, "peer_bytes", s->peer_bytes);
	cmd_json_u64(j, "sent_bytes", s->sent_bytes);
	cmd_json_u64(j, "written_bytes", s->written_bytes);
	cmd_json_u64(j, "retries", s->retries);
	cmd_json_u64(j, "refetch_chunks", s->refetch_chunks);
	cmd_json_u64(j, "refetch_bytes", s->refetch_bytes);
	cmd_json_u64(j, "lost_chunks", s->lost_chunks);
	cmd_json_u64(j, "side_files", row->sides.files);
	cmd_json_u64(j, "side_bytes", row->sides.bytes);
	cmd_json_u64(j, "side_origin_bytes", row->sides.origin_bytes);
	cmd_json_u64(j, "lost_side_files", row->sides.lost);
	cmd_json_real(j, "seconds", row->seconds);
	cmd_json_real(j, "read_seconds", s->read_seconds);
	cmd_json_real(j, "write_seconds", s->write_seconds);
	cmd_json_real(j, "hash_seconds", s->hash_seconds);
	cmd_json_real(j, "expand_seconds", s->expand_seconds);
	cmd_json_close(j, '}');
}

static void json_entries(struct cmd_json *j, const struct stage_run *r,
			 uint32_t node, const struct entry *e, uint64_t n)
{
	const struct hpdsl_dataset *ds;
	struct hpdsl_chunk c;

	if (!r->stage) /* it failed before */
		return;
	ds = hpdsl_stage_dataset(r->stage);
	for (uint64_t i = 0; i < n; i++) {
		if (hpdsl_chunk_get(ds, (uint32_t)e[i].chunk, &c, NULL) < 0)
			continue;
		cmd_json_open(j, NULL, '{');
		cmd_json_name(j, "name", c.name, strlen(c.name));
		cmd_json_u64(j, "node", node);
		cmd_json_real(j, "ready_seconds", e[i].seconds);
		cmd_json_close(j, '}');
	}
}

static uint64_t list(const struct stage_run *r, struct entry *e)
{
	uint64_t n = 0;

	for (uint64_t c = 0; r->stager && c < r->pack.chunks; c++) {
		double t = hpdsl_stager_ready(r->stager, c);

		if (t >= 0)
			e[n++] = (struct entry){ c, t };
	}
	return n;
}

static void send_row(struct stage_run *r)
{
	struct stage_row row = { .sides = r->sides,
				 .seconds = stage_now() - r->begin };

	snprintf(row.host, sizeof(row.host), "%s", r->j->host);
	if (r->stager)
		hpdsl_stager_report(r->stager, &row.r);
	job_post(r->j, 0, TAG_ROW, &row, sizeof(row));
}

static void ask(struct stage_run *r, uint32_t node, bool more)
{
	job_post(r->j, r->j->leaders[node], TAG_ASK, &more, sizeof(more));
}

/* What is as long as there are chunks, when rank 0 wants it. */
static void answer(struct stage_run *r)
{
	struct stage_mail *m = job_await(r->j, TAG_ASK);
	bool more = m->n && *m->bytes;
	struct entry *e;

	free(m);
	if (!more)
		return;
	e = cmd_alloc(r->pack.chunks, sizeof(*e));
	/* 2 GiB would be 128 million chunks on a node */
	job_post(r->j, 0, TAG_READY, e, (size_t)list(r, e) * sizeof(*e));
	free(e);
}

static void gather_rows(struct stage_run *r)
{
	r->rows = cmd_alloc(r->j->nodes, sizeof(*r->rows));
	for (uint32_t i = 0; i < r->j->nodes; i++) {
		struct stage_mail *m = job_await(r->j, TAG_ROW);
		uint32_t node = job_node_of(r->j, m->source);

		if (node < r->j->nodes)
			memcpy(&r->rows[node], m->bytes, sizeof(*r->rows));
		free(m);
	}
}

/* Of a few nodes at a time: all of them might have too much to say. */
static void gather_entries(struct stage_run *r, struct cmd_json *j)
{
	uint32_t asked = 0;

	for (uint32_t i = 0; i < r->j->nodes; i++) {
		struct stage_mail *m;

		for (; asked < r->j->nodes && asked < i + ASKED; asked++)
			ask(r, asked, true);
		if (i == 0)
			answer(r);
		m = job_await(r->j, TAG_READY);
		if (j)
			json_entries(j, r, job_node_of(r->j, m->source),
				     (const struct entry *)(void *)m->bytes,
				     m->n / sizeof(struct entry));
		free(m);
	}
}

static void json_report(struct cmd_json *j, struct stage_run *r, int status)
{
	cmd_json_open(j, NULL, '{');
	json_head(j, r, status);
	cmd_json_open(j, "chunks", '[');
	gather_entries(r, j);
	cmd_json_close(j, ']');
	cmd_json_open(j, "nodes", '[');
	for (uint32_t i = 0; i < r->j->nodes; i++)
		json_row(j, r, i);
	cmd_json_close(j, ']');
	cmd_json_line(j);
}

static int write_report(struct stage_run *r, int status)
{
	struct hpdsl_error err;
	struct cmd_file f;
	int code = cmd_file_open(&f, r->o->report, &err);

	if (code < 0) {
		gather_entries(r, NULL);
	} else {
		json_report(&(struct cmd_json){ .out = f.out }, r, status);
		code = cmd_file_close(&f, &err);
	}
	/* what cannot be written at all has been said by cmd_file_try() */
	if (code < 0 && !r->report_failed)
		cmd_message("%s", err.msg);
	return code < 0 ? CMD_TROUBLE : CMD_DONE;
}

int report_end(struct stage_run *r, int status)
{
	int ret = CMD_DONE;

	send_row(r);
	report_paths(r);
	if (r->j->rank != 0) {
		answer(r);
		return CMD_DONE;
	}
	cmd_progress_end();
	gather_rows(r);
	if (r->o->report)
		ret = write_report(r, status);
	for (uint32_t i = 1; !r->o->report && i < r->j->nodes; i++)
		ask(r, i, false);
	if (r->o->common.json)
		print_json(r, status);
	else if (!r->o->common.quiet && status == CMD_DONE)
		tell_summary(r);
	return ret;
}
