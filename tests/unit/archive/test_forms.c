/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 7z and tars in lzip and lzma, as libarchive writes them: what is packed is
 * what went in; of those that were cut, or have a bit flipped, nothing is taken
 * that is not the same.  And what else a file is, by its first bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "level.h"
#include "two_ways.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

enum { ROOM = 1 << 20, FILES = 9 };

static uint8_t good[ROOM], bad[ROOM];

/* Contents of some bytes that compress, and some that do not. */
static void fill(char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		p[i] = (char)(i % 512 < 256 ? i : seed >> 16);
	}
}

static size_t make(int (*format)(struct archive *),
		   int (*filter)(struct archive *))
{
	static char content[9000];
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();
	size_t used = 0;

	assert_int_equal(format(a), ARCHIVE_OK);
	if (filter)
		assert_int_equal(filter(a), ARCHIVE_OK);
	assert_int_equal(archive_write_open_memory(a, good, ROOM, &used),
			 ARCHIVE_OK);
	for (unsigned i = 0; i < FILES; i++) {
		char name[64];
		size_t n = i * 1000;

		snprintf(name, sizeof name, "d/\u00e4%u.bin", i);
		fill(content, n, i + 1);
		archive_entry_clear(e);
		archive_entry_update_pathname_utf8(e, name);
		archive_entry_set_size(e, (la_int64_t)n);
		archive_entry_set_filetype(e, AE_IFREG);
		archive_entry_set_perm(e, 0640);
		archive_entry_set_mtime(e, 1600000000, 0);
		assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
		assert_int_equal(archive_write_data(a, content, n), n);
	}
	archive_entry_free(e);
	assert_int_equal(archive_write_free(a), ARCHIVE_OK);
	return used;
}

static void expect_first(size_t n)
{
	struct ways_memory m = {
		.io = { .open = ways_open,
			.close = ways_close,
			.pread = ways_pread,
			.stat = ways_stat },
		.p = good,
		.n = n,
	};
	struct hp_archive_entry e;
	struct hpdsl_error err;
	struct hp_archive *a;
	char byte;

	assert_int_equal(hp_archive_open(&m.io, AT_FDCWD, "x", true, &a, &err),
			 0);
	for (int i = 0; i < FILES; i++) {
		char name[64];

		snprintf(name, sizeof name, "d/\u00e4%d.bin", i);
		if (hp_archive_next(a, &e, &err) != 1)
			fail_msg("%d: %s", i, err.msg);
		/* 7z has empty files behind the others. */
		if (i || e.size == 0)
			assert_true(e.path_len == strlen(name));
		assert_false(e.in_place);
		assert_int_equal(e.mode, 0640);
		assert_int_equal(e.mtime, 1600000000);
		assert_int_equal(hp_archive_try(a, &e, &err), 0);
	}
	assert_int_equal(hp_archive_next(a, &e, &err), 0);
	assert_int_equal(hp_archive_read(a, &byte, 1, &err), 0);
	hp_archive_close(a);
}

/* What was taken of these bytes is what is in all of them. */
static void expect_same(const struct ways *want, size_t n, const char *what,
			size_t at)
{
	struct ways got;

	ways_pack(&got, bad, n, false);
	if (!got.code && got.hash != want->hash)
		fail_msg("%s at %zu: taken, with %d files", what, at,
			 (int)got.files);
}

static void damage(int (*format)(struct archive *),
		   int (*filter)(struct archive *))
{
	size_t n = make(format, filter);
	size_t few = at_level("long") ? 6000 : at_level("more") ? 600 : 60;
	struct ways want;

	expect_first(n);
	ways_pack(&want, good, n, false);
	assert_int_equal(want.code, 0);
	assert_int_equal(want.files, FILES);
	memcpy(bad, good, n);
	for (size_t i = 1; i < few / 2; i++)
		expect_same(&want, n * i / (few / 2), "cut", n * i / (few / 2));
	for (size_t i = 0; i < few; i++) {
		size_t at = n * i / few;

		bad[at] ^= (uint8_t)(1 << i % 8);
		expect_same(&want, n, "flip", at);
		bad[at] = good[at];
	}
}

static void test_seven(void **state)
{
	struct ways got;
	size_t n;

	(void)state;
	damage(archive_write_set_format_7zip, NULL);
	/* a directory of no bytes is not an archive without files */
	n = make(archive_write_set_format_7zip, NULL);
	memset(good + 20, 0, 8);
	ways_pack(&got, good, n, false);
	assert_int_equal(got.code, HPDSL_ECORRUPT);
}

static void test_lzip(void **state)
{
	(void)state;
	damage(archive_write_set_format_ustar, archive_write_add_filter_lzip);
}

static void test_lzma(void **state)
{
	(void)state;
	damage(archive_write_set_format_ustar, archive_write_add_filter_lzma);
}

/* The first file of a tar may have any name, also one that others begin with.
 */
static void test_names_of_tars(void **state)
{
	static const char *const names[] = { "LZIP", "LZIP\1",
					     "7z\274\257'\034", "]",
					     "Rar!\032\007" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = make(archive_write_set_format_ustar, NULL);
		unsigned sum = 8 * ' ';
		struct ways got;

		memset(good, 0, 100);
		memcpy(good, names[i], strlen(names[i]));
		for (int k = 0; k < 512; k++)
			sum += k >= 148 && k < 156 ? 0 : good[k];
		snprintf((char *)good + 148, 8, "%06o", sum);
		ways_pack(&got, good, n, false);
		if (got.code || got.files != FILES)
			fail_msg("%s: %d", names[i], got.code);
	}
}

static void expect_kind(const char *head, size_t n, const char *want)
{
	const char *kind = hp_archive_kind(head, n);

	if (!want)
		assert_null(kind);
	else if (!kind || !strstr(kind, want))
		fail_msg("%s: %s", want, kind ? kind : "nothing");
}

#define EXPECT_KIND(head, want) expect_kind(head, sizeof(head) - 1, want)

static void test_kinds(void **state)
{
	(void)state;
	EXPECT_KIND("", NULL);
	EXPECT_KIND("Not an archive at all.\n", NULL);
	EXPECT_KIND("Rar!\x1a\x07\x01", "RAR");
	EXPECT_KIND("\x1f\x9d\x90", "gzip -d");
	EXPECT_KIND("\x04\x22\x4d\x18", "lz4 -d");
	EXPECT_KIND("MSCF\0\0", "a cabinet");
	EXPECT_KIND("\x89LZO", "lzop -d");
	EXPECT_KIND("5\0-lh5-", "an LHA archive");
	EXPECT_KIND("5\0-lh5", NULL);
	assert_non_null(hp_archive_part("x/a.7z.001"));
	assert_non_null(hp_archive_part("a.TAR.gz.012"));
	assert_null(hp_archive_part("slice.001"));
	assert_null(hp_archive_part("a.7z.1"));
	assert_null(hp_archive_part(".7z.001"));
	EXPECT_KIND("PK\7\x8PK\3\4", "the first part of a split zip");
	EXPECT_KIND("version https://git-lfs.github.com/spec/v1\noid",
		    "git lfs pull");
	EXPECT_KIND("\xef\xbb\xbf \r\n<!DOCTYPE HTML>", "an HTML page");
	EXPECT_KIND("<html>404</html>", "an HTML page");
	EXPECT_KIND("<htm", NULL);
	EXPECT_KIND("<?xml version=\"1.0\"?><Error>", "an XML text");
	EXPECT_KIND(" \n\t", NULL);
	assert_non_null(strstr(hp_archive_kind_by_end("xx", 2, 3), "the last"));
	assert_non_null(strstr(hp_archive_kind_by_end("MZ", 2, 0), "self-"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seven),
		cmocka_unit_test(test_lzip),
		cmocka_unit_test(test_lzma),
		cmocka_unit_test(test_names_of_tars),
		cmocka_unit_test(test_kinds),
	};

	/* libarchive writes names of 7z in no other. */
	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
