/* SPDX-License-Identifier: Apache-2.0 */
/* What reading costs: the shares gone through, and nothing read. */
#include "base/error.h"
#include "base/mem.h"
#include "base/sizes.h"
#include "dataset/fetch.h"
#include "load/shares.h"

#include <stdlib.h>

/* Shares that are held, those first whose steps are over first. */
struct held {
	struct until {
		uint64_t step, bytes;
	} * v; /* a heap */
	size_t n, room;
	uint64_t bytes;
};

static int hold(struct held *h, struct until u, struct hpdsl_error *err)
{
	size_t i = h->n;

	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 256;
		struct until *v = reallocarray(h->v, room, sizeof *v);

		if (!v)
			return hp_fail_nomem(err);
		h->v = v;
		h->room = room;
	}
	h->n++;
	h->bytes += u.bytes;
	for (; i && h->v[(i - 1) / 2].step > u.step; i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = u;
	return 0;
}

/* Gives back what no step from this one on needs. */
static void release(struct held *h, uint64_t step)
{
	while (h->n && h->v[0].step < step) {
		struct until last = h->v[--h->n];
		size_t i = 0;

		h->bytes -= h->v[0].bytes;
		for (;;) {
			size_t child = 2 * i + 1;

			if (child + 1 < h->n &&
			    h->v[child + 1].step < h->v[child].step)
				child++;
			if (child >= h->n || h->v[child].step >= last.step)
				break;
			h->v[i] = h->v[child];
			i = child;
		}
		h->v[i] = last;
	}
}

struct counting {
	const struct hp_shares_options *opt;
	struct hp_extent (*stored)(void *arg, uint32_t list,
				   struct hp_extent at);
	struct hp_shares *shares;
	struct held held;
	struct hp_sizes *sizes;
	struct hp_shares_cost *cost;
};

static uint64_t pages(uint64_t begin, uint64_t end)
{
	uint64_t page = HP_FETCH_PAGE;

	return (end + page - 1) / page * page - begin / page * page;
}

/* Reads of the share, as hp_fetch() makes them. */
static void count_reads(struct counting *c, const struct hp_share *share)
{
	struct hp_extent at = share->at;
	uint64_t before = c->cost->bytes;

	if (c->stored)
		at = c->stored(c->opt->arg, share->list, at);
	while (at.begin < at.end) {
		uint64_t to = hp_fetch_read_end(at.begin, at.end);
		uint64_t bytes = pages(at.begin, to);

		hp_sizes_add(c->sizes, bytes);
		c->cost->reads++;
		c->cost->bytes += bytes;
		at.begin = to;
	}
	if (share->need == c->opt->own.first)
		c->cost->first_batch += c->cost->bytes - before;
}

static int count(struct counting *c, struct hpdsl_error *err)
{
	const struct hp_shares_options *o = c->opt;
	struct hp_share share;

	while (hp_shares_next(c->shares, &share)) {
		struct hp_extent kept =
			o->kept ? o->kept(o->arg, &share) : share.at;
		struct until u = { share.until, pages(kept.begin, kept.end) };
		int r;

		release(&c->held, share.need);
		r = hold(&c->held, u, err);
		if (r < 0)
			return r;
		if (c->held.bytes > c->cost->held_peak)
			c->cost->held_peak = c->held.bytes;
		c->cost->wanted += share.wanted;
		count_reads(c, &share);
	}
	c->cost->median = hp_sizes_median(c->sizes);
	return 0;
}

int hp_shares_count(const struct hp_shares_options *opt,
		    struct hp_extent (*stored)(void *arg, uint32_t list,
					       struct hp_extent at),
		    struct hp_shares_cost *ret, struct hpdsl_error *err)
{
	struct counting c = { .opt = opt, .stored = stored, .cost = ret };
	int r;

	*ret = (struct hp_shares_cost){ 0 };
	c.sizes = calloc(1, sizeof *c.sizes);
	r = c.sizes ? hp_shares_new(opt, &c.shares, err) : hp_fail_nomem(err);
	if (r == 0) {
		ret->lanes = hp_shares_lanes(c.shares);
		r = count(&c, err);
	}
	hp_shares_free(c.shares);
	free(c.held.v);
	free(c.sizes);
	return r;
}
