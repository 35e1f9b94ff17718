/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs: positions, steps and ranks, whatever the choice, the ends and the
 * number of ranks; the sequence itself is test_sequence's. */
#include "base/mem.h"
#include "order/private.h"
#include "each_fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNKS = 7, SAMPLES_MAX = 600, TIMES_MAX = 4 };

static uint64_t dice;

static uint64_t draw(uint64_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

/* ---- Sets ------------------------------------------------------------- */

enum kind { ALL, SOME, WEIGHTS };

struct made {
	uint64_t first[CHUNKS + 1], n;
	uint64_t times[SAMPLES_MAX], total;
	struct hpdsl_choice choice;
	struct hpdsl_epoch *e;
	struct hpdsl_order o;
};

static void fill_choice(struct made *m, enum kind kind)
{
	struct hpdsl_choice *c = &m->choice;

	*c = (struct hpdsl_choice){ .n = m->n };
	c->bits = calloc(hp_choice_words(m->n), sizeof *c->bits);
	for (uint64_t s = 0; s < m->n; s++)
		if (m->times[s]) {
			c->bits[s / 64] |= UINT64_C(1) << s % 64;
			c->chosen++;
		}
	if (kind != WEIGHTS)
		return;
	c->by_sample = hp_array(m->n, sizeof *c->by_sample);
	for (uint64_t s = 0; s < m->n; s++)
		c->by_sample[s] = m->times[s] * HPDSL_WEIGHT_ONE;
}

static void draw_set(struct made *m, enum kind kind)
{
	*m = (struct made){ .n = 0 };
	for (int c = 0; c < CHUNKS; c++)
		m->first[c + 1] = m->first[c] + draw(SAMPLES_MAX / CHUNKS);
	m->n = m->first[CHUNKS];
	for (uint64_t s = 0; s < m->n; s++)
		m->times[s] = kind == ALL  ? 1 :
			      kind == SOME ? draw(2) :
					     draw(TIMES_MAX + 1);
	m->times[m->n / 2] = 1;
	for (uint64_t s = 0; s < m->n; s++)
		m->total += m->times[s];
	if (kind != ALL)
		fill_choice(m, kind);
}

static void make(struct made *m, enum kind kind, struct hpdsl_order o)
{
	struct hpdsl_error err = { .msg = "" };

	m->o = o;
	if (hp_epoch_make(&o, m->first, CHUNKS, kind != ALL ? &m->choice : NULL,
			  &m->e, &err) < 0)
		fail_msg("%s", err.msg);
}

static void unmake(struct made *m)
{
	hpdsl_epoch_free(m->e);
	free(m->choice.bits);
	free(m->choice.by_sample);
}

static struct hpdsl_order draw_order(uint32_t batch)
{
	struct hpdsl_order o = { .seed = draw(1000),
				 .epoch = draw(5),
				 .batch = batch,
				 .lanes = batch,
				 .piece = 1 + draw(12),
				 .windows = 1 + (uint32_t)draw(5),
				 .parts = 1 + (uint32_t)draw(9),
				 .plain = !draw(5) };

	if (draw(3) == 0)
		o.lanes *= 2 + draw(2);
	else if (batch % 6 == 0)
		o.lanes /= 6;
	return o;
}

/* ---- Positions -------------------------------------------------------- */

/* Each sample as often as it comes; where() says when. */
static void check_positions(const struct made *m)
{
	uint64_t count[SAMPLES_MAX] = { 0 }, sample, p;
	struct hpdsl_epoch_info info;

	hpdsl_epoch_info(m->e, &info);
	assert_int_equal(info.samples, m->total);
	for (p = 0; p < m->total; p++) {
		assert_int_equal(hpdsl_epoch_at(m->e, p, &sample, NULL), 0);
		assert_true(sample < m->n);
		count[sample]++;
	}
	assert_memory_equal(count, m->times, m->n * sizeof *count);
	assert_int_equal(hpdsl_epoch_at(m->e, p, &sample, NULL), -ERANGE);
	for (uint64_t s = 0; s < m->n; s++) {
		for (uint64_t nth = 0; nth < m->times[s]; nth++) {
			assert_int_equal(
				hpdsl_epoch_where(m->e, s, nth, &p, NULL), 0);
			hpdsl_epoch_at(m->e, p, &sample, NULL);
			assert_int_equal(sample, s);
		}
		assert_int_equal(
			hpdsl_epoch_where(m->e, s, m->times[s], &p, NULL),
			-ENOENT);
	}
	assert_int_equal(hpdsl_epoch_where(m->e, m->n, 0, &p, NULL), -ERANGE);
}

static void every_sample_where_it_is(void **state)
{
	(void)state;
	dice = 1;
	for (int i = 0; i < 60; i++) {
		enum kind kind = (enum kind)(i % 3);
		struct made m;

		draw_set(&m, kind);
		make(&m, kind, draw_order(1 + (uint32_t)draw(70)));
		check_positions(&m);
		unmake(&m);
	}
}

/* ---- Steps and ranks -------------------------------------------------- */

/* What ranks have of a step, one behind the other, is the step. */
static void check_ranks(const struct made *m, enum hpdsl_end end, uint64_t step,
			uint32_t ranks, const struct hpdsl_place *want)
{
	struct hpdsl_place got[1024];
	uint32_t at = 0, least = UINT32_MAX, most = 0;

	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct hpdsl_share share = { .rank = rank,
					     .ranks = ranks,
					     .uneven = true };
		int64_t n = hpdsl_epoch_step(m->e, end, step, &share, got, 1024,
					     NULL);

		assert_true(n > 0 && at + n <= m->o.batch);
		for (int64_t i = 0; i < n; i++, at++) {
			assert_int_equal(got[i].position, want[at].position);
			assert_int_equal(got[i].sample, want[at].sample);
			assert_int_equal(got[i].real, want[at].real);
		}
		least = n < least ? (uint32_t)n : least;
		most = n > most ? (uint32_t)n : most;
	}
	assert_int_equal(at, m->o.batch);
	assert_true(most - least <= (m->o.batch % ranks != 0));
}

/* What ranks have of a short step, but for what is masked, is the step. */
static void check_short(const struct made *m, uint64_t step, uint32_t ranks)
{
	uint64_t left = m->total - step * m->o.batch, at = step * m->o.batch;
	struct hpdsl_place got[1024];

	if (left > m->o.batch)
		left = m->o.batch;
	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct hpdsl_share share = { .rank = rank,
					     .ranks = ranks,
					     .uneven = true };
		int64_t n = hpdsl_epoch_step(m->e, HPDSL_END_SHORT, step,
					     &share, got, 1024, NULL);

		assert_in_range(n, 1, (m->o.batch - 1) / ranks + 1);
		assert_true(n > 1 || got[0].real || left < ranks);
		for (int64_t i = 0; i < n; i++) {
			uint64_t sample;

			hpdsl_epoch_at(m->e, got[i].position, &sample, NULL);
			assert_int_equal(got[i].sample, sample);
			if (got[i].real)
				assert_int_equal(got[i].position, at++);
			else
				assert_int_equal(n, 1);
		}
	}
	assert_int_equal(at, step * m->o.batch + left);
}

static void short_ends_lose_nothing(void **state)
{
	static const uint32_t ranks[] = { 1, 2, 3, 5, 16, 100, 512 };

	(void)state;
	dice = 4;
	for (int i = 0; i < 42; i++) {
		uint32_t r = ranks[i % 7];
		enum kind kind = (enum kind)(i / 7 % 3);
		struct made m;

		draw_set(&m, kind);
		make(&m, kind, draw_order(r + (uint32_t)draw(1024 - r)));
		for (uint64_t s = 0;
		     s < hpdsl_epoch_steps(m.e, HPDSL_END_SHORT); s++)
			check_short(&m, s, r);
		unmake(&m);
	}
}

/* Every position once; what fills the last step up came before it. */
static void check_steps(const struct made *m, enum hpdsl_end end,
			uint32_t ranks)
{
	uint64_t steps = hpdsl_epoch_steps(m->e, end), sample;
	struct hpdsl_place all[1024];

	assert_int_equal(steps, end == HPDSL_END_DROP ? m->total / m->o.batch :
							(m->total + m->o.batch -
							 1) / m->o.batch);
	for (uint64_t s = 0; s < steps; s++) {
		assert_int_equal(
			hpdsl_epoch_step(m->e, end, s, NULL, all, 1024, NULL),
			m->o.batch);
		for (uint32_t g = 0; g < m->o.batch; g++) {
			uint64_t p = s * m->o.batch + g;
			bool filler = p >= m->total;

			assert_int_equal(all[g].real,
					 !filler || end == HPDSL_END_REPEAT);
			if (filler)
				assert_true(all[g].position < m->total);
			else
				assert_int_equal(all[g].position, p);
			hpdsl_epoch_at(m->e, all[g].position, &sample, NULL);
			assert_int_equal(all[g].sample, sample);
		}
		check_ranks(m, end, s, ranks, all);
	}
	assert_int_equal(
		hpdsl_epoch_step(m->e, end, steps, NULL, all, 1024, NULL),
		-ERANGE);
}

static void ranks_have_neighbours(void **state)
{
	static const uint32_t ranks[] = { 1, 2,	 3,  4,	 5,   6,
					  7, 16, 48, 64, 100, 512 };

	(void)state;
	dice = 2;
	for (int i = 0; i < 72; i++) {
		uint32_t r = ranks[i % 12];
		enum kind kind = (enum kind)(i / 12 % 3);
		struct made m;

		draw_set(&m, kind);
		make(&m, kind, draw_order(r + (uint32_t)draw(1024 - r)));
		check_steps(&m, (enum hpdsl_end)(i / 36 + i % 2), r);
		unmake(&m);
	}
}

/* A rank in blocks of ranks reads the chunks of its own node's part, but for
 * what parts lack. */
static void parts_are_local(void **state)
{
	struct hpdsl_order o = {
		.batch = 16, .lanes = 32, .piece = 5, .windows = 2, .parts = 4
	};
	uint64_t far = 0;
	struct made m;

	(void)state;
	dice = 3;
	draw_set(&m, ALL);
	for (int c = 0; c <= CHUNKS; c++)
		m.first[c] = (uint64_t)c * 80;
	m.n = m.total = CHUNKS * UINT64_C(80);
	make(&m, ALL, o);
	for (uint64_t p = 0; p < m.total; p++) {
		uint32_t part = (uint32_t)(p % 16 * 4 / 16);
		uint64_t sample;

		hpdsl_epoch_at(m.e, p, &sample, NULL);
		far += sample / 80 % 4 != part;
	}
	/* Parts have 2, 2, 2 and 1 chunks of 80: one lacks 60 samples. */
	assert_int_equal(far, 60);
	unmake(&m);
}

/* ---- Refusals --------------------------------------------------------- */

static void refused(const struct made *m, struct hpdsl_share share,
		    const char *why)
{
	struct hpdsl_error err;

	assert_int_equal(hpdsl_epoch_step(m->e, HPDSL_END_MASK, 0, &share, NULL,
					  0, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, why);
}

/* Ranks that do not divide the batch: the next ones below and above that do. */
static void refused_ranks(struct made *m, uint32_t batch, uint32_t ranks)
{
	uint32_t below = ranks, above = ranks;
	char why[200];

	while (batch % below != 0)
		below--;
	while (batch % above != 0)
		above++;
	if (below == ranks)
		return;
	snprintf(why, sizeof why,
		 "a batch of %u: %u ranks do not divide it; %u or %u do "
		 "(uneven: %u or %u samples a rank)",
		 batch, ranks, below, above, batch / ranks, batch / ranks + 1);
	refused(m, (struct hpdsl_share){ .ranks = ranks }, why);
}

static void shares_that_cannot_be(void **state)
{
	struct hpdsl_order o = {
		.batch = 96, .lanes = 96, .piece = 2, .windows = 1, .parts = 1
	};
	struct hpdsl_place some[4];
	struct hpdsl_error err;
	struct made m;

	(void)state;
	dice = 4;
	draw_set(&m, ALL);
	make(&m, ALL, o);
	refused(&m, (struct hpdsl_share){ .rank = 3, .ranks = 3 },
		"no rank 3 of 3, worker 0 of 1");
	refused(&m, (struct hpdsl_share){ .worker = 2, .workers = 2 },
		"no rank 0 of 1, worker 2 of 2");
	refused(&m, (struct hpdsl_share){ .ranks = 97, .uneven = true },
		"97 ranks cannot share a batch of 96 samples");
	refused(&m, (struct hpdsl_share){ .ranks = 20 },
		"a batch of 96: 20 ranks do not divide it; 16 or 24 do "
		"(uneven: 4 or 5 samples a rank)");
	for (uint32_t ranks = 1; ranks < 96; ranks++)
		refused_ranks(&m, 96, ranks);
	assert_int_equal(
		hpdsl_epoch_step(m.e, HPDSL_END_MASK, 0, NULL, some, 4, &err),
		-ENOSPC);
	assert_string_equal(err.msg, "a step of 96 places, room for 4");
	unmake(&m);
	/* A batch whose root is one of its divisors. */
	o.batch = o.lanes = 36;
	draw_set(&m, ALL);
	make(&m, ALL, o);
	for (uint32_t ranks = 1; ranks < 36; ranks++)
		refused_ranks(&m, 36, ranks);
	unmake(&m);
}

static void cannot_be(struct made *m, struct hpdsl_order o, const char *why)
{
	struct hpdsl_epoch *e = NULL;
	struct hpdsl_error err;

	assert_int_equal(hp_epoch_make(&o, m->first, CHUNKS, NULL, &e, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, why);
}

static void orders_that_cannot_be(void **state)
{
	struct hpdsl_order o = {
		.batch = 4, .lanes = 4, .piece = 2, .windows = 1, .parts = 1
	};
	struct made m;

	(void)state;
	dice = 5;
	draw_set(&m, ALL);
	cannot_be(&m, (struct hpdsl_order){ .batch = 4 },
		  "order: batch, lanes, piece, windows and parts are at least "
		  "1");
	o.lanes = 6;
	cannot_be(&m, o,
		  "order: lanes have to be a multiple or a divisor of batch: "
		  "6 and 4");
	o.lanes = UINT64_C(1) << 32;
	cannot_be(&m, o,
		  "order: 4294967296 lanes are too many: they have to be below "
		  "2^32");
	o.lanes = 4;
	memset(m.first, 0, sizeof m.first);
	cannot_be(&m, o, "an order of no samples: there are none");
	unmake(&m);
}

/* The k-th allocation fails, for every k until none does. */
static void no_memory(void **state)
{
	struct made m;
	int r = -ENOMEM;

	(void)state;
	dice = 6;
	draw_set(&m, WEIGHTS);
	m.o = draw_order(12);
	for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
		m.e = NULL;
		each_alloc_begin(&e);
		r = hp_epoch_make(&m.o, m.first, CHUNKS, &m.choice, &m.e, NULL);
		each_alloc_end(&e);
		assert_true(r == 0 ? e.k > 5 : r == -ENOMEM && !m.e);
	}
	assert_int_equal(r, 0);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_where_it_is),
		cmocka_unit_test(ranks_have_neighbours),
		cmocka_unit_test(short_ends_lose_nothing),
		cmocka_unit_test(parts_are_local),
		cmocka_unit_test(shares_that_cannot_be),
		cmocka_unit_test(orders_that_cannot_be),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
