/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of members, keys, escaped names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/path.h"

static void check_clean(const char *path, const char *want)
{
	char out[64];

	memset(out, 'x', sizeof out);
	assert_int_equal(hp_path_clean(path, strlen(path), out), strlen(want));
	assert_string_equal(out, want);
	assert_true(hp_path_valid(out, strlen(out)));
}

static void check_refused(const char *path, size_t len)
{
	char out[64];

	assert_int_equal(hp_path_clean(path, len, out), -EINVAL);
	assert_false(hp_path_valid(path, len));
}

static void test_clean(void **state)
{
	(void)state;
	check_clean("a", "a");
	check_clean("a/b.jpg", "a/b.jpg");
	check_clean("/a/b", "a/b");
	check_clean("///a//b///c", "a/b/c");
	check_clean("./a/./b/.", "a/b");
	check_clean("a/", "a");
	check_clean(".a/..b/c..", ".a/..b/c..");
	check_clean("...", "...");
	check_clean("a\nb/\xff", "a\nb/\xff");
	check_refused("", 0);
	check_refused("/", 1);
	check_refused(".", 1);
	check_refused("./.", 3);
	check_refused("..", 2);
	check_refused("a/..", 4);
	check_refused("../a", 4);
	check_refused("a/../b", 6);
	check_refused("a\0b", 3);
}

static void test_clean_in_place(void **state)
{
	char path[] = "//a/.//bb/./c";

	(void)state;
	assert_int_equal(hp_path_clean(path, strlen(path), path), 6);
	assert_string_equal(path, "a/bb/c");
}

static void test_length(void **state)
{
	char path[HPDSL_PATH_MAX + 3], out[HPDSL_PATH_MAX + 3];

	(void)state;
	memset(path, 'p', sizeof path);
	assert_true(hp_path_valid(path, HPDSL_PATH_MAX));
	assert_false(hp_path_valid(path, HPDSL_PATH_MAX + 1));
	assert_int_equal(hp_path_clean(path, HPDSL_PATH_MAX, out),
			 HPDSL_PATH_MAX);
	assert_int_equal(hp_path_clean(path, HPDSL_PATH_MAX + 1, out),
			 -ENAMETOOLONG);
	/* What counts is the length that is left. */
	path[0] = '/';
	assert_int_equal(hp_path_clean(path, HPDSL_PATH_MAX + 1, out),
			 HPDSL_PATH_MAX);
}

static void test_valid(void **state)
{
	const char *bad[] = { "",     "/",    "/a",    "a/",  "a//b",
			      ".",    "..",   "./a",   "a/.", "a/./b",
			      "../a", "a/..", "a/../b" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(hp_path_valid(bad[i], strlen(bad[i])));
	assert_true(hp_path_valid("a", 1));
	assert_true(hp_path_valid(".a/b./...", 9));
	assert_true(hp_path_valid("\xff\n\\", 3));
	assert_false(hp_path_valid("a\0b", 3));
}

static void check_key(const char *path, const char *key)
{
	assert_int_equal(hpdsl_key_length(path, strlen(path)), strlen(key));
	assert_memory_equal(path, key, strlen(key));
}

static void test_key(void **state)
{
	(void)state;
	check_key("a.jpg", "a");
	check_key("dir/a.jpg", "dir/a");
	check_key("dir.x/a.seg.png", "dir.x/a");
	check_key("dir.x/a", "dir.x/a");
	check_key(".hidden", ".hidden");
	check_key("d/.hidden.txt", "d/.hidden");
	check_key("d/..h.txt", "d/..h");
	check_key("d/...", "d/...");
	check_key("a.", "a");
	check_key("a..b", "a");
	check_key("", "");
	/* The length counts, not a NUL. */
	assert_int_equal(hpdsl_key_length("abc.d", 2), 2);
	assert_int_equal(hpdsl_key_length("ab/c.d", 4), 4);
}

static void check_escape(const char *name, size_t len, const char *want)
{
	char out[64];
	size_t n = hpdsl_name_escape(name, len, out);

	assert_int_equal(n, strlen(want));
	assert_string_equal(out, want);
	assert_int_equal(hpdsl_name_unescape(out, n), len);
	assert_memory_equal(out, name, len);
}

static void test_escape(void **state)
{
	(void)state;
	check_escape("", 0, "");
	check_escape("plain \t\x01\xff", 9, "plain \t\x01\xff");
	check_escape("a\nb", 3, "a\\nb");
	check_escape("\\n\n\\", 4, "\\\\n\\n\\\\");
}

static void test_unescape_refuses(void **state)
{
	char end[] = "a\\", other[] = "a\\tb";

	(void)state;
	assert_true(hpdsl_name_unescape(end, 2) == (size_t)-1);
	assert_true(hpdsl_name_unescape(other, 4) == (size_t)-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_clean_in_place),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_unescape_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
