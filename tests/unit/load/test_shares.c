/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of a rank, against what the positions say. */
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

static uint64_t draw(uint64_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

/* ---- A dataset -------------------------------------------------------- */

/* Samples of all sizes, now and then with something between them. */
struct set {
	struct hp_seq_list list[LISTS];
	struct hp_extent *at[LISTS];
	uint64_t first[LISTS]; /* samples of the lists before it */
	uint64_t samples;
	struct hp_seq *seq;
};

static struct hp_extent extent(void *arg, uint32_t list, uint64_t index)
{
	const struct set *set = arg;

	assert_true(index < set->list[list].samples);
	return set->at[list][index];
}

/* Neighbours that are in one frame have its bytes. */
static void place_samples(struct set *set, uint32_t list, bool frames)
{
	uint64_t n = set->list[list].samples, end = 0;

	set->at[list] = hp_array(n, sizeof *set->at[list]);
	for (uint64_t i = 0; i < n; i++) {
		struct hp_extent at;

		if (frames && i && draw(3)) {
			set->at[list][i] = set->at[list][i - 1];
			continue;
		}
		at.begin = end + (draw(5) ? 0 : draw(200000));
		at.end = at.begin + 1 + draw(draw(9) ? 5000 : 500000);
		set->at[list][i] = at;
		end = at.end;
	}
}

static void make_set(struct set *set, bool frames)
{
	*set = (struct set){ .samples = 0 };
	for (uint32_t c = 0; c < LISTS; c++) {
		set->first[c] = set->samples;
		set->list[c] = (struct hp_seq_list){ c, 1 + draw(60) };
		set->samples += set->list[c].samples;
		place_samples(set, c, frames);
	}
}

static void free_set(struct set *set)
{
	for (uint32_t c = 0; c < LISTS; c++)
		free(set->at[c]);
	hp_seq_free(set->seq);
}

static void draw_sequence(struct set *set)
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
	assert_int_equal(hp_seq_new(&o, set->list, LISTS, &set->seq, NULL), 0);
}

/* ---- One rank --------------------------------------------------------- */

struct seen {
	uint8_t *times; /* by position */
	uint64_t held[STEPS_MAX];
	uint64_t reads, bytes, wanted, last;
};

/* What the share holds is the rank's, and lies where the share is. */
static void check_samples(struct set *set, const struct hp_shares_options *opt,
			  const struct hp_share *t, struct seen *seen)
{
	const struct hp_deal *d = hp_seq_deal(set->seq);
	struct hp_seq_memo memo = { 0 };
	uint64_t end = t->at.begin, wanted = 0;

	for (uint64_t x = t->x; x < t->x + t->samples; x++) {
		struct hp_extent at;
		struct hp_seq_spot spot;
		uint64_t p;

		if (!hp_shares_own(opt, t->lane, x)) {
			assert_in_range(x, t->x + 1, t->x + t->samples - 2);
			continue;
		}
		p = hp_deal_position(d, (struct hp_deal_place){ t->lane, x });
		spot = hp_seq_at(set->seq, &memo, p);
		assert_int_equal(spot.list, t->list);
		assert_int_equal(spot.index, t->index + (x - t->x));
		at = set->at[t->list][spot.index];
		assert_true(at.begin >= t->at.begin && at.end <= t->at.end);
		assert_true(at.begin <= end + HP_SHARE_GAP);
		wanted += at.end - (at.begin > end ? at.begin :
				    at.end < end   ? at.end :
						     end);
		end = at.end;
		seen->times[p]++;
		assert_in_range(p / d->batch, t->need, t->until);
	}
	assert_int_equal(end, t->at.end);
	assert_int_equal(wanted, t->wanted);
}

/* It has no more bytes than it may, unless it cannot be cut. */
static void check_size(const struct set *set, const struct hp_share *t,
		       uint64_t most)
{
	const struct hp_extent *at = &set->at[t->list][t->index];

	if (t->at.end - t->at.begin <= most)
		return;
	for (uint64_t i = 0; i < t->samples; i++)
		assert_int_equal(at[i].end, t->at.end);
}

static void check_rank(struct set *set, const struct hp_shares_options *opt,
		       struct seen *seen)
{
	struct hp_shares_cost cost;
	struct hp_shares *s;
	struct hp_share t;
	uint64_t peak = 0;

	memset(seen->held, 0, sizeof seen->held);
	seen->reads = seen->bytes = seen->wanted = seen->last = 0;
	assert_int_equal(hp_shares_new(opt, &s, NULL), 0);
	while (hp_shares_next(s, &t)) {
		assert_true(t.need >= seen->last);
		seen->last = t.need;
		assert_true(t.need >= opt->first && t.until < opt->steps);
		check_samples(set, opt, &t, seen);
		check_size(set, &t, opt->bytes);
		seen->reads++;
		seen->bytes += t.at.end - t.at.begin;
		seen->wanted += t.wanted;
		for (uint64_t i = t.need; i <= t.until; i++)
			seen->held[i] += t.at.end - t.at.begin;
	}
	hp_shares_free(s);
	for (uint64_t i = 0; i < opt->steps; i++)
		if (seen->held[i] > peak)
			peak = seen->held[i];
	assert_int_equal(hp_shares_count(opt, &cost, NULL), 0);
	assert_int_equal(cost.reads, seen->reads);
	assert_int_equal(cost.bytes, seen->bytes);
	assert_int_equal(cost.wanted, seen->wanted);
	assert_int_equal(cost.held_peak, peak);
	if (opt->first < opt->steps && seen->reads)
		assert_in_range(cost.first_batch, 0, peak);
}

/* ---- All ranks: each position once ------------------------------------ */

static void check_ranks(struct set *set)
{
	const struct hp_deal *d = hp_seq_deal(set->seq);
	static struct seen seen;
	struct hp_shares_options opt = {
		.seq = set->seq,
		.extent = extent,
		.arg = set,
		.ranks = (uint32_t)(1 + draw(d->batch)),
		.bytes = 1 + draw(draw(2) ? 3000 : 600000),
	};

	opt.steps = hp_deal_steps(d, draw(2) ? HP_DEAL_MASK : HP_DEAL_DROP);
	opt.first = draw(2) ? 0 : draw(opt.steps + 1);
	assert_true(opt.steps < STEPS_MAX);
	seen.times = calloc(set->samples, 1);
	for (opt.rank = 0; opt.rank < opt.ranks; opt.rank++)
		check_rank(set, &opt, &seen);
	for (uint64_t p = 0; p < set->samples; p++)
		assert_int_equal(seen.times[p],
				 p / d->batch >= opt.first &&
					 p / d->batch < opt.steps);
	free(seen.times);
}

static void test_each_once(void **state)
{
	(void)state;
	dice = 1;
	for (int i = 0; i < 400; i++) {
		struct set set;

		make_set(&set, i % 2);
		draw_sequence(&set);
		check_ranks(&set);
		free_set(&set);
	}
}

/* ---- A large set ------------------------------------------------------ */

enum { IN_CHUNK = 606, CHUNKS = 2115, SIZE = 110592 };

static struct hp_extent extent_of_images(void *arg, uint32_t list,
					 uint64_t index)
{
	(void)arg;
	(void)list;
	return (struct hp_extent){ index * SIZE, (index + 1) * SIZE };
}

static struct hp_shares_cost cost_of_images(uint32_t ranks, uint64_t memory)
{
	static struct hp_seq_list list[CHUNKS];
	struct hp_seq_set set = {
		1281167, 1281167ull * SIZE, CHUNKS, true, 64, ranks, 0
	};
	struct hp_shares_options opt = { .extent = extent_of_images,
					 .rank = ranks - 1,
					 .ranks = ranks };
	struct hp_seq_order o = { .seed = 1 };
	struct hp_shares_cost cost;
	struct hp_seq *seq;

	for (uint32_t c = 0; c < CHUNKS; c++)
		list[c] = (struct hp_seq_list){
			c, c + 1 < CHUNKS ? IN_CHUNK :
					    1281167 - (CHUNKS - 1) * IN_CHUNK
		};
	assert_int_equal(hp_seq_fill(&set, &o, NULL), 0);
	assert_int_equal(hp_seq_new(&o, list, CHUNKS, &seq, NULL), 0);
	opt.seq = seq;
	opt.steps = hp_deal_steps(hp_seq_deal(seq), HP_DEAL_MASK);
	opt.bytes =
		hp_shares_bytes(memory, (uint64_t)64 * SIZE, o.lanes / ranks);
	assert_int_equal(hp_shares_count(&opt, &cost, NULL), 0);
	print_message("# %u ranks, %u MiB: %u lanes, %u reads, median %.2f "
		      "MiB, held %.0f MiB, first %.0f MiB\n",
		      ranks, (unsigned)(memory >> 20), (unsigned)cost.lanes,
		      (unsigned)cost.reads, (double)cost.median / (1 << 20),
		      (double)cost.held_peak / (1 << 20),
		      (double)cost.first_batch / (1 << 20));
	hp_seq_free(seq);
	return cost;
}

/* Of a set of 132 GiB: what the order promises, in any memory. */
static void test_images(void **state)
{
	struct hp_shares_cost cost;

	(void)state;
	cost = cost_of_images(8, (uint64_t)1 << 30);
	assert_int_equal(cost.lanes, 64);
	assert_int_equal(cost.bytes, cost.wanted);
	assert_in_range(cost.held_peak >> 20, 200, 270);
	assert_in_range(cost.reads, 4500, 5000);
	assert_in_range(cost.median >> 10, 3800, 4000);
	assert_in_range(cost.first_batch >> 20, 20, 33);
	cost = cost_of_images(64, (uint64_t)64 << 20);
	assert_int_equal(cost.bytes, cost.wanted);
	assert_in_range(cost.held_peak >> 20, 20, 64);
	cost = cost_of_images(64, (uint64_t)16 << 20);
	assert_in_range(cost.held_peak >> 20, 2, 16);
}

static void test_bytes(void **state)
{
	(void)state;
	assert_int_equal(hp_shares_bytes(900, 0, 3), 200);
	assert_int_equal(hp_shares_bytes(900, 100, 2), 200);
	/* Batches that would leave less than half. */
	assert_int_equal(hp_shares_bytes(900, 400, 3), 100);
	assert_int_equal(hp_shares_bytes(1, 1, 1000), 1);
	assert_int_equal(hp_shares_bytes(UINT64_MAX, UINT64_MAX, 1),
			 UINT64_MAX / 2 / 3 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
