/* SPDX-License-Identifier: Apache-2.0 */
#include "order/first_use.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

/* Whether, and at which position, a chunk is first wanted. */
struct use {
	enum { WANTED, PAST, NEVER } when;
	uint32_t chunk;
	uint64_t position;
};

struct uses {
	const struct hp_seq *s;
	const struct hp_lists *l;
	struct hp_seq_memo memo;
	uint64_t from; /* position */
	struct use *of;
};

static bool earlier(const struct use *a, const struct use *b)
{
	if (a->when != b->when)
		return a->when < b->when;
	if (a->position != b->position)
		return a->position < b->position;
	return a->chunk < b->chunk;
}

static int compare(const void *a, const void *b)
{
	return earlier(a, b) ? -1 : earlier(b, a);
}

/* The lane's sample x at or behind the position; its number of samples: none.
 */
static uint64_t sample_from(const struct hp_deal *d, uint64_t lane,
			    uint64_t position)
{
	uint64_t low = 0, high = hp_deal_lane(d, lane);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct hp_deal_place place = { lane, middle };

		if (hp_deal_position(d, place) < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the lane's samples x .. end - 1 want. */
static void see(struct uses *u, uint64_t lane, uint64_t x, uint64_t end)
{
	const struct hp_deal *d = hp_seq_deal(u->s);

	while (x < end) {
		struct hp_deal_place place = { lane, x };
		struct hp_seq_stretch t = hp_seq_stretch(u->s, &u->memo, place);
		struct use use = { .chunk = u->l->v[t.first.list].chunk,
				   .position = hp_deal_position(d, place) };

		use.when = use.position < u->from ? PAST : WANTED;
		if (earlier(&use, &u->of[use.chunk]))
			u->of[use.chunk] = use;
		x += t.samples;
	}
}

/* A stretch is looked at from the step on as if it began there. */
static void see_lane(struct uses *u, uint64_t lane)
{
	const struct hp_deal *d = hp_seq_deal(u->s);
	uint64_t x = sample_from(d, lane, u->from);

	see(u, lane, 0, x);
	see(u, lane, x, hp_deal_lane(d, lane));
}

int hp_seq_first_use(const struct hp_seq *s, const struct hp_lists *l,
		     uint64_t step, uint32_t *ret, struct hpdsl_error *err)
{
	const struct hp_deal *d = hp_seq_deal(s);
	hp_auto_free struct use *of = hp_array(l->n_chunks, sizeof *of);
	struct hp_deal_rows rows = hp_deal_rows(d);
	struct uses u = { .s = s, .l = l, .of = of };

	if (!of)
		return hp_fail_nomem(err);
	if (__builtin_mul_overflow(step, d->batch, &u.from))
		u.from = UINT64_MAX;
	for (uint32_t c = 0; c < l->n_chunks; c++)
		of[c] = (struct use){ .when = NEVER, .chunk = c };
	for (uint64_t row = 0; row < rows.rows; row++)
		for (uint64_t turn = 0; turn < rows.turns; turn++)
			see_lane(&u, row * rows.every + turn);
	qsort(of, l->n_chunks, sizeof *of, compare);
	for (uint32_t i = 0; i < l->n_chunks; i++)
		ret[i] = of[i].chunk;
	return 0;
}
