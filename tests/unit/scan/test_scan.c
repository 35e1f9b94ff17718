/* SPDX-License-Identifier: Apache-2.0 */
/* What the scan finds, counts and refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scan_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct outcome o;

/* ---- Trees ------------------------------------------------------------ */

static void test_tree(void **state)
{
	struct timespec times[2] = { { 1, 2 }, { 1234567890, 987654321 } };
	struct hp_file *f;
	struct stat st;

	(void)state;
	make_dir("in");
	make_dir("in/a");
	make_dir("in/a/.b");
	make_dir("in/empty");
	make_file("in/a/.b/.hidden", "");
	make_file("in/a/x.jpg", "hello");
	make_file("in/z", "12");
	assert_int_equal(chmod("in/a/x.jpg", 04640), 0);
	assert_int_equal(utimensat(AT_FDCWD, "in/a/x.jpg", times, 0), 0);
	scan_one(&o, "in/", NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_roots, 1);
	f = &o.list.files[1];
	assert_int_equal(stat("in/a/x.jpg", &st), 0);
	assert_int_equal(f->size, 5);
	assert_int_equal(f->mode, 04640);
	assert_int_equal(f->mtime, 1234567890);
	assert_int_equal(f->nsec, 987654321);
	assert_int_equal(f->stamp, hp_file_stamp(&st));
	assert_int_equal(f->flags, 0);
	assert_int_equal(o.report.dirs, 3);
	assert_int_equal(o.report.empty_dirs, 1);
	assert_int_equal(o.report.xattrs, UINT64_MAX);
	assert_true(o.report.scan_seconds > 0);
	assert_int_equal(o.warned, 0);
	EXPECT_FILES(&o, "a/.b/.hidden", "a/x.jpg", "z");
}

static void test_names(void **state)
{
	char name[300] = "in/";

	(void)state;
	make_dir("in");
	memset(name + 3, 'n', 255);
	make_file(name, "");
	make_file("in/new\nline", "");
	make_file("in/\xff\xfe", "");
	make_file("in/ blank \\", "");
	scan_one(&o, "in", NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_files, 4);
	assert_string_equal(o.list.files[0].path, " blank \\");
	assert_string_equal(o.list.files[1].path, "new\nline");
	assert_string_equal(o.list.files[2].path, name + 3);
	assert_string_equal(o.list.files[3].path, "\xff\xfe");
	hp_list_release(&o.list);
}

/* Folders of 255 bytes, made from inside; ends with a file of len bytes. */
static void make_deep(const char *top, int folders, size_t len)
{
	char name[256];
	int fd, next;

	make_dir(top);
	fd = open(top, O_PATH | O_DIRECTORY);
	memset(name, 'd', sizeof name);
	name[255] = '\0';
	for (int i = 0; i < folders; i++) {
		assert_int_equal(mkdirat(fd, name, 0777), 0);
		next = openat(fd, name, O_PATH | O_DIRECTORY);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	name[len] = '\0';
	next = openat(fd, name, O_CREAT | O_WRONLY, 0666);
	assert_true(next >= 0);
	close(next);
	close(fd);
}

static void test_deep(void **state)
{
	const struct hpdsl_pack_options prefix = { .prefix_input = true };

	(void)state;
	make_deep("in", 15, 255); /* 15 * 256 + 255 = 4095 */
	scan_one(&o, "in", NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_files, 1);
	assert_int_equal(o.list.files[0].path_len, 4095);
	assert_int_equal(strlen(o.list.files[0].path), 4095);
	assert_int_equal(o.report.dirs, 15);
	hp_list_release(&o.list);
	/* In front of that nothing fits any more. */
	scan_one(&o, "in", &prefix);
	assert_int_equal(o.code, -ENAMETOOLONG);
	assert_non_null(strstr(o.err.msg, "File name too long"));
	/* Nor behind. */
	make_deep("in2", 16, 1);
	scan_one(&o, "in2", NULL);
	assert_int_equal(o.code, -ENAMETOOLONG);
}

static void test_large_folder(void **state)
{
	static const uint32_t readers[] = { 0, 1, 2, 5, 100 };
	struct hpdsl_pack_options opt = { 0 };

	(void)state;
	make_files("in", 3000);
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		opt.readers = readers[i];
		scan_one(&o, "in", &opt);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.list.n_files, 3000);
		for (size_t f = 1; f < 3000; f++)
			assert_true(by_path(&o.list.files[f - 1],
					    &o.list.files[f]) < 0);
		hp_list_release(&o.list);
	}
}

static void test_counts(void **state)
{
	(void)state;
	make_dir("in");
	make_file("in/a", "x");
	assert_int_equal(link("in/a", "in/b"), 0);
	make_file("in/hole", "");
	assert_int_equal(truncate("in/hole", 1 << 20), 0);
	scan_one(&o, "in", NULL);
	assert_int_equal(o.report.hard_links, 2);
	assert_int_equal(o.report.sparse, 1);
	EXPECT_FILES(&o, "a", "b", "hole");
}

static void test_special(void **state)
{
	(void)state;
	make_dir("in");
	make_file("in/a", "x");
	assert_int_equal(mkfifo("in/pipe", 0666), 0);
	scan_one(&o, "in", NULL);
	expect_error(&o, -ENOTSUP, "in/pipe: is a FIFO, not a file");
	assert_int_equal(o.warned, 0);
	assert_int_equal(mkfifo("in/a pipe", 0666), 0);
	scan_one(&o, "in", NULL);
	expect_error(&o, -ENOTSUP,
		     "2 problems in the input, first: in/a pipe: is a FIFO, "
		     "not a file");
	assert_string_equal(o.warnings, "in/a pipe: is a FIFO, not a file\n"
					"in/pipe: is a FIFO, not a file\n");
}

static void test_many_problems(void **state)
{
	char name[32];

	(void)state;
	make_dir("in");
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "in/p%03d", i);
		assert_int_equal(mkfifo(name, 0666), 0);
	}
	scan_one(&o, "in", NULL);
	assert_int_equal(o.code, -ENOTSUP);
	assert_int_equal(o.warned, 21);
	assert_non_null(strstr(o.warnings, "in/p000: is"));
	assert_non_null(strstr(o.warnings, "in/p019: is"));
	assert_null(strstr(o.warnings, "in/p020: is"));
	assert_non_null(strstr(o.warnings, "and 480 more problems\n"));
}

/* ---- Choice ----------------------------------------------------------- */

static void test_globs(void **state)
{
	static const char *const in[] = { "*.jpg", "keep/**" };
	static const char *const ex[] = { "tmp/", "b.jpg" };
	const struct hpdsl_pack_options opt = {
		.include = in, .n_include = 2, .exclude = ex, .n_exclude = 2
	};

	(void)state;
	make_dir("in");
	make_dir("in/keep");
	make_dir("in/tmp");
	make_file("in/a.jpg", "");
	make_file("in/b.jpg", "");
	make_file("in/c.txt", "");
	make_file("in/keep/c.txt", "");
	make_file("in/tmp/a.jpg", "");
	/* What is excluded is no problem either. */
	assert_int_equal(mkfifo("in/pipe", 0666), 0);
	make_link("in/dangling", "nowhere");
	scan_one(&o, "in", &opt);
	assert_int_equal(o.report.excluded, 4);
	assert_int_equal(o.report.dirs, 1);
	EXPECT_FILES(&o, "a.jpg", "keep/c.txt");
}

static void test_empty(void **state)
{
	static const char *const none = "*";
	const struct hpdsl_pack_options opt = { .exclude = &none,
						.n_exclude = 1 };

	(void)state;
	make_dir("in");
	make_dir("in/a");
	scan_one(&o, "in", NULL);
	expect_error(&o, -ENODATA, "in: no files to pack");
	make_file("in/b", "");
	scan_one(&o, "in", &opt);
	expect_error(&o, -ENODATA, "in: no files to pack (2 excluded)");
}

/* ---- Inputs ----------------------------------------------------------- */

static void test_inputs(void **state)
{
	static const char *const two[] = { "in//", "sub/other" };
	struct hpdsl_pack_options opt = { .inputs = two, .n_inputs = 2 };

	(void)state;
	make_dir("in");
	make_dir("sub");
	make_dir("sub/other");
	make_file("in/a", "");
	make_file("sub/other/b", "");
	scan(&o, &opt);
	assert_int_equal(o.list.files[0].root, 0);
	assert_int_equal(o.list.files[1].root, 1);
	EXPECT_FILES(&o, "a", "b");
	opt.prefix_input = true;
	scan(&o, &opt);
	assert_int_equal(o.list.roots[0].prefix_len, 3);
	assert_string_equal(hp_file_name(&o.list, &o.list.files[1]), "b");
	EXPECT_FILES(&o, "in/a", "other/b");
	assert_int_equal(chdir("sub/other"), 0);
	scan_one(&o, ".", &opt);
	EXPECT_FILES(&o, "other/b");
	scan_one(&o, "./", &opt);
	EXPECT_FILES(&o, "other/b");
	scan_one(&o, "..//..//in", &opt);
	EXPECT_FILES(&o, "in/a");
	scan_one(&o, "..", &opt);
	EXPECT_FILES(&o, "sub/other/b");
}

static void test_refused_inputs(void **state)
{
	const struct hpdsl_pack_options none = { 0 };

	(void)state;
	scan_one(&o, "nosuch", NULL);
	expect_error(&o, -ENOENT, "nosuch: No such file or directory");
	scan(&o, &none);
	expect_error(&o, HPDSL_EUSAGE, "no input");
	make_file("x.tar.gz", "");
	scan_one(&o, "x.tar.gz", NULL);
	expect_error(&o, HPDSL_EUSAGE,
		     "x.tar.gz: is empty, so it is no archive");
	make_file("x.jpg", "JPEG");
	scan_one(&o, "x.jpg", NULL);
	expect_error(
		&o, HPDSL_EUSAGE,
		"x.jpg: is neither a tar nor a zip nor a 7z: what is "
		"packed as it is has to lie in a folder that is the input");
	make_dir("in");
	make_file("in/dataset.yaml", "");
	scan_one(&o, "in", NULL);
	EXPECT_FILES(&o, "dataset.yaml");
	make_dir("packed");
	make_file("packed/dataset.yaml", "format: hpdsl-dataset\n");
	make_file("packed/index.hpdsl", "");
	scan_one(&o, "packed", NULL);
	expect_error(&o, HPDSL_ECORRUPT, "packed/index.hpdsl: is empty");
}

static void test_output_inside(void **state)
{
	static const char *const inside[] = { "in",	  "in/",
					      "in/new",	  "in/a/new",
					      "link/x/y", "in/a/../z",
					      "./in/a" };
	static const char *const outside[] = { "new", "new/deep/er", "in2",
					       "in/..", "other/in" };
	struct hpdsl_pack_options opt = { 0 };

	(void)state;
	make_dir("in");
	make_dir("in/a");
	make_dir("other");
	make_file("in/a/f", "");
	make_link("link", "in/a");
	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
		opt.output = inside[i];
		scan_one(&o, "in", &opt);
		assert_int_equal(o.code, HPDSL_EUSAGE);
		assert_non_null(strstr(o.err.msg,
				       ": the output is inside the input in"));
	}
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
		opt.output = outside[i];
		scan_one(&o, "in", &opt);
		EXPECT_FILES(&o, "a/f");
	}
	assert_int_equal(chdir("in"), 0);
	opt.output = "new";
	scan_one(&o, ".", &opt);
	assert_int_equal(o.code, HPDSL_EUSAGE);
	scan_one(&o, "a", &opt);
	EXPECT_FILES(&o, "f");
}

/* ---- Lists ------------------------------------------------------------ */

static struct outcome *scan_list(const char *input, const char *list, size_t n,
				 const char *output)
{
	struct hpdsl_pack_options opt = { .inputs = &input,
					  .n_inputs = input != NULL,
					  .list = list,
					  .list_bytes = n,
					  .output = output };

	return scan(&o, &opt);
}

#define SCAN_LIST(input, list, output) \
	scan_list(input, list, sizeof list - 1, output)

static void test_list(void **state)
{
	char list[8192];
	char *here = getcwd(NULL, 0);
	int n;

	(void)state;
	make_dir("in");
	make_dir("in/a");
	make_file("in/a/f", "");
	make_file("in/g", "");
	make_file("in/new\nline", "");
	SCAN_LIST("in", "./g\0/a//f\0\0new\nline\0", NULL);
	EXPECT_FILES(&o, "a/f", "g", "new\nline");
	SCAN_LIST("in", "a/\0g", NULL);
	assert_int_equal(o.report.dirs, 1);
	EXPECT_FILES(&o, "a/f", "g");
	SCAN_LIST("in", "./\0", NULL);
	EXPECT_FILES(&o, "a/f", "g", "new\nline");
	/* Without an input: the current directory, and absolute names. */
	n = snprintf(list, sizeof list, "in/g%c%s/in/a/f", '\0', here);
	scan_list(NULL, list, (size_t)n + 1, NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_files, 2);
	for (int i = 0; i < 2; i++) {
		const struct hp_file *f = &o.list.files[i];
		struct stat st;

		assert_int_equal(fstatat(o.list.roots[f->root].fd,
					 hp_file_name(&o.list, f), &st, 0),
				 0);
	}
	hp_list_release(&o.list);
	free(here);
}

static void test_list_refused(void **state)
{
	static const char *const two[] = { "in", "in" };
	const struct hpdsl_pack_options opt = {
		.inputs = two, .n_inputs = 2, .list = "g", .list_bytes = 2
	};
	char lengthy[5001];

	(void)state;
	make_dir("in");
	make_file("in/g", "");
	SCAN_LIST("in", "g\0nosuch\0", NULL);
	expect_error(&o, -ENOENT, "in/nosuch: No such file or directory");
	SCAN_LIST(NULL, "nosuch\0", NULL);
	expect_error(&o, -ENOENT, "nosuch: No such file or directory");
	SCAN_LIST(NULL, "/nosuch\0", NULL);
	expect_error(&o, -ENOENT, "/nosuch: No such file or directory");
	SCAN_LIST("in", "g\0\0a/../g\0", NULL);
	expect_error(&o, HPDSL_EUSAGE,
		     "list, line 3: 'a/../g': \"..\" is not allowed in a path");
	SCAN_LIST("in", "..\0", NULL);
	assert_int_equal(o.code, HPDSL_EUSAGE);
	memset(lengthy, 'a', sizeof lengthy);
	scan_list("in", lengthy, sizeof lengthy, NULL);
	assert_int_equal(o.code, HPDSL_EUSAGE);
	SCAN_LIST("in", "\0\0", NULL);
	expect_error(&o, -ENODATA, "in: no files to pack");
	scan_list(NULL, "", 0, NULL);
	expect_error(&o, -ENODATA, "list: no files to pack");
	scan(&o, &opt);
	assert_int_equal(o.code, HPDSL_EUSAGE);
}

static void test_list_output(void **state)
{
	(void)state;
	make_dir("in");
	make_dir("in/out");
	make_file("in/g", "");
	/* Files beside the output are fine, folders around it are not. */
	assert_int_equal(chdir("in"), 0);
	SCAN_LIST(NULL, "g\0", "out");
	EXPECT_FILES(&o, "g");
	SCAN_LIST(NULL, ".\0", "out");
	expect_error(&o, HPDSL_EUSAGE, "out: the output is inside the input .");
	assert_int_equal(chdir(".."), 0);
	SCAN_LIST(NULL, "in\0", "in/out/new");
	expect_error(&o, HPDSL_EUSAGE,
		     "in/out/new: the output is inside the input in");
	SCAN_LIST("in", "g\0", "in/out");
	assert_int_equal(o.code, HPDSL_EUSAGE);
}

static void test_list_long(void **state)
{
	char *list = malloc(3000 * 8);
	size_t n = 0;

	(void)state;
	make_files("in", 3000);
	for (int i = 0; i < 3000; i++)
		n += (size_t)sprintf(list + n, "f%d", i) + 1;
	scan_list("in", list, n, NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_files, 3000);
	hp_list_release(&o.list);
	free(list);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_begin, tree_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tree),	   TEST(test_names),
		TEST(test_deep),	   TEST(test_large_folder),
		TEST(test_counts),	   TEST(test_special),
		TEST(test_many_problems),  TEST(test_globs),
		TEST(test_empty),	   TEST(test_inputs),
		TEST(test_refused_inputs), TEST(test_output_inside),
		TEST(test_list),	   TEST(test_list_refused),
		TEST(test_list_output),	   TEST(test_list_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
