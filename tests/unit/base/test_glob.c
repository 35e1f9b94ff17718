/* SPDX-License-Identifier: Apache-2.0 */
/* Include and exclude patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/glob.h"
#include "scan/scan.h"

#include <string.h>

static bool wanted(const char *include, const char *exclude, const char *path)
{
	struct hpdsl_pack_options opt = {
		.include = &include,
		.n_include = include != NULL,
		.exclude = &exclude,
		.n_exclude = exclude != NULL,
	};

	return hp_glob_wanted(&opt, path);
}

static bool pruned(const char *exclude, const char *path)
{
	struct hpdsl_pack_options opt = { .exclude = &exclude, .n_exclude = 1 };

	return hp_glob_pruned(&opt, path);
}

static void test_base_name(void **state)
{
	(void)state;
	assert_true(wanted(NULL, NULL, "a/b.jpg"));
	assert_true(wanted("*.jpg", NULL, "a/b.jpg"));
	assert_true(wanted("*.jpg", NULL, "b.jpg"));
	assert_false(wanted("*.jpg", NULL, "a/b.jpg.txt"));
	assert_false(wanted("*.jpg", NULL, "x.jpg/b.txt"));
	assert_true(wanted("*", NULL, "a/.hidden"));
	assert_true(wanted("[ab]?.\\*", NULL, "c/b1.*"));
	assert_false(wanted("", NULL, "a"));
	assert_true(wanted(NULL, "", "a"));
}

static void test_whole_path(void **state)
{
	(void)state;
	assert_true(wanted("a/*.jpg", NULL, "a/b.jpg"));
	assert_true(wanted("/a/*.jpg", NULL, "a/b.jpg"));
	assert_false(wanted("a/*.jpg", NULL, "a/c/b.jpg"));
	assert_false(wanted("a/*.jpg", NULL, "x/a/b.jpg"));
	assert_true(wanted("*/b.jpg", NULL, "a/b.jpg"));
	assert_false(wanted("*/b.jpg", NULL, "b.jpg"));
	assert_true(wanted("/b.jpg", NULL, "b.jpg"));
	assert_false(wanted("/b.jpg", NULL, "a/b.jpg"));
}

static void test_folders(void **state)
{
	(void)state;
	assert_true(wanted("a/**", NULL, "a/c/b.jpg"));
	assert_true(wanted("a/**", NULL, "a/b.jpg"));
	assert_false(wanted("a/**", NULL, "a"));
	assert_false(wanted("a/**", NULL, "x/a/b.jpg"));
	assert_true(wanted("a/", NULL, "x/a/b.jpg"));
	assert_false(wanted("/a/", NULL, "x/a/b.jpg"));
	assert_false(wanted("a/", NULL, "x/a"));
	assert_true(wanted("tr*/", NULL, "train/1/b.jpg"));
}

static void test_exclude(void **state)
{
	(void)state;
	assert_false(wanted("*.jpg", "b*", "a/b.jpg"));
	assert_false(wanted(NULL, "a", "a/b/c.jpg"));
	assert_false(wanted(NULL, "a/b", "a/b/c.jpg"));
	assert_false(wanted(NULL, "a/**", "a/b/c.jpg"));
	assert_true(wanted(NULL, "a/**", "b/a/c.jpg"));
	assert_true(wanted(NULL, "c.jpg/", "a/c.jpg"));
	assert_false(wanted(NULL, "a/", "x/a/c.jpg"));
	assert_true(wanted(NULL, "*.txt", "a/c.jpg"));
}

static void test_pruned(void **state)
{
	(void)state;
	assert_true(pruned("cache", "a/cache"));
	assert_true(pruned("cache/", "a/cache"));
	assert_true(pruned("/cache/", "cache"));
	assert_false(pruned("/cache/", "a/cache"));
	assert_true(pruned("a/cache", "a/cache"));
	assert_true(pruned("a/**", "a"));
	assert_true(pruned("a", "a/b/c"));
	assert_false(pruned("a/*", "a"));
	assert_true(pruned("a/*", "a/b"));
	assert_false(pruned("*.jpg", "a"));
}

static void test_several(void **state)
{
	static const char *const in[] = { "*.jpg", "*.txt" };
	static const char *const ex[] = { "tmp", "*/b.txt" };
	struct hpdsl_pack_options opt = {
		.include = in, .n_include = 2, .exclude = ex, .n_exclude = 2
	};

	(void)state;
	assert_true(hp_glob_wanted(&opt, "a/a.jpg"));
	assert_true(hp_glob_wanted(&opt, "a/a.txt"));
	assert_false(hp_glob_wanted(&opt, "a/b.txt"));
	assert_true(hp_glob_wanted(&opt, "b.txt"));
	assert_false(hp_glob_wanted(&opt, "tmp/a.jpg"));
	assert_false(hp_glob_wanted(&opt, "a/a.png"));
}

static void test_limits(void **state)
{
	char path[HPDSL_PATH_MAX + 1], pattern[HPDSL_PATH_MAX + 2];

	(void)state;
	for (size_t i = 0; i < HPDSL_PATH_MAX; i++)
		path[i] = i % 2 ? '/' : 'a';
	path[HPDSL_PATH_MAX] = '\0';
	memcpy(pattern, path, sizeof path);
	assert_true(wanted(pattern, NULL, path));
	assert_true(wanted("a/**", NULL, path));
	assert_false(wanted(NULL, "a", path));
	/* A pattern that long matches nothing. */
	memset(pattern, '*', HPDSL_PATH_MAX + 1);
	pattern[HPDSL_PATH_MAX + 1] = '\0';
	assert_false(wanted(pattern, NULL, "a"));
	assert_true(wanted("\xff*", NULL, "a/\xff\xfe.jpg"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_name),
		cmocka_unit_test(test_whole_path),
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_exclude),
		cmocka_unit_test(test_pruned),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
