/* SPDX-License-Identifier: Apache-2.0 */
#include "order/mixing.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { SOME = 1 << 20 }; /* samples that are looked at */

struct counts {
	const struct hp_seq *s;
	const struct hp_lists *l;
	struct hp_seq_memo memo;
	uint32_t *of;  /* samples of this step, by chunk: 0 between steps */
	uint32_t *met; /* chunks of this step */
	uint64_t n_met;
	/* Sums over steps. */
	double pairs, mates;
	uint64_t chunks, stretches;
};

/* So many ordered pairs have n. */
static double pairs_of(uint64_t n)
{
	return (double)n * ((double)n - 1);
}

static void count_sample(struct counts *c, struct hp_seq_spot spot)
{
	uint32_t chunk = c->l->v[spot.list].chunk;

	if (!c->of[chunk]++)
		c->met[c->n_met++] = chunk;
}

/* Positions from .. to - 1 of a step; what lies in a row there is a stretch. */
static void count_step(struct counts *c, uint64_t from, uint64_t to)
{
	struct hp_seq_spot before = { 0, 0 };

	c->n_met = 0;
	for (uint64_t p = from; p < to; p++) {
		struct hp_seq_spot at = hp_seq_at(c->s, &c->memo, p);

		c->stretches += p == from || at.list != before.list ||
				at.index != before.index + 1;
		count_sample(c, at);
		before = at;
	}
	c->chunks += c->n_met;
	c->pairs += pairs_of(to - from);
	for (uint64_t i = 0; i < c->n_met; i++) {
		c->mates += pairs_of(c->of[c->met[i]]);
		c->of[c->met[i]] = 0;
	}
}

static void count_steps(struct counts *c, uint64_t first, uint64_t steps,
			uint64_t some)
{
	const struct hp_deal *d = hp_seq_deal(c->s);

	for (uint64_t i = 0; i < some; i++) {
		uint64_t step =
			first + (uint64_t)((unsigned __int128)i * steps / some);
		uint64_t from = step * d->batch, to = from + d->batch;

		count_step(c, from, to < d->samples ? to : d->samples);
	}
}

/* The share of all pairs that are mates. */
static double mates_of_all(const struct hp_lists *l, uint64_t samples)
{
	double sum = 0;

	for (size_t i = 0, end; i < l->n; i = end) {
		uint64_t n = 0;

		for (end = i; end < l->n && l->v[end].chunk == l->v[i].chunk;
		     end++)
			n += l->v[end].samples;
		sum += pairs_of(n);
	}
	return sum / pairs_of(samples);
}

int hp_seq_mixing(const struct hp_seq *s, const struct hp_lists *l,
		  uint64_t first, uint64_t steps, struct hp_mixing *ret,
		  struct hpdsl_error *err)
{
	const struct hp_deal *d = hp_seq_deal(s);
	uint64_t some = SOME / d->batch;
	hp_auto_free uint32_t *of = calloc((size_t)l->n_chunks + 1, sizeof *of);
	hp_auto_free uint32_t *met = hp_array(l->n_chunks, sizeof *met);
	struct counts c = { .s = s, .l = l, .of = of, .met = met };

	if (!of || !met)
		return hp_fail_nomem(err);
	if (some > steps)
		some = steps;
	if (!some)
		some = 1;
	count_steps(&c, first, steps, some);
	ret->mates = c.mates / c.pairs / mates_of_all(l, d->samples);
	ret->chunks = (double)c.chunks / (double)some;
	ret->stretches = (double)c.stretches / (double)some;
	/* 0 of 0 pairs, and any number of 0 mates. */
	if (!isfinite(ret->mates))
		ret->mates = NAN;
	return 0;
}
