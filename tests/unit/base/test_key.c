/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that end at the last dot: the vectors of hpdsl-format(5). */
#include "base/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const doubles[] = { "a.seg.png", "seg.png" };
static const struct hp_key_rule rule = { true, doubles, 2 };
static const struct hp_key_rule plain = { .last = true };

/* Path, and its key with and without the double suffixes. */
static const struct {
	const char *path, *key, *without;
} table[] = {
	{ "a/1.jpg", "a/1", NULL },
	{ "run1.2.npy", "run1.2", NULL },
	{ "1305031102.175304.png", "1305031102.175304", NULL },
	{ "a.b/c", "a.b/c", NULL },
	{ "a/.b.tar.gz", "a/.b", NULL },
	{ "a/..c", "a/..c", NULL },
	{ "a/..c.x", "a/..c", NULL },
	{ "a/...", "a/...", NULL },
	{ "", "", NULL },
	{ "x.nii.gz", "x", NULL },
	{ "x.1.nii.gz", "x.1", NULL },
	{ "x.gz", "x", NULL },
	{ "x.gz.gz", "x", NULL },
	{ "x.GZ", "x", NULL },
	{ "x.nii.GZ", "x.nii", NULL },
	{ "x.tar.Z", "x", NULL },
	{ "x.tar.z", "x.tar", NULL },
	{ "x.h5.zst", "x", NULL },
	{ "x.2.gz", "x.2", NULL },
	{ "x.a_b.gz", "x.a_b", NULL },
	{ "x.ninechars.gz", "x.ninechars", NULL },
	{ "x.eightest.gz", "x", NULL },
	{ "x..gz", "x.", NULL },
	{ ".nii.gz", ".nii", NULL },
	{ "x.", "x", NULL },
	{ "x.y.", "x.y", NULL },
	{ "1.seg.png", "1", "1.seg" },
	{ "1.0.seg.png", "1.0", "1.0.seg" },
	{ "1.a.seg.png", "1", "1.a.seg" },
	{ "1.bseg.png", "1.bseg", NULL },
	{ "seg.png", "seg", NULL },
	{ ".seg.png", ".seg", NULL },
	{ "d/seg.png", "d/seg", NULL },
	{ "d.seg.png/x", "d.seg.png/x", NULL },
	{ "d/1.seg.png", "d/1", "d/1.seg" },
};

static void check(const struct hp_key_rule *by, const char *path,
		  const char *key)
{
	size_t len = strlen(path), n;
	/* Of the exact size, so that reading beyond it is seen. */
	char *p = malloc(len + !len);

	assert_non_null(p);
	memcpy(p, path, len);
	n = hp_key_length(by, p, len);
	if (n != strlen(key) || memcmp(path, key, n) != 0)
		fail_msg("'%s': %.*s, wanted %s", path, (int)n, path, key);
	free(p);
}

static void test_vectors(void **state)
{
	static const struct hp_key_rule first;

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const char *path = table[i].path;
		size_t len = strlen(path);

		check(&rule, path, table[i].key);
		check(&plain, path,
		      table[i].without ? table[i].without : table[i].key);
		assert_int_equal(hp_key_length(&first, path, len),
				 hpdsl_key_length(path, len));
		assert_true(hp_key_first(path, len) <=
			    hp_key_length(&plain, path, len));
	}
}

/* The longer one of compressor and double suffix. */
static void test_longest(void **state)
{
	static const char *const some[] = { "a.nii.gz", "b.png" };
	static const struct hp_key_rule by = { true, some, 2 };

	(void)state;
	check(&by, "x.a.nii.gz", "x");
	check(&by, "x.b.nii.gz", "x.b");
	check(&by, "a.nii.gz", "a");
	check(&by, "x.b.png", "x");
}

static void test_valid(void **state)
{
	char longest[HP_DOUBLE_MAX + 2];

	(void)state;
	memset(longest, 'a', sizeof longest);
	longest[1] = '.';
	assert_true(hp_double_valid("a.b", 3));
	assert_true(hp_double_valid("seg.png", 7));
	assert_true(hp_double_valid("a..b", 4));
	assert_true(hp_double_valid(longest, HP_DOUBLE_MAX));
	assert_false(hp_double_valid(longest, HP_DOUBLE_MAX + 1));
	assert_false(hp_double_valid("", 0));
	assert_false(hp_double_valid("png", 3));
	assert_false(hp_double_valid(".png", 4));
	assert_false(hp_double_valid("a.b.", 4));
	assert_false(hp_double_valid("a/b.c", 5));
	assert_false(hp_double_valid("a\0b.c", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
