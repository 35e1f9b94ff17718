/* SPDX-License-Identifier: Apache-2.0 */
/* The sequence of an epoch: vectors, and what holds for every order. */
#include "order/sequence.h"
#include "sequence_vectors.h"

#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LISTS_MAX = 64, SAMPLES_MAX = 4096 };

struct shape {
	struct hp_seq_list list[LISTS_MAX];
	uint64_t first[LISTS_MAX]; /* samples of the lists before it */
	size_t n;
	uint64_t samples;
};

static void add_list(struct shape *shape, uint32_t chunk, uint64_t samples)
{
	if (!samples)
		return;
	shape->first[shape->n] = shape->samples;
	shape->list[shape->n++] = (struct hp_seq_list){ chunk, samples };
	shape->samples += samples;
}

static struct shape shape_of(const uint64_t *samples, uint32_t n)
{
	struct shape shape = { .n = 0 };

	for (uint32_t c = 0; c < n; c++)
		add_list(&shape, c, samples[c]);
	return shape;
}

static struct hp_seq *sequence(const struct hp_seq_order *o,
			       const struct shape *shape)
{
	struct hp_seq *s = NULL;

	assert_int_equal(hp_seq_new(o, shape->list, shape->n, &s, NULL), 0);
	assert_int_equal(hp_seq_deal(s)->samples, shape->samples);
	return s;
}

/* ---- Vectors ---------------------------------------------------------- */

/* 23 samples in chunks of 6, 6, 6 and 5. */
static const uint64_t small[] = { 6, 6, 6, 5 };

static const struct vector {
	struct hp_seq_order o;
	uint8_t sample[23];
} vectors[] = {
	{ { 0, 0, 4, 4, 2, 1, 1, 0 },
	  { 7,	18, 9, 20, 8, 13, 10, 17, 15, 14, 1, 0,
	    16, 21, 2, 6,  3, 22, 11, 19, 4,  5,  12 } },
	{ { 42, 1, 4, 4, 2, 2, 1, 0 },
	  { 15, 2, 22, 0,  16, 19, 12, 11, 13, 20, 5, 18,
	    14, 3, 6,  21, 7,  4,  9,  17, 8,  1,  10 } },
	{ { 42, 0, 2, 4, 2, 1, 1, 0 },
	  { 11, 22, 8, 6,  18, 0,  13, 1,  9, 15, 14, 2,
	    10, 16, 5, 19, 3,  20, 12, 17, 4, 21, 7 } },
	{ { 42, 0, 6, 2, 3, 1, 1, 0 },
	  { 12, 13, 14, 4,  5,	0,  9, 10, 11, 1,  2, 15,
	    20, 21, 22, 16, 17, 18, 6, 7,  8,  19, 3 } },
	{ { UINT64_MAX, 7, 5, 5, 3, 2, 2, 0 },
	  { 16, 2,  13, 7, 9,  17, 3, 14, 11, 10, 0, 12,
	    15, 22, 18, 4, 19, 20, 6, 8,  5,  1,  21 } },
	{ { 3, 0, 4, 4, 1, 1, 3, 0 },
	  { 18, 22, 6,	15, 19, 21, 7, 12, 3, 2,  10, 13,
	    0,	4,  11, 17, 5,	20, 8, 14, 1, 16, 9 } },
	{ { 9, 0, 6, 6, 2, 2, 4, 0 },
	  { 0, 5, 10, 13, 14, 19, 1, 6, 11, 16, 15, 20,
	    2, 7, 8,  17, 22, 21, 3, 4, 9,  12, 18 } },
	{ { 9, 0, 6, 6, 5, 2, 1, 0 },
	  { 7, 21, 6,  13, 3, 16, 8,  11, 5,  14, 4, 17,
	    9, 19, 12, 15, 1, 18, 10, 20, 22, 0,  2 } },
	{ { 9, 0, 16, 4, 1, 2, 2, 0 },
	  { 12, 16, 15, 0,  14, 13, 17, 5, 21, 20, 6, 19,
	    7,	22, 10, 11, 1,	3,  8,	9, 4,  2,  18 } },
};

static void test_vectors(void **state)
{
	struct shape shape = shape_of(small, 4);

	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		const struct vector *v = &vectors[i];
		struct hp_seq *s = sequence(&v->o, &shape);
		struct hp_seq_memo memo = { 0 };

		for (uint64_t p = 0; p < shape.samples; p++) {
			struct hp_seq_spot spot = hp_seq_at(s, &memo, p);

			assert_int_equal(shape.first[spot.list] + spot.index,
					 v->sample[p]);
		}
		hp_seq_free(s);
	}
}

/* Weights 0 1 2 3, five times over, then 1 1 1: lists (c, t). */
static void test_repeats(void **state)
{
	static const uint8_t want[] = { 11, 19, 19, 11, 13, 15, 1,  2,	3,
					14, 5,	3,  6,	19, 2,	17, 7,	20,
					15, 18, 9,  21, 7,  7,	3,  22, 14,
					10, 6,	18, 15, 10, 11 };
	static const uint8_t begin[] = { 0, 6, 12, 18, 23 };
	static const uint8_t end_of[] = { 20 };
	uint8_t sample[LISTS_MAX][8];
	struct shape shape = { .n = 0 };
	struct hp_seq_order o = { 5, 0, 4, 4, 2, 1, 1, 0 };
	struct hp_seq_memo memo = { 0 };
	struct hp_seq *s;

	(void)state;
	for (uint32_t c = 0; c < 4; c++)
		for (int t = 0; t < 3; t++) {
			size_t n = 0;

			for (int i = begin[c]; i < begin[c + 1]; i++)
				if ((i < end_of[0] ? i % 4 : 1) > t)
					sample[shape.n][n++] = (uint8_t)i;
			add_list(&shape, c, n);
		}
	assert_int_equal(shape.samples, sizeof want);
	s = sequence(&o, &shape);
	for (uint64_t p = 0; p < shape.samples; p++) {
		struct hp_seq_spot spot = hp_seq_at(s, &memo, p);

		assert_int_equal(sample[spot.list][spot.index], want[p]);
	}
	hp_seq_free(s);
}

/* What stands before the next bar; *at: behind it. */
static const char *field(const char **at, char ret[1024])
{
	size_t n = strcspn(*at, "|");

	assert_true(n < 1024);
	memcpy(ret, *at, n);
	ret[n] = '\0';
	*at += n + ((*at)[n] == '|');
	return ret;
}

static uint64_t number(const char **at)
{
	char text[1024];

	return strtoull(field(at, text), NULL, 10);
}

/* Numbers with something between them; how many. */
static size_t numbers(const char *text, uint64_t *ret, size_t most)
{
	size_t n = 0;

	for (char *end; *text >= '0' && *text <= '9';
	     text = end + (*end != 0)) {
		assert_true(n < most);
		ret[n++] = strtoull(text, &end, 10);
	}
	return n;
}

/* Lists (c, t), and the samples of each. */
static struct shape repeated(const uint64_t *sizes, size_t n,
			     const uint64_t *times, uint64_t sample[][64])
{
	struct shape shape = { .n = 0 };
	uint64_t begin = 0;

	for (uint32_t c = 0; c < n; begin += sizes[c++])
		for (uint64_t t = 0; t < 4; t++) {
			uint64_t k = 0;

			assert_true(shape.n < LISTS_MAX);
			for (uint64_t i = begin; i < begin + sizes[c]; i++)
				if (times[i] > t)
					sample[shape.n][k++] = i;
			add_list(&shape, c, k);
		}
	return shape;
}

static void check_vector(const char *at)
{
	static uint64_t sample[LISTS_MAX][64];
	uint64_t sizes[LISTS_MAX], times[512], want[512];
	struct hp_seq_memo memo = { 0 };
	struct hp_seq_order o;
	struct shape shape;
	struct hp_seq *s;
	char text[1024];
	size_t n = numbers(field(&at, text), sizes, LISTS_MAX), k;

	k = numbers(field(&at, text), times, 512);
	for (size_t i = k; i < 512; i++)
		times[i] = !k;
	o.seed = number(&at);
	o.epoch = number(&at);
	o.batch = (uint32_t)number(&at);
	o.lanes = number(&at);
	o.piece = number(&at);
	o.windows = (uint32_t)number(&at);
	o.parts = (uint32_t)number(&at);
	shape = repeated(sizes, n, times, sample);
	assert_int_equal(numbers(at, want, 512), shape.samples);
	s = sequence(&o, &shape);
	for (uint64_t p = 0; p < shape.samples; p++) {
		struct hp_seq_spot spot = hp_seq_at(s, &memo, p);

		assert_int_equal(sample[spot.list][spot.index], want[p]);
	}
	hp_seq_free(s);
}

static void test_other_implementation(void **state)
{
	size_t n = sizeof sequence_vectors / sizeof *sequence_vectors;

	(void)state;
	for (size_t i = 0; i < n; i++)
		check_vector(sequence_vectors[i]);
}

/* ---- What holds for every order --------------------------------------- */

static uint64_t dice;

static uint64_t draw(uint64_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

static struct shape draw_shape(uint64_t most)
{
	uint64_t samples[LISTS_MAX];
	uint32_t n = (uint32_t)(1 + draw(16));
	struct shape shape;

	for (uint32_t c = 0; c < n; c++)
		samples[c] = draw(4) ? draw(most) : 0;
	shape = shape_of(samples, n);
	if (!shape.samples)
		add_list(&shape, n, 1 + draw(most));
	return shape;
}

static struct hp_seq_order draw_order(uint64_t most_lanes)
{
	struct hp_seq_order o = {
		.seed = draw(3) ? draw(1000) : UINT64_MAX - draw(5),
		.epoch = draw(4),
		.piece = 1 + draw(draw(2) ? 20 : 3),
		.windows = (uint32_t)(1 + draw(9)),
		.parts = (uint32_t)(1 + draw(draw(2) ? 14 : 2)),
	};
	uint64_t by = 1 + draw(8);

	o.lanes = 1 + draw(most_lanes);
	o.batch = (uint32_t)(o.lanes * by);
	if (draw(2)) {
		o.batch = (uint32_t)o.lanes;
		o.lanes = o.batch * by;
	}
	return o;
}

/* Each sample once, and where() is the inverse. */
static void check_bijection(const struct hp_seq *s, const struct shape *shape)
{
	static bool seen[SAMPLES_MAX];
	struct hp_seq_memo memo = { 0 }, other = { 0 };

	assert_true(shape->samples <= SAMPLES_MAX);
	memset(seen, 0, sizeof seen);
	for (uint64_t p = 0; p < shape->samples; p++) {
		struct hp_seq_spot spot = hp_seq_at(s, &memo, p);
		uint64_t sample;

		assert_true(spot.list < shape->n);
		assert_true(spot.index < shape->list[spot.list].samples);
		sample = shape->first[spot.list] + spot.index;
		assert_false(seen[sample]);
		seen[sample] = true;
		assert_int_equal(hp_seq_where(s, &other, spot), p);
	}
}

/* The stretches of all lanes are what the positions say. */
static void check_stretches(const struct hp_seq *s)
{
	const struct hp_deal *d = hp_seq_deal(s);
	struct hp_seq_memo memo = { 0 };
	uint64_t sum = 0;

	for (uint64_t l = 0; l < d->lanes; l++) {
		uint64_t n = hp_deal_lane(d, l);

		assert_int_equal(hp_deal_before(d, l), sum);
		sum += n;
		for (uint64_t x = 0; x < n;) {
			struct hp_deal_place place = { l, x };
			struct hp_seq_stretch t =
				hp_seq_stretch(s, &memo, place);

			assert_in_range(t.samples, 1, n - x);
			assert_true(t.samples <= d->piece ||
				    n / d->piece == 0 || x + t.samples <= n);
			for (uint64_t i = 0; i < t.samples; i++, x++) {
				uint64_t p = hp_deal_position(
					d, (struct hp_deal_place){ l, x });
				struct hp_seq_spot spot =
					hp_seq_at(s, &memo, p);

				assert_true(p < d->samples);
				assert_int_equal(spot.list, t.first.list);
				assert_int_equal(spot.index, t.first.index + i);
			}
		}
	}
	assert_int_equal(sum, d->samples);
}

static void test_random_orders(void **state)
{
	(void)state;
	dice = 1;
	for (int i = 0; i < 3000; i++) {
		struct shape shape = draw_shape(60);
		struct hp_seq_order o = draw_order(40);
		struct hp_seq *s = sequence(&o, &shape);

		check_bijection(s, &shape);
		check_stretches(s);
		hp_seq_free(s);
	}
}

/* Of lanes nothing is stored, so that what is computed of them is counted. */
static void test_least(void **state)
{
	(void)state;
	dice = 2;
	for (int i = 0; i < 20000; i++) {
		struct hp_seq_order o = draw_order(12);
		struct hp_deal d = { 1 + draw(200), o.batch, o.lanes, 1 };
		uint64_t lane = draw(o.lanes);
		uint64_t lanes = 1 + draw(o.lanes - lane);
		uint64_t least = UINT64_MAX;

		for (uint64_t l = lane; l < lane + lanes; l++)
			if (hp_deal_lane(&d, l) < least)
				least = hp_deal_lane(&d, l);
		assert_int_equal(hp_deal_part(&d, lane, lanes).rounds, least);
	}
}

/* 2^61 samples, as many lanes as numbers reach. */
static void test_large(void **state)
{
	static const uint64_t huge[] = { (uint64_t)1 << 60, 12345, 1,
					 ((uint64_t)1 << 60) - 7 };
	struct shape shape = shape_of(huge, 4);

	(void)state;
	dice = 3;
	for (int i = 0; i < 200; i++) {
		struct hp_seq_order o = draw_order(draw(2) ? 1000000 : 100);
		struct hp_seq_memo memo = { 0 };
		struct hp_seq *s;

		o.piece = 1 + draw((uint64_t)1 << 31);
		s = sequence(&o, &shape);
		for (int k = 0; k < 50; k++) {
			uint64_t p = (draw((uint64_t)1 << 31) << 31 |
				      draw((uint64_t)1 << 31)) %
				     shape.samples;
			struct hp_seq_spot spot = hp_seq_at(s, &memo, p);

			assert_true(spot.index < shape.list[spot.list].samples);
			assert_int_equal(hp_seq_where(s, &memo, spot), p);
		}
		hp_seq_free(s);
	}
}

/* ---- Steps and ranks -------------------------------------------------- */

/* What stands in for what is not there came before, in its own lane. */
static void check_end(const struct hp_deal *d, enum hpdsl_end end)
{
	uint64_t steps = hp_deal_steps(d, end), real = 0;

	for (uint64_t s = 0; s < steps; s++)
		for (uint32_t g = 0; g < d->batch; g++) {
			bool is_real;
			uint64_t p = hp_deal_slot(d, s, g, &is_real);
			struct hp_deal_place place = hp_deal_place(d, p);

			assert_true(p < d->samples);
			real += is_real;
			if (is_real)
				assert_int_equal(p, s * d->batch + g);
			else if (d->batch <= d->samples &&
				 s * d->batch >= d->lanes)
				assert_int_equal(
					place.lane,
					hp_deal_place(d, s * d->batch + g)
						.lane);
		}
	assert_int_equal(real,
			 end == HPDSL_END_DROP ? steps * d->batch : d->samples);
}

static void test_ends(void **state)
{
	(void)state;
	dice = 4;
	for (int i = 0; i < 3000; i++) {
		struct hp_seq_order o = draw_order(20);
		struct hp_deal d = { 1 + draw(300), o.batch, o.lanes, o.piece };

		check_end(&d, HPDSL_END_MASK);
		check_end(&d, HPDSL_END_REPEAT);
		check_end(&d, HPDSL_END_DROP);
	}
}

/* What is left of the positions comes once, and each rank has something. */
static void check_short(const struct hp_deal *d, uint32_t ranks)
{
	uint64_t step = d->samples / d->batch, next = step * d->batch;
	uint64_t left = d->samples - next;
	uint32_t most = (d->batch - 1) / ranks + 1;

	for (uint32_t t = 0; t < ranks; t++) {
		struct hp_deal_slots is =
			hp_deal_slots(d, HPDSL_END_SHORT, step, t, ranks);

		assert_in_range(is.end - is.first, 1, most);
		if (is.idle) {
			assert_true(left < ranks);
			assert_int_equal(is.end - is.first, 1);
			assert_int_equal(is.first, hp_deal_rank(d, t, ranks));
			assert_in_range(hp_deal_fill(d, step, is.first), 0,
					d->samples - 1);
			continue;
		}
		assert_int_equal(step * d->batch + is.first, next);
		assert_true(is.end - is.first <= left / ranks + 1);
		next += is.end - is.first;
	}
	assert_int_equal(next, d->samples);
}

/* It is as every step where nothing lacks, or another end was asked for. */
static void check_long(const struct hp_deal *d, uint32_t ranks, uint64_t step,
		       enum hpdsl_end end)
{
	for (uint32_t t = 0; t < ranks; t++) {
		struct hp_deal_slots is = hp_deal_slots(d, end, step, t, ranks);

		assert_false(is.idle);
		assert_int_equal(is.first, hp_deal_rank(d, t, ranks));
		assert_int_equal(is.end, hp_deal_rank(d, t + 1, ranks));
	}
}

static void test_short(void **state)
{
	(void)state;
	dice = 5;
	for (int i = 0; i < 3000; i++) {
		struct hp_seq_order o = draw_order(20);
		struct hp_deal d = { 1 + draw(300), o.batch, o.lanes, o.piece };
		uint32_t ranks = (uint32_t)(1 + draw(o.batch));
		uint64_t whole = d.samples / d.batch;

		assert_int_equal(hp_deal_steps(&d, HPDSL_END_SHORT),
				 hp_deal_steps(&d, HPDSL_END_MASK));
		if (d.samples % d.batch)
			check_short(&d, ranks);
		if (whole)
			check_long(&d, ranks, draw(whole), HPDSL_END_SHORT);
		check_long(&d, ranks, whole, HPDSL_END_MASK);
	}
}

static void test_ranks(void **state)
{
	(void)state;
	for (uint32_t ranks = 1; ranks < 600; ranks++) {
		struct hp_deal d = { 1, 512, 512, 1 };

		assert_int_equal(hp_deal_rank(&d, 0, ranks), 0);
		assert_int_equal(hp_deal_rank(&d, ranks, ranks), 512);
		for (uint32_t t = 0; t < ranks; t++) {
			uint32_t n = hp_deal_rank(&d, t + 1, ranks) -
				     hp_deal_rank(&d, t, ranks);

			assert_in_range(n, 512 / ranks, (511 + ranks) / ranks);
		}
	}
}

/* ---- Chance ----------------------------------------------------------- */

/* Each sample at each position as often, whatever the sizes of the chunks. */
static void test_even(void **state)
{
	enum { N = 35, EPOCHS = 7000 };
	static const uint64_t sizes[] = { 1, 17, 4, 13 };
	static uint32_t times[N][N];
	struct shape shape = shape_of(sizes, 4);
	double chi = 0, z, free_of = (N - 1.0) * (N - 1.0);

	(void)state;
	for (uint64_t e = 0; e < EPOCHS; e++) {
		struct hp_seq_order o = { 11, e, 4, 4, 3, 2, 1, 0 };
		struct hp_seq_memo memo = { 0 };
		struct hp_seq *s = sequence(&o, &shape);

		for (uint64_t p = 0; p < N; p++) {
			struct hp_seq_spot spot = hp_seq_at(s, &memo, p);

			times[p][shape.first[spot.list] + spot.index]++;
		}
		hp_seq_free(s);
	}
	for (int p = 0; p < N; p++)
		for (int i = 0; i < N; i++) {
			double d = times[p][i] - (double)EPOCHS / N;

			chi += d * d / ((double)EPOCHS / N);
		}
	z = (chi - free_of) / sqrt(2 * free_of);
	print_message("# chi-squared of %.0f degrees: z = %.2f\n", free_of, z);
	assert_true(z > -4 && z < 4);
}

/* ---- Errors ----------------------------------------------------------- */

static void refused(struct hp_seq_order o, const struct shape *shape,
		    const char *msg)
{
	struct hpdsl_error err;
	struct hp_seq *s = NULL;

	assert_int_equal(hp_seq_new(&o, shape->list, shape->n, &s, &err),
			 HPDSL_EUSAGE);
	assert_null(s);
	assert_string_equal(err.msg, msg);
}

static void test_refused(void **state)
{
	static const char least[] = "order: batch, lanes, piece, windows and "
				    "parts are at least 1";
	static const uint64_t huge[] = { (uint64_t)1 << 61, (uint64_t)1 << 61 };
	struct shape shape = shape_of(small, 4), none = { .n = 0 };
	struct shape much = shape_of(huge, 2);

	(void)state;
	refused((struct hp_seq_order){ 0, 0, 0, 1, 1, 1, 1, 0 }, &shape, least);
	refused((struct hp_seq_order){ 0, 0, 1, 0, 1, 1, 1, 0 }, &shape, least);
	refused((struct hp_seq_order){ 0, 0, 1, 1, 0, 1, 1, 0 }, &shape, least);
	refused((struct hp_seq_order){ 0, 0, 1, 1, 1, 0, 1, 0 }, &shape, least);
	refused((struct hp_seq_order){ 0, 0, 1, 1, 1, 1, 0, 0 }, &shape, least);
	refused((struct hp_seq_order){ 0, 0, 1, 1, 1, 1, 1048577, 0 }, &shape,
		"order: 1048577 parts are too many: 1048576 at most");
	refused((struct hp_seq_order){ 0, 0, 4, 6, 1, 1, 1, 0 }, &shape,
		"order: lanes have to be a multiple or a divisor of batch: 6 "
		"and 4");
	refused((struct hp_seq_order){ 0, 0, 1, 1, 1, 1, 1, 0 }, &none,
		"order: there are no samples");
	refused((struct hp_seq_order){ 0, 0, 1, 1, 1, 1, 1, 0 }, &much,
		"order: 2^62 samples or more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_other_implementation),
		cmocka_unit_test(test_random_orders),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
