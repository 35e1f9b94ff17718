/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a snapshot answers, for small trees: those that the test itself has laid
 * out after hpdsl-format(5), and that the library's writer has to make of the
 * same entries.
 */
#include "forge_snap.h"
#include "make_snap.h"
#include "snap/write.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct hpdsl_snapshot *open_image(struct snap_image im)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_snapshot *s = NULL;

	if (hp_snap_open(im.p, im.n, "it", &s, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

/* ---- Trees ------------------------------------------------------------ */

static struct spec entry(const char *path, uint16_t mode, uint64_t size,
			 int64_t mtime, uint32_t nsec)
{
	return (struct spec){ .path = path,
			      .mode = mode,
			      .size = size,
			      .mtime = mtime,
			      .nsec = nsec };
}

static struct spec link_to(const char *path, const char *target)
{
	struct spec v = entry(path, S_IFLNK | 0777, strlen(target), 1, 2);

	v.target = target;
	return v;
}

/* number counts from 1. */
static struct spec member(const char *path, uint64_t number, uint64_t checksum)
{
	struct spec v = entry(path, S_IFREG | 0640, 5, 6, 7);

	v.member = number;
	v.checksum = checksum;
	return v;
}

/* Folders, files and the rest, names that are odd, times that are. */
static size_t odd_tree(struct spec *v)
{
	static char name[256], deep[HPDSL_PATH_MAX + 1];
	size_t n = 0;

	memset(name, 'n', 255);
	v[n++] = entry("", S_IFDIR | 01777, 4096, -1, 1);
	v[n++] = entry("a", S_IFDIR | 0755, 99, 5, 0);
	v[n++] = entry("a/\n", S_IFREG | 04755, 1, -1, 999999999);
	v[n++] = entry("a/\xff\xfe", S_IFREG, 1ULL << 40, 3, 4);
	v[n++] = entry("a.b", S_IFREG | 0644, 7, 1, 2);
	v[n++] = entry("a-b", S_IFREG | 0644, 8, 1, 2);
	v[n++] = entry("a/b", S_IFDIR | 0700, 0, 1, 2);
	v[n++] = entry("a/b/c", S_IFDIR | 0700, 0, 1, 2);
	v[n++] = entry("a/b/c/x", S_IFREG | 0600, 3, 1, 2);
	v[n++] = entry("a/b.c", S_IFDIR | 0700, 0, 1, 2);
	v[n++] = entry("a/b.c/x", S_IFREG | 0600, 4, 1, 2);
	v[n++] = entry("empty", S_IFDIR | 0755, 0, 1, 2);
	v[n++] = entry("empty2", S_IFDIR | 0755, 0, 1, 2);
	v[n++] = entry("fifo", S_IFIFO | 0600, 0, 1, 2);
	v[n++] = entry("char", S_IFCHR | 0600, 0, 1, 2);
	v[n++] = entry("block", S_IFBLK | 0600, 0, 1, 2);
	v[n++] = entry("sock", S_IFSOCK | 0600, 0, 1, 2);
	v[n++] = link_to("l", "../a\n/\xff");
	v[n++] = link_to("m", "a");
	v[n++] = entry(name, S_IFREG | 0644, 5, 1, 2);
	v[n++] = entry(" ", S_IFREG | 0644, 5, INT64_MIN, 2);
	v[n++] = entry("...", S_IFREG, UINT64_MAX, INT64_MAX, 2);
	/* As deep as a path can be: 2048 names of one byte. */
	for (size_t i = 0; i < HPDSL_PATH_MAX; i += 2) {
		memset(deep, 'd', sizeof deep);
		for (size_t k = 1; k <= i; k += 2)
			deep[k] = '/';
		deep[i + 1] = '\0';
		v[n++] = entry(strdup(deep), S_IFDIR | 0755, i, 1, 0);
	}
	return n;
}

static void free_odd_tree(struct spec *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].path[0] == 'd')
			free((char *)v[i].path);
}

enum { ODD = 2100 };

/* ---- Answers ---------------------------------------------------------- */

static void same_entry(const struct hpdsl_entry *e, const struct spec *v)
{
	assert_int_equal(e->number, v->number);
	assert_int_equal(e->parent, v->parent);
	assert_int_equal(e->size, v->size);
	assert_int_equal(e->mtime, v->mtime);
	assert_int_equal(e->mtime_nsec, v->nsec);
	assert_int_equal(e->mode, v->mode);
	assert_int_equal(e->member, v->member - 1);
	assert_int_equal(e->name_len, v->len - v->base);
	assert_string_equal(e->name, v->path + v->base);
}

static void check_one(const struct hpdsl_snapshot *s, const struct spec *v)
{
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_error err;
	struct hpdsl_entry e;
	const char *target;
	uint64_t checksum;
	size_t len;

	assert_int_equal(hpdsl_snapshot_stat(s, v->number, &e, &err), 0);
	same_entry(&e, v);
	assert_int_equal(hpdsl_snapshot_lookup(s, v->path, v->len, &e, &err),
			 0);
	same_entry(&e, v);
	assert_int_equal(hpdsl_snapshot_path(s, v->number, path, &len, &err),
			 0);
	assert_int_equal(len, v->len);
	assert_string_equal(path, v->path);
	if (S_ISLNK(v->mode)) {
		assert_int_equal(hpdsl_snapshot_target(s, &e, &target, &err),
				 0);
		assert_string_equal(target, v->target);
	} else {
		assert_int_equal(hpdsl_snapshot_target(s, &e, &target, &err),
				 -EINVAL);
	}
	if (v->member) {
		assert_int_equal(
			hpdsl_snapshot_checksum(s, &e, &checksum, &err), 0);
		assert_int_equal(checksum, v->checksum);
	} else {
		assert_int_equal(
			hpdsl_snapshot_checksum(s, &e, &checksum, &err),
			-ENODATA);
	}
}

/* The entries of a folder are those whose parent it is; with any room. */
static void check_folder(const struct hpdsl_snapshot *s, const struct spec *v,
			 size_t n, uint64_t folder, size_t room)
{
	struct hpdsl_entry e[1000];
	uint64_t cursor = 0, first, count, end, at = 0;
	int64_t k;

	assert_int_equal(
		hpdsl_snapshot_folder(s, folder, &first, &count, &end, NULL),
		0);
	while ((k = hpdsl_snapshot_readdir(s, folder, &cursor, e, room, NULL)) >
	       0) {
		assert_true((size_t)k <= room);
		for (int64_t i = 0; i < k; i++, at++) {
			assert_true(first + at < n);
			same_entry(&e[i], &v[first + at]);
			assert_int_equal(e[i].parent, folder);
		}
		assert_int_equal(cursor, at);
	}
	assert_int_equal(k, 0);
	assert_int_equal(at, count);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(v[i].parent == folder,
				 i >= first && i < first + count);
	/* All that is below it, and nothing else. */
	for (size_t i = 1; i < n; i++) {
		const struct spec *f = &v[folder];
		bool below = !f->len || (v[i].len > f->len &&
					 !memcmp(v[i].path, f->path, f->len) &&
					 v[i].path[f->len] == '/');

		assert_int_equal(below, i >= first && i < end);
	}
}

static void check_all(const struct hpdsl_snapshot *s, const struct spec *v,
		      size_t n)
{
	struct hpdsl_error err = { 0 };

	for (size_t i = 0; i < n; i++)
		check_one(s, &v[i]);
	if (hpdsl_snapshot_verify(s, NULL, NULL, &err))
		fail_msg("%s", err.msg);
}

/* ---- Tests ------------------------------------------------------------ */

static void test_answers(void **state)
{
	struct spec *v = calloc(ODD, sizeof *v);
	size_t n = odd_tree(v);
	struct snap_image im = snap_make(v, n, false);
	struct hpdsl_snapshot *s = open_image(im);
	struct hpdsl_snapshot_info info;

	(void)state;
	assert_true(n <= ODD);
	hpdsl_snapshot_info(s, &info);
	assert_int_equal(info.entries, n);
	assert_int_equal(info.file_bytes, im.n);
	assert_int_equal(
		info.folders + info.files + info.symlinks + info.others, n);
	assert_int_equal(info.symlinks, 2);
	assert_int_equal(info.others, 4);
	assert_false(info.from_dataset);
	check_all(s, v, n);
	for (size_t i = 0; i < n; i++)
		if (S_ISDIR(v[i].mode) && (v[i].len < 10 || i % 100 == 0))
			for (size_t room = 1; room <= 1000;
			     room = room == 1 ? 3 :
				    room == 3 ? 1000 :
						1001)
				check_folder(s, v, n, i, room);
	hpdsl_snapshot_close(s);
	free(im.p);
	free_odd_tree(v, n);
	free(v);
}

static size_t of_dataset(struct spec *v)
{
	size_t n = 0;

	v[n++] = entry("", S_IFDIR | 0755, 0, 0, 0);
	v[n++] = entry("a", S_IFDIR | 0755, 0, 0, 0);
	v[n++] = member("a/1", 3, 77);
	v[n++] = member("a/2", 1, 88);
	v[n++] = member("b", 7, 99);
	return n;
}

static void test_dataset(void **state)
{
	struct hpdsl_snapshot_info info;
	struct spec v[8] = { 0 };
	size_t n = of_dataset(v);
	struct snap_image im = snap_make(v, n, true);
	struct hpdsl_snapshot *s = open_image(im);

	(void)state;
	hpdsl_snapshot_info(s, &info);
	assert_true(info.from_dataset);
	assert_int_equal(info.dataset_id[15], 0xda);
	assert_int_equal(info.pack[0], 0xda);
	check_all(s, v, n);
	hpdsl_snapshot_close(s);
	free(im.p);
}

static void test_top_alone(void **state)
{
	struct spec v = { .path = "", .mode = S_IFDIR | 0700 };
	struct snap_image im = snap_make(&v, 1, false);
	struct hpdsl_snapshot *s = open_image(im);
	struct hpdsl_entry e;
	struct hpdsl_path p = { "x", 1 };
	uint64_t cursor = 0;
	int code;

	(void)state;
	check_all(s, &v, 1);
	check_folder(s, &v, 1, 0, 1);
	assert_int_equal(hpdsl_snapshot_lookup(s, "x", 1, &e, NULL), -ENOENT);
	assert_int_equal(hpdsl_snapshot_lookup_many(s, &p, 1, &e, &code, NULL),
			 0);
	assert_int_equal(code, -ENOENT);
	assert_int_equal(hpdsl_snapshot_readdir(s, 0, &cursor, &e, 1, NULL), 0);
	hpdsl_snapshot_close(s);
	free(im.p);
}

/* Ways to ask for what is not there, and what a batch makes of each. */
static void test_absent(void **state)
{
	static char longest[HPDSL_PATH_MAX + 2];
	static const char *const asked[] = {
		"",	   "a",	      "x",	"a/",	     "/a",    "a//b",
		"a/b/c/x", "a/b/c/y", "a/b/c/", "a.b/x",     "a/b/",  ".",
		"..",	   "a/..",    "a/.",	"fifo/x",    "b",     "nnnn",
		"a/b.c/x", "b.c/x",   "c/x",	"empty/x",   "l/x",   "l",
		"A",	   "a.",      "...",	"a/b/c/x/y", longest,
	};
	enum { N = sizeof asked / sizeof asked[0] };
	struct spec *v = calloc(ODD, sizeof *v);
	size_t n = odd_tree(v);
	struct snap_image im = snap_make(v, n, false);
	struct hpdsl_snapshot *s = open_image(im);
	struct hpdsl_entry got[N];
	struct hpdsl_error err = { 0 };
	struct hpdsl_path p[N];
	int64_t found = 0;
	int codes[N];

	(void)state;
	memset(longest, 'd', HPDSL_PATH_MAX + 1);
	for (size_t i = 0; i < N; i++)
		p[i] = (struct hpdsl_path){ asked[i], strlen(asked[i]) };
	found = hpdsl_snapshot_lookup_many(s, p, N, got, codes, &err);
	for (size_t i = 0; i < N; i++) {
		struct hpdsl_entry e;
		bool there = false;

		for (size_t k = 0; k < n; k++)
			there |= !strcmp(v[k].path, asked[i]);
		assert_int_equal(
			hpdsl_snapshot_lookup(s, p[i].path, p[i].len, &e, &err),
			there ? 0 : -ENOENT);
		assert_int_equal(codes[i], there ? 0 : -ENOENT);
		if (there)
			assert_int_equal(got[i].number, e.number);
		found -= there;
	}
	assert_int_equal(found, 0);
	assert_int_equal(hpdsl_snapshot_lookup(s, "a/q", 3, got, &err),
			 -ENOENT);
	assert_string_equal(err.msg, "no entry 'a/q'");
	/* A NUL ends no path. */
	assert_int_equal(hpdsl_snapshot_lookup(s, "a\0", 2, got, NULL),
			 -ENOENT);
	hpdsl_snapshot_close(s);
	free(im.p);
	free_odd_tree(v, n);
	free(v);
}

static void test_out_of_range(void **state)
{
	struct spec v[8] = { 0 };
	size_t n = of_dataset(v);
	struct snap_image im = snap_make(v, n, true);
	struct hpdsl_snapshot *s = open_image(im);
	uint64_t cursor = 0, a, b, c;
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_error err;
	struct hpdsl_entry e;
	const char *target;
	size_t len;

	(void)state;
	for (uint64_t i = n; i; i = i == n ? UINT64_MAX : 0) {
		assert_int_equal(hpdsl_snapshot_stat(s, i, &e, &err), -ERANGE);
		assert_int_equal(hpdsl_snapshot_path(s, i, path, &len, &err),
				 -ERANGE);
		assert_int_equal(hpdsl_snapshot_folder(s, i, &a, &b, &c, &err),
				 -ERANGE);
		assert_int_equal(
			hpdsl_snapshot_readdir(s, i, &cursor, &e, 1, &err),
			-ERANGE);
		e.number = i;
		assert_int_equal(hpdsl_snapshot_target(s, &e, &target, &err),
				 -ERANGE);
	}
	assert_string_equal(err.msg,
			    "it: no entry 18446744073709551615, there are 5");
	assert_int_equal(hpdsl_snapshot_readdir(s, 2, &cursor, &e, 1, &err),
			 -ENOTDIR);
	assert_string_equal(err.msg, "it: entry 2 is no folder");
	assert_int_equal(hpdsl_snapshot_folder(s, 2, &a, &b, &c, &err),
			 -ENOTDIR);
	/* A cursor behind the end is one at the end; no room is no step. */
	cursor = UINT64_MAX;
	assert_int_equal(hpdsl_snapshot_readdir(s, 0, &cursor, &e, 1, &err), 0);
	cursor = 1;
	assert_int_equal(hpdsl_snapshot_readdir(s, 0, &cursor, &e, 0, &err), 0);
	assert_int_equal(cursor, 1);
	hpdsl_snapshot_close(s);
	free(im.p);
}

/* ---- Many entries ----------------------------------------------------- */

/* 200 folders of 500 files: more than a block of each section. */
static struct spec *large_tree(size_t *ret_n, char **ret_names)
{
	struct spec *v = calloc(1 + 200 * 501, sizeof *v);
	char *p = malloc(200 * 501 * 32);
	size_t n = 0;

	*ret_names = p;
	v[n++] = (struct spec){ .path = "", .mode = S_IFDIR | 0755 };
	for (unsigned f = 0; f < 200; f++) {
		v[n++] = (struct spec){ .path = p, .mode = S_IFDIR | 0755 };
		p += sprintf(p, "folder%u", f) + 1;
		for (unsigned i = 0; i < 500; i++) {
			v[n++] = (struct spec){ .path = p,
						.size = i,
						.mode = S_IFREG | 0644 };
			p += sprintf(p, "folder%u/%u.JPEG", f, i * f) + 1;
			n -= i && !f; /* once only */
		}
	}
	*ret_n = n;
	return v;
}

static void test_many(void **state)
{
	char *names;
	size_t n;
	struct spec *v = large_tree(&n, &names);
	struct snap_image im = snap_make(v, n, false);
	struct hpdsl_snapshot *s = open_image(im);
	struct hpdsl_path *p = calloc(2 * n, sizeof *p);
	struct hpdsl_entry *e = calloc(2 * n, sizeof *e);
	int *codes = calloc(2 * n, sizeof *codes);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		size_t k = i * 7919 % n;

		/* And one that is not there: less its last byte. */
		p[2 * i] = (struct hpdsl_path){ v[k].path, v[k].len };
		p[2 * i + 1] =
			(struct hpdsl_path){ v[k].path, v[k].len - !!v[k].len };
	}
	assert_true(hpdsl_snapshot_lookup_many(s, p, 2 * n, e, codes, NULL) >=
		    (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		struct hpdsl_entry one;
		int r = hpdsl_snapshot_lookup(s, p[2 * i + 1].path,
					      p[2 * i + 1].len, &one, NULL);

		assert_int_equal(codes[2 * i], 0);
		same_entry(&e[2 * i], &v[i * 7919 % n]);
		assert_int_equal(codes[2 * i + 1], r);
	}
	check_all(s, v, n);
	hpdsl_snapshot_close(s);
	free(codes);
	free(e);
	free(p);
	free(im.p);
	free(names);
	free(v);
}

/* ---- The library's writer --------------------------------------------- */

/* It has to make the same bytes. */
static void same_bytes_written(struct spec *v, size_t n, bool dataset)
{
	struct hp_leaf *leaves = calloc(n, sizeof *leaves);
	struct snap_image im = snap_make(v, n, dataset);
	struct hp_tree t = { 0 };
	struct hpdsl_snapshot *s;
	struct hpdsl_error err;
	void *bytes;

	assert_int_equal(hp_tree_init(&t), 0);
	t.from_dataset = dataset;
	for (size_t i = 0; i < n; i++) {
		struct hp_node *node = &leaves[i].node;

		leaves[i].path = v[i].path;
		node->size = v[i].size;
		node->mtime = v[i].mtime;
		node->nsec = v[i].nsec;
		node->mode = v[i].mode;
		node->checksum = v[i].checksum;
		if (S_ISLNK(v[i].mode))
			node->target = v[i].target;
		else if (S_ISREG(v[i].mode))
			node->member = v[i].member - 1;
		if (dataset && v[i].member > t.members)
			t.members = v[i].member;
	}
	if (hp_tree_build(&t, leaves, n, &err) < 0)
		fail_msg("%s", err.msg);
	memset(t.dataset_id, dataset ? 0xda : 0, 16);
	memset(t.pack, dataset ? 0xda : 0, 16);
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct hpdsl_snapshot_info info;

		if (hp_snap_in_memory(&t, threads, "it", &bytes, &s, &err) < 0)
			fail_msg("%s", err.msg);
		hpdsl_snapshot_info(s, &info);
		assert_int_equal(info.file_bytes, im.n);
		assert_memory_equal(bytes, im.p, im.n);
		hpdsl_snapshot_close(s);
		free(bytes);
	}
	hp_tree_release(&t);
	free(leaves);
	free(im.p);
}

static void test_writer(void **state)
{
	struct spec *v = calloc(ODD, sizeof *v);
	size_t n = odd_tree(v);
	char *names;

	(void)state;
	same_bytes_written(v, n, false);
	same_bytes_written(v, 1, false);
	free_odd_tree(v, n);
	memset(v, 0, ODD * sizeof *v);
	same_bytes_written(v, of_dataset(v), true);
	free(v);
	v = large_tree(&n, &names);
	same_bytes_written(v, n, false);
	free(v);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_dataset),
		cmocka_unit_test(test_top_alone),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
