/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is decided about zips over memory alone: which backslashes part folders,
 * and which bytes are the sign of another zip.  Then a zip of Windows Explorer
 * with every file operation and allocation failing once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "archive/private.h"
#include "each_fault.h"
#include "scan_tree.h"

static struct outcome o;

struct name {
	const char *name, *want;
	bool dos, slashes, utf8, left;
};

static void test_backslashes(void **state)
{
	static const struct name t[] = {
		{ .name = "a\\b", .want = "a\\b" },
		{ .name = "a\\b", .want = "a/b", .dos = true },
		{ .name = "\\a\\", .want = "/a/", .dos = true },
		{ .name = "d/a\\b", .want = "d/a\\b", .dos = true },
		{ .name = "d/a\\b", .want = "d/a/b", .slashes = true },
		{ .name = "\x80\\b", .want = "\x80/b", .dos = true },
		{ "\x81\\b", "\x81\\b", true, false, false, true },
		{ "c\\\xe9\\b", "c/\xe9\\b", true, false, false, true },
		{ "c\\\xc3\xa9\\b", "c/\xc3\xa9/b", true, false, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct hp_zip_facts z = { .dos = t[i].dos,
					  .slashes = t[i].slashes,
					  .utf8 = t[i].utf8 };
		char path[32];

		strcpy(path, t[i].name);
		assert_int_equal(hp_zip_part(&z, path, strlen(path)),
				 t[i].left);
		assert_string_equal(path, t[i].want);
	}
}

static void expect_sign(const char *bytes, size_t n, int at)
{
	const uint8_t *p = (const uint8_t *)bytes;
	const uint8_t *found = hp_zip_find_sign(p, n);

	assert_int_equal(found ? found - p : -1, at);
}

static void test_signs(void **state)
{
	(void)state;
	expect_sign("", 0, -1);
	expect_sign("PK\1", 3, -1);
	expect_sign("PK\1\2", 4, 0);
	expect_sign("PK\3\4PK\5\6", 8, 4);
	expect_sign("PPKPK\6\6PK\1\2", 11, 3);
	expect_sign("PK\6\7PK\7\10PK\5", 11, -1);
}

/* A failure, or what is in the zip. */
static void check_outcome(void)
{
	if (o.code == 0)
		EXPECT_FILES(&o, "good", "other");
	else
		assert_true(o.err.msg[0]);
}

static void test_failures(void **state)
{
	struct hpdsl_pack_options opt = { .threads = HPDSL_SERIAL };
	struct each_fault e = { .code = -EIO };
	struct each_alloc a = { .k = 0 };
	const char *src = getenv("SRC");
	char zip[2048];

	(void)state;
	snprintf(zip, sizeof zip, "%s/tests/data/bad/archive/zip64-of-explorer",
		 src ? src : ".");
	while (each_fault(&e)) {
		opt.watch.io = &e.f.io;
		scan_one(&o, zip, &opt);
		check_outcome();
	}
	assert_true(e.k > 5);
	opt.watch.io = NULL;
	while (each_alloc(&a)) {
		each_alloc_begin(&a);
		scan_one(&o, zip, &opt);
		each_alloc_end(&a);
		if (o.code)
			assert_int_equal(o.code, -ENOMEM);
		check_outcome();
	}
	assert_int_equal(o.code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backslashes),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
