/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server is looked for: every place, once, and not all by one request.
 */
#include "peers/ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 * 16 };

/* From any place on, over as many requests as it takes. */
static void every_place_is_tried(void **state)
{
	(void)state;
	for (uint32_t all = 0; all <= MOST; all++)
		for (uint32_t from = 0; from <= all; from++) {
			uint32_t place = from, done = 0;
			unsigned seen[MOST] = { 0 };

			for (uint32_t k = 0; k * HP_PORTS_MOST < all; k++) {
				struct hp_ports w = { .place = place };
				uint32_t at, n = 0;

				while (hp_ports_next(&w, all, &at)) {
					assert_true(at < all);
					seen[at]++;
					n++;
				}
				assert_int_equal(n, all < HP_PORTS_MOST ?
							    all :
							    HP_PORTS_MOST);
				done += n;
				place = w.place;
			}
			assert_true(done >= all);
			for (uint32_t i = 0; i < all; i++)
				assert_true(seen[i] >= 1 && seen[i] <= 2);
		}
}

/* What said nothing comes once more, after all others. */
static void a_mute_place_comes_last_again(void **state)
{
	struct hp_ports w = { .place = 14 };
	uint32_t at, n = 0;

	(void)state;
	while (n < 16 && hp_ports_next(&w, 16, &at)) {
		if (at == 3 || at == 15)
			hp_ports_mute(&w, at);
		n++;
	}
	assert_int_equal(n, 16);
	assert_false(w.again);
	assert_true(hp_ports_next(&w, 16, &at));
	assert_true(w.again);
	assert_int_equal(at, 15);
	hp_ports_mute(&w, at);
	assert_false(hp_ports_next(&w, 16, &at));
	/* of another search another place is the last */
	assert_int_equal(hp_ports_after(&w, 16), 0);
	w = (struct hp_ports){ .place = 0 };
	for (n = 0; n < HP_PORTS_MOST; n++) {
		assert_true(hp_ports_next(&w, 128, &at));
		if (n == 0)
			hp_ports_mute(&w, at);
	}
	assert_true(hp_ports_next(&w, 128, &at));
	assert_int_equal(at, 0);
	assert_int_equal(hp_ports_after(&w, 128), HP_PORTS_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_is_tried),
		cmocka_unit_test(a_mute_place_comes_last_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
