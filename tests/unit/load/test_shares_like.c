/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of neighbours, which are not all looked at, of what is stored in
 * another way, and of a large set: what they come to.
 */
#include "share_set.h"

/* ---- Neighbours ------------------------------------------------------- */

static void check_same(const struct hp_share *a, const struct hp_share *b)
{
	assert_int_equal(a->lane, b->lane);
	assert_int_equal(a->x, b->x);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->list, b->list);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->at.begin, b->at.begin);
	assert_int_equal(a->at.end, b->at.end);
	assert_int_equal(a->wanted, b->wanted);
	assert_int_equal(a->need, b->need);
	assert_int_equal(a->until, b->until);
}

/* Of those that are told to be neighbours shares are the same; few: and not all
 * of them are looked at. */
static void check_dense(struct set *set, const struct hp_shares_options *opt,
			bool few)
{
	struct hp_shares_options dense = *opt;
	struct hp_shares *a, *b;
	struct hp_share x, y;

	dense.dense = always_dense;
	assert_int_equal(hp_shares_new(opt, &a, NULL), 0);
	assert_int_equal(hp_shares_new(&dense, &b, NULL), 0);
	while (hp_shares_next(a, &x)) {
		set->looks = 0;
		assert_true(hp_shares_next(b, &y));
		check_same(&x, &y);
		if (few && opt->own.stride == 1 &&
		    hp_shares_own(b)->in_step == 1)
			assert_true(set->looks <= 8);
	}
	assert_false(hp_shares_next(b, &y));
	hp_shares_free(a);
	hp_shares_free(b);
}

static void test_dense(void **state)
{
	(void)state;
	dice = 5;
	for (int i = 0; i < 400; i++) {
		struct hp_shares_options opt;
		struct set set;

		make_set(&set, i % 2 ? DENSE : EMPTY);
		draw_sequence(&set);
		draw_options(&set, &opt);
		opt.own.rank = (uint32_t)draw(opt.own.ranks);
		opt.own.first = draw(2) ? 0 : draw(opt.own.end + 1);
		/* In the middle of all, too: not at a lane's end alone. */
		opt.own.end -= draw(opt.own.end + 1 - opt.own.first) / 2;
		opt.own.fill = opt.own.fill && draw(2);
		check_dense(&set, &opt, i % 2);
		free_set(&set);
	}
}

/* ---- As they are stored ----------------------------------------------- */

/* A third as long. */
static struct hp_extent stored(void *arg, uint32_t list, struct hp_extent at)
{
	(void)arg;
	(void)list;
	return (struct hp_extent){ at.begin / 3, (at.end + 2) / 3 };
}

/* What is read is stored, what is held is not. */
static void test_stored(void **state)
{
	struct share_reads seen = { 0 };
	struct hp_shares_options opt;
	struct hp_shares_cost plain, cost;
	struct hp_shares *s;
	struct hp_share t;
	struct set set;

	(void)state;
	dice = 9;
	make_set(&set, FRAMES);
	draw_sequence(&set);
	draw_options(&set, &opt);
	opt.bytes = 1 << 20;
	assert_int_equal(hp_shares_count(&opt, NULL, &plain, NULL), 0);
	assert_int_equal(hp_shares_count(&opt, stored, &cost, NULL), 0);
	assert_int_equal(hp_shares_new(&opt, &s, NULL), 0);
	while (hp_shares_next(s, &t)) {
		t.at = stored(NULL, 0, t.at);
		add_reads(&t, t.need == 0, &seen);
	}
	hp_shares_free(s);
	assert_int_equal(cost.reads, seen.n);
	assert_int_equal(cost.bytes, seen.bytes);
	assert_int_equal(cost.first_batch, seen.first);
	assert_true(cost.bytes < plain.bytes);
	assert_int_equal(cost.held_peak, plain.held_peak);
	assert_int_equal(cost.wanted, plain.wanted);
	free_set(&set);
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

static bool images_are_dense(void *arg, uint32_t list, uint64_t index,
			     uint64_t n)
{
	(void)arg;
	(void)list;
	(void)index;
	(void)n;
	return true;
}

static struct hp_shares_cost cost_of_images(uint32_t ranks, uint64_t memory)
{
	static struct hp_seq_list list[CHUNKS];
	struct hp_seq_set set = {
		1281167, 1281167ull * SIZE, CHUNKS, true, 64, ranks, 0
	};
	struct hp_shares_options opt = {
		.extent = extent_of_images,
		.dense = images_are_dense,
		.own = { .rank = ranks - 1, .ranks = ranks, .fill = true }
	};
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
	opt.own.end = hp_deal_steps(hp_seq_deal(seq), HPDSL_END_MASK);
	opt.bytes =
		hp_shares_bytes(memory, (uint64_t)64 * SIZE, o.lanes / ranks);
	assert_int_equal(hp_shares_count(&opt, NULL, &cost, NULL), 0);
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
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
