/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives as input: what the walk says, what the scan makes of it, and every
 * file operation and allocation of it failing once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "archive/archive.h"
#include "base/archive_name.h"
#include "chunk/tar.h"
#include "each_fault.h"
#include "memio.h"
#include "scan_tree.h"
#include "shell.h"

#include <time.h>
#include <zlib.h>

static struct outcome o;

/* ---- Tars, put together in memory ------------------------------------- */

static uint8_t tar[1 << 20];
static size_t tar_len;

static void add_bytes(const void *p, size_t n)
{
	assert_true(tar_len + n <= sizeof tar);
	memcpy(tar + tar_len, p, n);
	tar_len += n;
}

static void add_zeros(size_t n)
{
	assert_true(tar_len + n <= sizeof tar);
	memset(tar + tar_len, 0, n);
	tar_len += n;
}

static void set_sum(uint8_t *block)
{
	unsigned sum = 0;
	char text[16];

	memset(block + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += block[i];
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(block + 148, text, 7);
}

static void add_thing(const char *path, char type, const char *target,
		      const void *content, size_t n)
{
	struct hp_tar_member m = {
		.path = "x",
		.path_len = 1,
		.size = n,
		.mtime = 1700000000,
		.mode = 0640,
	};
	uint8_t header[HP_TAR_HEADER_MAX];
	size_t len = hp_tar_header_write(&m, header);

	/* What our own writer would not write. */
	memcpy(header, path, strlen(path));
	header[len - 512 + 156] = (uint8_t)type;
	memcpy(header + len - 512 + 157, target, strlen(target));
	set_sum(header + len - 512);
	add_bytes(header, len);
	add_bytes(content, n);
	add_zeros(hp_tar_padded(n) - n);
}

static void add_file(const char *path, const char *content)
{
	add_thing(path, '0', "", content, strlen(content));
}

static void add_end(void)
{
	add_zeros(1024);
}

/* The tar so far, and a new one begins. */
static size_t take_tar(uint8_t *to)
{
	size_t n = tar_len;

	add_end();
	n = tar_len;
	memcpy(to, tar, n);
	tar_len = 0;
	return n;
}

static size_t zip_up(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	z_stream z = { .next_in = (Bytef *)from,
		       .avail_in = (uInt)n,
		       .next_out = to,
		       .avail_out = (uInt)room };

	assert_int_equal(
		deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

static void save(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(name, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/*
 * A tar of two files, a folder, links, and a tar of one file; also compressed.
 */
static void make_archives(void)
{
	static uint8_t inner[65536], out[65536];
	size_t n;

	tar_len = 0;
	add_file("deep/file", "inside");
	n = take_tar(inner);
	add_thing("./", '5', "", "", 0);
	add_thing("d/", '5', "", "", 0);
	add_file("./d/one", "first");
	add_thing("link", '2', "d/../two", "", 0);
	add_file("two", "the second");
	add_thing("same", '1', "./d/one", "", 0);
	add_thing("x.tar", '0', "", inner, n);
	add_end();
	save("a.tar", tar, tar_len);
	n = zip_up(tar, tar_len, out, sizeof out);
	save("a.tgz", out, n);
}

/* ---- The walk --------------------------------------------------------- */

static void expect_thing(struct hp_archive *a, enum hp_archive_type type,
			 const char *path, const char *content)
{
	struct hp_archive_entry e;
	struct hpdsl_error err;
	char buf[64];
	size_t n = 0;
	ssize_t k;

	assert_int_equal(hp_archive_next(a, &e, &err), 1);
	assert_int_equal(e.type, type);
	assert_string_equal(e.path, path);
	assert_int_equal(e.path_len, strlen(path));
	if (!content)
		return;
	/* In pieces of no particular size. */
	while ((k = hp_archive_read(a, buf + n, 3, &err)) > 0)
		n += (size_t)k;
	assert_int_equal(k, 0);
	assert_int_equal(n, strlen(content));
	assert_memory_equal(buf, content, n);
	assert_int_equal(e.size, n);
	assert_int_equal(e.mtime, 1700000000);
	assert_int_equal(e.mode, 0640);
}

static void walk(const char *name)
{
	struct hp_archive_entry e;
	struct hpdsl_error err;
	struct hp_archive *a;

	assert_int_equal(hp_archive_open(NULL, AT_FDCWD, name, true, &a, &err),
			 0);
	expect_thing(a, HP_ARCHIVE_FOLDER, "./", NULL);
	expect_thing(a, HP_ARCHIVE_FOLDER, "d/", NULL);
	expect_thing(a, HP_ARCHIVE_FILE, "./d/one", "first");
	expect_thing(a, HP_ARCHIVE_SYMLINK, "link", NULL);
	expect_thing(a, HP_ARCHIVE_FILE, "two", "the second");
	expect_thing(a, HP_ARCHIVE_HARDLINK, "same", NULL);
	expect_thing(a, HP_ARCHIVE_FILE, "x/deep/file", "inside");
	assert_int_equal(hp_archive_next(a, &e, &err), 0);
	hp_archive_close(a);
}

static void test_walk(void **state)
{
	(void)state;
	make_archives();
	walk("a.tar");
	walk("a.tgz");
}

static void test_suffix(void **state)
{
	static const struct {
		const char *name;
		size_t n;
	} t[] = {
		{ "a.tar", 4 },	    { "a.TAR.GZ", 7 },	{ "a/b.tgz", 4 },
		{ ".tar", 0 },	    { "d/.zip", 0 },	{ "tar", 0 },
		{ "a.tar.zst", 8 }, { "a.tar.bz2", 8 }, { "a.tbz2", 5 },
		{ "a.gz", 0 },	    { "a.tar.Z", 0 },	{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		assert_int_equal(
			hp_archive_suffix(t[i].name, strlen(t[i].name)),
			t[i].n);
}

static void test_stop(void **state)
{
	struct hp_archive_entry e;
	struct hpdsl_error err;
	struct hp_archive *a;
	int stop = 1;

	(void)state;
	make_archives();
	assert_int_equal(
		hp_archive_open(NULL, AT_FDCWD, "a.tgz", false, &a, &err), 0);
	hp_archive_set_stop(a, &stop);
	assert_int_equal(hp_archive_next(a, &e, &err), HPDSL_ESTOPPED);
	hp_archive_close(a);
}

/* ---- The scan --------------------------------------------------------- */

static const struct hpdsl_pack_options nested = { .nested = true };

/* Contents by offset or number, and what links are. */
static void expect_scan(const char *name, bool in_place)
{
	const struct hp_file *f;

	scan_one(&o, name, &nested);
	if (o.code)
		print_error("%s\n", o.err.msg);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_roots, 1);
	assert_int_equal(o.list.roots[0].kind,
			 in_place ? HP_ROOT_TAR : HP_ROOT_STREAM);
	assert_true(o.list.roots[0].size > 0);
	assert_int_equal(o.list.n_files, 5);
	f = o.list.files;
	assert_string_equal(f[0].path, "d/one");
	assert_string_equal(f[1].path, "link");
	assert_string_equal(f[2].path, "same");
	assert_string_equal(f[3].path, "two");
	assert_string_equal(f[4].path, "x/deep/file");
	assert_int_equal(f[0].source, in_place ? 3 * 512 : 0);
	assert_int_equal(f[2].source, f[0].source);
	assert_int_equal(f[1].source, f[3].source);
	assert_int_equal(f[3].source, in_place ? 6 * 512 : 1);
	assert_int_equal(f[4].source, in_place ? 10 * 512 : 2);
	assert_int_equal(f[1].size, 10);
	assert_int_equal(f[1].mode, 0640);
	assert_int_equal(o.report.symlinks_followed, 1);
	assert_int_equal(o.report.hard_links, 2);
	assert_int_equal(o.report.dirs, 1);
	assert_int_equal(o.report.empty_dirs, 0);
	hp_list_release(&o.list);
}

static void test_scan(void **state)
{
	(void)state;
	make_archives();
	expect_scan("a.tar", true);
	expect_scan("a.tgz", false);
}

/* The same through another table, from memory. */
static void test_memory_file(void **state)
{
	struct memio *m = memio_new();
	struct hpdsl_pack_options opt = { .watch.io = memio_io(m) };

	(void)state;
	tar_len = 0;
	add_file("b", "2");
	add_file("a", "1");
	add_end();
	memio_add(m, "x", tar, tar_len);
	scan_one(&o, "x", &opt);
	assert_int_equal(o.list.files[0].source, 3 * 512);
	EXPECT_FILES(&o, "a", "b");
	memio_resize(m, "x", 1024 + 100);
	scan_one(&o, "x", &opt);
	expect_error(&o, HPDSL_ECORRUPT,
		     "x: at offset 1024: Truncated tar archive");
	assert_int_equal(memio_open_count(m), 0);
	memio_free(m);
}

/* Is this scan, with something that failed, a failure, or as it should be? */
static void check_outcome(void)
{
	if (o.code == 0) {
		assert_int_equal(o.list.n_files, 5);
		assert_string_equal(o.list.files[4].path, "x/deep/file");
		hp_list_release(&o.list);
		return;
	}
	assert_int_equal(o.code, o.err.code);
	assert_true(o.err.msg[0]);
	assert_null(o.list.files);
}

static void fault_runs(const char *name, bool forever)
{
	struct hpdsl_pack_options opt = nested;
	int fds = count_fds();
	struct each_fault e = { .forever = forever, .code = -EIO };

	opt.threads = HPDSL_SERIAL;
	opt.output = "out/put";
	while (each_fault(&e)) {

		opt.watch.io = &e.f.io;
		scan_one(&o, name, &opt);
		check_outcome();
		assert_int_equal(count_fds(), fds);
	}
	assert_true(e.k > 10);
}

static void test_faults(void **state)
{
	(void)state;
	make_archives();
	fault_runs("a.tar", false);
	fault_runs("a.tar", true);
	fault_runs("a.tgz", false);
	fault_runs("a.tgz", true);
}

static void test_no_memory(void **state)
{
	struct hpdsl_pack_options opt = nested;
	struct each_alloc e = { .k = 0 };

	(void)state;
	make_archives();
	opt.threads = HPDSL_SERIAL;
	while (each_alloc(&e)) {
		each_alloc_begin(&e);
		scan_one(&o, e.k % 2 ? "a.tar" : "a.tgz", &opt);
		each_alloc_end(&e);
		/* The other one may have more. */
		e.last &= e.k % 2;
		if (o.code)
			assert_int_equal(o.code, -ENOMEM);
		check_outcome();
	}
	assert_int_equal(o.code, 0);
	assert_true(e.k > 10);
}

/* ---- Packing ---------------------------------------------------------- */

/* Somebody is at the archive just before its n-th opening. */
struct meddler {
	struct hp_io io;
	int opened, at;
};

static int meddling_open(const struct hp_io *io, int dir, const char *name,
			 int flags, mode_t mode)
{
	struct meddler *m = (struct meddler *)io;
	struct timespec t[2] = { { .tv_sec = 5 }, { .tv_sec = 6 } };

	if (!strcmp(name, "a.tar") && !(flags & O_PATH) && ++m->opened == m->at)
		assert_int_equal(utimensat(AT_FDCWD, name, t, 0), 0);
	return hp_io_system.open(&hp_io_system, dir, name, flags, mode);
}

static void test_changed(void **state)
{
	struct meddler m = { .io = hp_io_system, .at = 3 };
	const char *input = "a.tar";
	struct hpdsl_pack_options opt = {
		.inputs = &input,
		.n_inputs = 1,
		.output = "out",
		.threads = HPDSL_SERIAL,
		.watch.io = &m.io,
	};
	struct hpdsl_pack_report report;
	struct hpdsl_error err;

	(void)state;
	make_archives();
	m.io.open = meddling_open;
	assert_int_equal(hpdsl_pack(&opt, &report, &err), HPDSL_ECHANGED);
	assert_string_equal(err.msg, "a.tar: changed since it was scanned");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suffix),
		cmocka_unit_test_setup_teardown(test_walk, tree_begin,
						tree_end),
		cmocka_unit_test_setup_teardown(test_stop, tree_begin,
						tree_end),
		cmocka_unit_test_setup_teardown(test_scan, tree_begin,
						tree_end),
		cmocka_unit_test(test_memory_file),
		cmocka_unit_test_setup_teardown(test_faults, tree_begin,
						tree_end),
		cmocka_unit_test_setup_teardown(test_no_memory, tree_begin,
						tree_end),
		cmocka_unit_test_setup_teardown(test_changed, tree_begin,
						tree_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
