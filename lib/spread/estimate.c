/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a plan takes: origin, links and SSDs work at the same time, so the
 * slowest of the three decides, and before all three have work the first
 * segment has to go through a whole chain.
 */
#include "spread/plan.h"

#include <string.h>

#define SEGMENT 4194304.0 /* the largest that the stager sends */
#define ORIGIN "origin"
#define NETWORK "network"
#define SSD "SSD"

struct load {
	double origin;	    /* bytes of all nodes together */
	double link, write; /* of the busiest node */
	double total, left; /* the dataset; what no node holds of it */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double seconds(double bytes, double rate)
{
	return rate > 0 ? bytes / rate : 0;
}

static void load_of(const struct hpdsl_stage_plan *p, struct load *l)
{
	memset(l, 0, sizeof *l);
	for (uint32_t n = 0; n < p->nodes; n++) {
		struct hpdsl_stage_share s;

		hpdsl_stage_plan_share(p, n, &s);
		l->origin += (double)s.origin_bytes;
		l->link = larger(l->link, (double)s.received_bytes);
		l->link = larger(l->link, (double)s.sent_bytes);
		l->write = larger(l->write, (double)s.bytes);
	}
	l->left = (double)p->left.bytes;
	l->total = (double)p->all.bytes + l->left;
}

/* How many nodes the longest chain has. */
static uint32_t longest(const struct hpdsl_stage_plan *p)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < p->parts; i++) {
		struct hpdsl_stage_span g =
			hpdsl_stage_group_of(p->nodes, p->parts, i);

		if (g.last - g.first + 1 > most)
			most = g.last - g.first + 1;
	}
	return most;
}

/*
 * Until all three have work: how long the first segments take in those two that
 * are not the bound, which has lost this time.  At the origin the segments of
 * all readers come at the same time.
 */
static double fill_seconds(const struct hpdsl_stage_plan *p,
			   const struct hpdsl_stage_rates *r,
			   const struct load *l,
			   const struct hpdsl_stage_estimate *e)
{
	double mean = p->chunks ? l->total / (double)p->chunks : 0;
	double segment = mean < SEGMENT ? mean : SEGMENT, sum = 0;
	double readers = p->chunks < p->nodes ? (double)p->chunks : p->nodes;

	if (strcmp(e->bound, ORIGIN) != 0)
		sum += seconds(segment * readers, r->origin);
	if (strcmp(e->bound, NETWORK) != 0)
		sum += seconds(segment * (longest(p) - 1), r->link);
	if (strcmp(e->bound, SSD) != 0)
		sum += seconds(segment, r->write);
	return sum;
}

/*
 * An epoch reads the dataset once, all nodes together: from the origin, or each
 * node an equal share from its SSD and what was left from the origin.
 */
static double epochs_until_paid(const struct hpdsl_stage_plan *p,
				const struct hpdsl_stage_rates *r,
				const struct load *l, double staging)
{
	double origin = seconds(l->total, r->origin);
	double local = larger(seconds(l->total / p->nodes, r->read),
			      seconds(l->left, r->origin));

	return origin > local ? staging / (origin - local) : 0;
}

void hpdsl_stage_plan_estimate(const struct hpdsl_stage_plan *p,
			       const struct hpdsl_stage_rates *r,
			       struct hpdsl_stage_estimate *ret)
{
	struct load l;
	double most;

	load_of(p, &l);
	memset(ret, 0, sizeof *ret);
	ret->origin_seconds = seconds(l.origin, r->origin);
	ret->link_seconds = seconds(l.link, r->link);
	ret->write_seconds = seconds(l.write, r->write);
	most = larger(ret->origin_seconds,
		      larger(ret->link_seconds, ret->write_seconds));
	ret->bound = most <= 0			 ? "nothing known" :
		     most == ret->origin_seconds ? ORIGIN :
		     most == ret->link_seconds	 ? NETWORK :
						   SSD;
	ret->seconds = most > 0 ? most + fill_seconds(p, r, &l, ret) : 0;
	ret->epochs = epochs_until_paid(p, r, &l, ret->seconds);
}
