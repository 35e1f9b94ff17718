/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a step, of a job in virtual time whose loader fetches, prepares and
 * keeps batches ready: what is found is what it was made of.
 */
#include "stall/split.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES 1000

/* Seconds a step, and how many batches are kept ready at most. */
struct job {
	double compute, interference, hand_over, prepare, fetch;
	unsigned ahead;
	double jitter; /* 0: none; 1: as times between calls of strangers */
	double pause;  /* once in a phase's first block, seconds */
	unsigned pause_in;
};

static const struct hp_stall_schedule schedule = {
	.rounds = 3,
	.blocks = 3,
	.lead = { 2, 2, 40, 40, 40 },
	.steps = { 20, 20, 20, 20, 20 },
};

enum { MOST = 20000 };

static struct {
	struct job j;
	double now;
	/* Of the batches since the last seek: when each was fetched and made;
	 * taken[i] is when the one before batch i was taken. */
	double fetched[MOST], made[MOST], taken[MOST];
	unsigned n, gone;
	double blocked;
	uint64_t dice;
} sim;

static double dice(void)
{
	sim.dice = sim.dice * 6364136223846793005U + 1442695040888963407U;
	return (double)((sim.dice >> 33) + 1) / (double)(1U << 31);
}

static double jittered(double mean)
{
	double j = sim.j.jitter;

	return mean * (1 - j + j * -log(dice()));
}

static void seek(void)
{
	sim.n = sim.gone = 0;
}

/* The next batch is made, from when there is room for it. */
static void make_one(bool cold)
{
	unsigned i = sim.n++;
	double room, begin, fetched_before = 0, made_before = 0;

	assert_true(i < MOST);
	room = i < sim.j.ahead ? sim.taken[0] : sim.taken[i - sim.j.ahead + 1];
	if (i) {
		fetched_before = sim.fetched[i - 1];
		made_before = sim.made[i - 1];
		if (room > made_before)
			sim.blocked += room - made_before;
	}
	begin = room > fetched_before ? room : fetched_before;
	sim.fetched[i] = begin + (cold ? jittered(sim.j.fetch) : 0);
	begin = sim.fetched[i] > made_before ? sim.fetched[i] : made_before;
	sim.made[i] = begin + jittered(sim.j.prepare);
}

static uint64_t made_by_now(void)
{
	unsigned n = sim.gone;

	while (n < sim.n && sim.made[n] <= sim.now)
		n++;
	return n;
}

static double take(bool cold, bool *ret_ready)
{
	unsigned i = sim.gone++;
	double asked = sim.now;

	if (!i)
		sim.taken[0] = sim.now;
	while (sim.n <= i)
		make_one(cold);
	*ret_ready = sim.made[i] <= sim.now;
	if (!*ret_ready)
		sim.now = sim.made[i];
	sim.now += sim.j.hand_over;
	sim.taken[i + 1] = sim.now;
	/* What can be begun by now has been, for whoever counts it. */
	while (sim.n < sim.gone + sim.j.ahead - 1)
		make_one(cold);
	return sim.now - asked;
}

static struct hp_stall_of_rank of[1000];
static size_t n_of;

/* Since the last seek; no block has one in it. */
static struct hpdsl_stall_counters count_now(void)
{
	return (struct hpdsl_stall_counters){
		.now = sim.now,
		.made = made_by_now() * BYTES,
		.out = (uint64_t)sim.gone * BYTES,
		.blocked = sim.blocked,
	};
}

static void one_step(struct hpdsl_stall_place p, struct hp_stall_blocking *g)
{
	bool loads = p.phase != HPDSL_STALL_REPLAY, ready = true;
	double waited = 0, compute = jittered(sim.j.compute);

	if (p.phase >= HPDSL_STALL_WARM)
		waited = take(p.phase != HPDSL_STALL_WARM, &ready);
	if (loads)
		compute += sim.j.interference;
	if (p.counts && p.first && p.block == 0 && p.phase == sim.j.pause_in)
		compute += sim.j.pause;
	sim.now += compute;
	if (p.counts)
		hp_stall_step(g, waited, ready && p.phase >= HPDSL_STALL_WARM,
			      compute, sim.j.compute);
}

static void play(const struct job *j)
{
	struct hp_stall_blocking g;
	struct hpdsl_stall_counters at;
	uint64_t steps = hp_stall_steps(&schedule), blocks = 0;

	sim.now = 0;
	sim.j = *j;
	sim.blocked = 0;
	n_of = 0;
	seek();
	for (uint64_t step = 0; step < steps; step++) {
		struct hpdsl_stall_place p = hp_stall_at(&schedule, step);

		if (p.begins)
			seek();
		if (p.counts && p.first) {
			at = count_now();
			hp_stall_begin(&g, p, &at);
		}
		one_step(p, &g);
		if (p.counts && p.last) {
			at = count_now();
			of[n_of].rank = 0;
			hp_stall_end(&g, &at, &of[n_of++].b);
			blocks++;
		}
	}
	assert_int_equal(blocks, 5 * 9);
}

static struct hpdsl_stall_split split(void)
{
	struct hpdsl_stall_split s;
	struct hpdsl_error err;

	assert_int_equal(hp_stall_split(of, n_of, &s, &err), 0);
	return s;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* Within a thousandth of a step. */
static void same(double is, double should, const struct hpdsl_stall_split *s)
{
	if (fabs(is - should) > s->step[HPDSL_STALL_COLD].is / 1000)
		fail_msg("%g instead of %g", is, should);
}

static void adds_up(const struct hpdsl_stall_split *s)
{
	double sum = 0;

	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++) {
		sum += s->part[i].is;
		assert_true(s->part[i].low <= s->part[i].is + 1e-9);
		assert_true(s->part[i].high >= s->part[i].is - 1e-9);
	}
	assert_true(fabs(sum - s->step[HPDSL_STALL_COLD].is) < 1e-9);
}

static void check(struct job j)
{
	double busy = j.compute + j.interference + j.hand_over;
	double warm = most(busy, j.prepare), cold = most(warm, j.fetch);
	struct hpdsl_stall_split s;

	play(&j);
	s = split();
	adds_up(&s);
	same(s.step[HPDSL_STALL_REPLAY].is, j.compute, &s);
	same(s.part[HPDSL_STALL_COMPUTE].is, j.compute, &s);
	same(s.part[HPDSL_STALL_INTERFERENCE].is, j.interference, &s);
	same(s.step[HPDSL_STALL_WARM].is, warm, &s);
	same(s.step[HPDSL_STALL_COLD].is, cold, &s);
	same(s.step[HPDSL_STALL_REAL].is, cold, &s);
	same(s.part[HPDSL_STALL_FETCH].is, cold - warm, &s);
	same(s.warm_model, warm, &s);
	same(s.cold_model, cold, &s);
	if (s.knows_hand_over) {
		same(s.hand_over, j.hand_over, &s);
		same(s.part[HPDSL_STALL_PREPARATION].is, warm - busy, &s);
	}
	assert_int_equal(s.bound, cold > warm ? HPDSL_STALL_FETCH :
				  warm > busy ? HPDSL_STALL_PREPARATION :
						HPDSL_STALL_COMPUTE);
	/* Who has no room is not slow. */
	if (j.prepare < busy)
		assert_true(fabs(s.warm_rate * j.prepare - 1) < .1);
	assert_false(s.disagrees);
	assert_int_equal(s.ranks, 1);
}

static void twelve_jobs_are_taken_apart(void **state)
{
	static const double prepare[] = { .02, .06, .15, .3 };
	static const double fetch[] = { .01, .12, .4 };

	(void)state;
	for (size_t p = 0; p < 4; p++)
		for (size_t f = 0; f < 3; f++)
			check((struct job){ .compute = .1,
					    .interference = .005,
					    .hand_over = .002,
					    .prepare = prepare[p],
					    .fetch = fetch[f],
					    .ahead = 8 });
}

/* A pause lets the loader fill its stock, which the next steps live on. */
static void a_pause_hides_no_stall(void **state)
{
	struct job j = { .compute = .1,
			 .prepare = .02,
			 .fetch = .32,
			 .ahead = 24,
			 .pause = 8,
			 .pause_in = HPDSL_STALL_COLD };
	struct hpdsl_stall_split s;
	double naive = 0, steps = 0, share;

	(void)state;
	play(&j);
	for (size_t i = 0; i < n_of; i++)
		if (of[i].b.phase == HPDSL_STALL_COLD && of[i].b.block == 0) {
			naive += of[i].b.seconds;
			steps += of[i].b.steps;
			assert_true(fabs(of[i].b.interrupted - 8) < .5);
		}
	/* Whoever looks at these blocks alone sees half of it or less. */
	assert_true((naive / steps - j.compute) / (naive / steps) < .35);
	s = split();
	share = s.part[HPDSL_STALL_FETCH].is / s.step[HPDSL_STALL_COLD].is;
	assert_true(fabs(share - (.32 - .1) / .32) < .05);
	assert_int_equal(s.bound, HPDSL_STALL_FETCH);
}

/* Of many such jobs the interval has the truth in it in most. */
static void intervals_hold_what_is_true(void **state)
{
	struct job j = { .compute = .1,
			 .interference = .01,
			 .prepare = .02,
			 .fetch = .2,
			 .ahead = 8,
			 .jitter = .5 };
	unsigned in = 0, of_all = 100;

	(void)state;
	for (unsigned i = 0; i < of_all; i++) {
		struct hpdsl_stall_split s;

		play(&j);
		s = split();
		adds_up(&s);
		in += s.step[HPDSL_STALL_REPLAY].low <= j.compute &&
		      j.compute <= s.step[HPDSL_STALL_REPLAY].high;
		assert_int_equal(s.bound, HPDSL_STALL_FETCH);
		assert_true(fabs(s.part[HPDSL_STALL_FETCH].is - .09) < .03);
	}
	assert_true(in >= 85);
	assert_true(in < of_all);
}

/* ---- Ranks, and blocks that were made up ------------------------------ */

static void add(uint32_t rank, unsigned phase, unsigned block, double step,
		double rate)
{
	struct hp_stall_of_rank *o = &of[n_of++];

	memset(o, 0, sizeof *o);
	o->rank = rank;
	o->b.phase = phase;
	o->b.block = block;
	o->b.steps = 10;
	o->b.seconds = 10 * step;
	o->b.made = o->b.out = 10 * BYTES;
	o->b.making = 10 / rate;
	o->b.hand_over = -1;
}

/* Batches of other sizes than those before and behind them are in hand: the
 * rate is of bytes, by what a batch has in the mean. */
static void sizes_of_batches_differ(void **state)
{
	struct hpdsl_stall_split s;

	(void)state;
	n_of = 0;
	for (unsigned b = 0; b < 40; b++) {
		add(0, HPDSL_STALL_REPLAY, b, .1, 50);
		add(0, HPDSL_STALL_WARM, b, .1, 50);
		add(0, HPDSL_STALL_COLD, b, .2, 5);
		of[n_of - 1].b.out = b % 2 ? 30 * BYTES : 10 * BYTES;
		of[n_of - 1].b.made = b % 4 < 2 ? 30 * BYTES : 10 * BYTES;
		of[n_of - 1].b.making =
			(double)of[n_of - 1].b.made / BYTES / 20 * 2;
	}
	s = split();
	assert_true(fabs(s.cold_rate - 5) < .01);
}

/* One whose loader had no room, and made nothing, is neither slow nor does it
 * hide who is. */
static void who_made_nothing_is_not_slow(void **state)
{
	struct hpdsl_stall_split s;

	(void)state;
	n_of = 0;
	for (unsigned b = 0; b < 3; b++)
		for (uint32_t r = 0; r < 4; r++) {
			add(r, HPDSL_STALL_COLD, b, .1, r == 2 ? 1 / .3 : 20);
			if (r == 0)
				of[n_of - 1].b.made = 0;
			if (r == 0)
				of[n_of - 1].b.making = 0;
			add(r, HPDSL_STALL_WARM, b, .1, 50);
			add(r, HPDSL_STALL_REPLAY, b, .1, 50);
		}
	s = split();
	assert_int_equal(s.slowest, 2);
	assert_true(fabs(s.slowness - 6) < 1e-6);
	same(s.step[HPDSL_STALL_COLD].is, .3, &s);
	same(s.cold_model, .3, &s);
	assert_true(s.enough);
}

/* All wait for it in every step; its loader is the one that is always busy. */
static void one_slow_rank_of_four(void **state)
{
	struct hpdsl_stall_split s;

	(void)state;
	n_of = 0;
	for (unsigned b = 0; b < 3; b++)
		for (uint32_t r = 0; r < 4; r++) {
			add(r, HPDSL_STALL_COLD, b, .3, r == 2 ? 1 / .3 : 20);
			add(r, HPDSL_STALL_WARM, b, .1, 50);
			add(r, HPDSL_STALL_REPLAY, b, r == 1 ? .1 : .09, 50);
		}
	s = split();
	assert_int_equal(s.ranks, 4);
	assert_int_equal(s.slowest, 2);
	assert_true(fabs(s.slowness - 6) < 1e-6);
	same(s.part[HPDSL_STALL_COMPUTE].is, .1, &s);
	same(s.part[HPDSL_STALL_FETCH].is, .2, &s);
	same(s.cold_model, .3, &s);
	assert_int_equal(s.bound, HPDSL_STALL_FETCH);
}

static void phases_that_disagree_are_told(void **state)
{
	struct hpdsl_stall_split s;

	(void)state;
	n_of = 0;
	for (unsigned b = 0; b < 3; b++) {
		add(0, HPDSL_STALL_REPLAY, b, .1, 50);
		add(0, HPDSL_STALL_WARM, b, .2, 50);
		add(0, HPDSL_STALL_COLD, b, .15, 50);
	}
	s = split();
	assert_true(s.disagrees);
	adds_up(&s);
	assert_int_equal(s.bound, HPDSL_STALL_PREPARATION);
}

/* Opening files is no preparation, as far as it is waited for. */
static void names_are_moved(void **state)
{
	struct hpdsl_stall_split s = { 0 };

	(void)state;
	s.step[HPDSL_STALL_COLD].is = 0.1;
	s.part[HPDSL_STALL_PREPARATION] =
		(struct hpdsl_stall_figure){ 0.05, 0.04, 0.06 };
	s.part[HPDSL_STALL_FETCH] =
		(struct hpdsl_stall_figure){ 0, -0.001, 0.001 };
	hp_stall_move_names(&s, 0.03);
	assert_true(s.names == 0.03);
	assert_true(s.part[HPDSL_STALL_PREPARATION].is > 0.0199 &&
		    s.part[HPDSL_STALL_PREPARATION].is < 0.0201);
	assert_true(s.part[HPDSL_STALL_FETCH].low > 0.0289 &&
		    s.part[HPDSL_STALL_FETCH].low < 0.0291);
	assert_int_equal(s.bound, HPDSL_STALL_FETCH);
	/* No more than is there. */
	hp_stall_move_names(&s, 1);
	assert_true(s.part[HPDSL_STALL_PREPARATION].is < 1e-9 &&
		    s.part[HPDSL_STALL_PREPARATION].is > -1e-9);
	hp_stall_move_names(&s, -1);
	assert_true(s.names == 0);
}

static void a_phase_that_is_missing_is_an_error(void **state)
{
	struct hpdsl_stall_split s;
	struct hpdsl_error err;

	(void)state;
	n_of = 0;
	assert_int_equal(hp_stall_split(of, 0, &s, &err), HPDSL_EUSAGE);
	add(0, HPDSL_STALL_REPLAY, 0, .1, 50);
	add(0, HPDSL_STALL_COLD, 0, .1, 50);
	assert_int_equal(hp_stall_split(of, n_of, &s, &err), HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, "warm"));
	add(0, HPDSL_STALL_WARM, 0, .1, 50);
	assert_int_equal(hp_stall_split(of, n_of, &s, &err), 0);
	assert_false(s.enough);
}

/* Counters that stand still, and blocks without a step. */
static void nothing_is_divided_by_zero(void **state)
{
	struct hpdsl_stall_split s;

	(void)state;
	n_of = 0;
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		add(0, i, 0, 0, 1);
		of[i].b.steps = 0;
		of[i].b.made = of[i].b.out = 0;
		of[i].b.making = 0;
	}
	s = split();
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		assert_true(s.part[i].is == 0);
	assert_int_equal(s.bound, HPDSL_STALL_COMPUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twelve_jobs_are_taken_apart),
		cmocka_unit_test(a_pause_hides_no_stall),
		cmocka_unit_test(intervals_hold_what_is_true),
		cmocka_unit_test(sizes_of_batches_differ),
		cmocka_unit_test(who_made_nothing_is_not_slow),
		cmocka_unit_test(one_slow_rank_of_four),
		cmocka_unit_test(phases_that_disagree_are_told),
		cmocka_unit_test(names_are_moved),
		cmocka_unit_test(a_phase_that_is_missing_is_an_error),
		cmocka_unit_test(nothing_is_divided_by_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
