/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic links, threads, and file operations that fail, for the scan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scan_tree.h"

static struct outcome o;
static const struct hpdsl_pack_options all = {
	.symlinks = HPDSL_SYMLINKS_FOLLOW_ALL
};

/* ---- Links ------------------------------------------------------------ */

static void test_links(void **state)
{
	struct hp_file *f;

	(void)state;
	make_dir("in");
	make_dir("in/d");
	make_dir("outside");
	make_file("in/d/target", "hello");
	make_link("in/file", "d/target");
	make_link("in/twice", "file");
	make_link("in/folder", "d");
	make_link("in/up", "..");
	make_link("alias", "in");
	scan_one(&o, "alias", NULL);
	assert_int_equal(o.report.symlinks_followed, 2);
	assert_int_equal(o.report.symlinks_to_dirs, 2);
	f = &o.list.files[1];
	assert_int_equal(f->size, 5);
	assert_int_equal(f->flags, HP_FILE_FOLLOW);
	assert_int_equal(f->stamp, o.list.files[0].stamp);
	assert_int_equal(o.list.files[0].flags, 0);
	EXPECT_FILES(&o, "d/target", "file", "twice");
}

static void test_dangling(void **state)
{
	(void)state;
	make_dir("in");
	make_file("in/f", "");
	make_link("in/gone", "no/where");
	scan_one(&o, "in", NULL);
	expect_error(&o, -ENOENT, "in/gone: dangling link to no/where");
	scan_one(&o, "in", &all);
	assert_string_equal(o.warnings, "in/gone: dangling link to no/where\n");
	EXPECT_FILES(&o, "f");
	unlink("in/gone");
	make_link("in/a", "b");
	make_link("in/b", "a");
	scan_one(&o, "in", NULL);
	expect_error(&o, -ELOOP,
		     "2 problems in the input, first: in/a: link loop, "
		     "through b");
	scan_one(&o, "in", &all);
	assert_int_equal(o.warned, 2);
	EXPECT_FILES(&o, "f");
}

static void test_outside(void **state)
{
	(void)state;
	make_dir("in");
	make_dir("in2"); /* not inside, for all its name */
	make_file("in2/f", "12");
	make_link("in/out", "../in2/f");
	scan_one(&o, "in", NULL);
	assert_int_equal(o.code, -EXDEV);
	assert_non_null(
		strstr(o.err.msg, "in/out: link leads outside the input: /"));
	scan_one(&o, "in", &all);
	assert_int_equal(o.list.files[0].size, 2);
	EXPECT_FILES(&o, "out");
	assert_int_equal(mkfifo("in2/pipe", 0666), 0);
	unlink("in/out");
	make_link("in/p", "../in2/pipe");
	scan_one(&o, "in", &all);
	expect_error(&o, -ENOTSUP, "in/p: is a FIFO, not a file");
}

static void test_no_proc(void **state)
{
	const char *input = "in";
	struct hpdsl_pack_options opt = { .inputs = &input, .n_inputs = 1 };
	struct tricks t;

	(void)state;
	make_dir("in");
	make_file("in/f", "");
	make_link("in/g", "f");
	tricks_init(&t);
	opt.watch.io = &t.io;
	t.fail_code = -ENOENT;
	t.fail_at = 3; /* open, stat, readlink of the input */
	scan(&o, &opt);
	expect_error(&o, -ENOENT, "in/g: cannot tell where the link leads");
	assert_int_equal(t.fds, 0);
}

/* ---- Threads, orders, types ------------------------------------------- */

static void make_mixed(void)
{
	char name[64];

	make_dir("in");
	for (int d = 0; d < 40; d++) {
		snprintf(name, sizeof name, "in/d%d", d);
		make_files(name, d * 10);
		snprintf(name, sizeof name, "in/d%d/sub", d);
		make_files(name, 3);
	}
	make_link("in/link", "d3/f1");
	make_link("in/dirlink", "d3");
}

static void same_outcome(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->code, 0);
	assert_int_equal(b->code, 0);
	assert_int_equal(a->list.n_files, b->list.n_files);
	for (uint64_t i = 0; i < a->list.n_files; i++) {
		const struct hp_file *f = &a->list.files[i];
		const struct hp_file *g = &b->list.files[i];

		assert_string_equal(f->path, g->path);
		assert_int_equal(f->stamp, g->stamp);
		assert_int_equal(f->mode, g->mode);
		assert_int_equal(f->flags, g->flags);
	}
	assert_int_equal(a->report.dirs, b->report.dirs);
	assert_int_equal(a->report.empty_dirs, b->report.empty_dirs);
	assert_int_equal(a->report.symlinks_to_dirs,
			 b->report.symlinks_to_dirs);
}

static void test_same(void **state)
{
	static struct outcome serial;
	struct hpdsl_pack_options opt = { .threads = HPDSL_SERIAL };
	struct tricks t;

	(void)state;
	make_mixed();
	tricks_init(&t);
	opt.watch.io = &t.io;
	scan_one(&serial, "in", &opt);
	assert_int_equal(serial.code, 0);
	assert_int_equal(serial.list.n_files, 7800 + 120 + 1);
	assert_false(t.elsewhere);
	opt.threads = 0;
	for (int i = 0; i < 8; i++) {
		t.shuffle = i & 1;
		t.untyped = i & 2;
		t.interrupt = i & 4;
		scan_one(&o, "in", &opt);
		same_outcome(&serial, &o);
		hp_list_release(&o.list);
	}
	assert_true(t.elsewhere);
	/* Two for each reader, and the input. */
	assert_true(t.fds_most <= 2 * 16 + 2);
	hp_list_release(&serial.list);
	assert_int_equal(t.fds, 0);
}

/* Patterns say the same where the folder does not tell what a name is. */
static void test_untyped_globs(void **state)
{
	const char *exclude[] = { "*.bin", "no/" };
	struct hpdsl_pack_options opt = { .exclude = exclude, .n_exclude = 2 };
	struct tricks t;

	(void)state;
	make_dir("in");
	make_file("in/a.txt", "1");
	make_file("in/b.bin", "1");
	make_files("in/dir.d", 2);
	make_files("in/no", 3);
	make_file("in/dir.d/c.bin", "1");
	assert_int_equal(mkfifo("in/pipe.bin", 0666), 0);
	tricks_init(&t);
	opt.watch.io = &t.io;
	for (int i = 0; i < 2; i++) {
		t.untyped = i;
		scan_one(&o, "in", &opt);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.report.excluded, 3);
		assert_int_equal(o.report.excluded_dirs, 1);
		EXPECT_FILES(&o, "a.txt", "dir.d/f0", "dir.d/f1");
	}
}

/* Nor does litter hang on that; and what is none of ours may be gone. */
static void test_litter(void **state)
{
	static const char nfs[] = ".nfs000000000000123400000001";
	const char *include = "*";
	struct hpdsl_pack_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_dir("in");
	make_file("in/a", "1");
	make_file("in/._a", "12");
	make_file("in/._b", "1");
	make_link("in/.DS_Store", "nowhere");
	make_files("in/.snapshot", 2);
	make_files("in/d", 1);
	make_dir("in/d/lost+found");
	make_file("in/d/lost+found/.nfs000000000000123400000001", "123");
	tricks_init(&t);
	opt.watch.io = &t.io;
	for (int i = 0; i < 4; i++) {
		char name[64];

		t.untyped = i & 1;
		t.fail_code = -ENOENT;
		t.name = i & 2 ? name : NULL;
		snprintf(name, sizeof name, "d/lost+found/%s", nfs);
		scan_one(&o, "in", &opt);
		assert_int_equal(o.report.litter.files, 3);
		assert_int_equal(o.report.litter.bytes, i & 2 ? 2 : 5);
		assert_int_equal(o.report.litter.folders, 1);
		EXPECT_FILES(&o, "._b", "a", "d/f0");
	}
	t.name = NULL;
	opt.include = &include;
	opt.n_include = 1;
	opt.symlinks = HPDSL_SYMLINKS_FOLLOW_ALL;
	scan_one(&o, "in", &opt);
	assert_int_equal(o.report.litter.files + o.report.litter.folders, 0);
	assert_int_equal(o.report.litter.included, 5);
	assert_int_equal(o.list.n_files, 7);
	hp_list_release(&o.list);
	opt.litter = HPDSL_LITTER_OLD;
	scan_one(&o, "in", &opt);
	assert_int_equal(o.report.litter.included, 0);
	assert_int_equal(o.list.n_files, 7);
	hp_list_release(&o.list);
	assert_int_equal(t.fds, 0);
}

/* Many links that lead outside are one problem, named by the first. */
static void test_outside_many(void **state)
{
	const char *first = "in/d/l10: link leads outside the input: /";
	char name[32];

	(void)state;
	make_dir("in");
	make_dir("in/d");
	make_file("f", "");
	for (int i = 10; i < 60; i++) {
		snprintf(name, sizeof name, "in/d/l%d", i);
		make_link(name, "../../f");
	}
	make_link("in/x", "gone");
	scan_one(&o, "in", NULL);
	assert_int_equal(o.code, -EXDEV);
	assert_int_equal(o.warned, 2);
	assert_non_null(strstr(o.err.msg, "2 problems in the input"));
	assert_non_null(strstr(o.warnings, first));
	assert_non_null(strstr(o.warnings, "f, as 49 more links do\n"));
}

/* One folder keeps many readers busy. */
static void test_parallel(void **state)
{
	struct hpdsl_pack_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_files("in", 4000);
	tricks_init(&t);
	t.together = 8;
	opt.watch.io = &t.io;
	scan_one(&o, "in", &opt);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_files, 4000);
	assert_true(t.stats_most <= 16);
	hp_list_release(&o.list);
}

static uint64_t last_done;
static int told;

static void hear(void *arg, const struct hpdsl_progress *p)
{
	(void)arg;
	assert_string_equal(p->phase, "scanning");
	assert_true(p->done >= last_done);
	last_done = p->done;
	told++;
}

static void test_progress(void **state)
{
	struct hpdsl_pack_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_files("in", 2000);
	tricks_init(&t);
	t.passes = 0.0004;
	opt.watch.io = &t.io;
	opt.watch.progress = hear;
	last_done = 0;
	told = 0;
	clock_still(true);
	scan_one(&o, "in", &opt);
	clock_still(false);
	assert_int_equal(o.code, 0);
	assert_int_equal(last_done, 2000);
	assert_true(told >= 2 && told < 3 + o.report.scan_seconds * 5);
	hp_list_release(&o.list);
}

static void test_stop(void **state)
{
	struct hpdsl_pack_options opt = { 0 };
	struct tricks t;
	int stop = 0;

	(void)state;
	make_mixed();
	tricks_init(&t);
	opt.watch.io = &t.io;
	opt.watch.stop = &stop;
	t.stop = &stop;
	for (int serial = 0; serial < 2; serial++) {
		opt.threads = serial ? HPDSL_SERIAL : 0;
		for (t.stop_at = 1; t.stop_at < 4000; t.stop_at *= 3) {
			stop = 0;
			t.calls = 0;
			scan_one(&o, "in", &opt);
			expect_error(&o, HPDSL_ESTOPPED,
				     "stopped during the scan");
			assert_true(t.calls < t.stop_at + 64);
			assert_int_equal(t.fds, 0);
		}
	}
}

/* ---- Failures --------------------------------------------------------- */

static void test_unreadable(void **state)
{
	struct hpdsl_pack_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_dir("in");
	make_files("in/a", 3);
	make_files("in/b", 3);
	tricks_init(&t);
	opt.watch.io = &t.io;
	t.name = "b";
	t.fail_code = -EACCES;
	scan_one(&o, "in", &opt);
	expect_error(&o, -EACCES, "in/b: Permission denied");
	t.fail_code = -ENOENT;
	scan_one(&o, "in", &opt);
	expect_error(&o, HPDSL_ECHANGED, "in/b: vanished during the scan");
	t.name = "a/f1";
	scan_one(&o, "in", &opt);
	expect_error(&o, HPDSL_ECHANGED, "in/a/f1: vanished during the scan");
	t.fail_code = -EIO;
	scan_one(&o, "in", &opt);
	expect_error(&o, -EIO, "in/a/f1: Input/output error");
	assert_int_equal(t.fds, 0);
}

/*
 * Every call fails once, or from there on.  What may fail without harm is to
 * learn the input's real path, when no link asks for it.
 */
static void fail_each(struct hpdsl_pack_options *opt, bool forever)
{
	struct tricks t;
	int failed = 0, k = 0;

	do {
		tricks_init(&t);
		t.fail_at = ++k;
		t.fail_code = k % 2 ? -EIO : -ENOMEM;
		t.forever = forever;
		opt->watch.io = &t.io;
		scan(&o, opt);
		if (o.code) {
			assert_int_equal(o.err.code, o.code);
			assert_true(strlen(o.err.msg) > 5);
			failed++;
		} else {
			assert_int_equal(o.list.n_files, 6);
		}
		hp_list_release(&o.list);
		assert_int_equal(t.fds, 0);
	} while (t.calls >= k);
	assert_int_equal(o.code, 0);
	assert_true(failed >= k - 2);
	assert_true(k > 20);
}

static void test_fail_each(void **state)
{
	const char *input = "in";
	struct hpdsl_pack_options opt = { .inputs = &input,
					  .n_inputs = 1,
					  .prefix_input = true,
					  .output = "out/new" };

	(void)state;
	make_dir("in");
	make_files("in/a", 3);
	make_files("in/b", 2);
	make_link("in/l", "a/f1");
	for (int i = 0; i < 4; i++) {
		opt.threads = i & 1 ? HPDSL_SERIAL : 0;
		fail_each(&opt, i & 2);
	}
}

/* A record that makes no sense is no folder's end. */
static ssize_t bad_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	ssize_t r = hp_io_system.getdents(io, fd, buf, n);

	if (r > 0)
		((struct dirent64 *)buf)->d_reclen = 60000;
	return r;
}

static void test_bad_records(void **state)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_pack_options opt = { .watch.io = &io };

	(void)state;
	make_files("in", 3);
	io.getdents = bad_getdents;
	scan_one(&o, "in", &opt);
	expect_error(&o, -EIO, "in: Input/output error");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_begin, tree_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_links),	TEST(test_dangling),
		TEST(test_outside),	TEST(test_no_proc),
		TEST(test_same),	TEST(test_parallel),
		TEST(test_progress),	TEST(test_stop),
		TEST(test_unreadable),	TEST(test_fail_each),
		TEST(test_bad_records), TEST(test_untyped_globs),
		TEST(test_litter),	TEST(test_outside_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
