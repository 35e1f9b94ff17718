/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far it is, told by rank 0: a bar on a terminal, a line every ten seconds
 * in a log, with the node that will be the last.
 */
#include "run.h"

#include <unistd.h>

#define EVERY 10.0
#define LOOK_EVERY 0.1 /* at all nodes */

struct slowest {
	double left; /* seconds */
	uint32_t node;
	const char *host;
	uint64_t done, total;
};

/* Node i's last word; of node 0 its own. */
static const struct stage_beat *beat_of(const struct stage_run *r, uint32_t i)
{
	return i ? &r->j->peers[i - 1].last : &r->j->now;
}

static void find_slowest(struct stage_run *r, double seconds,
			 struct slowest *ret, uint64_t *done, uint64_t *total)
{
	*ret = (struct slowest){ .left = -1 };
	for (uint32_t i = 0; i < r->j->nodes; i++) {
		const struct stage_beat *b = beat_of(r, i);
		uint64_t got = b->done - r->progress_first[i];
		double rate = cmd_rate(got, seconds);
		double left = rate > 0 ? (double)(b->total - b->done) / rate :
			      b->done < b->total ? 1e9 :
						   0;

		*done += b->done;
		*total += b->total;
		if (left <= ret->left)
			continue;
		*ret = (struct slowest){ left, i,
					 i ? r->j->peers[i - 1].host :
					     r->j->host,
					 b->done, b->total };
	}
}

static void log_line(struct stage_run *r, double seconds)
{
	struct slowest s;
	uint64_t done = 0, total = 0;
	char left[80] = "", slow[160] = "";

	find_slowest(r, seconds, &s, &done, &total);
	if (!total)
		return;
	if (s.left > 0 && s.left < 1e9)
		snprintf(left, sizeof(left), ", %s left",
			 cmd_seconds(s.left).s);
	if (r->j->nodes > 1 && s.total > s.done)
		snprintf(slow, sizeof(slow), "; slowest is %s, %d %%",
			 stage_node_name(s.node, s.host).s,
			 (int)(100 * (double)s.done / (double)s.total));
	cmd_message("staging: %d %%, %s of %s%s%s",
		    (int)(100 * (double)done / (double)total),
		    cmd_bytes(done).s, cmd_bytes(total).s, left, slow);
}

/* Nodes that have not told yet count from their first word on. */
static void note_first(struct stage_run *r)
{
	for (uint32_t i = 0; i < r->j->nodes; i++)
		if (!r->progress_first[i])
			r->progress_first[i] = beat_of(r, i)->done;
}

static void show(struct stage_run *r)
{
	struct hpdsl_progress p = { .phase = "staging", .bytes = true };
	struct slowest s;

	find_slowest(r, 1, &s, &p.done, &p.total);
	r->bar.progress(NULL, &p);
}

void report_progress(void *arg)
{
	struct stage_run *r = arg;
	double now = stage_now();

	if (r->o->common.quiet || now - r->progress_looked < LOOK_EVERY)
		return;
	r->progress_looked = now;
	if (!r->progress_first) {
		r->progress_first =
			cmd_alloc(r->j->nodes, sizeof(*r->progress_first));
		r->progress_begin = r->progress_at = now;
	}
	note_first(r);
	if (isatty(STDERR_FILENO)) {
		show(r);
		return;
	}
	if (now - r->progress_at < EVERY)
		return;
	r->progress_at = now;
	log_line(r, now - r->progress_begin);
}
