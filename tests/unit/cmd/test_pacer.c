/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve: who sleeps is woken once, in time, whatever ends. */
#include "cmd/serve/pacer.c"
#include "until.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 200 };

struct one {
	struct serve_sleeper s;
	uint64_t woken; /* when */
	unsigned times;
};

static struct one all[MANY];
static _Atomic unsigned count;

static void wake(void *arg)
{
	struct one *o = arg;

	o->woken = now();
	o->times++;
	count++;
}

static void put(struct serve_pacer *p, struct one *o, uint64_t until)
{
	*o = (struct one){ .s = { .until = until, .wake = wake, .arg = o } };
	pacer_sleep(p, &o->s);
}

static void test_in_time(void **state)
{
	struct until u = { 0 };
	uint64_t begun = now();
	struct serve_pacer p;

	(void)state;
	count = 0;
	assert_int_equal(pacer_begin(&p), 0);
	for (unsigned i = 0; i < MANY; i++)
		put(&p, &all[i], begun + (i * 7919 % MANY) * 500000);
	while (count < MANY)
		until_next(&u);
	pacer_quit(&p);
	pacer_end(&p);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(all[i].times, 1);
		assert_true(all[i].woken >= all[i].s.until);
	}
}

static void test_quit(void **state)
{
	struct serve_pacer p;

	(void)state;
	count = 0;
	assert_int_equal(pacer_begin(&p), 0);
	for (unsigned i = 0; i < MANY / 2; i++)
		put(&p, &all[i], UINT64_MAX / 2);
	pacer_quit(&p);
	assert_int_equal(count, MANY / 2);
	for (unsigned i = MANY / 2; i < MANY; i++)
		put(&p, &all[i], UINT64_MAX / 2);
	assert_int_equal(count, MANY);
	pacer_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_quit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
