/* SPDX-License-Identifier: Apache-2.0 */
/* What hpdsl_epoch_cost() says is what a loader does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cell.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct hpdsl_epoch *epoch_of(const struct hpdsl_dataset *ds,
				    struct cell *c)
{
	const struct hpdsl_share *s = &c->opt.share;
	struct hpdsl_order_start start = { .choice = c->opt.choice,
					   .ranks = s->ranks,
					   .workers = s->workers };
	struct hpdsl_error err = { 0 };
	struct hpdsl_epoch *e = NULL;

	if (hpdsl_order_fill(ds, &start, &c->opt.order, &err) < 0 ||
	    hpdsl_epoch_new(ds, c->opt.choice, &c->opt.order, &e, &err) < 0)
		fail_msg("%s", err.msg);
	return e;
}

static void cost_of(const struct hpdsl_dataset *ds, struct cell *c,
		    struct hpdsl_epoch_cost *ret)
{
	struct hpdsl_epoch *e = epoch_of(ds, c);
	struct hpdsl_cost_options opt = { .share = c->opt.share,
					  .memory = c->opt.memory,
					  .end = c->opt.end,
					  .first = c->opt.order.step };
	struct hpdsl_error err = { 0 };

	if (hpdsl_epoch_cost(e, ds, &opt, ret, &err) < 0)
		fail_msg("%s", err.msg);
	hpdsl_epoch_free(e);
}

static void near(uint64_t is, uint64_t want, const char *what)
{
	if (is > want + want / 20 || is < want - want / 20)
		fail_msg("%s: %llu, and not %llu", what, (unsigned long long)is,
			 (unsigned long long)want);
}

static void check_cost(struct forged *f, const struct hpdsl_dataset *ds,
		       struct cell *c)
{
	const struct hpdsl_loader_stats *is = &c->stats;
	struct hpdsl_epoch_cost want;

	cost_of(ds, c, &want);
	cell_read(ds, c);
	assert_int_equal(is->steps, want.steps);
	assert_int_equal(is->lanes, want.lanes);
	assert_int_equal(is->share_bytes, want.share_bytes);
	near(is->held_peak, want.held_peak, "held");
	/* What the page cache has comes in slices; of a chunk's last page there
	 * are fewer bytes. */
	if (!f->cached) {
		assert_int_equal(is->reads, want.reads);
		assert_int_equal(is->direct_bytes, is->read_bytes);
		near(is->median_read, want.median_read, "median");
	}
	near(is->read_bytes, want.read_bytes, "bytes");
	assert_true(want.wanted_bytes <= want.read_bytes);
	assert_true(want.first_batch <= want.read_bytes);
	assert_int_equal(c->small, want.share_bytes < want.piece_bytes &&
					   c->opt.order.piece > 1);
}

static const struct hpdsl_order orders[] = {
	{ .seed = 1 },
	{ .seed = 2, .batch = 21, .lanes = 42, .piece = 9 },
	{ .seed = 3, .batch = 42, .lanes = 7, .piece = 30 },
	{ .seed = 4, .batch = 42, .lanes = 42, .piece = 24, .windows = 1 },
	{ .seed = 5, .batch = 21, .plain = true },
};

static void check_shares(struct forged *f, const struct hpdsl_dataset *ds,
			 struct cell *c)
{
	static const uint32_t ranks[] = { 1, 3, 7 }, workers[] = { 0, 2 };

	for (size_t i = 0; i < COUNT(ranks) * COUNT(workers); i++) {
		c->opt.share = (struct hpdsl_share){
			.ranks = ranks[i / 2],
			.rank = ranks[i / 2] / 2,
			.workers = workers[i % 2],
			.worker = workers[i % 2] / 2,
			.uneven = true,
		};
		check_cost(f, ds, c);
	}
}

static void check_grid(struct forged *f, const struct hpdsl_choice *choice)
{
	static const uint64_t memory[] = { 16 * MIB, 64 * MIB, 0 };
	struct hpdsl_dataset *ds = forged_open(f);

	for (size_t i = 0; i < COUNT(orders) * COUNT(memory); i++) {
		struct cell c = { .opt = { .order = orders[i / COUNT(memory)],
					   .memory = memory[i % COUNT(memory)],
					   .choice = choice,
					   .end = i % 3 == 0 ? HPDSL_END_DROP :
						  i % 3 == 1 ? HPDSL_END_MASK :
							       HPDSL_END_SHORT,
					   .threads = 2 } };

		c.opt.order.step = i % 5 == 3 ? 2 : 0;
		check_shares(f, ds, &c);
	}
	hpdsl_close(ds);
}

static void test_cost(void **state)
{
	struct forged f;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 900,
						   .size = size_even,
						   .chunks = 7 });
	check_grid(&f, NULL);
	f.cached = true;
	check_grid(&f, NULL);
	forged_end(&f);
}

/* With gaps between samples, and samples that come several times. */
static void test_cost_of_choices(void **state)
{
	const struct hpdsl_choice_options half = { .split_to = 500000000 };
	uint64_t weight[900];
	const struct hpdsl_choice_options often = { .sample_weight = weight };
	struct hpdsl_choice *choice;
	struct hpdsl_dataset *ds;
	struct forged f;

	(void)state;
	for (int i = 0; i < 900; i++)
		weight[i] = HPDSL_WEIGHT_ONE / 2 * (unsigned)(i % 5);
	forged_begin(&f, &(struct forged_options){ .samples = 900,
						   .size = size_small,
						   .chunks = 7 });
	ds = forged_open(&f);
	assert_int_equal(hpdsl_choose(ds, &half, &choice, NULL), 0);
	check_grid(&f, choice);
	hpdsl_choice_free(choice);
	assert_int_equal(hpdsl_choose(ds, &often, &choice, NULL), 0);
	check_grid(&f, choice);
	hpdsl_choice_free(choice);
	hpdsl_close(ds);
	forged_end(&f);
}

/* A piece that is larger than a chunk, or than a lane, is never read as one. */
static void test_huge_pieces(void **state)
{
	/* 12 chunks of 75 samples; 3 lanes of 300, 30 lanes of 30 */
	static const uint64_t lanes[] = { 3, 30 }, most[] = { 75, 30 };
	struct hpdsl_dataset *ds;
	struct forged f;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 900,
						   .size = size_even,
						   .chunks = 12 });
	ds = forged_open(&f);
	for (size_t i = 0; i < COUNT(lanes); i++) {
		struct cell c = { .opt = { .order = { .batch = 30,
						      .lanes = lanes[i],
						      .piece = most[i] },
					   .memory = 16 * MIB } };
		struct hpdsl_epoch_cost want, cost;

		cost_of(ds, &c, &want);
		c.opt.order.piece = UINT64_MAX;
		cost_of(ds, &c, &cost);
		assert_int_equal(cost.piece_bytes, want.piece_bytes);
		assert_int_equal(cost.cure, want.cure);
		assert_true(cost.cure);
		c.opt.order.piece = most[i] - 1;
		cost_of(ds, &c, &cost);
		assert_true(cost.piece_bytes < want.piece_bytes);
		/* What was said is enough. */
		c.opt.order.piece = UINT64_MAX;
		c.opt.memory = want.cure;
		cost_of(ds, &c, &cost);
		assert_int_equal(cost.cure, 0);
	}
	hpdsl_close(ds);
	forged_end(&f);
}

/* What is refused sets nothing. */
static void test_refused(void **state)
{
	const struct hpdsl_cost_options bad[] = {
		{ .share = { .rank = 1 } },
		{ .memory = 1 },
		{ .first = 1000 },
	};
	static const int code[] = { HPDSL_EUSAGE, HPDSL_EUSAGE, -ERANGE };
	struct hpdsl_epoch_cost cost, was;
	struct hpdsl_error err = { 0 };
	struct cell c = { .opt = { .order = { .seed = 1 } } };
	struct hpdsl_dataset *ds;
	struct hpdsl_epoch *e;
	struct forged f;

	(void)state;
	memset(&cost, 7, sizeof cost);
	was = cost;
	forged_begin(&f, &(struct forged_options){ .samples = 100,
						   .size = size_small,
						   .chunks = 2 });
	ds = forged_open(&f);
	e = epoch_of(ds, &c);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(hpdsl_epoch_cost(e, ds, &bad[i], &cost, &err),
				 code[i]);
		assert_memory_equal(&cost, &was, sizeof cost);
	}
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
	forged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_cost_of_choices),
		cmocka_unit_test(test_huge_pieces),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
