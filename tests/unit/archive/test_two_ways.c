/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every odd tar of tests/data, as it is and compressed: the same bytes come of
 * both, or both are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "two_ways.h"

#include <dirent.h>

enum { LARGEST = 4 << 20 };

static uint8_t data[LARGEST];

static size_t load(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(data, 1, sizeof data, f);
	assert_int_equal(fclose(f), 0);
	assert_true(n < sizeof data);
	return n;
}

static void compare(const char *name, size_t n, bool nested)
{
	struct ways plain, packed;

	if (ways_agree(data, n, nested, &plain, &packed))
		return;
	fail_msg("%s%s: %s (%d files), compressed: %s (%d files)", name,
		 nested ? ", nested" : "", plain.code ? plain.err.msg : "taken",
		 (int)plain.files, packed.code ? packed.err.msg : "taken",
		 (int)packed.files);
}

static void test_all(void **state)
{
	const char *src = getenv("SRC");
	char dir[2048];
	struct dirent **names;
	int count, tars = 0;

	(void)state;
	snprintf(dir, sizeof dir, "%s/tests/data/bad/archive", src ? src : ".");
	count = scandir(dir, &names, NULL, alphasort);
	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		size_t n = name[0] == '.' ? 0 : load(dir, name);

		if (ways_is_tar(data, n)) {
			compare(name, n, false);
			compare(name, n, true);
			tars++;
		}
		free(names[i]);
	}
	free(names);
	assert_true(tars > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
