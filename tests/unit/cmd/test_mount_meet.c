/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the file by which processes of a node share a mount. */
#include "cmd/mount/meet_line.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void back_and_forth(void **state)
{
	const struct mount_meeter most = {
		{ UINT64_MAX, INT32_MAX, UINT64_MAX }, INT32_MAX, UINT64_MAX
	};
	struct mount_meeter back;
	char line[128];
	int n = mount_meeter_format(&most, line, sizeof(line));

	(void)state;
	assert_in_range(n, 1, sizeof(line) - 1);
	assert_string_equal(line, "18446744073709551615 2147483647 "
				  "18446744073709551615 2147483647 "
				  "18446744073709551615\n");
	assert_true(mount_meeter_parse(line, &back));
	assert_memory_equal(&most, &back, sizeof(back));
	for (int i = 0; i < n; i++) {
		char was = line[i];

		line[i] = '\0';
		assert_false(mount_meeter_parse(line, &back));
		line[i] = was;
	}
}

static void refused(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"1 2 3 4\n",
		"1 2 3 4 5",
		"1 0 3 4 5\n",
		"1 2 3 0 5\n",
		"1 2147483648 3 4 5\n",
		"1 -2 3 4 5\n",
		" 1 2 3 4 5\n",
		"1  2 3 4 5\n",
		"1 2 3 4 5 6\n",
		"18446744073709551616 2 3 4 5\n",
		"1 0x2 3 4 5\n",
	};
	struct mount_meeter m;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(mount_meeter_parse(lines[i], &m));
	assert_true(mount_meeter_parse("1 2 3 4 5\n", &m));
	assert_int_equal(m.who.pid, 2);
	assert_int_equal(m.server, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(back_and_forth),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
