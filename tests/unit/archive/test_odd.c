/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is decided about odd archives over memory alone: which backslashes of a
 * zip part folders, which bytes are the sign of another zip.  What the walk
 * says of such of tests/data/bad; and a zip of Windows Explorer with every file
 * operation and allocation failing once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "archive/private.h"
#include "base/error.h"
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

/* ---- Those of tests/data/bad ----------------------------------------- */

static char bad_name[2048];

static const char *bad(const char *name)
{
	const char *src = getenv("SRC");

	snprintf(bad_name, sizeof bad_name, "%s/tests/data/bad/archive/%s",
		 src ? src : ".", name);
	return bad_name;
}

static void expect_time(struct hp_archive *a, const char *path, int64_t mtime,
			uint32_t nsec)
{
	struct hp_archive_entry e;
	struct hpdsl_error err;

	assert_int_equal(hp_archive_next(a, &e, &err), 1);
	assert_string_equal(e.path, path);
	assert_int_equal(e.mtime, mtime);
	assert_int_equal(e.nsec, nsec);
}

static struct hp_archive *open_bad(const char *name)
{
	struct hp_archive *a = NULL;
	struct hpdsl_error err;

	assert_int_equal(
		hp_archive_open(NULL, AT_FDCWD, bad(name), false, &a, &err), 0);
	return a;
}

/* As GNU tar and Python's tarfile have them. */
static void test_times(void **state)
{
	struct hp_archive *a = open_bad("pax-mtime-before-1970");

	(void)state;
	expect_time(a, "x", -1, 750000000);
	expect_time(a, "y", -101, 750000000);
	hp_archive_close(a);
	a = open_bad("pax-global");
	expect_time(a, "x", 77, 500000000);
	expect_time(a, "y", 5, 0);
	expect_time(a, "all", 77, 500000000);
	hp_archive_close(a);
}

static struct hpdsl_error told;

static void note(void *arg, const char *text)
{
	++*(int *)arg;
	hp_fail(&told, 0, "%s", text);
}

/* What is taken, but not as it should be, is told in one line. */
static void expect_told(const char *name, const char *what)
{
	struct hp_archive *a = open_bad(name);
	struct hp_archive_entry e;
	struct hpdsl_error err;
	int n = 0, r;

	hp_archive_set_tell(a, note, &n);
	while ((r = hp_archive_next(a, &e, &err)) > 0)
		;
	assert_int_equal(r, 0);
	assert_int_equal(n, what ? 1 : 0);
	if (what && !strstr(told.msg, what))
		fail_msg("%s: %s", name, told.msg);
	hp_archive_close(a);
}

static void test_told(void **state)
{
	(void)state;
	expect_told("zip-good", NULL);
	expect_told("zip-descriptor-good", NULL);
	expect_told("zip64-good", NULL);
	expect_told("zip64-of-explorer", NULL);
	expect_told("end-then-a-stale-record", NULL);
	expect_told("zip-gap", "zip-gap: 999 bytes that are of no member are "
			       "passed over, in 1 place, first at offset 42");
	expect_told("zip-path-backslash-half", "may be half a letter");
	expect_told("end-missing", "end-missing: the tar has no end mark");
}

/* Who is strict refuses it. */
static void test_strict(void **state)
{
	struct hpdsl_pack_options opt = { .strict = true };

	(void)state;
	scan_one(&o, bad("end-missing"), &opt);
	assert_int_equal(o.code, HPDSL_ECORRUPT);
	scan_one(&o, bad("zip-gap"), &opt);
	assert_int_equal(o.code, HPDSL_ECORRUPT);
	opt.strict = false;
	scan_one(&o, bad("end-missing"), &opt);
	EXPECT_FILES(&o, "good", "x");
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
	const char *zip = bad("zip64-of-explorer");

	(void)state;
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
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_strict),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
