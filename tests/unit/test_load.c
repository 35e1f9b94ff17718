/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader against the order as hpdsl_epoch_step() has it, and against the
 * files that were packed: for shares, ends, windows, bounds of memory, numbers
 * of threads, suffixes, choices and compressed chunks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load_work.h"

/* ---- Shapes ------------------------------------------------------------- */

static struct load_case base(void)
{
	return (struct load_case){
		.opt = { .order = { .seed = 7,
				    .window = 2,
				    .lanes = 4,
				    .run = 3,
				    .step_runs = 4 },
			 .epochs = 2,
			 .threads = 2 },
	};
}

static void test_plain(void **state)
{
	struct load_case c = base();

	(void)state;
	load_check(load_plain, &c);
}

static void test_threads(void **state)
{
	static const uint32_t threads[] = { HPDSL_SERIAL, 1, 2, 3, 8, 0 };
	struct load_case c = base();

	(void)state;
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		c.opt.threads = threads[i];
		load_check(load_plain, &c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
