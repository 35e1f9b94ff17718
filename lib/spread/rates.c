/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rates that an earlier run reached: what all nodes together read, and what
 * the busiest node moved and wrote, while bytes were moved.  Each is a lower
 * bound of what the machine can do, and one of them is what it can do.
 */
#include "format/yaml_reader.h"

#include "hpdsl/stage.h"

#include <string.h>

struct node {
	uint64_t origin, peer, sent, written;
};

struct report {
	double seconds, staging; /* in all, and of it, of moving bytes */
	struct node sum, most;
};

static const struct hp_yaml_field node_fields[] = {
	{ "origin_bytes", hp_yaml_number, offsetof(struct node, origin), true },
	{ "peer_bytes", hp_yaml_number, offsetof(struct node, peer), true },
	{ "sent_bytes", hp_yaml_number, offsetof(struct node, sent), false },
	{ "written_bytes", hp_yaml_number, offsetof(struct node, written),
	  true },
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int read_nodes(struct hp_yaml_reader *r, void *into)
{
	struct report *report = into;
	uint32_t seen;
	int k;

	if (r->ev.type != YAML_SEQUENCE_START_EVENT)
		return hp_yaml_bad(r, "a list of nodes was expected");
	for (;;) {
		struct node n = { 0 };

		k = hp_yaml_next(r);
		if (k < 0 || r->ev.type == YAML_SEQUENCE_END_EVENT)
			return k;
		k = hp_yaml_fields(r, node_fields,
				   sizeof node_fields / sizeof *node_fields, &n,
				   &seen);
		if (k < 0)
			return k;
		if (__builtin_add_overflow(report->sum.origin, n.origin,
					   &report->sum.origin))
			return hp_yaml_bad(r, "the number is too large");
		report->most.peer = larger(report->most.peer, n.peer);
		report->most.peer = larger(report->most.peer, n.sent);
		report->most.written = larger(report->most.written, n.written);
	}
}

static const struct hp_yaml_field fields[] = {
	{ "seconds", hp_yaml_real, offsetof(struct report, seconds), true },
	{ "staging_seconds", hp_yaml_real, offsetof(struct report, staging),
	  false },
	{ "nodes", read_nodes, 0, true },
};

static double rate(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / seconds : 0;
}

int hpdsl_stage_rates_parse(const char *text, size_t size, const char *name,
			    struct hpdsl_stage_rates *ret,
			    struct hpdsl_error *err)
{
	struct report report = { 0 };
	double seconds;
	struct hp_yaml_map map = { .name = name,
				   .field = fields,
				   .n = sizeof fields / sizeof *fields };
	int r = hp_yaml_map(&map, text, size, &report, err);

	if (r < 0)
		return r;
	seconds = report.staging > 0 ? report.staging : report.seconds;
	memset(ret, 0, sizeof *ret);
	ret->origin = rate(report.sum.origin, seconds);
	ret->link = rate(report.most.peer, seconds);
	ret->write = rate(report.most.written, seconds);
	return 0;
}
