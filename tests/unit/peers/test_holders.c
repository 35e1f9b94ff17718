/* SPDX-License-Identifier: Apache-2.0 */
/* Who was planned to hold a chunk, against the page's words for all nodes. */
#include "peers/holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void as_the_page_says(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 40; n++)
		for (uint32_t d = 1; d < 50; d++)
			for (uint32_t chunk = 0; chunk < 2 * d; chunk++) {
				const struct hp_book_head b = { .nodes = n,
								.parts = d };
				const uint32_t part = chunk % d;
				uint32_t first, last;

				hp_holders(&b, chunk, &first, &last);
				assert_true(first <= last && last < n);
				for (uint32_t i = 0; i < n; i++) {
					const uint32_t from = i * d / n;
					const uint32_t to =
						((i + 1) * d + n - 1) / n - 1;

					assert_int_equal(
						part >= from && part <= to,
						i >= first && i <= last);
				}
			}
}

static void parts_of_a_node_are_those_it_holds(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 40; n++)
		for (uint32_t d = 1; d < 50; d++)
			for (uint32_t i = 0; i < n; i++) {
				const struct hp_book_head b = { .nodes = n,
								.parts = d };
				uint32_t from, to, first, last;

				hp_holds(&b, i, &from, &to);
				assert_true(from <= to && to < d);
				for (uint32_t part = 0; part < d; part++) {
					hp_holders(&b, part, &first, &last);
					assert_int_equal(
						part >= from && part <= to,
						i >= first && i <= last);
				}
			}
}

static void of_the_largest(void **state)
{
	const struct hp_book_head b = { .nodes = HP_BOOK_NODES,
					.parts = UINT32_MAX };
	uint32_t first, last;

	(void)state;
	hp_holders(&b, UINT32_MAX - 1, &first, &last);
	assert_int_equal(first, HP_BOOK_NODES - 1);
	assert_int_equal(last, HP_BOOK_NODES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_page_says),
		cmocka_unit_test(parts_of_a_node_are_those_it_holds),
		cmocka_unit_test(of_the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
