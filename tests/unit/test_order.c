/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks by first use, against a model that goes sample by sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "order.h"

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

/* ---- A loader's state -------------------------------------------------- */

static const uint8_t pack[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
				  0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
				  0xcc, 0xdd, 0xee, 0xff };

static int parse(const char *text, struct hpdsl_order *ret,
		 struct hpdsl_error *err)
{
	return hpdsl_order_parse(text, strlen(text), "state", pack, ret, err);
}

static void states_are_read(void **state)
{
	struct hpdsl_order o;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(parse("seed: 7\nepoch: 2\nstep: 300\nW: 4\nL: 12\n"
			       "K: 64\nQ: 3\nD: 6\n",
			       &o, &err),
			 0);
	assert_true(o.seed == 7 && o.epoch == 2 && o.step == 300 &&
		    o.window == 4 && o.lanes == 12 && o.run == 64 &&
		    o.step_runs == 3 && o.parts == 6);
	assert_int_equal(parse("{\"pack\": \"00112233445566778899aabbccddeeff\""
			       ",\n\t\"seed\": 18446744073709551615, \"x\": "
			       "[1, {\"y\": null}], \"W\": 5}",
			       &o, &err),
			 0);
	assert_true(o.seed == UINT64_MAX && o.window == 5 && o.lanes == 0);
}

static void bad_states_are_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
	} bad[] = {
		{ "", HPDSL_ECORRUPT },
		{ "7", HPDSL_ECORRUPT },
		{ "[]", HPDSL_ECORRUPT },
		{ "{", HPDSL_ECORRUPT },
		{ "seed: -1", HPDSL_ECORRUPT },
		{ "seed: 18446744073709551616", HPDSL_ECORRUPT },
		{ "W: 0", HPDSL_ECORRUPT },
		{ "K: 4294967296", HPDSL_ECORRUPT },
		{ "W: [1]", HPDSL_ECORRUPT },
		{ "W: 1\nW: 1", HPDSL_ECORRUPT },
		{ "L: 7\nD: 2", HPDSL_ECORRUPT },
		{ "pack: 00", HPDSL_ECORRUPT },
		{ "a: &x 1\nW: *x", HPDSL_ECORRUPT },
		{ "seed: 1\n---\nseed: 2", HPDSL_ECORRUPT },
		{ "pack: 00112233445566778899aabbccddee00", HPDSL_EDIFFERS },
	};
	struct hpdsl_order o, was;

	(void)state;
	memset(&o, 0x5a, sizeof o);
	was = o;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct hpdsl_error err = { 0 };

		assert_int_equal(parse(bad[i].text, &o, &err), bad[i].code);
		assert_int_equal(strncmp(err.msg, "state: ", 7), 0);
		assert_memory_equal(&o, &was, sizeof o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_agrees),
		cmocka_unit_test(zero_is_the_default),
		cmocka_unit_test(parts_divide_lanes),
		cmocka_unit_test(too_many_samples),
		cmocka_unit_test(a_hundred_thousand_chunks),
		cmocka_unit_test(states_are_read),
		cmocka_unit_test(bad_states_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
