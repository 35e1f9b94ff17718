/* SPDX-License-Identifier: Apache-2.0 */
/* The tar dialect: what is written where, and that nothing else is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "chunk/tar.h"

#define GIB8 (UINT64_C(1) << 33)

static uint8_t buf[HP_TAR_HEADER_MAX];

/* A member with a path of len bytes. */
static struct hp_tar_member member(const char *path, size_t len)
{
	return (struct hp_tar_member){
		.path = path,
		.path_len = len,
		.size = 1234,
		.mtime = 1700000000,
		.mode = 0640,
	};
}

static ssize_t read_back(size_t n, struct hp_tar_member *ret)
{
	static char path[HPDSL_PATH_MAX + 1];

	return hp_tar_header_read(buf, n, ret, path, NULL);
}

/* Writes m to buf and reads it again; returns the header's size. */
static size_t round_trip(const struct hp_tar_member *m)
{
	struct hp_tar_member got;
	size_t n = hp_tar_header_write(m, buf);

	assert_int_equal(n % HP_TAR_BLOCK, 0);
	assert_int_equal(n, hp_tar_header_size(m));
	assert_int_equal(read_back(n, &got), n);
	assert_int_equal(got.path_len, m->path_len);
	assert_memory_equal(got.path, m->path, m->path_len);
	assert_int_equal(got.path[m->path_len], '\0');
	assert_int_equal(got.size, m->size);
	assert_int_equal(got.mode, m->mode & 0777);
	return n;
}

/* a..a/b..b with prefix and name of these lengths. */
static size_t two_parts(char *path, size_t prefix, size_t name)
{
	memset(path, 'a', prefix);
	path[prefix] = '/';
	memset(path + prefix + 1, 'b', name);
	return prefix + 1 + name;
}

static void set_sum(uint8_t *block)
{
	char text[8];
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (unsigned i = 0; i < HP_TAR_BLOCK; i++)
		sum += block[i];
	snprintf(text, sizeof text, "%06o", sum & 0777777);
	memcpy(block + 148, text, 7);
}

static void test_fields(void **state)
{
	struct hp_tar_member m = member("d/a.jpg", 7);
	uint8_t want[HP_TAR_BLOCK] = { 0 };

	(void)state;
	memcpy(want, "d/a.jpg", 7);
	memcpy(want + 100, "0000640", 8);
	memcpy(want + 108, "0000000", 8);
	memcpy(want + 116, "0000000", 8);
	memcpy(want + 124, "00000002322", 12);
	memcpy(want + 136, "14524770400", 12);
	want[156] = '0';
	memcpy(want + 257, "ustar\00000", 8);
	memcpy(want + 329, "0000000", 8);
	memcpy(want + 337, "0000000", 8);
	set_sum(want);
	assert_int_equal(round_trip(&m), 512);
	assert_memory_equal(buf, want, sizeof want);
}

static void test_mode_and_mtime(void **state)
{
	const int64_t given[] = { INT64_MIN,  -1,	  0,
				  8589934591, 8589934592, INT64_MAX };
	const int64_t want[] = { 0, 0, 0, 8589934591, 8589934591, 8589934591 };
	struct hp_tar_member m = member("a", 1), got;

	(void)state;
	m.mode = 0107755; /* only the permission bits are kept */
	for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
		m.mtime = given[i];
		assert_int_equal(read_back(round_trip(&m), &got), 512);
		assert_int_equal(got.mtime, want[i]);
		assert_int_equal(got.mode, 0755);
	}
}

static void check_split(size_t prefix, size_t name, bool fits)
{
	char path[600];
	size_t len = two_parts(path, prefix, name);
	struct hp_tar_member m = member(path, len);

	assert_int_equal(round_trip(&m) == 512, fits);
	assert_int_equal(buf[156], fits ? '0' : 'x');
	if (fits && len > 100) {
		assert_int_equal(strnlen((char *)buf + 345, 155), prefix);
		assert_int_equal(strnlen((char *)buf, 100), name);
	}
}

static void test_splits(void **state)
{
	(void)state;
	check_split(49, 50, true); /* 100: all in the name */
	check_split(50, 50, true); /* 101 */
	check_split(1, 100, true);
	check_split(1, 101, false);
	check_split(154, 100, true); /* 255 */
	check_split(155, 100, true); /* 256, the longest */
	check_split(155, 1, true);
	check_split(156, 1, false);
	check_split(156, 100, false);
	check_split(155, 101, false);
	check_split(255, 255, false);
}

/* Of several slashes the last one that leaves 155 bytes before it. */
static void test_last_slash(void **state)
{
	char path[200];
	struct hp_tar_member m;

	(void)state;
	memset(path, 'a', sizeof path);
	path[90] = path[120] = path[155] = path[170] = '/';
	m = member(path, sizeof path);
	assert_int_equal(round_trip(&m), 512);
	assert_int_equal(strnlen((char *)buf + 345, 155), 155);
	path[155] = 'a';
	assert_int_equal(round_trip(&m), 512);
	assert_int_equal(strnlen((char *)buf + 345, 155), 120);
	path[90] = path[120] = 'a';
	assert_int_equal(round_trip(&m), 1536);
}

static void check_pax(const char *path, size_t len, const char *records)
{
	struct hp_tar_member m = member(path, len);
	size_t n = strlen(records);
	char name[32];

	assert_int_equal(round_trip(&m), 1024 + hp_tar_padded(n));
	assert_int_equal(buf[156], 'x');
	snprintf(name, sizeof name, "PaxHeaders/%016" PRIx64,
		 hp_hash64(records, n));
	assert_string_equal((char *)buf, name);
	assert_memory_equal(buf + 100, "0000644", 8);
	assert_memory_equal(buf + 136, "14524770400", 12);
	assert_memory_equal(buf + 512, records, n);
	assert_int_equal(buf[512 + n], 0);
}

static void test_pax_path(void **state)
{
	char path[400], text[500];

	(void)state;
	memset(path, 'x', sizeof path);
	snprintf(text, sizeof text, "111 path=%.101s\n", path);
	check_pax(path, 101, text);
	/* The ustar block has the path's end. */
	assert_int_equal(strnlen((char *)buf + 1024, 100), 100);
	assert_int_equal(buf[1024 + 345], 0);
	path[0] = '\xff';
	snprintf(text, sizeof text, "21 hdrcharset=BINARY\n120 path=%.110s\n",
		 path);
	check_pax(path, 110, text);
	path[0] = 'x';
	path[300] = '/';
	snprintf(text, sizeof text, "410 path=%.400s\n", path);
	check_pax(path, 400, text);
	assert_int_equal(strnlen((char *)buf + 1024, 100), 99);
}

static void test_pax_size(void **state)
{
	struct hp_tar_member m = member("big", 3);
	char path[300];

	(void)state;
	m.size = GIB8 - 1;
	assert_int_equal(round_trip(&m), 512);
	m.size = GIB8;
	assert_int_equal(round_trip(&m), 1536);
	assert_memory_equal(buf + 512, "19 size=8589934592\n", 20);
	assert_memory_equal(buf + 1024, "big", 4);
	assert_memory_equal(buf + 1024 + 124, "00000000000", 12);
	m.size = INT64_MAX;
	assert_int_equal(round_trip(&m), 1536);
	memset(path, 'x', sizeof path);
	m.path = path;
	m.path_len = sizeof path;
	assert_int_equal(round_trip(&m), 1536);
}

static void test_all_lengths(void **state)
{
	static char path[HPDSL_PATH_MAX];
	struct hp_tar_member m;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		memset(path, kind == 2 ? '\xe9' : 'n', sizeof path);
		for (size_t i = 60; kind == 1 && i < sizeof path - 1; i += 61)
			path[i] = '/';
		for (size_t len = 1; len <= sizeof path; len++) {
			if (path[len - 1] == '/')
				continue;
			m = member(path, len);
			m.size = len % 2 ? 77 : INT64_MAX;
			round_trip(&m);
		}
	}
}

static void test_needs_more(void **state)
{
	static char path[HPDSL_PATH_MAX];
	struct hp_tar_member m, got = { .size = 42 };
	size_t n;

	(void)state;
	memset(path, 'n', sizeof path);
	m = member(path, sizeof path);
	m.size = INT64_MAX;
	n = round_trip(&m);
	assert_true(n <= HP_TAR_HEADER_MAX);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(read_back(k, &got), -EAGAIN);
	assert_int_equal(got.size, 42);
}

static void test_end(void **state)
{
	struct hp_tar_member got;

	(void)state;
	memset(buf, 0, sizeof buf);
	assert_int_equal(read_back(512, &got), 0);
	assert_int_equal(read_back(511, &got), -EAGAIN);
	buf[511] = 1;
	assert_int_equal(read_back(512, &got), HPDSL_ECORRUPT);
}

/* No bit of a header is harmless. */
static void test_every_bit(void **state)
{
	char path[130];
	struct hp_tar_member m, got;
	size_t n;

	(void)state;
	memset(path, 'p', sizeof path);
	path[20] = path[40] = '/';
	m = member(path, sizeof path);
	for (int pax = 0; pax < 2; pax++) {
		path[40] = pax ? 'p' : '/';
		path[20] = '/';
		m.size = pax ? GIB8 : 5;
		n = round_trip(&m);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(read_back(n, &got), HPDSL_ECORRUPT);
			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

/* Another form of a header, though its checksum is right. */
static void check_form(const char *path, size_t at, const char *bytes, size_t n)
{
	struct hp_tar_member m = member(path, strlen(path));
	struct hp_tar_member got = { .size = 42 };

	round_trip(&m);
	memcpy(buf + at, bytes, n);
	set_sum(buf);
	assert_int_equal(read_back(512, &got), HPDSL_ECORRUPT);
	assert_int_equal(got.size, 42);
}

static void test_other_forms(void **state)
{
	(void)state;
	check_form("a/b", 0, "../", 3);
	check_form("a/b", 0, "/", 1);
	check_form("a/b", 0, "a//", 3);
	check_form("a/b", 0, "\0\0", 3);
	check_form("a/b", 50, "c", 1);
	check_form("a/b", 100, "0100644", 7);
	check_form("a/b", 100, "   0644", 7);
	check_form("a/b", 108, "0000001", 7);
	check_form("a/b", 116, "0000001", 7);
	check_form("a/b", 124, "       0005 ", 12);
	check_form("a/b", 124, "\x80", 1);
	check_form("a/b", 136, "00000000000 ", 12);
	check_form("a/b", 156, "\0", 1);
	check_form("a/b", 156, "5", 1);
	check_form("a/b", 156, "L", 1);
	check_form("a/b", 157, "l", 1);
	check_form("a/b", 257, "ustar  ", 7);
	check_form("a/b", 265, "root", 4);
	check_form("a/b", 297, "root", 4);
	check_form("a/b", 337, "0000001", 7);
	check_form("a/b", 345, "dir", 3); /* fits into the name */
	check_form("a/b", 511, "x", 1);
}

/* Pax records that say the same in another way, or too much. */
static void check_records(const char *records, size_t size)
{
	struct hp_tar_member m = member("big", 3), got;
	char octal[12];

	m.size = GIB8;
	round_trip(&m);
	memset(buf + 512, 0, 512);
	memcpy(buf + 512, records, strlen(records));
	snprintf(octal, sizeof octal, "%011zo", size);
	memcpy(buf + 124, octal, sizeof octal);
	set_sum(buf);
	assert_int_equal(read_back(1536, &got), HPDSL_ECORRUPT);
}

static void test_other_records(void **state)
{
	(void)state;
	check_records("", 0);
	check_records("19 size=8589934592\n", 18);
	check_records("19 size=8589934592\n", 20);
	check_records("19 size=0000000001\n", 19);
	check_records("19 size=858993459x\n", 19);
	check_records("28 size=9223372036854775808\n", 28);
	check_records("29 size=18446744073709551616\n", 29);
	check_records("99 size=8589934592\n", 19);
	check_records("18446744073709551635 size=1\n", 28);
	check_records("3 \n19 size=858993459\n", 20);
	check_records("0 size=8589934592\n", 18);
	check_records("12 path=big\n19 size=8589934592\n", 31);
	check_records("19 size=8589934592\n19 size=8589934592\n", 38);
	check_records("21 hdrcharset=BINARY\n19 size=8589934592\n", 40);
	check_records("no record at all\n", 17);
	check_records("19 size=8589934592\n", 4609);
	check_records("19 size=8589934592\n", 8589934591);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_mode_and_mtime),
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_last_slash),
		cmocka_unit_test(test_pax_path),
		cmocka_unit_test(test_pax_size),
		cmocka_unit_test(test_all_lengths),
		cmocka_unit_test(test_needs_more),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_other_forms),
		cmocka_unit_test(test_other_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
