/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that flow over links as a fluid, each from one link into another: a
 * link's rate is divided max-min fair among its flows (Bertsekas, Gallager,
 * "Data Networks", 1992, 6.5.2).  A link has a level; a flow runs at the lower
 * of its two links' levels; a link that gets or loses a flow finds its level
 * anew, and those whose flows are another for it find theirs.  No link ever
 * carries more than it can; one that could carry little more (SLACK) is left
 * as it is, so that a change does not run through a whole job.
 *
 * Flows, and whatever else has a number and a time, wait in one heap.
 */
#ifndef BENCH_SIM_LINKS_H
#define BENCH_SIM_LINKS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX
#define SLACK 0.01
/* So many links look for a level because of one change, for what is too low. */
#define SPREAD_MOST 64

static inline void *zeroed(uint64_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "sim_peers: out of memory\n");
		exit(3);
	}
	return p;
}

static inline void *larger(void *p, uint64_t n, size_t size)
{
	p = realloc(p, n * size);
	if (!p) {
		fprintf(stderr, "sim_peers: out of memory\n");
		exit(3);
	}
	return p;
}

/* ---- What comes next -------------------------------------------------- */

/* Numbers below room, each in it once at most, by time and then by number. */
struct clocks {
	double *at;
	uint32_t *heap, *place; /* each has four below it */
	uint32_t n;
};

static inline void clocks_new(struct clocks *c, uint32_t room)
{
	c->at = zeroed(room, sizeof *c->at);
	c->heap = zeroed(room, sizeof *c->heap);
	c->place = zeroed(room, sizeof *c->place);
	memset(c->place, 0xff, room * sizeof *c->place);
	c->n = 0;
}

static inline void clocks_free(struct clocks *c)
{
	free(c->at);
	free(c->heap);
	free(c->place);
}

static inline bool sooner(const struct clocks *c, uint32_t a, uint32_t b)
{
	return c->at[a] < c->at[b] || (c->at[a] <= c->at[b] && a < b);
}

static inline void put_at(struct clocks *c, uint32_t i, uint32_t id)
{
	c->heap[i] = id;
	c->place[id] = i;
}

static inline void settle(struct clocks *c, uint32_t i, uint32_t id)
{
	for (uint32_t up; i && sooner(c, id, c->heap[up = (i - 1) / 4]); i = up)
		put_at(c, i, c->heap[up]);
	for (uint32_t least;; i = least) {
		least = 4 * i + 1;
		for (uint32_t k = least + 1; k < 4 * i + 5 && k < c->n; k++)
			if (sooner(c, c->heap[k], c->heap[least]))
				least = k;
		if (least >= c->n || sooner(c, id, c->heap[least]))
			break;
		put_at(c, i, c->heap[least]);
	}
	put_at(c, i, id);
}

static inline void clocks_set(struct clocks *c, uint32_t id, double at)
{
	c->at[id] = at;
	settle(c, c->place[id] == NOWHERE ? c->n++ : c->place[id], id);
}

static inline void clocks_stop(struct clocks *c, uint32_t id)
{
	const uint32_t i = c->place[id];

	if (i == NOWHERE)
		return;
	c->place[id] = NOWHERE;
	if (i < --c->n)
		settle(c, i, c->heap[c->n]);
}

/* ---- Links ------------------------------------------------------------ */

struct link {
	double can, used, level;
	uint32_t *flow, n, room;
	bool queued;
};

struct flow {
	uint32_t link[2], place[2]; /* place: among its link's */
	double left, rate, since;
};

struct links {
	struct link *link;
	struct flow *flow;
	struct clocks *clocks; /* those of flows by their numbers */
	uint32_t n, *queue, head, tail;
	double now;
	bool plain; /* what one flow cannot use, no other gets */
};

static inline void links_new(struct links *l, struct clocks *c, uint32_t n,
			     uint32_t flows)
{
	l->n = n;
	l->clocks = c;
	l->link = zeroed(n, sizeof *l->link);
	l->flow = zeroed(flows, sizeof *l->flow);
	l->queue = zeroed(n + 1, sizeof *l->queue);
	for (uint32_t i = 0; i < n; i++)
		l->link[i].level = INFINITY;
}

static inline void links_free(struct links *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->link[i].flow);
	free(l->link);
	free(l->flow);
	free(l->queue);
}

/* What a flow still has to bring now. */
static inline double flow_left(const struct links *l, uint32_t id)
{
	const struct flow *f = &l->flow[id];
	const double left = f->left - f->rate * (l->now - f->since);

	return left > 0 ? left : 0;
}

static inline void look_again(struct links *l, uint32_t i)
{
	if (l->link[i].queued)
		return;
	l->link[i].queued = true;
	l->queue[l->tail] = i;
	l->tail = l->tail < l->n ? l->tail + 1 : 0;
}

static inline bool is_over(const struct link *k)
{
	return k->used > k->can * (1 + 1e-9);
}

static inline bool is_under(const struct links *l, const struct link *k)
{
	return !l->plain && k->level < INFINITY &&
	       k->used < k->can * (1 - SLACK);
}

static inline void at_rate(struct links *l, uint32_t id, double rate)
{
	struct flow *f = &l->flow[id];

	if (fabs(rate - f->rate) <= 1e-12 * rate)
		return;
	for (int e = 0; e < 2; e++) {
		struct link *k = &l->link[f->link[e]];

		k->used += rate - f->rate;
		if (is_over(k) || is_under(l, k))
			look_again(l, f->link[e]);
	}
	f->left = flow_left(l, id);
	f->since = l->now;
	f->rate = rate;
	clocks_set(l->clocks, id, l->now + f->left / rate);
}

static inline double other_level(const struct links *l, uint32_t i, uint32_t id)
{
	const struct flow *f = &l->flow[id];

	return l->link[f->link[f->link[0] == i]].level;
}

/* Those that are held back elsewhere leave more to the others. */
static inline double level_of(const struct links *l, uint32_t i)
{
	const struct link *k = &l->link[i];
	double level = k->can / k->n, room, more;
	uint32_t n, before = 0;

	if (l->plain)
		return level;
	for (;; before = k->n - n, level = more) {
		room = k->can;
		n = k->n;
		for (uint32_t j = 0; j < k->n; j++) {
			double o = other_level(l, i, k->flow[j]);

			if (o < level) {
				room -= o;
				n--;
			}
		}
		if (!n)
			return INFINITY;
		more = room / n;
		if (k->n - n == before || more <= level)
			return more;
	}
}

static inline void find_level(struct links *l, uint32_t i)
{
	struct link *k = &l->link[i];

	k->level = k->n ? level_of(l, i) : INFINITY;
	for (uint32_t j = 0; j < k->n; j++)
		at_rate(l, k->flow[j],
			fmin(k->level, other_level(l, i, k->flow[j])));
}

static inline void find_levels(struct links *l)
{
	for (uint32_t n = 0; l->head != l->tail; n++) {
		const uint32_t i = l->queue[l->head];

		l->head = l->head < l->n ? l->head + 1 : 0;
		l->link[i].queued = false;
		if (n < 2 || is_over(&l->link[i]) ||
		    (n < SPREAD_MOST && is_under(l, &l->link[i])))
			find_level(l, i);
	}
}

static inline void link_take(struct links *l, uint32_t id, int e)
{
	struct link *k = &l->link[l->flow[id].link[e]];

	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 16;
		k->flow = larger(k->flow, k->room, sizeof *k->flow);
	}
	l->flow[id].place[e] = k->n;
	k->flow[k->n++] = id;
	look_again(l, l->flow[id].link[e]);
}

static inline void link_drop(struct links *l, uint32_t id, int e)
{
	const struct flow *f = &l->flow[id];
	struct link *k = &l->link[f->link[e]];
	const uint32_t last = k->flow[--k->n];

	k->flow[f->place[e]] = last;
	l->flow[last].place[l->flow[last].link[1] == f->link[e]] = f->place[e];
	k->used = k->n ? k->used - f->rate : 0;
	look_again(l, f->link[e]);
}

/* From one link into another one. */
static inline void flow_start(struct links *l, uint32_t id, uint32_t from,
			      uint32_t to, double bytes)
{
	l->flow[id] = (struct flow){ .link = { from, to },
				     .left = bytes,
				     .since = l->now };
	link_take(l, id, 0);
	link_take(l, id, 1);
	find_levels(l);
}

static inline void flow_stop(struct links *l, uint32_t id)
{
	l->flow[id].left = flow_left(l, id);
	link_drop(l, id, 0);
	link_drop(l, id, 1);
	l->flow[id].since = l->now;
	l->flow[id].rate = 0;
	clocks_stop(l->clocks, id);
	find_levels(l);
}

static inline void link_can(struct links *l, uint32_t i, double rate)
{
	l->link[i].can = rate;
	look_again(l, i);
	find_levels(l);
}

#endif
