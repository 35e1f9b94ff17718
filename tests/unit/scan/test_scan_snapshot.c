/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot in place of a walk: the same list, whoever takes which entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scan_tree.h"
#include "snap/write.h"
#include "each_fault.h"

#include <sys/stat.h>

/* The snapshot of some leaves, in memory. */
struct frozen {
	struct hpdsl_snapshot *snap;
	void *bytes;
};

struct leaves {
	struct hp_leaf *v;
	uint64_t n;
	char *text;
	size_t used;
};

enum { LEAVES = 100000, TEXT = 8 << 20 };

static struct outcome o;

static void leaves_begin(struct leaves *l)
{
	l->v = calloc(LEAVES, sizeof *l->v);
	l->text = malloc(TEXT);
	assert_true(l->v && l->text);
	l->n = 0;
	l->used = 0;
}

static struct hp_node *leaf(struct leaves *l, mode_t mode, const char *path)
{
	struct hp_leaf *leaf = &l->v[l->n++];
	size_t len = strlen(path);

	assert_true(l->n < LEAVES && l->used + len < TEXT);
	leaf->path = memcpy(l->text + l->used, path, len + 1);
	l->used += len + 1;
	leaf->node = (struct hp_node){ .mode = (uint16_t)mode };
	if (S_ISREG(mode))
		leaf->node.member = HPDSL_NO_MEMBER;
	return &leaf->node;
}

/* A file whose attributes follow from its number. */
static void file(struct leaves *l, uint64_t number, const char *path)
{
	struct hp_node *node = leaf(l, S_IFREG | 0644, path);

	node->mode = (uint16_t)(S_IFREG | (0444 + number % 7 * 0100));
	node->size = number * 3;
	node->mtime = (int64_t)number - 1000;
	node->nsec = (uint32_t)number;
}

static void freeze(struct leaves *l, struct frozen *ret)
{
	struct hp_tree t = { 0 };
	struct hpdsl_error err;

	memset(ret, 0, sizeof *ret);
	if (hp_tree_init(&t) < 0 || hp_tree_build(&t, l->v, l->n, &err) < 0 ||
	    hp_snap_in_memory(&t, HPDSL_SERIAL, "snap", &ret->bytes, &ret->snap,
			      &err) < 0)
		fail_msg("%s", err.msg);
	hp_tree_release(&t);
	free(l->v);
	free(l->text);
}

static void thaw(struct frozen *f)
{
	hpdsl_snapshot_close(f->snap);
	free(f->bytes);
}

static void scan_frozen(const struct frozen *f,
			const struct hpdsl_pack_options *more)
{
	struct hpdsl_pack_options opt =
		more ? *more : (struct hpdsl_pack_options){ 0 };

	opt.snapshot = f->snap;
	scan_one(&o, "in", &opt);
}

/* Many files: folders that several jobs share, and jobs of many folders. */
static void make_many(struct frozen *ret)
{
	struct leaves l;
	char path[100];
	uint64_t n = 0;

	leaves_begin(&l);
	leaf(&l, S_IFDIR | 0755, "");
	leaf(&l, S_IFDIR | 0755, "large");
	leaf(&l, S_IFDIR | 0755, "large/empty");
	leaf(&l, S_IFDIR | 0755, "many");
	leaf(&l, S_IFDIR | 0755, "top");
	for (unsigned i = 0; i < 40000; i++) {
		snprintf(path, sizeof path, "large/%05u.jpg", i);
		file(&l, n++, path);
	}
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(path, sizeof path, "many/%04u", i);
		leaf(&l, S_IFDIR | 0700, path);
		for (unsigned k = 0; k < i % 20; k++) {
			snprintf(path, sizeof path, "many/%04u/%u", i, k);
			file(&l, n++, path);
		}
	}
	file(&l, n++, "z");
	freeze(&l, ret);
}

static uint64_t number_of(const char *path)
{
	unsigned i, k;

	if (sscanf(path, "large/%u.jpg", &i) == 1)
		return i;
	if (sscanf(path, "many/%u/%u", &i, &k) == 2)
		return 40000 + i / 20 * 190 + i % 20 * (i % 20 - 1) / 2 + k;
	assert_string_equal(path, "z");
	return 40000 + 19000;
}

static void test_many(void **state)
{
	const struct hpdsl_pack_options how[] = {
		{ .threads = HPDSL_SERIAL },
		{ .readers = 1 },
		{ .readers = 16 },
		{ .readers = 200 },
	};
	struct frozen f;

	(void)state;
	make_dir("in");
	make_many(&f);
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		scan_frozen(&f, &how[i]);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.list.n_files, 59001);
		for (uint64_t k = 0; k < o.list.n_files; k++) {
			const struct hp_file *at = &o.list.files[k];
			uint64_t n = number_of(at->path);

			assert_int_equal(at->size, n * 3);
			assert_int_equal(at->mtime, (int64_t)n - 1000);
			assert_int_equal(at->nsec, n);
			assert_int_equal(at->mode, 0444 + n % 7 * 0100);
			assert_int_equal(at->stamp, 0);
			assert_int_equal(at->path_len, strlen(at->path));
			assert_true(k == 0 || strcmp(at[-1].path, at->path));
		}
		assert_int_equal(o.report.dirs, 2004);
		assert_int_equal(o.report.empty_dirs, 102);
		assert_int_equal(o.report.hard_links, UINT64_MAX);
		assert_int_equal(o.report.sparse, UINT64_MAX);
		hp_list_release(&o.list);
	}
	thaw(&f);
}

static void test_patterns(void **state)
{
	const char *const out[] = { "many/00*/", "5", "empty" };
	const char *const in[] = { "z", "many/**" };
	struct hpdsl_pack_options opt = {
		.exclude = out, .n_exclude = 3, .include = in, .n_include = 2
	};
	struct frozen f;

	(void)state;
	make_dir("in");
	make_many(&f);
	scan_frozen(&f, &opt);
	assert_int_equal(o.code, 0);
	for (uint64_t k = 0; k < o.list.n_files; k++) {
		assert_true(o.list.files[k].path[0] != 'l');
		assert_true(strncmp(o.list.files[k].path, "many/00", 7));
		assert_true(!strstr(o.list.files[k].path, "/5"));
	}
	/* 1,900 folders with 0 .. 19 files; 14 of 20 have a file 5 */
	assert_int_equal(o.list.n_files, 1900 / 20 * (190 - 14) + 1);
	assert_int_equal(o.report.excluded, 40000 + 1900 / 20 * 14);
	assert_int_equal(o.report.excluded_dirs, 101);
	assert_int_equal(o.report.dirs, 2004 - 101);
	hp_list_release(&o.list);
	thaw(&f);
}

/* Paths that a prefix makes too long, names that no file system has. */
static void test_too_long(void **state)
{
	struct hpdsl_pack_options opt = { .prefix_input = true };
	char path[HPDSL_PATH_MAX + 1];
	struct leaves l;
	struct frozen f;

	(void)state;
	make_dir("in");
	leaves_begin(&l);
	leaf(&l, S_IFDIR | 0755, "");
	for (size_t i = 0; i < 15; i++) {
		memset(path + i * 256, 'a' + (int)i, 255);
		path[i * 256 + 255] = '\0';
		leaf(&l, S_IFDIR | 0755, path);
		path[i * 256 + 255] = '/';
	}
	memset(path + 15 * 256, 'z', 255);
	path[HPDSL_PATH_MAX] = '\0';
	file(&l, 1, path);
	path[HPDSL_PATH_MAX - 3] = '\0';
	file(&l, 2, path);
	freeze(&l, &f);
	scan_frozen(&f, NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.list.n_files, 2);
	hp_list_release(&o.list);
	scan_frozen(&f, &opt);
	assert_int_equal(o.code, -ENAMETOOLONG);
	assert_non_null(strstr(o.err.msg, "/aaa"));
	thaw(&f);

	leaves_begin(&l);
	leaf(&l, S_IFDIR | 0755, "");
	memset(path, 'n', HPDSL_PATH_MAX);
	path[HPDSL_PATH_MAX] = '\0';
	leaf(&l, S_IFDIR | 0755, path);
	path[2000] = '\0';
	file(&l, 1, path);
	path[1023] = '\0';
	file(&l, 2, path);
	freeze(&l, &f);
	scan_frozen(&f, NULL);
	assert_int_equal(o.code, -ENAMETOOLONG);
	assert_non_null(strstr(o.err.msg, "2 problems"));
	thaw(&f);
}

static void test_usage(void **state)
{
	const char *const two[] = { "in", "in" };
	struct hpdsl_pack_options opt = { .inputs = two, .n_inputs = 2 };
	struct leaves l;
	struct frozen f;

	(void)state;
	make_dir("in");
	leaves_begin(&l);
	leaf(&l, S_IFDIR | 0755, "");
	freeze(&l, &f);
	opt.snapshot = f.snap;
	o.code = hp_scan(&o.list, &opt, &o.report, &o.err);
	assert_int_equal(o.code, HPDSL_EUSAGE);
	opt.n_inputs = 1;
	opt.list = "";
	o.code = hp_scan(&o.list, &opt, &o.report, &o.err);
	assert_int_equal(o.code, HPDSL_EUSAGE);
	opt.list = NULL;
	o.code = hp_scan(&o.list, &opt, &o.report, &o.err);
	assert_int_equal(o.code, -ENODATA);
	thaw(&f);
}

static void test_no_memory(void **state)
{
	const struct hpdsl_pack_options opt = { .readers = 3 };
	struct frozen f;
	struct each_alloc e = { .k = 0 };

	(void)state;
	make_dir("in");
	make_many(&f);
	while (each_alloc(&e)) {
		each_alloc_begin(&e);
		scan_frozen(&f, &opt);
		each_alloc_end(&e);
		if (o.code == 0)
			hp_list_release(&o.list);
		else
			assert_int_equal(o.code, -ENOMEM);
	}
	assert_true(e.k > 20);
	thaw(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(t) cmocka_unit_test_setup_teardown(t, tree_begin, tree_end)
		TEST(test_many),  TEST(test_patterns),	TEST(test_too_long),
		TEST(test_usage), TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
