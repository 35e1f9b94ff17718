/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of foreign tars: fields in all their forms, extended headers, and
 * whole archives of other writers, with libarchive as the oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/tar_foreign.h"
#include "chunk/tar.h"

static struct hp_foreign t;
static struct hp_foreign_member m;
static struct hpdsl_error err;
static uint8_t block[HP_TAR_BLOCK];

static void sign(bool of_signed)
{
	int sum = 0;

	memset(block + 148, ' ', 8);
	for (int i = 0; i < HP_TAR_BLOCK; i++)
		sum += of_signed ? (int8_t)block[i] : block[i];
	snprintf((char *)block + 148, 8, "%06o", (unsigned)sum & 0777777);
}

/* A v7 header: no magic. */
static void make(const char *name, char type, unsigned size)
{
	memset(block, 0, sizeof block);
	memcpy(block, name, strlen(name));
	memcpy(block + 100, "0000640", 8);
	snprintf((char *)block + 124, 12, "%011o", size);
	memcpy(block + 136, "00000000017", 12);
	block[156] = (uint8_t)type;
	sign(false);
}

static int take(void)
{
	return hp_foreign_header(&t, block, &m, &err);
}

static int give(char type, const char *data, size_t n)
{
	make("././@LongLink", type, (unsigned)n);
	assert_int_equal(take(), 0);
	assert_int_equal(m.kind, HP_FOREIGN_EXTRA);
	assert_int_equal(m.size, n);
	return hp_foreign_extra(&t, (const uint8_t *)data, n, &err);
}

static int give_pax(char type, const char *key, const char *value)
{
	char text[512];
	size_t n = strlen(key) + strlen(value) + 3, len = n + 1;

	if (len >= 10)
		len++;
	if (len >= 100)
		len++;
	snprintf(text, sizeof text, "%zu %s=%s\n", len, key, value);
	assert_int_equal(strlen(text), len);
	return give(type, text, len);
}

static int begin(void **state)
{
	(void)state;
	hp_foreign_begin(&t);
	return 0;
}

static void want(enum hp_foreign_kind kind, const char *name, uint64_t size)
{
	if (take() < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(m.kind, kind);
	assert_string_equal(m.name, name);
	assert_int_equal(m.name_len, strlen(name));
	assert_int_equal(m.size, size);
}

static void want_error(int code, const char *text)
{
	assert_int_equal(take(), code);
	assert_string_equal(err.msg, text);
}

static void test_v7(void **state)
{
	(void)state;
	make("a/b.jpg", '\0', 1000);
	want(HP_FOREIGN_FILE, "a/b.jpg", 1000);
	assert_int_equal(m.mode, 0640);
	assert_int_equal(m.mtime, 15);
	make("a/", '\0', 0);
	want(HP_FOREIGN_FOLDER, "a/", 0);
	/* No magic, no prefix; a name of all 100 bytes has no NUL. */
	make("0123456789012345678901234567890123456789"
	     "012345678901234567890123456789012345678901234567890123456789",
	     '0', 1);
	memcpy(block + 345, "not a prefix", 12);
	sign(false);
	want(HP_FOREIGN_FILE,
	     "0123456789012345678901234567890123456789"
	     "012345678901234567890123456789012345678901234567890123456789",
	     1);
	memset(block, 0, sizeof block);
	assert_int_equal(take(), 0);
	assert_int_equal(m.kind, HP_FOREIGN_END);
}

static void test_prefix(void **state)
{
	(void)state;
	make("b.jpg", '0', 1);
	memcpy(block + 345, "dir/sub", 7);
	memcpy(block + 257, "ustar\00000", 8);
	sign(false);
	want(HP_FOREIGN_FILE, "dir/sub/b.jpg", 1);
	/* There are times of access in GNU's. */
	memcpy(block + 257, "ustar  ", 8);
	sign(false);
	want(HP_FOREIGN_FILE, "b.jpg", 1);
}

static void test_kinds(void **state)
{
	static const char types[] = "0712345689";
	static const enum hp_foreign_kind kinds[] = {
		HP_FOREIGN_FILE,   HP_FOREIGN_FILE,    HP_FOREIGN_LINK,
		HP_FOREIGN_LINK,   HP_FOREIGN_SPECIAL, HP_FOREIGN_SPECIAL,
		HP_FOREIGN_FOLDER, HP_FOREIGN_SPECIAL, HP_FOREIGN_FILE,
		HP_FOREIGN_FILE,
	};

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		bool content = types[i] < '1' || types[i] > '6';

		make("x", types[i], 77);
		want(kinds[i], "x", content ? 77 : 0);
	}
	make("x/", '0', 0);
	want(HP_FOREIGN_FOLDER, "x/", 0);
}

static void test_checksum(void **state)
{
	(void)state;
	make("\xfc\xfd\xfe", '0', 1);
	sign(true);
	want(HP_FOREIGN_FILE, "\xfc\xfd\xfe", 1);
	for (int bit = 0; bit < HP_TAR_BLOCK * 8; bit++) {
		make("a", '0', 1);
		block[bit / 8] ^= (uint8_t)(1u << bit % 8);
		/* In the checksum's own field a NUL may become a blank, and
		 * bytes behind the NUL say nothing. */
		if (take() == 0)
			assert_in_range(bit / 8, 148, 155);
	}
}

static void set_field(size_t at, const char *bytes, size_t n)
{
	make("a", '0', 0);
	memcpy(block + at, bytes, n);
	sign(false);
}

static void test_sizes(void **state)
{
	(void)state;
	set_field(124, "77777777777", 12);
	want(HP_FOREIGN_FILE, "a", 077777777777);
	set_field(124, "777777777777", 12); /* no NUL */
	want(HP_FOREIGN_FILE, "a", 0777777777777);
	set_field(124, "        17 \0", 12);
	want(HP_FOREIGN_FILE, "a", 15);
	set_field(124, "\0\0\0\0\0\0\0\0\0\0\0", 12);
	want(HP_FOREIGN_FILE, "a", 0);
	set_field(124, "\x80\0\0\0\0\0\0\2\0\0\0\1", 12);
	want(HP_FOREIGN_FILE, "a", (UINT64_C(2) << 32) + 1);
	set_field(124, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
	want(HP_FOREIGN_FILE, "a", INT64_MAX);
	set_field(124, "\x80\0\0\0\x80\0\0\0\0\0\0\0", 12);
	want_error(HPDSL_ECORRUPT, "a size is no number");
	set_field(124, "\x80\0\0\1\0\0\0\0\0\0\0\0", 12);
	want_error(HPDSL_ECORRUPT, "a size is no number");
	set_field(124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	want_error(HPDSL_ECORRUPT, "a size is no number");
	set_field(124, "0000000001x", 12);
	want_error(HPDSL_ECORRUPT, "a size is no number");
	set_field(124, "-0000000001", 12);
	want_error(HPDSL_ECORRUPT, "a size is no number");
}

static void test_times(void **state)
{
	(void)state;
	set_field(136, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", 12);
	want(HP_FOREIGN_FILE, "a", 0);
	assert_int_equal(m.mtime, -5);
	set_field(136, "nonsense", 8);
	want(HP_FOREIGN_FILE, "a", 0);
	assert_int_equal(m.mtime, 0);
}

static void want_time(const char *text, int64_t mtime, uint32_t nsec)
{
	assert_int_equal(give_pax('x', "mtime", text), 0);
	make("a", '0', 0);
	want(HP_FOREIGN_FILE, "a", 0);
	assert_int_equal(m.mtime, mtime);
	assert_int_equal(m.nsec, nsec);
}

static void test_pax_times(void **state)
{
	(void)state;
	want_time("1700000000.123456789", 1700000000, 123456789);
	want_time("1700000000.1234567899", 1700000000, 123456789);
	want_time("5.5", 5, 500000000);
	want_time("5.", 5, 0);
	want_time("-1.25", -2, 750000000);
	want_time("-1", -1, 0);
	/* What is no time is passed over. */
	want_time("x", 15, 0);
	want_time("1.x", 15, 0);
	want_time("", 15, 0);
	want_time("99999999999999999999", 15, 0);
}

static void test_long_names(void **state)
{
	char name[300], data[301];

	(void)state;
	memset(name, 'n', sizeof name);
	name[299] = '\0';
	memcpy(data, name, sizeof name);
	assert_int_equal(give('K', "target", 7), 0);
	assert_int_equal(give('L', data, 300), 0);
	make("cut", '0', 3);
	want(HP_FOREIGN_FILE, name, 3);
	make("next", '0', 3);
	want(HP_FOREIGN_FILE, "next", 3);
	/* Without the NUL; pax is stronger. */
	assert_int_equal(give('L', data, 299), 0);
	assert_int_equal(give_pax('x', "path", "p/q"), 0);
	make("cut", '0', 3);
	want(HP_FOREIGN_FILE, "p/q", 3);
}

static void test_too_long(void **state)
{
	char *data = malloc(HP_FOREIGN_NAME + 2);

	(void)state;
	memset(data, 'n', HP_FOREIGN_NAME + 1);
	assert_int_equal(give('L', data, HP_FOREIGN_NAME + 1), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "a name is too long");
	assert_int_equal(give('L', data, HP_FOREIGN_NAME), 0);
	make("cut", '0', 3);
	assert_int_equal(take(), 0);
	assert_int_equal(m.name_len, HP_FOREIGN_NAME);
	free(data);
	make("x", 'x', HP_FOREIGN_EXTRA_MAX + 1);
	want_error(HPDSL_ECORRUPT, "an extended header is too large");
}

static void test_pax(void **state)
{
	(void)state;
	assert_int_equal(give_pax('g', "mtime", "9"), 0);
	assert_int_equal(give_pax('g', "path", "all"), 0);
	make("own", '0', 0);
	want(HP_FOREIGN_FILE, "all", 0);
	assert_int_equal(m.mtime, 9);
	assert_int_equal(give_pax('x', "size", "5000000000"), 0);
	assert_int_equal(give_pax('x', "path", "mine"), 0);
	assert_int_equal(give_pax('x', "mtime", "7"), 0);
	make("own", '0', 0);
	want(HP_FOREIGN_FILE, "mine", 5000000000);
	assert_int_equal(m.mtime, 7);
	/* Nothing takes the global one back. */
	assert_int_equal(give_pax('g', "path", ""), 0);
	make("own", '0', 0);
	want(HP_FOREIGN_FILE, "own", 0);
	assert_int_equal(m.mtime, 9);
}

static void test_pax_damaged(void **state)
{
	static const char *const bad[] = {
		"x",
		"8 path=a\n",
		"100 path=a\n",
		"10 path=a",
		"0 a=b\n",
		"3 \n",
		"6 ab\n",
		" 6 a=b\n",
		"6 a=b\nzzz",
		"99999999999999999999999 a=b\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		hp_foreign_begin(&t);
		assert_int_equal(give('x', bad[i], strlen(bad[i])),
				 HPDSL_ECORRUPT);
		assert_string_equal(err.msg, "damaged pax header");
	}
	assert_int_equal(give_pax('x', "size", "-1"), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "a pax size is no number");
	assert_int_equal(give_pax('x', "size", "9223372036854775808"), 0);
	make("a", '0', 0);
	want_error(HPDSL_ECORRUPT, "a size that no file has");
}

static void test_refused(void **state)
{
	(void)state;
	make("a", 'S', 0);
	want_error(-EOPNOTSUPP, "a sparse file without a map");
	assert_false(t.mapped);
	make("a", 'S', 0);
	memcpy(block + 386, "00000000000", 12);
	sign(false);
	want_error(-EOPNOTSUPP, "a sparse file");
	assert_true(t.mapped);
	assert_int_equal(give_pax('x', "GNU.sparse.major", "1"), 0);
	make("a", '0', 0);
	want_error(-EOPNOTSUPP, "a sparse file");
	assert_true(t.mapped);
	assert_int_equal(give_pax('x', "SCHILY.realsize", "1"), 0);
	make("a", '0', 0);
	want_error(-EOPNOTSUPP, "a sparse file without a map");
	assert_false(t.mapped);
	assert_int_equal(give_pax('x', "SUN.holesdata", " 0 1 2"), 0);
	make("a", '0', 0);
	want_error(-EOPNOTSUPP, "a sparse file with SUN.holesdata");
	assert_false(t.mapped);
	make("a/", '\0', 1);
	want_error(HPDSL_ECORRUPT,
		   "a file with content has the name of a folder");
	make("label", 'V', 0);
	assert_int_equal(take(), 0);
	assert_int_equal(m.kind, HP_FOREIGN_EXTRA);
	assert_int_equal(hp_foreign_extra(&t, block, 0, &err), 0);
	make("label", 'V', 1);
	want_error(HPDSL_ECORRUPT, "a volume's name has a content");
	assert_int_equal(give('L', "", 1), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "a long name is empty");
	hp_foreign_begin(&t);
	make("a", '0', 0);
	want(HP_FOREIGN_FILE, "a", 0);
	make("a", 'M', 0);
	want_error(-EOPNOTSUPP,
		   "the rest of a file that began in another archive");
	assert_int_equal(give_pax('g', "size", "5"), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "a size for all members");
	hp_foreign_begin(&t);
	assert_int_equal(give('L', "name", 5), 0);
	memset(block, 0, sizeof block);
	want_error(HPDSL_ECORRUPT,
		   "the archive ends before a file whose name is there");
}

/* ---- Archives of other writers ---------------------------------------- */

struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct bytes b = { malloc(1 << 20), 0 };

	assert_non_null(f);
	b.n = fread(b.p, 1, 1 << 20, f);
	fclose(f);
	return b;
}

/* The next file at *at; false at the end, or of what is refused. */
static bool next_file(const struct bytes *b, size_t *at)
{
	for (;;) {
		assert_in_range(*at + HP_TAR_BLOCK, 0, b->n);
		if (hp_foreign_header(&t, b->p + *at, &m, &err) < 0 ||
		    m.kind == HP_FOREIGN_END)
			return false;
		*at += HP_TAR_BLOCK;
		assert_in_range(*at + m.size, 0, b->n);
		if (m.kind == HP_FOREIGN_FILE)
			return true;
		if (m.kind == HP_FOREIGN_EXTRA)
			assert_int_equal(hp_foreign_extra(&t, b->p + *at,
							  (size_t)m.size, &err),
					 0);
		*at += (size_t)hp_tar_padded(m.size);
	}
}

static bool is_file(struct archive_entry *e)
{
	return archive_entry_filetype(e) == AE_IFREG &&
	       !archive_entry_hardlink(e);
}

static void same_as_libarchive(const struct bytes *b)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	size_t at = 0, n = 0;

	archive_read_support_format_tar(a);
	assert_int_equal(archive_read_open_memory(a, b->p, b->n), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) >= ARCHIVE_WARN) {
		char content[4096];
		la_ssize_t got;

		if (!is_file(e))
			continue;
		if (archive_entry_sparse_count(e)) {
			assert_false(next_file(b, &at));
			assert_int_equal(err.code, -EOPNOTSUPP);
			archive_read_free(a);
			return;
		}
		assert_true(next_file(b, &at));
		assert_string_equal(m.name, archive_entry_pathname(e));
		assert_int_equal(m.size, archive_entry_size(e));
		assert_int_equal(m.mode, archive_entry_perm(e));
		assert_int_equal(m.mtime, archive_entry_mtime(e));
		assert_int_equal(m.nsec, archive_entry_mtime_nsec(e));
		assert_true(m.size < sizeof content);
		got = archive_read_data(a, content, sizeof content);
		assert_int_equal(got, m.size);
		assert_memory_equal(content, b->p + at, m.size);
		at += (size_t)hp_tar_padded(m.size);
		n++;
	}
	assert_true(n > 0);
	assert_false(next_file(b, &at));
	archive_read_free(a);
}

static void for_corpus(void (*each)(const struct bytes *b))
{
	char dir[2048], path[4096];
	const char *src = getenv("SRC");
	struct dirent *d;
	size_t n = 0;
	DIR *open;

	snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/tar_foreign",
		 src ? src : ".");
	open = opendir(dir);
	assert_non_null(open);
	while ((d = readdir(open))) {
		struct bytes b;

		/* libarchive passes global headers over. */
		if (d->d_name[0] == '.' || strstr(d->d_name, "global"))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, d->d_name);
		b = slurp(path);
		hp_foreign_begin(&t);
		err.code = 0;
		each(&b);
		free(b.p);
		n++;
	}
	closedir(open);
	assert_in_range(n, 10, 100);
}

static void test_libarchive(void **state)
{
	(void)state;
	setlocale(LC_CTYPE, "C.UTF-8");
	for_corpus(same_as_libarchive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_v7, begin),
		cmocka_unit_test_setup(test_prefix, begin),
		cmocka_unit_test_setup(test_kinds, begin),
		cmocka_unit_test_setup(test_checksum, begin),
		cmocka_unit_test_setup(test_sizes, begin),
		cmocka_unit_test_setup(test_times, begin),
		cmocka_unit_test_setup(test_pax_times, begin),
		cmocka_unit_test_setup(test_long_names, begin),
		cmocka_unit_test_setup(test_too_long, begin),
		cmocka_unit_test_setup(test_pax, begin),
		cmocka_unit_test_setup(test_pax_damaged, begin),
		cmocka_unit_test_setup(test_refused, begin),
		cmocka_unit_test_setup(test_libarchive, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
