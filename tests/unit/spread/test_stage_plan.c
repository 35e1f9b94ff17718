/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of up to 8 nodes, in every mode, against plain definitions; chains with
 * random holdings; where the ranks of up to 1,000 nodes find their lanes; the
 * sizes of large machines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spread/plan.h"

enum { NODES = 8, CHUNKS = 23 };

static uint64_t random_state = 1;

static uint32_t draw(uint32_t n)
{
	random_state =
		random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

struct case_ {
	struct hpdsl_stage_wish wish;
	uint64_t capacity[NODES], weight[CHUNKS];
	uint32_t order[CHUNKS];
};

static void shuffle(uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = draw(i), t = v[i - 1];

		v[i - 1] = v[k];
		v[k] = t;
	}
}

static void make_case(struct case_ *c, uint32_t nodes, uint32_t chunks)
{
	static const uint64_t most[] = { 0, 30, 120, 400 };
	uint32_t room = draw(5);

	memset(c, 0, sizeof *c);
	for (uint32_t i = 0; i < chunks; i++)
		c->weight[i] = draw(4) ? 10 : draw(40);
	for (uint32_t n = 0; n < nodes; n++)
		c->capacity[n] = room == 4 ? UINT64_MAX :
				 draw(3)   ? most[room] :
					     draw((uint32_t)most[room] + 1);
	shuffle(c->order, chunks);
	c->wish = (struct hpdsl_stage_wish){ .nodes = nodes,
					     .capacity = c->capacity,
					     .chunks = chunks,
					     .weight = c->weight,
					     .order = c->order,
					     .whole = draw(2) ? draw(40) : 0 };
}

static uint64_t part_bytes(const struct hpdsl_stage_wish *w, uint32_t d,
			   uint32_t part)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < w->chunks; c++)
		if (c % d == part)
			sum += w->weight[c];
	return sum;
}

/*
 * By the definition: node k of n holds the parts floor(k D / n) ..
 * ceil((k + 1) D / n) - 1.
 */
static bool has_part(uint64_t n, uint64_t d, uint64_t k, uint64_t part)
{
	uint64_t end = (k + 1) * d / n + !!((k + 1) * d % n);

	return part >= k * d / n && part < end;
}

static bool all_fit(const struct hpdsl_stage_wish *w, uint32_t d)
{
	for (uint32_t n = 0; n < w->nodes; n++) {
		uint64_t need = d == 1 ? w->whole : 0;

		for (uint32_t p = 0; p < d; p++)
			if (has_part(w->nodes, d, n, p))
				need += part_bytes(w, d, p);
		if (w->capacity[n] < need)
			return false;
	}
	return true;
}

/* The order's parts; 0: there are none, or more than chunks. */
static uint32_t wanted(const struct hpdsl_stage_wish *w)
{
	return w->parts > 1 && w->parts <= w->chunks ? w->parts : 0;
}

/* The D of the definition; 0: none fits. */
static uint32_t smallest(const struct hpdsl_stage_wish *w)
{
	if (wanted(w) && !all_fit(w, 1) && all_fit(w, wanted(w)))
		return wanted(w);
	for (uint32_t d = 1; d <= w->nodes; d++)
		if (all_fit(w, d))
			return d;
	return 0;
}

/* Does the node keep the chunk, going by the definition? */
static bool keeps(const struct hpdsl_stage_wish *w, uint32_t d, uint32_t node,
		  uint32_t chunk)
{
	uint64_t left = w->capacity[node], whole = d == 1 ? w->whole : 0;

	left = left > whole ? left - whole : 0;
	if (!has_part(w->nodes, d, node, chunk % d))
		return false;
	for (uint32_t i = 0; i < w->chunks; i++) {
		uint32_t c = w->order[i];

		if (!has_part(w->nodes, d, node, c % d))
			continue;
		if (w->weight[c] > left)
			return false;
		if (c == chunk)
			return true;
		left -= w->weight[c];
	}
	return false;
}

static void check_held(const struct hpdsl_stage_plan *p,
		       const struct hpdsl_stage_wish *w)
{
	uint32_t d = hpdsl_stage_plan_parts(p);

	for (uint32_t n = 0; n < w->nodes; n++)
		for (uint32_t c = 0; c < w->chunks; c++)
			assert_int_equal(hp_spread_holds(p, n, c),
					 keeps(w, d, n, c));
}

static bool lacks_all(void *arg, uint32_t node, uint64_t chunk)
{
	assert_true(hp_spread_holds(arg, node, chunk));
	return true;
}

/*
 * What goes with the whole: node 0 reads it, the others have it from the node
 * before.
 */
static void add_whole(const struct hpdsl_stage_plan *p,
		      const struct hpdsl_stage_wish *w,
		      struct hpdsl_stage_share *sum, uint32_t *from,
		      uint32_t *to)
{
	for (uint32_t n = 0; n < w->nodes && p->parts == 1 && w->whole; n++) {
		if (!all_fit(w, 1)) {
			sum[n].left_bytes += w->whole;
			continue;
		}
		sum[n].bytes += w->whole;
		if (n == 0) {
			sum[n].origin_bytes += w->whole;
			continue;
		}
		sum[n].received_bytes += w->whole;
		sum[n - 1].sent_bytes += w->whole;
		from[n] |= 1u << (n - 1);
		to[n - 1] |= 1u << n;
	}
}

/* Shares are what comes of going through all chunks of all nodes. */
static void check_shares(const struct hpdsl_stage_plan *p,
			 const struct hpdsl_stage_wish *w)
{
	struct hpdsl_stage_share is, sum[NODES] = { 0 };
	uint32_t from[NODES], to[NODES];

	memset(from, 0, sizeof from);
	memset(to, 0, sizeof to);
	for (uint32_t n = 0; n < w->nodes; n++) {
		for (uint32_t c = 0; c < w->chunks; c++) {
			uint32_t f = hp_spread_from(p, n, c, UINT32_MAX,
						    lacks_all, (void *)p);

			if (f == UINT32_MAX) {
				bool mine = has_part(p->nodes, p->parts, n,
						     c % p->parts);

				sum[n].left_chunks += mine;
				sum[n].left_bytes += mine ? w->weight[c] : 0;
				continue;
			}
			sum[n].chunks++;
			sum[n].bytes += w->weight[c];
			if (f == n) {
				sum[n].origin_chunks++;
				sum[n].origin_bytes += w->weight[c];
				continue;
			}
			sum[n].received_bytes += w->weight[c];
			sum[f].sent_bytes += w->weight[c];
			if (w->weight[c]) {
				from[n] |= 1u << f;
				to[f] |= 1u << n;
			}
		}
	}
	add_whole(p, w, sum, from, to);
	for (uint32_t n = 0; n < w->nodes; n++) {
		sum[n].receives_from = (uint32_t)__builtin_popcount(from[n]);
		sum[n].sends_to = (uint32_t)__builtin_popcount(to[n]);
		hpdsl_stage_plan_share(p, n, &is);
		assert_memory_equal(&is, &sum[n], sizeof is);
	}
}

/* A chunk counts once, whoever holds it. */
static void check_sums(const struct hpdsl_stage_plan *p,
		       const struct hpdsl_stage_wish *w)
{
	struct hpdsl_stage_sums is, sum = { 0 };

	for (uint32_t c = 0; c < w->chunks; c++) {
		bool held = false;

		for (uint32_t n = 0; n < w->nodes; n++)
			held = held || keeps(w, p->parts, n, c);
		sum.chunks += held;
		sum.bytes += held ? w->weight[c] : 0;
		sum.left_chunks += !held;
		sum.left_bytes += held ? 0 : w->weight[c];
	}
	if (p->parts == 1 && all_fit(w, 1))
		sum.bytes += w->whole;
	else if (p->parts == 1)
		sum.left_bytes += w->whole;
	hpdsl_stage_plan_sums(p, &is);
	assert_memory_equal(&is, &sum, sizeof is);
}

/* Held and planned chunks of random nodes. */
struct held {
	const struct hpdsl_stage_plan *p;
	uint32_t nodes; /* bits */
};

static bool lacks(void *arg, uint32_t node, uint64_t chunk)
{
	const struct held *h = arg;

	assert_true(hp_spread_holds(h->p, node, chunk));
	return !(h->nodes & 1u << node);
}

/*
 * From every node that lacks it the way leads to the source, and nobody passes
 * it on twice.
 */
static void check_chain(const struct hpdsl_stage_plan *p, uint32_t chunk)
{
	struct held h = { p, draw(3) ? draw(1u << p->nodes) : 0 };
	uint32_t holder = UINT32_MAX, passed = 0, readers = 0;

	for (uint32_t n = draw(NODES), i = 0; h.nodes && i < NODES; i++)
		if (h.nodes & 1u << (n + i) % NODES)
			holder = (n + i) % NODES;
	for (uint32_t n = 0; n < p->nodes; n++) {
		uint32_t at = n, steps = 0;
		uint32_t f = hp_spread_from(p, n, chunk, holder, lacks, &h);

		if (!hp_spread_holds(p, n, chunk) || h.nodes & 1u << n) {
			assert_int_equal(f, UINT32_MAX);
			continue;
		}
		assert_true(f < p->nodes);
		if (f == n) {
			assert_int_equal(holder, UINT32_MAX);
			assert_int_equal(n, hp_spread_reader(p, chunk));
			readers++;
			continue;
		}
		assert_false(passed & 1u << f);
		passed |= 1u << f;
		while (at != holder && f != at) {
			at = f;
			f = at == holder ? at :
					   hp_spread_from(p, at, chunk, holder,
							  lacks, &h);
			assert_true(++steps <= p->nodes);
		}
	}
	for (uint32_t n = 0; n < p->nodes; n++)
		if (hp_spread_from(p, n, chunk, holder, lacks, &h) !=
		    UINT32_MAX)
			assert_int_equal(
				hp_spread_asked(p, n, chunk, holder, lacks, &h),
				passed >> n & 1);
	assert_int_equal(readers, holder == UINT32_MAX && passed ? 1 : readers);
	assert_true(readers <= 1);
}

static void check_plan(struct case_ *c)
{
	struct hpdsl_stage_wish *w = &c->wish;
	struct hpdsl_stage_plan *p = NULL;
	struct hpdsl_error err = { 0 };
	int r = hpdsl_stage_plan_new(w, &p, &err);
	uint32_t d = w->mode == HPDSL_STAGE_REPLICATE ? 1 :
		     w->mode == HPDSL_STAGE_PARTITION ? w->nodes :
		     w->mode == HPDSL_STAGE_AUTO      ? smallest(w) :
		     w->copies > w->nodes	      ? 1 :
							w->nodes / w->copies;

	if (w->mode != HPDSL_STAGE_AUTO && !all_fit(w, d)) {
		assert_int_equal(r, -ENOSPC);
		assert_null(p);
		assert_int_equal(strncmp(err.msg, "node ", 5), 0);
		return;
	}
	assert_int_equal(r, 0);
	if (!d)
		d = wanted(w) > w->nodes ? wanted(w) : w->nodes;
	assert_int_equal(hpdsl_stage_plan_parts(p), d);
	assert_int_equal(hp_spread_whole(p), d == 1 && all_fit(w, 1));
	check_held(p, w);
	check_shares(p, w);
	check_sums(p, w);
	for (uint32_t i = 0; i < w->chunks; i++)
		check_chain(p, i);
	hpdsl_stage_plan_free(p);
}

static void all_modes_of_small_plans(void **state)
{
	static const uint32_t counts[] = { 0, 1, 2, 7, 16, CHUNKS };

	(void)state;
	for (uint32_t nodes = 1; nodes <= NODES; nodes++)
		for (uint32_t k = 0; k < 6 * 40; k++) {
			struct case_ c;

			make_case(&c, nodes, counts[k % 6]);
			check_plan(&c);
			for (uint32_t d = 1; d <= 2 * nodes + 3; d++) {
				c.wish.parts = d;
				check_plan(&c);
			}
			c.wish.mode = HPDSL_STAGE_REPLICATE;
			check_plan(&c);
			c.wish.mode = HPDSL_STAGE_PARTITION;
			check_plan(&c);
			c.wish.mode = HPDSL_STAGE_COPIES;
			for (uint32_t r = 1; r <= nodes + 1; r++) {
				c.wish.copies = r;
				check_plan(&c);
			}
		}
}

/* In a fresh group all read, receive and send the same, from one neighbour. */
static void no_node_is_hot(void **state)
{
	enum { N = 12, C = 1200 };
	uint64_t weight[C], capacity[N];
	uint32_t order[C];
	struct hpdsl_stage_wish w = { .mode = HPDSL_STAGE_COPIES,
				      .copies = 4,
				      .nodes = N,
				      .capacity = capacity,
				      .chunks = C,
				      .weight = weight,
				      .order = order };
	struct hpdsl_stage_plan *p;
	struct hpdsl_stage_share s;

	(void)state;
	shuffle(order, C);
	for (uint32_t i = 0; i < C; i++)
		weight[i] = 100;
	for (uint32_t n = 0; n < N; n++)
		capacity[n] = UINT64_MAX;
	assert_int_equal(hpdsl_stage_plan_new(&w, &p, NULL), 0);
	assert_int_equal(hpdsl_stage_plan_parts(p), 3);
	for (uint32_t n = 0; n < N; n++) {
		hpdsl_stage_plan_share(p, n, &s);
		assert_int_equal(s.chunks, 400);
		assert_int_equal(s.origin_bytes, 10000);
		assert_int_equal(s.received_bytes, 30000);
		assert_int_equal(s.sent_bytes, 30000);
		assert_int_equal(s.receives_from, 1);
		assert_int_equal(s.sends_to, 1);
	}
	hpdsl_stage_plan_free(p);
}

/* ---- Parts in blocks -------------------------------------------------- */

struct large {
	struct hpdsl_stage_wish wish;
	uint64_t *capacity, *weight;
	uint32_t *order;
};

static void large_init(struct large *l, uint32_t nodes, uint32_t chunks)
{
	l->capacity = calloc(nodes, sizeof *l->capacity);
	l->weight = calloc(chunks, sizeof *l->weight);
	l->order = calloc(chunks, sizeof *l->order);
	shuffle(l->order, chunks);
	l->wish = (struct hpdsl_stage_wish){ .nodes = nodes,
					     .capacity = l->capacity,
					     .chunks = chunks,
					     .weight = l->weight,
					     .order = l->order };
}

static void large_release(struct large *l)
{
	free(l->capacity);
	free(l->weight);
	free(l->order);
}

/* Spans are those of the definition, seen from nodes and from parts. */
static void check_spans(uint32_t nodes, uint32_t parts)
{
	uint64_t holdings = 0;

	for (uint32_t n = 0; n < nodes; n++) {
		struct hpdsl_stage_span s =
			hpdsl_stage_parts_of(nodes, parts, n);

		assert_true(s.first <= s.last && s.last < parts);
		assert_true(s.last - s.first < 2 || parts > nodes);
		for (uint32_t p = s.first - !!s.first;
		     p <= s.last + 1 && p < parts; p++) {
			bool has = has_part(nodes, parts, n, p);
			struct hpdsl_stage_span g =
				hpdsl_stage_group_of(nodes, parts, p);

			assert_int_equal(has, p >= s.first && p <= s.last);
			assert_int_equal(has, n >= g.first && n <= g.last);
			holdings += has;
		}
	}
	for (uint32_t p = 0; p < parts; p++) {
		struct hpdsl_stage_span g =
			hpdsl_stage_group_of(nodes, parts, p);

		assert_true(g.last - g.first + 1 >= nodes / parts);
		assert_true(g.last - g.first < 2 || parts < nodes);
		holdings -= g.last - g.first + 1;
	}
	assert_int_equal(holdings, 0);
}

/*
 * Ranks in blocks, a number of each node: whatever parts the lanes of a rank's
 * slots are of, t D / R and those up to the next rank's, its node has them.
 */
static void check_ranks(uint32_t nodes, uint32_t parts, uint64_t each)
{
	uint64_t ranks = nodes * each;

	for (uint64_t t = 0; t < ranks; t++) {
		uint64_t last = ((t + 1) * parts + ranks - 1) / ranks - 1;

		for (uint64_t p = t * parts / ranks; p <= last; p++)
			assert_true(has_part(nodes, parts, t / each, p));
	}
}

/* All nodes read the same number of chunks, but for what does not divide. */
static void check_even(uint32_t nodes, uint32_t parts)
{
	uint32_t most = parts > nodes ? parts : nodes, each = 12 * most / nodes;
	struct hpdsl_stage_plan *p;
	struct large l;

	large_init(&l, nodes, 12 * most);
	for (uint32_t c = 0; c < l.wish.chunks; c++)
		l.weight[c] = 1;
	for (uint32_t n = 0; n < nodes; n++)
		l.capacity[n] = 12 * most - 1;
	l.wish.parts = parts;
	assert_int_equal(hpdsl_stage_plan_new(&l.wish, &p, NULL), 0);
	for (uint32_t n = 0; n < nodes; n++) {
		struct hpdsl_stage_share s;

		hpdsl_stage_plan_share(p, n, &s);
		assert_in_range(s.origin_chunks, each - 4, each + 4);
		assert_true(s.receives_from < 3 && s.sends_to < 3);
		assert_true(nodes % p->parts ||
			    (s.receives_from < 2 && s.sends_to < 2));
		assert_true(p->parts % nodes ||
			    (s.receives_from == 0 && s.sends_to == 0));
	}
	/* two parts are all of them to a node at their border */
	if (parts > 2 || (parts > 1 && nodes % 2 == 0))
		assert_int_equal(p->parts, parts);
	hpdsl_stage_plan_free(p);
	large_release(&l);
}

/*
 * The same from the order's side: slot g of a batch reads lane
 * floor(g / K) m + (s mod m) in step s, and that lane is of part
 * floor(l D / L), which its rank's node has.
 */
static void check_lanes(uint64_t nodes, uint64_t parts, uint64_t each,
			uint64_t batch, uint64_t k, uint64_t m)
{
	uint64_t lanes = batch / k * m, ranks = nodes * each;

	assert_int_equal(batch % ranks, 0);
	assert_int_equal(lanes % parts, 0);
	for (uint64_t t = 0; t < ranks; t++)
		for (uint64_t g = t * batch / ranks;
		     g < (t + 1) * batch / ranks; g++)
			for (uint64_t s = 0; s < m; s++)
				assert_true(has_part(nodes, parts, t / each,
						     (g / k * m + s) * parts /
							     lanes));
}

static void check_blocks(uint32_t nodes, uint32_t parts)
{
	check_spans(nodes, parts);
	check_ranks(nodes, parts, 1);
	check_ranks(nodes, parts, 4);
	check_ranks(nodes, parts, 7);
	if (nodes > 1)
		check_even(nodes, parts);
}

static void parts_stand_in_blocks(void **state)
{
	static const uint32_t some[] = { 1,   2,   3,	7,   10,  64, 250,
					 333, 334, 499, 500, 501, 999 };

	(void)state;
	for (uint32_t n = 1; n <= 17; n++)
		for (uint32_t d = 1; d <= 3 * n + 1; d++)
			check_blocks(n, d);
	for (uint32_t d = 1; d <= 64; d++)
		check_blocks(64, d);
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		check_blocks(1000, some[i]);
	check_blocks(1000, 1000);
	check_blocks(1000, 1001);
	check_blocks(1000, 2500);
	check_blocks(1000, 3000);
}

/* Ranks read lanes of parts that their node has: 4,096 ranks, and resumed. */
static void ranks_find_their_lanes(void **state)
{
	static const uint32_t nodes[] = { 1,  2,   3,	6,   48,  96,
					  64, 512, 192, 384, 768, 1024 };
	static const uint32_t parts[] = { 1, 2, 3, 8, 48, 512, 768 };

	(void)state;
	/* 4 ranks a node, 8 samples a rank, a lane for each place */
	for (uint32_t d = 1; d <= 4096; d *= 2)
		check_lanes(1024, d, 4, 8 * 4096, 1, 1);
	check_lanes(1024, 512, 4, 256 * 4096, 64, 1);
	check_lanes(512, 512, 8, 4096, 1, 4);
	/* a run of one batch goes on with any of these numbers of nodes */
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
			check_ranks(nodes[i], parts[k], 8);
			check_lanes(nodes[i], parts[k], 4, 3 * 4096, 1, 1);
			check_lanes(nodes[i], parts[k], 1, 3 * 4096, 2, 1);
			check_lanes(nodes[i], parts[k], 2, 3 * 4096, 1, 3);
		}
}

struct before {
	const struct hpdsl_stage_plan *old, *new;
};

static bool new_to(void *arg, uint32_t node, uint64_t chunk)
{
	const struct before *b = arg;

	return node >= b->old->nodes || !hp_spread_holds(b->old, node, chunk);
}

/* Nobody gets what it had, and nothing that some node has is read again. */
static void check_again(const struct before *b)
{
	for (uint32_t c = 0; c < b->new->chunks; c++) {
		uint32_t holder = UINT32_MAX;

		for (uint32_t n = 0; n < b->old->nodes && n < b->new->nodes;
		     n++)
			if (hp_spread_holds(b->old, n, c))
				holder = n;
		for (uint32_t n = 0; n < b->new->nodes; n++) {
			uint32_t from = hp_spread_from(b->new, n, c, holder,
						       new_to, (void *)b);

			if (!new_to((void *)b, n, c) ||
			    !hp_spread_holds(b->new, n, c))
				assert_int_equal(from, UINT32_MAX);
			else if (holder != UINT32_MAX)
				assert_true(from != n && from < b->new->nodes);
			else
				assert_true(from < b->new->nodes);
		}
	}
}

static void what_is_there_stays(void **state)
{
	struct case_ one, two;
	struct hpdsl_stage_plan *a, *b;

	(void)state;
	for (uint32_t k = 0; k < 400; k++) {
		make_case(&one, 1 + draw(NODES), CHUNKS);
		two = one;
		two.wish.nodes = 1 + draw(NODES);
		two.wish.capacity = one.wish.capacity = two.capacity;
		for (uint32_t n = 0; n < NODES; n++)
			two.capacity[n] = UINT64_MAX;
		one.wish.mode = two.wish.mode = HPDSL_STAGE_COPIES;
		one.wish.copies = 1 + draw(NODES);
		two.wish.copies = 1 + draw(NODES);
		assert_int_equal(hpdsl_stage_plan_new(&one.wish, &a, NULL), 0);
		assert_int_equal(hpdsl_stage_plan_new(&two.wish, &b, NULL), 0);
		check_again(&(struct before){ a, b });
		hpdsl_stage_plan_free(a);
		hpdsl_stage_plan_free(b);
	}
}

static void nonsense_is_refused(void **state)
{
	struct case_ c;
	struct hpdsl_stage_plan *p = NULL;
	struct hpdsl_error err;

	(void)state;
	make_case(&c, 4, 9);
	c.wish.nodes = 0;
	assert_int_equal(hpdsl_stage_plan_new(&c.wish, &p, &err), HPDSL_EUSAGE);
	c.wish.nodes = 4;
	c.wish.mode = HPDSL_STAGE_COPIES;
	assert_int_equal(hpdsl_stage_plan_new(&c.wish, &p, &err), HPDSL_EUSAGE);
	c.wish.mode = HPDSL_STAGE_AUTO;
	c.order[3] = c.order[4];
	assert_int_equal(hpdsl_stage_plan_new(&c.wish, &p, &err), HPDSL_EUSAGE);
	c.order[3] = 9;
	assert_int_equal(hpdsl_stage_plan_new(&c.wish, &p, &err), HPDSL_EUSAGE);
	assert_null(p);
	hpdsl_stage_plan_free(NULL);
}

static void no_room_is_told(void **state)
{
	uint64_t capacity[] = { 1ull << 40, 10ull << 30 };
	uint64_t weight[] = { 15ull << 30, 5ull << 30 };
	uint32_t order[] = { 0, 1 };
	struct hpdsl_stage_wish w = { .mode = HPDSL_STAGE_REPLICATE,
				      .nodes = 2,
				      .capacity = capacity,
				      .chunks = 2,
				      .weight = weight,
				      .order = order };
	const char *hosts[] = { "one", "two" };
	struct hpdsl_stage_plan *p = NULL;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hpdsl_stage_plan_new(&w, &p, &err), -ENOSPC);
	assert_string_equal(err.msg, "node 1 has room for 10.0 GiB of the "
				     "20.0 GiB planned for it");
	w.hosts = hosts;
	assert_int_equal(hpdsl_stage_plan_new(&w, &p, &err), -ENOSPC);
	assert_memory_equal(err.msg, "node 1 (two) has room for 10.0 GiB of",
			    37);
}

/* ---- Large ------------------------------------------------------------ */

/* A petabyte, sizes and rooms that vary, one chunk that fits on no node. */
static void ten_thousand_nodes(void **state)
{
	enum { N = 10000, C = 1000000 };
	struct hpdsl_stage_share s;
	struct hpdsl_stage_plan *p;
	struct large l;
	uint64_t held = 0;

	(void)state;
	large_init(&l, N, C);
	for (uint32_t i = 0; i < C; i++)
		l.weight[i] = (900u + draw(200)) << 20;
	for (uint32_t n = 0; n < N; n++)
		l.capacity[n] = 400ull << 30;
	assert_int_equal(hpdsl_stage_plan_new(&l.wish, &p, NULL), 0);
	assert_in_range(hpdsl_stage_plan_parts(p), 2441, 2520);
	hpdsl_stage_plan_free(p);

	for (uint32_t n = 0; n < N; n++)
		l.capacity[n] = (300ull + draw(200)) << 30;
	assert_int_equal(hpdsl_stage_plan_new(&l.wish, &p, NULL), 0);
	hpdsl_stage_plan_free(p);

	l.weight[77] = 1ull << 40;
	assert_int_equal(hpdsl_stage_plan_new(&l.wish, &p, NULL), 0);
	assert_int_equal(hpdsl_stage_plan_parts(p), N);
	for (uint32_t n = 0; n < N; n++) {
		hpdsl_stage_plan_share(p, n, &s);
		assert_true(s.bytes <= l.capacity[n]);
		held += s.chunks + s.left_chunks;
	}
	assert_int_equal(held, C);
	hpdsl_stage_plan_free(p);
	large_release(&l);
}

/* ---- Estimates -------------------------------------------------------- */

static void estimate(uint32_t parts, const struct hpdsl_stage_rates *r,
		     struct hpdsl_stage_estimate *ret)
{
	enum { N = 64, C = 6400 };
	struct hpdsl_stage_plan *p;
	struct large l;

	large_init(&l, N, C);
	for (uint32_t i = 0; i < C; i++)
		l.weight[i] = 156250000; /* 1 TB in all */
	for (uint32_t n = 0; n < N; n++)
		l.capacity[n] = UINT64_MAX;
	l.wish.mode = HPDSL_STAGE_COPIES;
	l.wish.copies = N / parts;
	assert_int_equal(hpdsl_stage_plan_new(&l.wish, &p, NULL), 0);
	hpdsl_stage_plan_estimate(p, r, ret);
	hpdsl_stage_plan_free(p);
	large_release(&l);
}

static bool near(double a, double b)
{
	return a > b * 0.999999 && a < b * 1.000001;
}

/* One TB on 64 nodes: the figures that pen and paper give. */
static void times_are_those_of_the_bound(void **state)
{
	struct hpdsl_stage_rates r = {
		.origin = 100e9, .link = 25e9, .write = 2e9, .read = 5e9
	};
	struct hpdsl_stage_estimate e;
	double fill = 4194304.0 * (64 / 100e9 + 63 / 25e9);

	(void)state;
	estimate(1, &r, &e);
	assert_true(near(e.origin_seconds, 10));
	assert_true(near(e.link_seconds, 1e12 * 63 / 64 / 25e9));
	assert_true(near(e.write_seconds, 500));
	assert_true(near(e.seconds, 500 + fill));
	assert_string_equal(e.bound, "SSD");
	/* an epoch takes 10 s at the origin and 3.125 s on the SSDs */
	assert_true(near(e.epochs, e.seconds / (10 - 3.125)));
	estimate(64, &r, &e);
	assert_true(near(e.origin_seconds, 10));
	assert_true(e.link_seconds == 0);
	assert_true(near(e.write_seconds, 1e12 / 64 / 2e9));
	assert_string_equal(e.bound, "origin");
	r.link = 1e9;
	estimate(1, &r, &e);
	assert_string_equal(e.bound, "network");
	r.read = 1e9;
	estimate(1, &r, &e);
	assert_true(e.epochs == 0);
	memset(&r, 0, sizeof r);
	estimate(1, &r, &e);
	assert_string_equal(e.bound, "nothing known");
	assert_true(e.seconds == 0 && e.epochs == 0);
}

static void rates_of_a_report(void **state)
{
	static const char good[] =
		"{\"status\": \"complete\", \"seconds\": 9, "
		"\"staging_seconds\": 2.500, \"nodes\": ["
		"{\"node\": 0, \"host\": \"a\", \"origin_bytes\": 1000, "
		"\"peer_bytes\": 500, \"sent_bytes\": 750, "
		"\"written_bytes\": 1500}, "
		"{\"node\": 1, \"origin_bytes\": 1500, \"peer_bytes\": 250, "
		"\"written_bytes\": 2000}]}";
	static const char *const bad[] = {
		"{}",
		"{\"seconds\": x, \"nodes\": []}",
		"{\"seconds\": -1, \"nodes\": []}",
		"{\"seconds\": 1., \"nodes\": {}}",
		"{\"seconds\": 1, \"nodes\": [{\"origin_bytes\": 1}]}",
		"{\"seconds\": .5, \"nodes\": []}",
		"{\"seconds\": 1.5.5, \"nodes\": []}",
	};
	struct hpdsl_stage_rates r;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(
		hpdsl_stage_rates_parse(good, strlen(good), "report", &r, &err),
		0);
	assert_true(near(r.origin, 1000) && near(r.link, 300) &&
		    near(r.write, 800) && r.read == 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(hpdsl_stage_rates_parse(bad[i], strlen(bad[i]),
							 "report", &r, &err),
				 HPDSL_ECORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_modes_of_small_plans),
		cmocka_unit_test(no_node_is_hot),
		cmocka_unit_test(parts_stand_in_blocks),
		cmocka_unit_test(ranks_find_their_lanes),
		cmocka_unit_test(what_is_there_stays),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(no_room_is_told),
		cmocka_unit_test(ten_thousand_nodes),
		cmocka_unit_test(times_are_those_of_the_bound),
		cmocka_unit_test(rates_of_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
