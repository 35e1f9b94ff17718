/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time, as people give them. */
#include "cmd/common/time_in.c"
#include "tmp.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#define NO INT64_MAX

static const struct {
	const char *text;
	int64_t sec; /* NO: refused */
	uint32_t nsec;
} cases[] = {
	{ "@0", 0, 0 },
	{ "@1700000000", 1700000000, 0 },
	{ "@1700000000.5", 1700000000, 500000000 },
	{ "@1700000000.000000001", 1700000000, 1 },
	{ "@-1", -1, 0 },
	{ "@-1.5", -2, 500000000 },
	{ "@-0.25", -1, 750000000 },
	{ "@9223372036854775806", INT64_MAX - 1, 0 },
	{ "@-9223372036854775808", INT64_MIN, 0 },
	{ "1970-01-01", 0, 0 },
	{ "1969-12-31 23:59:59", -1, 0 },
	{ "2024-02-29", 1709164800, 0 },
	{ "2024-05-01 12:00", 1714564800, 0 },
	{ "2024-05-01 12:00:01", 1714564801, 0 },
	{ "2024-05-01T12:00:01Z", 1714564801, 0 },
	{ "2024-05-01Z", 1714521600, 0 },
	{ "0001-01-01", -62135596800, 0 },
	{ "9999-12-31T23:59:59", 253402300799, 0 },

	{ "", NO, 0 },
	{ "@", NO, 0 },
	{ "@-", NO, 0 },
	{ "@+1", NO, 0 },
	{ "@ 1", NO, 0 },
	{ "@1.", NO, 0 },
	{ "@1.0000000001", NO, 0 },
	{ "@1x", NO, 0 },
	{ "@.5", NO, 0 },
	{ "@9223372036854775808", NO, 0 },
	{ "@-9223372036854775808.5", NO, 0 },
	{ "1700000000", NO, 0 },
	{ "2024", NO, 0 },
	{ "2024-1-1", NO, 0 },
	{ "2024-00-01", NO, 0 },
	{ "2024-13-01", NO, 0 },
	{ "2023-02-29", NO, 0 },
	{ "2024-04-31", NO, 0 },
	{ "2024-04-00", NO, 0 },
	{ "2024-05-01 ", NO, 0 },
	{ "2024-05-01 12", NO, 0 },
	{ "2024-05-01 24:00", NO, 0 },
	{ "2024-05-01 12:60", NO, 0 },
	{ "2024-05-01 12:00:60", NO, 0 },
	{ "2024-05-01 12:00:00.5", NO, 0 },
	{ "2024-05-01  12:00", NO, 0 },
	{ "2024-05-01 12:00:00ZZ", NO, 0 },
	{ "2024-05-01+02:00", NO, 0 },
	{ " 2024-05-01", NO, 0 },
	{ "-2024-05-01", NO, 0 },
	{ "/nonexistent/2024-05-01", NO, 0 },
};

static void parses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t sec = NO;
		uint32_t nsec = 77;
		int r = cmd_parse_time(cases[i].text, &sec, &nsec);

		if (cases[i].sec == NO) {
			if (r != -1 || nsec != 77)
				fail_msg("'%s' is taken", cases[i].text);
		} else if (r != 0 || sec != cases[i].sec ||
			   nsec != cases[i].nsec) {
			fail_msg("'%s': %d, %lld.%09u", cases[i].text, r,
				 (long long)sec, nsec);
		}
	}
}

static void takes_the_time_of_a_file(void **state)
{
	char name[TMP_NAME];
	int fd = tmp_file(name, sizeof name, "time");
	const struct timespec t[2] = { { 1, 2 }, { -3, 4 } };
	int64_t sec = 0;
	uint32_t nsec = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, t), 0);
	assert_int_equal(cmd_parse_time(name, &sec, &nsec), 0);
	assert_true(sec == -3 && nsec == 4);
	close(fd);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(takes_the_time_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
