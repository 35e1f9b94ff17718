/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: how many parts, what each node keeps, who reads what. */
#include "spread/plan.h"

#include "base/error.h"
#include "base/mem.h"
#include "spread/fit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct size_text {
	char s[32];
};

static struct size_text size_text(uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double v = (double)bytes / 1024;
	struct size_text t;
	int u = 0;

	if (bytes < 1024) {
		snprintf(t.s, sizeof t.s, "%u bytes", (unsigned)bytes);
		return t;
	}
	for (; v >= 1023.95 && units[u + 1]; u++)
		v /= 1024;
	snprintf(t.s, sizeof t.s, "%.1f %ciB", v, units[u]);
	return t;
}

static int check_wish(const struct hpdsl_stage_wish *w, struct hpdsl_error *err)
{
	if (!w->nodes)
		return hp_fail(err, HPDSL_EUSAGE, "a plan needs nodes");
	if (w->chunks > UINT32_MAX - 1)
		return hp_fail(err, HPDSL_EUSAGE, "too many chunks to plan");
	if (w->mode == HPDSL_STAGE_COPIES && !w->copies)
		return hp_fail(err, HPDSL_EUSAGE, "copies: at least 1");
	return 0;
}

/* Asked for so many parts: has each node room? */
static int check_room(const struct hpdsl_stage_plan *p,
		      const struct hpdsl_stage_wish *w, struct hpdsl_error *err)
{
	for (uint32_t n = 0; n < w->nodes; n++) {
		uint64_t need = p->part_bytes[n % p->parts];

		if (w->capacity[n] < need)
			return hp_fail(
				err, -ENOSPC,
				"node %u%s%.200s%s has room for %s of the %s "
				"planned for it",
				n, w->hosts ? " (" : "",
				w->hosts ? w->hosts[n] : "",
				w->hosts ? ")" : "",
				size_text(w->capacity[n]).s, size_text(need).s);
	}
	return 0;
}

/* D; 0: as many as nodes, and no room even so. */
static int64_t choose_parts(const struct hpdsl_stage_wish *w)
{
	switch (w->mode) {
	case HPDSL_STAGE_REPLICATE:
		return 1;
	case HPDSL_STAGE_PARTITION:
		return w->nodes;
	case HPDSL_STAGE_COPIES:
		return w->copies >= w->nodes ? 1 : w->nodes / w->copies;
	default:
		return hp_fit_parts(w);
	}
}

/* rank[], from the order; part_count is of each part. */
static int rank_chunks(struct hpdsl_stage_plan *p, uint32_t *part_count,
		       struct hpdsl_error *err)
{
	for (uint32_t i = 0; i < p->parts; i++)
		part_count[i] = 0;
	for (uint64_t c = 0; c < p->chunks; c++)
		p->rank[c] = UINT32_MAX;
	for (uint64_t i = 0; i < p->chunks; i++) {
		uint32_t c = p->order[i];

		if (c >= p->chunks || p->rank[c] != UINT32_MAX)
			return hp_fail(err, HPDSL_EUSAGE,
				       "the order of use has not every chunk "
				       "once");
		p->rank[c] = part_count[c % p->parts]++;
	}
	return 0;
}

/* What has no room: each node has a part of its own, and keeps a prefix. */
static void cut_to_room(struct hpdsl_stage_plan *p, const uint64_t *capacity)
{
	for (uint32_t n = 0; n < p->nodes; n++) {
		p->held_bytes[n] = 0;
		p->kept[n] = UINT32_MAX;
	}
	for (uint64_t i = 0; i < p->chunks; i++) {
		uint32_t c = p->order[i], n = c % p->parts;

		if (p->kept[n] != UINT32_MAX)
			continue;
		if (p->weight[c] > capacity[n] - p->held_bytes[n])
			p->kept[n] = p->rank[c];
		else
			p->held_bytes[n] += p->weight[c];
	}
}

/* The sums that shares are made from. */
static void sum_up(struct hpdsl_stage_plan *p)
{
	for (uint32_t n = 0; n < p->nodes; n++) {
		p->kept[n] = UINT32_MAX;
		p->held_bytes[n] = p->part_bytes[n % p->parts];
		p->read_bytes[n] = 0;
	}
	for (uint64_t c = 0; c < p->chunks; c++) {
		uint32_t n = hp_spread_reader(p, c);

		p->read_bytes[n] = hp_fit_add(p->read_bytes[n], p->weight[c]);
	}
}

static int fill(struct hpdsl_stage_plan *p, const struct hpdsl_stage_wish *w,
		bool cut, struct hpdsl_error *err)
{
	hp_auto_free uint32_t *part_count =
		hp_array(p->parts, sizeof *part_count);
	int r;

	if (!part_count)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < p->parts; i++)
		p->part_bytes[i] = hp_fit_part(w, p->parts, i);
	r = cut ? 0 : check_room(p, w, err);
	if (r < 0)
		return r;
	r = rank_chunks(p, part_count, err);
	if (r < 0)
		return r;
	sum_up(p);
	if (cut) {
		cut_to_room(p, w->capacity);
		for (uint32_t n = 0; n < p->nodes; n++)
			p->read_bytes[n] = p->held_bytes[n];
	}
	return 0;
}

static int make_room(struct hpdsl_stage_plan *p, struct hpdsl_error *err)
{
	p->rank = hp_array(p->chunks, sizeof *p->rank);
	p->kept = hp_array(p->nodes, sizeof *p->kept);
	p->part_bytes = hp_array(p->parts, sizeof *p->part_bytes);
	p->held_bytes = hp_array(p->nodes, sizeof *p->held_bytes);
	p->read_bytes = hp_array(p->nodes, sizeof *p->read_bytes);
	if (!p->rank || !p->kept || !p->part_bytes || !p->held_bytes ||
	    !p->read_bytes)
		return hp_fail_nomem(err);
	return 0;
}

int hpdsl_stage_plan_new(const struct hpdsl_stage_wish *wish,
			 struct hpdsl_stage_plan **ret, struct hpdsl_error *err)
{
	struct hpdsl_stage_plan *p;
	int64_t parts;
	int r = check_wish(wish, err);

	if (r < 0)
		return r;
	parts = choose_parts(wish);
	p = parts < 0 ? NULL : calloc(1, sizeof *p);
	if (!p)
		return hp_fail_nomem(err);
	p->nodes = wish->nodes;
	p->parts = parts ? (uint32_t)parts : wish->nodes;
	p->chunks = wish->chunks;
	p->order = wish->order;
	p->weight = wish->weight;
	r = make_room(p, err);
	if (r == 0)
		r = fill(p, wish, parts == 0, err);
	if (r < 0) {
		hpdsl_stage_plan_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void hpdsl_stage_plan_free(struct hpdsl_stage_plan *p)
{
	if (!p)
		return;
	free(p->rank);
	free(p->kept);
	free(p->part_bytes);
	free(p->held_bytes);
	free(p->read_bytes);
	free(p);
}

uint32_t hpdsl_stage_plan_parts(const struct hpdsl_stage_plan *p)
{
	return p->parts;
}

/* ---- What it means for a node that holds nothing yet ------------------ */

/* How many of 0 .. n - 1 are i modulo m. */
static uint64_t residues(uint64_t n, uint32_t i, uint32_t m)
{
	return n > i ? (n - 1 - i) / m + 1 : 0;
}

void hpdsl_stage_plan_share(const struct hpdsl_stage_plan *p, uint32_t node,
			    struct hpdsl_stage_share *ret)
{
	uint32_t part = node % p->parts, m = hp_spread_group(p, part);
	uint64_t count = residues(p->chunks, part, p->parts);
	uint32_t place = node / p->parts, next;

	memset(ret, 0, sizeof *ret);
	next = part + (place + 1) % m * p->parts;
	ret->chunks = p->kept[node] < count ? p->kept[node] : count;
	ret->bytes = p->held_bytes[node];
	ret->left_chunks = count - ret->chunks;
	ret->left_bytes = p->part_bytes[part] - ret->bytes;
	ret->origin_chunks = residues(ret->chunks, place, m);
	ret->origin_bytes = p->read_bytes[node];
	/* all but what it read comes from the node before, and all but what
	 * the node behind it read goes there */
	ret->received_bytes = ret->bytes - ret->origin_bytes;
	if (m > 1)
		ret->sent_bytes = ret->bytes - p->read_bytes[next];
	ret->receives_from = ret->received_bytes > 0;
	ret->sends_to = ret->sent_bytes > 0;
}
