/* SPDX-License-Identifier: Apache-2.0 */
/* Small sequences of samples of any sizes, for tests of shares. */
#ifndef SHARE_SET_H
#define SHARE_SET_H

#include "base/mem.h"
#include "load/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LISTS = 6, STEPS_MAX = 4096 };

static uint64_t dice;

static inline uint64_t draw(uint64_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

/* ---- A dataset -------------------------------------------------------- */

enum kind { GAPS, FRAMES, DENSE, EMPTY, KINDS };

/* Samples of all sizes; but for a dense one, now and then with something
 * between them, or nowhere; EMPTY: dense, and some nowhere. */
struct set {
	struct hp_seq_list list[LISTS];
	struct hp_extent *at[LISTS];
	uint64_t samples;
	struct hp_seq *seq;
	uint64_t looks; /* extents that were asked for */
};

static inline struct hp_extent extent(void *arg, uint32_t list, uint64_t index)
{
	struct set *set = arg;

	assert_true(index < set->list[list].samples);
	set->looks++;
	return set->at[list][index];
}

static inline bool never_dense(void *arg, uint32_t list, uint64_t index,
			       uint64_t n)
{
	const struct set *set = arg;

	assert_true(n > 0 && index + n <= set->list[list].samples);
	return false;
}

static inline bool always_dense(void *arg, uint32_t list, uint64_t index,
				uint64_t n)
{
	return !never_dense(arg, list, index, n);
}

/* Where the sample behind one that ends there lies. */
static inline struct hp_extent next_place(uint64_t end, enum kind kind)
{
	struct hp_extent at = { .begin = end + draw(3) * 512 };

	if (kind != DENSE && !draw(12))
		return (struct hp_extent){ 0, 0 };
	if (kind != DENSE && kind != EMPTY && !draw(5))
		at.begin = end + draw(200000);
	at.end = at.begin + 1 + draw(draw(9) ? 5000 : 500000);
	return at;
}

/* Neighbours that are in one frame have its bytes. */
static inline void place_samples(struct set *set, uint32_t list, enum kind kind)
{
	uint64_t n = set->list[list].samples, end = 0;

	set->at[list] = hp_array(n, sizeof *set->at[list]);
	for (uint64_t i = 0; i < n; i++) {
		struct hp_extent *at = &set->at[list][i];

		*at = kind == FRAMES && i && draw(3) ? at[-1] :
						       next_place(end, kind);
		if (at->end > at->begin)
			end = at->end;
	}
}

static inline void make_set(struct set *set, enum kind kind)
{
	*set = (struct set){ .samples = 0 };
	for (uint32_t c = 0; c < LISTS; c++) {
		set->list[c] = (struct hp_seq_list){ c, 1 + draw(60) };
		set->samples += set->list[c].samples;
		place_samples(set, c, kind);
	}
}

static inline void free_set(struct set *set)
{
	for (uint32_t c = 0; c < LISTS; c++)
		free(set->at[c]);
	hp_seq_free(set->seq);
}

static inline void draw_sequence(struct set *set)
{
	uint64_t lanes = 1 + draw(12), by = 1 + draw(5);
	struct hp_seq_order o = {
		.seed = draw(100),
		.batch = (uint32_t)(lanes * by),
		.lanes = lanes,
		.piece = 1 + draw(20),
		.windows = (uint32_t)(1 + draw(3)),
		.parts = (uint32_t)(1 + draw(3)),
	};

	if (draw(2)) {
		o.batch = (uint32_t)lanes;
		o.lanes = lanes * by;
	}
	/* Nobody goes through so many that have no samples. */
	if (!draw(10))
		o.lanes = UINT32_MAX / o.batch * o.batch;
	assert_int_equal(hp_seq_new(&o, set->list, LISTS, &set->seq, NULL), 0);
}

/* ---- A reader ---------------------------------------------------------- */

static inline void draw_options(struct set *set, struct hp_shares_options *opt)
{
	const struct hp_deal *d = hp_seq_deal(set->seq);
	bool drop = draw(2), is_short = drop && draw(2);

	*opt = (struct hp_shares_options){
		.seq = set->seq,
		.extent = extent,
		.dense = never_dense,
		.arg = set,
		.own = { .ranks = (uint32_t)(1 + draw(d->batch)),
			 .stride = draw(2) ? 1 : 1 + draw(4),
			 .fill = !drop,
			 .may_be_short = is_short },
		.bytes = 1 + draw(draw(2) ? 3000 : 600000),
	};
	if (!draw(4))
		opt->bytes = 6000000;
	opt->own.end = hp_deal_steps(d, is_short ? HPDSL_END_SHORT :
					drop	 ? HPDSL_END_DROP :
						   HPDSL_END_MASK);
	assert_true(opt->own.end < STEPS_MAX);
}

static inline uint64_t pages(uint64_t begin, uint64_t end)
{
	return (end + 4095) / 4096 * 4096 - begin / 4096 * 4096;
}

struct share_reads {
	uint64_t n, bytes, first; /* bytes of those that come first */
};

/* Reads of 4 MiB, the last one up to half as long again. */
static inline void add_reads(const struct hp_share *t, bool first,
			     struct share_reads *r)
{
	uint64_t at = t->at.begin, bytes = 0;

	while (at < t->at.end) {
		uint64_t to = at / 4096 * 4096 + (4 << 20);

		if (t->at.end < to + (2 << 20) + 1)
			to = t->at.end;
		bytes += pages(at, to);
		r->n++;
		at = to;
	}
	r->bytes += bytes;
	r->first += first ? bytes : 0;
}

#endif
