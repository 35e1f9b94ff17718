/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall: records of what a job did to files. */
#include "cmd/stall/told.c"

#include "cmd/common/memory.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void cmd_message(const char *fmt, ...)
{
	fail_msg("%s", fmt);
}

static void test_kinds(void **state)
{
	static const char text[] =
		"m1f/b\0a2/old\0m1/a\0m1f/b\0l2/link\0r3/db\0k4/x\0k4/x";
	struct stall_told t = { 0 };

	(void)state;
	/* The last one has no end yet; and then it has. */
	stall_told_add(&t, text, sizeof(text) - 1);
	stall_told_sort(&t);
	assert_int_equal(t.of[STALL_MADE].n, 3);
	assert_string_equal(t.of[STALL_MADE].v[0], "1/a");
	assert_string_equal(t.of[STALL_MADE].v[1], "1f/b");
	assert_string_equal(t.of[STALL_MADE].v[2], "2/link");
	assert_int_equal(t.of[STALL_KEPT].n, 1);
	stall_told_add(&t, text, sizeof(text));
	stall_told_sort(&t);
	assert_int_equal(t.of[STALL_MADE].n, 3);
	assert_int_equal(t.of[STALL_KEPT].n, 1);
	assert_int_equal(t.of[STALL_ASIDE].n, 1);
	assert_int_equal(t.of[STALL_REFUSED].n, 1);
	stall_told_release(&t);
}

static void test_nonsense(void **state)
{
	static const char text[] = "\0\0mno-path\0z/what\0m\0/m/a\0ma";
	struct stall_told t = { 0 };

	(void)state;
	stall_told_add(&t, text, sizeof(text));
	stall_told_add(&t, "", 0);
	for (unsigned i = 0; i < STALL_TOLD_ALL; i++)
		assert_int_equal(t.of[i].n, 0);
	stall_told_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
