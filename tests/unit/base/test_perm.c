/* SPDX-License-Identifier: Apache-2.0 */
/* The permutation: vectors, bijection, inverse, and that it is fair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/perm_wide.h"

/* Computed by a second implementation, written from the format page. */
struct vector {
	uint64_t n, key;
	unsigned count;
	uint64_t at[8], last;
};

static const struct vector vectors[] = {
	{ UINT64_C(1), UINT64_C(0x0), 1, { 0 }, 0 },
	{ UINT64_C(1), UINT64_C(0x2a), 1, { 0 }, 0 },
	{ UINT64_C(1), UINT64_C(0x123456789abcdef), 1, { 0 }, 0 },
	{ UINT64_C(1), UINT64_C(0xffffffffffffffff), 1, { 0 }, 0 },
	{ UINT64_C(2), UINT64_C(0x0), 2, { 0, 1 }, 1 },
	{ UINT64_C(2), UINT64_C(0x2a), 2, { 1, 0 }, 0 },
	{ UINT64_C(2), UINT64_C(0x123456789abcdef), 2, { 0, 1 }, 1 },
	{ UINT64_C(2), UINT64_C(0xffffffffffffffff), 2, { 0, 1 }, 1 },
	{ UINT64_C(3), UINT64_C(0x0), 3, { 1, 0, 2 }, 2 },
	{ UINT64_C(3), UINT64_C(0x2a), 3, { 1, 0, 2 }, 2 },
	{ UINT64_C(3), UINT64_C(0x123456789abcdef), 3, { 2, 0, 1 }, 1 },
	{ UINT64_C(3), UINT64_C(0xffffffffffffffff), 3, { 0, 2, 1 }, 1 },
	{ UINT64_C(5), UINT64_C(0x0), 5, { 2, 0, 3, 1, 4 }, 4 },
	{ UINT64_C(5), UINT64_C(0x2a), 5, { 0, 4, 1, 2, 3 }, 3 },
	{ UINT64_C(5), UINT64_C(0x123456789abcdef), 5, { 2, 0, 1, 3, 4 }, 4 },
	{ UINT64_C(5), UINT64_C(0xffffffffffffffff), 5, { 1, 3, 2, 0, 4 }, 4 },
	{ UINT64_C(17), UINT64_C(0x0), 8, { 5, 16, 15, 4, 1, 6, 7, 10 }, 2 },
	{ UINT64_C(17),
	  UINT64_C(0x2a),
	  8,
	  { 10, 15, 11, 4, 16, 1, 3, 12 },
	  14 },
	{ UINT64_C(17),
	  UINT64_C(0x123456789abcdef),
	  8,
	  { 11, 5, 15, 14, 7, 16, 10, 9 },
	  1 },
	{ UINT64_C(17),
	  UINT64_C(0xffffffffffffffff),
	  8,
	  { 1, 6, 5, 3, 0, 11, 9, 16 },
	  14 },
	{ UINT64_C(1000),
	  UINT64_C(0x0),
	  8,
	  { 0, 949, 886, 320, 6, 225, 566, 135 },
	  505 },
	{ UINT64_C(1000),
	  UINT64_C(0x2a),
	  8,
	  { 593, 157, 232, 751, 618, 855, 775, 457 },
	  166 },
	{ UINT64_C(1000),
	  UINT64_C(0x123456789abcdef),
	  8,
	  { 34, 850, 374, 145, 746, 942, 26, 595 },
	  811 },
	{ UINT64_C(1000),
	  UINT64_C(0xffffffffffffffff),
	  8,
	  { 731, 644, 551, 807, 72, 368, 359, 85 },
	  580 },
	{ UINT64_C(1099511627776),
	  UINT64_C(0x0),
	  8,
	  { 1005450611967, 215728371548, 1059667951613, 415242086053,
	    144865653220, 1070689992335, 294468781875, 748160657250 },
	  1052109526895 },
	{ UINT64_C(1099511627776),
	  UINT64_C(0x2a),
	  8,
	  { 643340583666, 103879247926, 890882664240, 991139468680, 37507789515,
	    856736670654, 289055025437, 967379513822 },
	  204425343718 },
	{ UINT64_C(1099511627776),
	  UINT64_C(0x123456789abcdef),
	  8,
	  { 938045911825, 997064978756, 48313632896, 1012439808421,
	    447915469853, 495076086873, 844989624016, 563645474663 },
	  521554786339 },
	{ UINT64_C(1099511627776),
	  UINT64_C(0xffffffffffffffff),
	  8,
	  { 781149419781, 56674113261, 1007860867824, 662839159207,
	    1053365028873, 1017335591517, 283450873143, 1034741253243 },
	  637019934657 },
};

static void test_vectors(void **state)
{
	(void)state;
	for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
		const struct vector *t = &vectors[v];
		struct hp_perm p;

		hp_perm_init(&p, t->n, t->key);
		for (unsigned i = 0; i < t->count; i++)
			assert_int_equal(hp_perm_at(&p, i), t->at[i]);
		assert_int_equal(hp_perm_at(&p, t->n - 1), t->last);
	}
}

static void test_keys(void **state)
{
	const uint64_t two[] = { 3, UINT64_C(1) << 40 };
	uint64_t many[40];

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		many[i] = i;
	assert_int_equal(hp_perm_key(0, "pack", NULL, 0),
			 UINT64_C(0xcae76b0e05c168a2));
	assert_int_equal(hp_perm_key(42, "pack", NULL, 0),
			 UINT64_C(0x982e3de9816b3b50));
	assert_int_equal(hp_perm_key(UINT64_MAX, "pack", NULL, 0),
			 UINT64_C(0x30876a95e141208f));
	assert_int_equal(hp_perm_key(42, "window", two, 2),
			 UINT64_C(0x3a41a83048b7eedc));
	assert_int_equal(hp_perm_key(0, "", NULL, 0),
			 UINT64_C(0x34499569f0391857));
	assert_int_equal(hp_perm_key(7, "a-purpose-of-more-than-sixteen-bytes",
				     many, 40),
			 UINT64_C(0xc5f2411ee050870b));
}

static void check_bijection(uint64_t n, uint64_t key)
{
	uint64_t range[300];
	char seen[300] = { 0 };
	struct hp_perm p;

	hp_perm_init(&p, n, key);
	hp_perm_range(&p, 0, (size_t)n, range);
	for (uint64_t i = 0; i < n; i++) {
		assert_true(range[i] < n);
		assert_false(seen[range[i]]);
		seen[range[i]] = 1;
		assert_int_equal(hp_perm_at(&p, i), range[i]);
		assert_int_equal(hp_perm_inverse(&p, range[i]), i);
	}
}

static void test_bijection(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 300; n++) {
		for (uint64_t key = 0; key < 5; key++)
			check_bijection(n, key * UINT64_C(0x9e3779b97f4a7c15));
	}
}

static void test_large(void **state)
{
	const uint64_t ns[] = { 1000003,
				UINT64_C(1) << 32,
				(UINT64_C(1) << 32) + 1,
				(UINT64_C(1) << 63) - 1,
				UINT64_C(1) << 63,
				(UINT64_C(1) << 63) + 12345,
				UINT64_MAX };
	struct hp_perm p;

	(void)state;
	for (size_t k = 0; k < sizeof ns / sizeof *ns; k++) {
		hp_perm_init(&p, ns[k], k);
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t x = i * (ns[k] / 1000), y = ns[k] - 1 - i;

			assert_true(hp_perm_at(&p, x) < ns[k]);
			assert_int_equal(hp_perm_inverse(&p, hp_perm_at(&p, x)),
					 x);
			assert_int_equal(hp_perm_at(&p, hp_perm_inverse(&p, y)),
					 y);
		}
	}
}

/* hp_perm_range(), however this machine does it, and the ways to do it. */
typedef void range_fn(const struct hp_perm *p, uint64_t first, size_t count,
		      uint64_t *ret);

static void wide(const struct hp_perm *p, uint64_t first, size_t count,
		 uint64_t *ret)
{
	if (!hp_perm_wide(p, first, count, ret))
		hp_perm_range(p, first, count, ret);
}

static range_fn *const ways[] = { hp_perm_range, hp_perm_range_plain, wide };

enum { RANGE = 200 };

static void check_range(const struct hp_perm *p, uint64_t first, size_t count)
{
	uint64_t want[RANGE];

	assert_true(count <= RANGE);
	for (size_t i = 0; i < count; i++)
		want[i] = hp_perm_at(p, first + i);
	for (size_t k = 0; k < sizeof ways / sizeof(*ways); k++) {
		uint64_t got[RANGE + 1];

		memset(got, 0xff, sizeof got);
		ways[k](p, first, count, got);
		assert_memory_equal(got, want, count * sizeof *want);
		assert_int_equal(got[count], UINT64_MAX);
	}
}

/* Every start and length, so that whole groups and remainders both occur. */
static void test_range(void **state)
{
	struct hp_perm p;

	(void)state;
	hp_perm_init(&p, 100, 9);
	for (uint64_t first = 0; first <= 100; first++) {
		for (size_t count = 0; count <= 100 - first; count++)
			check_range(&p, first, count);
	}
}

/* Where sums of such numbers change their sign, or overflow. */
static void test_range_sizes(void **state)
{
	const uint64_t near[] = { 200,
				  UINT64_C(1) << 16,
				  UINT64_C(1) << 31,
				  UINT64_C(1) << 32,
				  UINT64_C(1) << 48,
				  UINT64_C(1) << 62,
				  UINT64_C(3) << 61,
				  UINT64_C(1) << 63,
				  UINT64_MAX - 200 };
	const size_t counts[] = { 1, 2, 7, 8, 31, 32, 33, RANGE };

	(void)state;
	for (uint64_t i = 0; i < sizeof near / sizeof *near * 401; i++) {
		uint64_t n = near[i / 401] - 200 + i % 401;
		size_t count = counts[i % 8];
		struct hp_perm p;

		if (n < count)
			continue;
		hp_perm_init(&p, n, i);
		check_range(&p, 0, count);
		check_range(&p, (n - count) / 2, count);
		check_range(&p, n - count, count);
	}
}

/* Vectors are for less than 2^63 values, and on machines that have them. */
static void test_wide(void **state)
{
	struct hp_perm p;
	uint64_t got[2];
	bool has;

	(void)state;
	hp_perm_init(&p, 1000, 1);
	has = hp_perm_wide(&p, 0, 2, got);
	hp_perm_init(&p, INT64_MAX, 1);
	assert_int_equal(hp_perm_wide(&p, 0, 2, got), has);
	hp_perm_init(&p, UINT64_C(1) << 63, 1);
	assert_false(hp_perm_wide(&p, 0, 2, got));
}

/*
 * Chi-squared of counts that should all be equal: is it within four standard
 * deviations of its mean?  The keys are fixed, so no test fails by chance.
 */
static bool is_even(const uint32_t *count, size_t cells, double total)
{
	double expected = total / (double)cells, chi = 0, off;
	double freedom = (double)(cells - 1);

	for (size_t i = 0; i < cells; i++) {
		double d = count[i] - expected;

		chi += d * d / expected;
	}
	off = chi - freedom;
	return off * off <= 4 * 4 * (2 * freedom);
}

/* Value i must go to each place equally often, over consecutive keys. */
static void check_places(uint64_t n, uint64_t i)
{
	uint32_t count[1000] = { 0 };
	const uint32_t keys = 60000;
	struct hp_perm p;

	for (uint64_t key = 0; key < keys; key++) {
		hp_perm_init(&p, n, key);
		count[hp_perm_at(&p, i)]++;
	}
	assert_true(is_even(count, (size_t)n, keys));
}

static void test_places(void **state)
{
	const uint64_t ns[] = { 1, 2, 3, 5, 17, 1000 };

	(void)state;
	for (size_t k = 0; k < sizeof ns / sizeof *ns; k++) {
		check_places(ns[k], 0);
		check_places(ns[k], ns[k] / 2);
		check_places(ns[k], ns[k] - 1);
	}
}

/* The number of a permutation of n values among all n! of them. */
static unsigned rank_of(const uint64_t *v, unsigned n)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned smaller = 0;

		for (unsigned j = i + 1; j < n; j++)
			smaller += v[j] < v[i];
		rank = rank * (n - i) + smaller;
	}
	return rank;
}

/* Every permutation of a few values must come equally often. */
static void test_permutations(void **state)
{
	const unsigned factorial[] = { 1, 1, 2, 6, 24, 120 };
	const uint32_t keys = 120000;
	struct hp_perm p;

	(void)state;
	for (unsigned n = 2; n <= 5; n++) {
		uint32_t count[120] = { 0 };
		uint64_t v[5];

		for (uint64_t key = 0; key < keys; key++) {
			hp_perm_init(&p, n, hp_perm_key(key, "pack", NULL, 0));
			hp_perm_range(&p, 0, n, v);
			count[rank_of(v, n)]++;
		}
		assert_true(is_even(count, factorial[n], keys));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_bijection),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_range_sizes),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_permutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
