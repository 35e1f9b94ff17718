/* SPDX-License-Identifier: Apache-2.0 */
/* What names end in, against strncasecmp(). */
#include "base/suffix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

static const char *const suffix[] = { "",	  ".jpg",      "jpg",
				      "g",	  ".JPG",      ".jpeg",
				      "@[`{",	  ".j~g",      "a/1.jpg",
				      "4567.jpg", "34567.jpg", "\xff.jpg" };

static const char *const path[] = {
	"",
	"g",
	"G",
	"a.jpg",
	"a.JPG",
	"a.JpG",
	"a.jpgx",
	"x/.jpg",
	"x/jpg",
	"dir/.jpg",
	"@[`{",
	"xxxx`{@[",
	"xxxxxx@[`{",
	"\x0eJPG",
	"xxxxxx\x0eJPG",
	"xx.j^g",
	"xxxxxx.j^g",
	"xxxxxx.J~G",
	"dir/34567.jpg",
	"dir/a/1.jpg",
	"dir/4567.JPG",
	"dir/134567.Jpg",
	"xxxxx\xff.jpg",
	"xxxx\xdf.jpg",
};

static const char *name_of(const char *of)
{
	const char *slash = strrchr(of, '/');

	return slash ? slash + 1 : of;
}

static bool expected(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return n <= len && !strpbrk(end, "JPG") &&
	       !strncasecmp(name + len - n, end, n);
}

static void ends_are_found(void **state)
{
	struct hp_suffix all[sizeof suffix / sizeof *suffix];
	size_t n = sizeof all / sizeof *all;

	(void)state;
	for (size_t k = 0; k < n; k++)
		all[k] = hp_suffix(suffix[k]);
	for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
		const char *name = name_of(path[i]);
		size_t path_len = strlen(path[i]), len = strlen(name);
		bool one = false;

		for (size_t k = n; k-- > 0;) {
			bool is = expected(name, suffix[k]);

			one = one || is;
			if (hp_has_suffix(path[i], path_len, len, &all[k], 1) !=
			    is)
				fail_msg("'%s' and '%s'", path[i], suffix[k]);
			assert_int_equal(hp_has_suffix(path[i], path_len, len,
						       all + k, n - k),
					 one);
		}
		assert_false(hp_has_suffix(path[i], path_len, len, all, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
