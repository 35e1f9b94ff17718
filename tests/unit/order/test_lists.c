/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of an epoch, its first use of chunks, and how it mixes, each
 * against what one gets by counting. */
#include "base/mem.h"
#include "order/first_use.h"
#include "order/lists.h"
#include "order/mixing.h"
#include "each_fault.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNKS_MAX = 9, SAMPLES_MAX = 400, TIMES_MAX = 5 };

static uint64_t dice;

static uint64_t draw(uint64_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

/* ---- A set, and a choice of it ---------------------------------------- */

struct set {
	uint32_t n;
	uint64_t first[CHUNKS_MAX + 1];
	uint64_t times[SAMPLES_MAX]; /* that each sample comes */
	bool weights, all;
	struct hpdsl_choice choice;
	struct hp_lists lists;
};

static uint64_t samples_of(const struct set *set)
{
	return set->first[set->n];
}

static void make_choice(struct set *set)
{
	struct hpdsl_choice *c = &set->choice;
	uint64_t n = samples_of(set);

	*c = (struct hpdsl_choice){ .n = n };
	c->bits = calloc(hp_choice_words(n) + 1, sizeof *c->bits);
	for (uint64_t s = 0; s < n; s++)
		if (set->times[s]) {
			c->bits[s / 64] |= UINT64_C(1) << s % 64;
			c->chosen++;
		}
	if (!set->weights)
		return;
	c->by_sample = hp_array(n, sizeof *c->by_sample);
	for (uint64_t s = 0; s < n; s++)
		c->by_sample[s] = set->times[s] * HPDSL_WEIGHT_ONE;
}

static int init(struct set *set, struct hpdsl_error *err)
{
	memset(&set->choice, 0, sizeof set->choice);
	if (!set->all)
		make_choice(set);
	return hp_lists_init(&set->lists, set->first, set->n,
			     set->all ? NULL : &set->choice, 5, 0, err);
}

static void release(struct set *set)
{
	hp_lists_release(&set->lists);
	free(set->choice.bits);
	free(set->choice.by_sample);
}

/* Chunks of any size, some of them empty; at least one sample comes. */
static void draw_set(struct set *set, uint64_t most)
{
	*set = (struct set){ .n = 1 + (uint32_t)draw(CHUNKS_MAX),
			     .weights = draw(2),
			     .all = !draw(4) };
	for (uint32_t c = 0; c < set->n; c++)
		set->first[c + 1] = set->first[c] + draw(most / CHUNKS_MAX);
	if (!samples_of(set))
		set->first[set->n] = 1;
	for (uint64_t s = 0; s < samples_of(set); s++)
		set->times[s] = set->all     ? 1 :
				set->weights ? draw(TIMES_MAX) :
					       draw(2);
	set->times[draw(samples_of(set))] = 1;
}

/* ---- Lists ------------------------------------------------------------ */

/* Lists as they are defined, one behind the other; 0: they are these. */
static void check_lists(const struct set *set)
{
	const struct hp_lists *l = &set->lists;
	uint32_t list = 0;

	for (uint32_t c = 0; c < set->n; c++)
		for (uint64_t t = 0; t < TIMES_MAX; t++) {
			uint64_t want[SAMPLES_MAX], got[SAMPLES_MAX], n = 0;

			for (uint64_t s = set->first[c]; s < set->first[c + 1];
			     s++)
				if (set->times[s] > t)
					want[n++] = s;
			if (!n)
				continue;
			assert_true(list < l->n);
			assert_int_equal(l->v[list].chunk, c);
			assert_int_equal(l->v[list].samples, n);
			hp_lists_samples(l, list, 0, n, got);
			assert_memory_equal(got, want, n * sizeof *got);
			hp_lists_samples(l, list, n / 2, n - n / 2, got);
			assert_memory_equal(got, want + n / 2,
					    (n - n / 2) * sizeof *got);
			list++;
		}
	assert_int_equal(list, l->n);
}

static void check_find(const struct set *set)
{
	const struct hp_lists *l = &set->lists;
	struct hp_seq_spot at;

	for (uint64_t s = 0; s < samples_of(set); s++) {
		for (uint64_t nth = 0; nth < set->times[s]; nth++) {
			uint64_t sample;

			assert_int_equal(hp_lists_find(l, s, nth, &at), 0);
			hp_lists_samples(l, at.list, at.index, 1, &sample);
			assert_int_equal(sample, s);
			assert_int_equal(at.list - nth,
					 l->list[l->v[at.list].chunk]);
		}
		assert_int_equal(hp_lists_find(l, s, set->times[s], &at),
				 -ENOENT);
	}
	assert_int_equal(hp_lists_find(l, samples_of(set), 0, &at), -ERANGE);
}

static void lists_are_as_defined(void **state)
{
	struct set set;

	(void)state;
	dice = 1;
	for (int i = 0; i < 400; i++) {
		draw_set(&set, SAMPLES_MAX);
		assert_int_equal(init(&set, NULL), 0);
		check_lists(&set);
		check_find(&set);
		release(&set);
	}
}

/* Weights 0 1 2 3, five times over, then 1 1 1, as the order's page has it. */
static void the_page_has_this_vector(void **state)
{
	static const uint8_t want[] = { 11, 19, 19, 11, 13, 15, 1,  2,	3,
					14, 5,	3,  6,	19, 2,	17, 7,	20,
					15, 18, 9,  21, 7,  7,	3,  22, 14,
					10, 6,	18, 15, 10, 11 };
	struct hp_seq_order o = { .seed = 5,
				  .batch = 4,
				  .lanes = 4,
				  .piece = 2,
				  .windows = 1,
				  .parts = 1 };
	struct set set = { .n = 4,
			   .first = { 0, 6, 12, 18, 23 },
			   .weights = true };
	struct hp_seq_memo memo = { 0 };
	struct hp_seq *s;

	(void)state;
	for (uint64_t i = 0; i < 23; i++)
		set.times[i] = i < 20 ? i % 4 : 1;
	assert_int_equal(init(&set, NULL), 0);
	assert_int_equal(hp_seq_new(&o, set.lists.v, set.lists.n, &s, NULL), 0);
	assert_int_equal(hp_seq_deal(s)->samples, sizeof want);
	for (uint64_t p = 0; p < sizeof want; p++) {
		struct hp_seq_spot at = hp_seq_at(s, &memo, p);
		uint64_t sample;

		hp_lists_samples(&set.lists, at.list, at.index, 1, &sample);
		assert_int_equal(sample, want[p]);
	}
	hp_seq_free(s);
	release(&set);
}

/* ---- Not shuffled ----------------------------------------------------- */

/* Lists one behind the other, whatever else the order says. */
static void plain_is_stored_order(void **state)
{
	struct set set;

	(void)state;
	dice = 2;
	for (int i = 0; i < 100; i++) {
		struct hp_seq_order o = { .seed = draw(9),
					  .batch = 1 + (uint32_t)draw(40),
					  .lanes = 1 + draw(5),
					  .piece = 1 + draw(5),
					  .windows = 1 + (uint32_t)draw(5),
					  .parts = 1 + (uint32_t)draw(5),
					  .plain = true };
		struct hp_seq_memo memo = { 0 };
		uint64_t p = 0;
		struct hp_seq *s;

		o.lanes *= o.batch;
		draw_set(&set, SAMPLES_MAX);
		assert_int_equal(init(&set, NULL), 0);
		assert_int_equal(
			hp_seq_new(&o, set.lists.v, set.lists.n, &s, NULL), 0);
		for (uint32_t l = 0; l < set.lists.n; l++)
			for (uint64_t k = 0; k < set.lists.v[l].samples; k++) {
				struct hp_seq_spot at = hp_seq_at(s, &memo, p);

				assert_int_equal(at.list, l);
				assert_int_equal(at.index, k);
				assert_int_equal(hp_seq_where(s, &memo, at),
						 p++);
			}
		assert_int_equal(p, hp_seq_deal(s)->samples);
		hp_seq_free(s);
		release(&set);
	}
}

/* ---- What a sequence does with them ----------------------------------- */

static struct hp_seq *draw_sequence(const struct set *set)
{
	struct hp_seq_order o = { .seed = draw(99),
				  .batch = 1 + (uint32_t)draw(12),
				  .piece = 1 + draw(9),
				  .windows = 1 + (uint32_t)draw(4),
				  .parts = 1 + (uint32_t)draw(3),
				  .plain = !draw(6) };
	struct hp_seq *s;

	o.lanes = o.batch;
	if (draw(2))
		o.lanes *= 1 + draw(3);
	else if (o.batch % 3 == 0)
		o.lanes = o.batch / 3;
	/* Nobody goes through so many that have no samples. */
	if (!draw(10))
		o.lanes = UINT32_MAX / o.batch * o.batch;
	assert_int_equal(hp_seq_new(&o, set->lists.v, set->lists.n, &s, NULL),
			 0);
	return s;
}

static uint32_t chunk_at(const struct set *set, const struct hp_seq *s,
			 struct hp_seq_memo *memo, uint64_t position)
{
	return set->lists.v[hp_seq_at(s, memo, position).list].chunk;
}

/* Positions from .. to - 1, then those before: chunks as they come. */
static uint32_t in_order(const struct set *set, const struct hp_seq *s,
			 uint64_t from, uint64_t to, bool *seen, uint32_t *ret)
{
	struct hp_seq_memo memo = { 0 };
	uint32_t n = 0;

	for (uint64_t p = from; p < to; p++) {
		uint32_t c = chunk_at(set, s, &memo, p);

		if (!seen[c])
			ret[n++] = c;
		seen[c] = true;
	}
	return n;
}

static void first_use_is_counted(void **state)
{
	struct set set;

	(void)state;
	dice = 3;
	for (int i = 0; i < 300; i++) {
		uint32_t want[CHUNKS_MAX], got[CHUNKS_MAX], n;
		bool seen[CHUNKS_MAX] = { false };
		struct hp_seq *s;
		uint64_t step, from, end;

		draw_set(&set, SAMPLES_MAX);
		assert_int_equal(init(&set, NULL), 0);
		s = draw_sequence(&set);
		end = hp_seq_deal(s)->samples;
		step = draw(3) ? draw(end / hp_seq_deal(s)->batch + 2) : 0;
		from = step * hp_seq_deal(s)->batch;
		if (from > end)
			from = end;
		n = in_order(&set, s, from, end, seen, want);
		n += in_order(&set, s, 0, from, seen, want + n);
		for (uint32_t c = 0; c < set.n; c++)
			if (!seen[c])
				want[n++] = c;
		assert_int_equal(
			hp_seq_first_use(s, &set.lists, step, got, NULL), 0);
		assert_int_equal(n, set.n);
		assert_memory_equal(got, want, n * sizeof *got);
		hp_seq_free(s);
		release(&set);
	}
}

/* Pairs of one chunk among those of steps, and among all. */
static double mates(const struct set *set, const struct hp_seq *s,
		    uint64_t first, uint64_t steps)
{
	const struct hp_deal *d = hp_seq_deal(s);
	struct hp_seq_memo memo = { 0 };
	uint64_t met = 0, pairs = 0, all = 0, n = d->samples;

	for (uint64_t p = first * d->batch; p < n; p++)
		for (uint64_t q = p + 1;
		     q < n && q / d->batch == p / d->batch &&
		     q / d->batch < first + steps;
		     q++) {
			pairs++;
			met += chunk_at(set, s, &memo, p) ==
			       chunk_at(set, s, &memo, q);
		}
	for (uint64_t p = 0; p < n; p++)
		for (uint64_t q = p + 1; q < n; q++)
			all += chunk_at(set, s, &memo, p) ==
			       chunk_at(set, s, &memo, q);
	if (!pairs || !all)
		return NAN;
	return (double)met / (double)pairs /
	       ((double)all / ((double)n * (double)(n - 1) / 2));
}

static void mixing_is_counted(void **state)
{
	struct set set;

	(void)state;
	dice = 4;
	for (int i = 0; i < 100; i++) {
		struct hp_mixing got;
		struct hp_seq *s;
		uint64_t all, first, steps;
		double want;

		draw_set(&set, 150);
		assert_int_equal(init(&set, NULL), 0);
		s = draw_sequence(&set);
		all = hp_deal_steps(hp_seq_deal(s), HPDSL_END_MASK);
		first = draw(all);
		steps = 1 + draw(all - first);
		wrap_fail_at(1 + i % 2, false);
		assert_int_equal(
			hp_seq_mixing(s, &set.lists, first, steps, &got, NULL),
			-ENOMEM);
		wrap_fail_at(0, false);
		assert_int_equal(
			hp_seq_mixing(s, &set.lists, first, steps, &got, NULL),
			0);
		want = mates(&set, s, first, steps);
		if (isnan(want))
			assert_true(isnan(got.mates));
		else
			assert_true(fabs(got.mates - want) < 1e-9 * (1 + want));
		assert_true(got.chunks >= 1 && got.chunks <= set.n);
		assert_true(got.stretches >= got.chunks &&
			    got.stretches <= hp_seq_deal(s)->batch);
		hp_seq_free(s);
		release(&set);
	}
}

/* ---- Refusals --------------------------------------------------------- */

static void refused(struct set *set, const char *why)
{
	struct hpdsl_error err;

	assert_int_equal(init(set, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, why);
	release(set);
}

static void what_cannot_be_is_refused(void **state)
{
	struct set set = { .n = 2, .first = { 0, 3, 5 }, .weights = true };
	struct hpdsl_error err;

	(void)state;
	refused(&set, "an order of no samples: there are none chosen in this "
		      "epoch");
	set.times[4] = HP_TIMES_MOST;
	assert_int_equal(init(&set, NULL), 0);
	assert_int_equal(set.lists.n, HP_TIMES_MOST);
	release(&set);
	set.times[4]++;
	refused(&set, "sample 4 comes 65537 times in an epoch: 65536 at most");
	set = (struct set){ .n = 2, .all = true };
	refused(&set, "an order of no samples: there are none");
	set = (struct set){ .n = 1, .first = { 0, 3 }, .times = { 1 } };
	make_choice(&set);
	set.choice.n = 4;
	assert_int_equal(hp_lists_init(&set.lists, set.first, 1, &set.choice, 0,
				       0, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "the choice is of another dataset: of 4 "
				     "samples, and not 3");
	release(&set);
}

/* Whatever allocation fails, nothing is left of it. */
static void no_memory(void **state)
{
	struct set set = { .n = 3, .first = { 0, 90, 200, 300 } };

	(void)state;
	for (int weights = 0; weights < 2; weights++) {
		int r = -ENOMEM;

		set.weights = weights;
		for (uint64_t s = 0; s < 300; s++)
			set.times[s] = weights ? s % 40 : s % 2;
		memset(&set.choice, 0, sizeof set.choice);
		make_choice(&set);
		for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
			each_alloc_begin(&e);
			r = hp_lists_init(&set.lists, set.first, set.n,
					  &set.choice, 0, 0, NULL);
			each_alloc_end(&e);
			assert_true(r == 0 || r == -ENOMEM);
			assert_true(e.k < 1000);
		}
		assert_int_equal(r, 0);
		release(&set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_as_defined),
		cmocka_unit_test(the_page_has_this_vector),
		cmocka_unit_test(plain_is_stored_order),
		cmocka_unit_test(first_use_is_counted),
		cmocka_unit_test(mixing_is_counted),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
