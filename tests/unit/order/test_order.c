/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks by first use, against a model that goes sample by sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "order/order.h"

#define MOST 20

static const struct vector {
	struct hpdsl_order o;
	uint32_t n;
	uint64_t samples[MOST];
	uint32_t use[MOST];
} vectors[] = {
#include "order_vectors.h"
};

static void the_model_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		const struct vector *v = &vectors[i];
		struct hpdsl_error err = { 0 };
		uint32_t use[MOST];

		assert_int_equal(
			hp_order_first_use(&v->o, v->samples, v->n, use, &err),
			0);
		if (memcmp(use, v->use, v->n * sizeof *use))
			fail_msg("vector %zu differs", i);
	}
}

static void zero_is_the_default(void **state)
{
	static const struct hpdsl_order spelled = {
		.window = 16, .lanes = 8, .run = 32, .step_runs = 8, .parts = 1
	};
	uint64_t samples[64];
	uint32_t a[64], b[64];
	struct hpdsl_order o = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		samples[i] = 50 + i % 7;
	assert_int_equal(hp_order_first_use(&o, samples, 64, a, NULL), 0);
	assert_int_equal(hp_order_first_use(&spelled, samples, 64, b, NULL), 0);
	assert_memory_equal(a, b, sizeof a);
	for (uint32_t d = 1; d < 40; d++) {
		o.parts = d;
		o = hp_order_filled(&o);
		assert_int_equal(o.lanes % d, 0);
		assert_true(o.lanes >= 8 && o.lanes < d + 8);
		o.lanes = 0;
	}
}

static void parts_divide_lanes(void **state)
{
	struct hpdsl_order o = { .lanes = 6, .parts = 4 };
	uint64_t samples[1] = { 1 };
	uint32_t use[1] = { 77 };
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hp_order_check(&o, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "an order of 6 lanes cannot have 4 parts");
	assert_int_equal(hp_order_first_use(&o, samples, 1, use, &err),
			 HPDSL_EUSAGE);
	assert_int_equal(use[0], 77);
}

static void too_many_samples(void **state)
{
	struct hpdsl_order o = { 0 };
	uint64_t samples[2] = { UINT64_MAX, 2 };
	uint32_t use[2];
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hp_order_first_use(&o, samples, 2, use, &err),
			 HPDSL_EUSAGE);
	assert_int_equal(hp_order_first_use(&o, samples, 0, use, &err), 0);
}

/* Every chunk once, and with one lane the order is the permutation's. */
static void a_hundred_thousand_chunks(void **state)
{
	enum { N = 100000 };
	uint64_t *samples = calloc(N, sizeof *samples);
	uint32_t *use = calloc(N, sizeof *use);
	uint8_t *seen = calloc(N, 1);

	(void)state;
	for (uint32_t d = 1; d <= 4096; d *= 64) {
		struct hpdsl_order o = { .parts = d, .step = 5 };

		memset(seen, 0, N);
		for (uint32_t i = 0; i < N; i++)
			samples[i] = 1000 + i % 2;
		assert_int_equal(hp_order_first_use(&o, samples, N, use, NULL),
				 0);
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(seen[use[i]]++, 0);
	}
	free(samples);
	free(use);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_agrees),
		cmocka_unit_test(zero_is_the_default),
		cmocka_unit_test(parts_divide_lanes),
		cmocka_unit_test(too_many_samples),
		cmocka_unit_test(a_hundred_thousand_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
