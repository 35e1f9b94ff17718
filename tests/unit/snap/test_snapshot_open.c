/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot in a file: mapped or read, what cannot be opened, and each file
 * operation and allocation failing in its turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "each_fault.h"
#include "forge_snap.h"
#include "shell.h"
#include "sys/io.h"
#include "tmp.h"

static char folder[TMP_NAME];
static char name[sizeof folder + 16];
static uint64_t file_size;

enum { FILES = 60000 }; /* over 2 MiB, so that a copy is in large pages */

static void put_file(const void *p, size_t n)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put_snapshot(size_t files)
{
	struct spec *v = calloc(files + 1, sizeof *v);
	char(*paths)[16] = calloc(files + 1, sizeof *paths);
	struct snap_image im;

	v[0] = (struct spec){ .path = "", .mode = S_IFDIR | 0755 };
	for (size_t i = 1; i <= files; i++) {
		snprintf(paths[i], sizeof *paths, "f%zu", i);
		v[i] = (struct spec){ .path = paths[i],
				      .mode = S_IFREG | 0644,
				      .size = i };
	}
	im = snap_make(v, files + 1, false);
	put_file(im.p, im.n);
	file_size = im.n;
	free(im.p);
	free(paths);
	free(v);
}

static void ask(const struct hpdsl_snapshot *s, size_t files)
{
	struct hpdsl_error err;
	struct hpdsl_entry e;
	char path[16];

	for (size_t i = 1; i <= files; i++) {
		int n = snprintf(path, sizeof path, "f%zu", i);

		assert_int_equal(
			hpdsl_snapshot_lookup(s, path, (size_t)n, &e, &err), 0);
		assert_int_equal(e.size, i);
	}
}

static struct hpdsl_snapshot *open_it(unsigned flags, const struct hp_io *io)
{
	struct hpdsl_snapshot *s = NULL;
	struct hpdsl_error err = { 0 };

	if (hpdsl_snapshot_open(name, flags, io, &s, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static void test_mapped(void **state)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_snapshot *s;
	struct hpdsl_entry e;

	(void)state;
	put_snapshot(FILES);
	s = open_it(0, NULL);
	hpdsl_snapshot_info(s, &info);
	assert_int_equal(info.entries, FILES + 1);
	assert_int_equal(info.file_bytes, file_size);
	ask(s, FILES);
	assert_int_equal(hpdsl_snapshot_stat(s, 7, &e, NULL), 0);
	assert_true(hpdsl_snapshot_maps(s, e.name));
	assert_false(hpdsl_snapshot_maps(s, &e));
	assert_false(hpdsl_snapshot_maps(s, NULL));
	assert_int_equal(hpdsl_snapshot_verify(s, NULL, NULL, NULL), 0);
	hpdsl_snapshot_close(s);
	hpdsl_snapshot_close(NULL);
}

/* Whatever becomes of the file, a copy stays. */
static void test_copy(void **state)
{
	struct hpdsl_snapshot *s;
	struct hpdsl_entry e;

	(void)state;
	for (size_t files = 10; files <= FILES; files *= FILES / 10) {
		put_snapshot(files);
		s = open_it(HPDSL_SNAPSHOT_COPY, NULL);
		assert_int_equal(truncate(name, 0), 0);
		ask(s, files);
		assert_int_equal(hpdsl_snapshot_stat(s, 7, &e, NULL), 0);
		assert_false(hpdsl_snapshot_maps(s, e.name));
		assert_int_equal(hpdsl_snapshot_verify(s, NULL, NULL, NULL), 0);
		hpdsl_snapshot_close(s);
	}
}

static int cannot_map(const struct hp_io *io, int fd, size_t size,
		      const void **ret)
{
	(void)io;
	(void)fd;
	(void)size;
	(void)ret;
	return -ENODEV;
}

/* Where nothing can be mapped it is read. */
static void test_read(void **state)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_snapshot *s;
	struct hpdsl_entry e;

	(void)state;
	io.map = cannot_map;
	put_snapshot(10);
	s = open_it(0, &io);
	ask(s, 10);
	assert_int_equal(hpdsl_snapshot_stat(s, 7, &e, NULL), 0);
	assert_false(hpdsl_snapshot_maps(s, e.name));
	hpdsl_snapshot_close(s);
}

/* ---- What cannot be opened -------------------------------------------- */

static void refused(const char *path, unsigned flags, int code,
		    const char *told)
{
	struct hpdsl_snapshot *s = NULL;
	struct hpdsl_error err;
	char want[256];

	snprintf(want, sizeof want, "%s: %s", path, told);
	assert_int_equal(hpdsl_snapshot_open(path, flags, NULL, &s, &err),
			 code);
	assert_string_equal(err.msg, want);
	assert_null(s);
	assert_int_equal(hpdsl_snapshot_open(path, flags, NULL, &s, NULL),
			 code);
}

static void test_refused(void **state)
{
	(void)state;
	for (unsigned copy = 0; copy < 2; copy++) {
		char told[80];

		refused("/absent", copy, -ENOENT, "No such file or directory");
		refused(folder, copy, HPDSL_ECORRUPT, "not a regular file");
		refused("/dev/null", copy, HPDSL_ECORRUPT,
			"not a regular file");
		put_file("", 0);
		refused(name, copy, HPDSL_ECORRUPT, "is empty");
		put_file("hpdsl-snapshot 1\n", 17);
		refused(name, copy, HPDSL_ENOTOURS, "not an HPDSL snapshot");
		put_file("\x89HPDSLS\n", 8);
		refused(name, copy, HPDSL_ECORRUPT,
			"header: the file is too short");
		put_snapshot(100);
		assert_int_equal(truncate(name, (off_t)file_size - 8), 0);
		snprintf(told, sizeof told, "has %llu bytes, should have %llu",
			 (unsigned long long)file_size - 8,
			 (unsigned long long)file_size);
		refused(name, copy, HPDSL_ECORRUPT, told);
	}
	refused(name, 2, HPDSL_EUSAGE, "unknown flags 0x2");
}

/* ---- Failures --------------------------------------------------------- */

static int open_and_ask(unsigned flags, const struct hp_io *io,
			struct hpdsl_error *err)
{
	struct hpdsl_snapshot *s;
	int r = hpdsl_snapshot_open(name, flags, io, &s, err);

	if (r < 0)
		return r;
	ask(s, 10);
	r = hpdsl_snapshot_verify(s, NULL, NULL, err);
	hpdsl_snapshot_close(s);
	return r;
}

static void test_faults(void **state)
{
	(void)state;
	put_snapshot(FILES);
	for (unsigned flags = 0; flags < 2; flags++) {
		int fds = count_fds();
		struct each_fault e = { .code = -EIO };

		while (each_fault(&e)) {
			struct hpdsl_error err = { 0 };
			int r;

			r = open_and_ask(flags, &e.f.io, &err);
			assert_int_equal(count_fds(), fds);
			if (r)
				assert_non_null(strstr(err.msg, name));
		}
		assert_true(e.k > 2);
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	put_snapshot(FILES);
	for (unsigned flags = 0; flags < 2; flags++) {
		int fds = count_fds(), r = -ENOMEM;
		struct each_alloc e = { .k = 0 };

		while (each_alloc(&e)) {
			struct hpdsl_error err = { 0 };

			each_alloc_begin(&e);
			r = open_and_ask(flags, NULL, &err);
			each_alloc_end(&e);
			assert_int_equal(count_fds(), fds);
			if (r) {
				assert_int_equal(r, -ENOMEM);
				assert_true(err.msg[0]);
			}
		}
		assert_int_equal(r, 0);
		assert_true(e.k > 5);
	}
}

static int make_folder(void **state)
{
	(void)state;
	if (!tmp_folder(folder, sizeof folder, "snapshot"))
		return -1;
	snprintf(name, sizeof name, "%s/snapshot", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return unlink(name) < 0 || rmdir(folder) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped), cmocka_unit_test(test_copy),
		cmocka_unit_test(test_read),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
