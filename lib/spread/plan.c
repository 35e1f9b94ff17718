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
		uint64_t need =
			hp_fit_need(p->part_bytes, p->nodes, p->parts, n);

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

/* D; 0: no room, however many. */
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

static int fill(struct hpdsl_stage_plan *p, const struct hpdsl_stage_wish *w,
		struct hpdsl_error *err)
{
	hp_auto_free uint32_t *part_count =
		hp_array(p->parts, sizeof *part_count);
	int r;

	if (!part_count)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < p->parts; i++)
		p->part_bytes[i] = hp_fit_part(w, p->parts, i);
	r = p->place ? 0 : check_room(p, w, err);
	if (r == 0)
		r = rank_chunks(p, part_count, err);
	if (r < 0)
		return r;
	hp_spread_sum_up(p, w->capacity);
	return 0;
}

/* tight: there is no room for everything. */
static int make_room(struct hpdsl_stage_plan *p, bool tight,
		     struct hpdsl_error *err)
{
	p->rank = hp_array(p->chunks, sizeof *p->rank);
	p->part_bytes = hp_array(p->parts, sizeof *p->part_bytes);
	p->held = calloc(p->nodes, sizeof *p->held);
	p->side = calloc(2 * (size_t)p->nodes, sizeof *p->side);
	if (tight) {
		p->place = hp_array(p->chunks, sizeof *p->place);
		p->kept = hp_array(p->nodes, sizeof *p->kept);
	}
	if (!p->rank || !p->part_bytes || !p->held || !p->side ||
	    (tight && (!p->place || !p->kept)))
		return hp_fail_nomem(err);
	return 0;
}

/* No fewer than nodes, so that none holds what another one has no room for. */
static uint32_t tight_parts(const struct hpdsl_stage_wish *w)
{
	uint32_t wanted = hp_fit_wanted(w);

	return wanted > w->nodes ? wanted : w->nodes;
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
	p->parts = parts ? (uint32_t)parts : tight_parts(wish);
	p->whole = p->parts == 1 ? wish->whole : 0;
	p->chunks = wish->chunks;
	p->order = wish->order;
	p->weight = wish->weight;
	r = make_room(p, parts == 0, err);
	if (r == 0)
		r = fill(p, wish, err);
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
	free(p->place);
	free(p->kept);
	free(p->part_bytes);
	free(p->held);
	free(p->side);
	free(p);
}

uint32_t hpdsl_stage_plan_parts(const struct hpdsl_stage_plan *p)
{
	return p->parts;
}
