/* SPDX-License-Identifier: Apache-2.0 */
/* The median of reads is one of bytes, not of reads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/sizes.h"

static uint64_t median_of(const uint64_t *bytes, size_t n)
{
	struct hp_sizes *s = calloc(1, sizeof *s);
	uint64_t m;

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		hp_sizes_add(s, bytes[i]);
	m = hp_sizes_median(s);
	free(s);
	return m;
}

static void test_some(void **state)
{
	const uint64_t none[] = { 0, 0, 0 };
	const uint64_t many_small[] = { 4096, 4096, 4096, 4096, 65536 };
	const uint64_t half[] = { 8192, 4096, 4096, 4096, 4096 };
	const uint64_t huge[] = { 1, UINT64_C(1) << 62 };

	(void)state;
	assert_int_equal(median_of(NULL, 0), 0);
	assert_int_equal(median_of(none, 3), 0);
	assert_int_equal(median_of(many_small, 5), 65536);
	assert_int_equal(median_of(half, 5), 4096);
	assert_int_equal(median_of(huge, 2), UINT64_C(1) << 62);
	assert_int_equal(median_of((uint64_t[]){ 31 }, 1), 31);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* As sorting says, within 3 %. */
static void test_random(void **state)
{
	uint64_t of[999], seed = 1;

	(void)state;
	for (unsigned turn = 0; turn < 50; turn++) {
		uint64_t all = 0, sum = 0, want = 0, is;

		for (size_t i = 0; i < 999; i++) {
			seed = seed * 6364136223846793005u + 1;
			of[i] = (seed >> 33) >> (seed >> 61) * 3;
			all += of[i];
		}
		qsort(of, 999, sizeof *of, compare);
		for (size_t i = 0; 2 * sum < all; i++)
			sum += want = of[i];
		is = median_of(of, 999);
		assert_in_range(is, want - want * 3 / 100,
				want + want * 3 / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
