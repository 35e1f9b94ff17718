/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots as they are written: the same bytes for any number of threads, and
 * those that hpdsl-format(5) says, which a reader that was written from that
 * page alone has to find; files that appear whole, whatever fails.
 */
#include "base/mem.h"
#include "each_fault.h"
#include "folders.h"
#include "make_snap.h"
#include "packed.h"
#include "shell.h"
#include "snap/write.h"
#include "sys/outfile.h"
#include "tmp.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[256];

static const char *at(const char *name)
{
	static char buf[4][700];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(buf[turn], sizeof buf[turn], "%s/%s", top, name);
	return buf[turn];
}

static void save(const struct hp_tree *t, uint32_t threads, const char *path)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err;

	if (hp_snap_save(t, threads, NULL, path, &info, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(info.entries, t->entries);
}

/*
 * Written by every number of threads, to files and to memory: one and the same
 * snapshot, which the page's reader takes.
 */
static void check_tree(const struct hp_tree *t, const char *name)
{
	static const uint32_t threads[] = { 0, 1, 2, 3, 16 };
	struct hpdsl_error err;
	struct hpdsl_snapshot *snap;
	void *bytes;
	FILE *f;

	save(t, HPDSL_SERIAL, at(name));
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		struct hpdsl_snapshot_info info;

		save(t, threads[i], at("again"));
		run("cmp %s %s", at(name), at("again"));
		assert_int_equal(hp_snap_in_memory(t, threads[i], "memory",
						   &bytes, &snap, &err),
				 0);
		hpdsl_snapshot_info(snap, &info);
		f = fopen(at("again"), "wb");
		assert_int_equal(fwrite(bytes, 1, info.file_bytes, f),
				 info.file_bytes);
		fclose(f);
		run("cmp %s %s", at(name), at("again"));
		assert_true(info.file_bytes <= hp_snap_bound(t));
		assert_int_equal(info.others, t->entries - t->n_folders -
						      t->files - t->symlinks);
		hpdsl_snapshot_close(snap);
		free(bytes);
	}
	run("python3 \"${SRC:-.}\"/tests/kit/read_snapshot.py dump %s > %s.txt",
	    at(name), at(name));
}

/* What the reader made of the last one. */
static void check_dump(const char *name, const char *want)
{
	FILE *f = fopen(at("want"), "wb");

	assert_int_equal(fwrite(want, 1, strlen(want), f), strlen(want));
	fclose(f);
	run("diff %s.txt %s >&2", at(name), at("want"));
}

/* ---- Trees ------------------------------------------------------------ */

static void test_empty(void **state)
{
	struct hp_leaf leaf = leaf_folder("");
	struct hp_tree t;

	(void)state;
	make_tree(&t, &leaf, 1);
	check_tree(&t, "empty");
	check_dump("empty", "hpdsl-snapshot 1\n"
			    "d 0755 4096 1700004096.123456789 - - .\n");
	hp_tree_release(&t);
}

static void test_kinds(void **state)
{
	struct hp_leaf l[] = {
		leaf_folder(""),
		leaf_folder("b"),
		leaf_folder("b/\xff"),
		leaf_folder("b/\xff/e"),
		leaf_file("b/a\n\\\t\x7f", 1),
		leaf_file("b/z", 2),
		leaf_link("c", "b/a\tz"),
		leaf_link("a", "no\xfewhere"),
		leaf_other("p", S_IFIFO),
		leaf_other("q", S_IFSOCK),
		leaf_other("r", S_IFCHR),
		leaf_other("s", S_IFBLK),
		leaf_file("b/\xc3\xa9", 3),
	};
	struct hp_tree t;

	(void)state;
	l[4].node.mtime = INT64_MIN;
	l[4].node.nsec = 999999999;
	l[5].node.size = UINT64_MAX;
	l[5].node.mtime = INT64_MAX;
	l[5].node.nsec = 0;
	l[5].node.mode = S_IFREG | 07777;
	l[12].node.mtime = -2;
	l[12].node.nsec = 500000000;
	make_tree(&t, l, sizeof l / sizeof *l);
	check_tree(&t, "kinds");
	check_dump(
		"kinds",
		"hpdsl-snapshot 1\n"
		"d 0755 4096 1700004096.123456789 - - .\n"
		"l 0777 8 1700000008.123456789 - - a\tno\\xfewhere\n"
		"d 0755 4096 1700004096.123456789 - - b\n"
		"f 0644 1 -9223372036854775808.999999999 - - "
		"b/a\\n\\\\\\t\\x7f\n"
		"f 7777 18446744073709551615 9223372036854775807.000000000 - - "
		"b/z\n"
		"f 0644 3 -2.500000000 - - b/\xc3\xa9\n"
		"d 0755 4096 1700004096.123456789 - - b/\\xff\n"
		"d 0755 4096 1700004096.123456789 - - b/\\xff/e\n"
		"l 0777 5 1700000005.123456789 - - c\tb/a\\tz\n"
		"p 0600 0 1700000000.123456789 - - p\n"
		"s 0600 0 1700000000.123456789 - - q\n"
		"c 0600 0 1700000000.123456789 - - r\n"
		"b 0600 0 1700000000.123456789 - - s\n");
	hp_tree_release(&t);
}

static void test_dataset(void **state)
{
	struct hp_leaf l[] = { leaf_file("x/b", 1), leaf_file("x/a", 2),
			       leaf_file("c", 3) };
	struct hpdsl_error err;
	struct hp_tree t;

	(void)state;
	l[0].node.member = 6;
	l[0].node.checksum = 0x123456789abcdef0;
	l[1].node.member = 0;
	l[1].node.checksum = UINT64_MAX;
	l[2].node.member = 3;
	assert_int_equal(hp_tree_init(&t), 0);
	t.from_dataset = true;
	memcpy(t.dataset_id,
	       "\x01\x23\x45\x67\x89\xab\xcd\xef"
	       "\x01\x23\x45\x67\x89\xab\xcd\xef",
	       16);
	memset(t.pack, 0xaa, 16);
	assert_int_equal(hp_tree_build(&t, l, 3, &err), 0);
	check_tree(&t, "dataset");
	check_dump("dataset",
		   "hpdsl-snapshot 1\n"
		   "dataset 0123456789abcdef0123456789abcdef "
		   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
		   "d 0755 0 0.000000000 - - .\n"
		   "f 0644 3 1700000003.123456789 3 0000000000000000 c\n"
		   "d 0755 0 0.000000000 - - x\n"
		   "f 0644 2 1700000002.123456789 0 ffffffffffffffff x/a\n"
		   "f 0644 1 1700000001.123456789 6 123456789abcdef0 x/b\n");
	hp_tree_release(&t);
}

/* A tree of n leaves whose strings are in one piece of memory. */
struct large {
	struct hp_leaf *leaves;
	char (*text)[192];
	uint64_t n, room;
};

static struct large large_new(uint64_t room)
{
	struct large g = { .room = room };

	g.leaves = calloc(room, sizeof *g.leaves);
	g.text = calloc(room, sizeof *g.text);
	g.leaves[g.n++] = leaf_folder("");
	return g;
}

static char *large_text(struct large *g)
{
	assert_true(g->n < g->room);
	return g->text[g->n];
}

static void large_check(struct large *g, bool from_dataset, const char *name)
{
	struct hpdsl_error err;
	struct hp_tree t;

	assert_int_equal(hp_tree_init(&t), 0);
	t.from_dataset = from_dataset;
	if (hp_tree_build(&t, g->leaves + from_dataset, g->n - from_dataset,
			  &err))
		fail_msg("%s", err.msg);
	check_tree(&t, name);
	hp_tree_release(&t);
	free(g->leaves);
	free(g->text);
}

/* More than one part of NAMES and TARGETS, strings across borders. */
static void test_many(void **state)
{
	struct large g = large_new(60000);

	(void)state;
	for (unsigned f = 0; f < 300; f++) {
		char *folder = large_text(&g);

		sprintf(folder, "%sfolder%03u", f % 7 ? "folder000/" : "", f);
		g.leaves[g.n++] = leaf_folder(folder);
		for (unsigned i = 0; i < (f == 20 ? 20000 : f % 100); i++) {
			char *path = large_text(&g);

			sprintf(path, "%s/%u-%.*s", folder, i, (int)(i % 60),
				"a name that is quite long, as names in such a "
				"folder should be");
			g.leaves[g.n++] = leaf_file(path, i);
		}
	}
	while (g.n < 50000) {
		char *path = large_text(&g);

		sprintf(path, "link%u", (unsigned)g.n);
		sprintf(path + 20, "%.*s%u", (int)(g.n % 70),
			"../../../../../../../../../../../../../../../../../../"
			"../../../../../../../",
			(unsigned)g.n);
		g.leaves[g.n++] = leaf_link(path, path + 20);
	}
	large_check(&g, false, "many");
}

/* More than one part of CHECKSUMS, with gaps. */
static void test_members(void **state)
{
	struct large g = large_new(50000);

	(void)state;
	while (g.n < g.room) {
		char *path = large_text(&g);
		struct hp_leaf l;

		sprintf(path, "%u/%u", (unsigned)g.n % 977, (unsigned)g.n);
		l = leaf_file(path, g.n);
		l.node.member = (g.n * 49999 % 49999 + g.n) * 3;
		l.node.checksum = g.n * UINT64_C(0x9e3779b97f4a7c15);
		g.leaves[g.n++] = l;
	}
	large_check(&g, true, "members");
}

/* More than one part of FOLDERS; ranges that end at every place. */
static void test_folders(void **state)
{
	static const unsigned sizes[] = { 8190, 8191, 8192, 8193, 40000 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct large g = large_new(sizes[i]);

		while (g.n < g.room) {
			sprintf(large_text(&g), "%u", (unsigned)g.n);
			g.leaves[g.n] = leaf_folder(large_text(&g));
			g.n++;
		}
		large_check(&g, false, "folders");
	}
}

/* ---- Files ------------------------------------------------------------ */

static struct hp_tree small;

static int try_save(const struct hp_io *io, const char *path,
		    struct hpdsl_error *err)
{
	struct hpdsl_snapshot_info info;

	memset(err, 0, sizeof *err);
	return hp_snap_save(&small, HPDSL_SERIAL, io, path, &info, err);
}

static void test_names(void **state)
{
	char name[300];

	(void)state;
	run("rm -rf %s && mkdir %s", at("names"), at("names"));
	for (int len = 1; len <= 255; len += len < 245 ? 61 : 1) {
		char path[600];
		struct hpdsl_error err;

		snprintf(name, sizeof name, "%0*d", len, 7);
		snprintf(path, sizeof path, "%s/%s", at("names"), name);
		if (try_save(NULL, path, &err))
			fail_msg("%s", err.msg);
		run("cmp %s %s && rm %s", path, at("empty"), path);
	}
	run("rmdir %s", at("names"));
}

static void test_places(void **state)
{
	struct hpdsl_error err;
	char here[512], name[300];

	(void)state;
	run("cd %s && rm -rf d && mkdir -p d/sub && echo old > d/file && "
	    "ln -s file d/link && ln -s sub d/tosub && ln -s none d/dangling "
	    "&& mkfifo d/fifo",
	    top);
	assert_int_equal(try_save(NULL, at("d/file"), &err), 0);
	run("cmp %s %s", at("d/file"), at("empty"));
	assert_int_equal(try_save(NULL, at("d/tosub/x"), &err), 0);
	run("cmp %s %s", at("d/sub/x"), at("empty"));
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(at("d")), 0);
	assert_int_equal(try_save(NULL, "sub/../y", &err), 0);
	assert_int_equal(try_save(NULL, "z", &err), 0);
	assert_int_equal(chdir(here), 0);
	run("cd %s/d && cmp y z", top);

	assert_int_equal(try_save(NULL, "/dev/null", &err), -EINVAL);
	assert_string_equal(err.msg,
			    "/dev/null: is there and is no regular file");
	/* Nor what a link leads to, nor the link: /dev/stdout is one. */
	run("echo old > %s", at("d/file"));
	assert_int_equal(try_save(NULL, at("d/link"), &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/d/link: is a symbolic link"));
	assert_int_equal(try_save(NULL, at("d/dangling"), &err), -EINVAL);
	run("cd %s/d && [ -L link ] && [ -L dangling ] && "
	    "[ \"$(cat file)\" = old ]",
	    top);
	assert_int_equal(try_save(NULL, at("d/fifo"), &err), -EINVAL);
	assert_int_equal(try_save(NULL, at("d/sub"), &err), -EINVAL);
	assert_int_equal(try_save(NULL, at("d/tosub"), &err), -EINVAL);
	assert_int_equal(try_save(NULL, at("d/."), &err), -EINVAL);
	assert_int_equal(try_save(NULL, at("d/sub/"), &err), -EINVAL);
	assert_int_equal(try_save(NULL, "", &err), -EINVAL);
	assert_int_equal(try_save(NULL, at("d/none/x"), &err), -ENOENT);
	assert_int_equal(try_save(NULL, at("d/file/x"), &err), -ENOTDIR);
	snprintf(name, sizeof name, "%0256d", 1);
	assert_int_equal(try_save(NULL, at(name), &err), -ENAMETOOLONG);
	run("cd %s/d && [ -z \"$(find . -name '.*.part')\" ] && [ -p fifo ]",
	    top);
}

/* Somebody else writes it; somebody else died. */
static void test_alone(void **state)
{
	struct hp_outfile f;
	struct hpdsl_error err;
	struct hp_fd dir = { &hp_io_system, open(top, O_RDONLY | O_DIRECTORY) };

	(void)state;
	assert_int_equal(
		hp_outfile_open_alone(&f, &hp_io_system, dir.fd, "busy", &err),
		0);
	assert_int_equal(try_save(NULL, at("busy"), &err), -EBUSY);
	assert_non_null(strstr(err.msg, "/busy: another process"));
	assert_int_equal(hp_snap_save_check(NULL, at("busy"), &err), -EBUSY);
	assert_int_equal(hp_outfile_pwrite(&f, "x", 1, 0, &err), 0);
	assert_int_equal(hp_outfile_flush(&f, &err), 0);
	assert_int_equal(hp_outfile_commit(&f, &err), 0);
	run("[ \"$(cat %s)\" = x ]", at("busy"));
	hp_fd_release(&dir);
	run("echo dead > %s", at(".busy.part"));
	assert_int_equal(hp_snap_save_check(NULL, at("busy"), &err), 0);
	run("[ ! -e %s ] && [ \"$(cat %s)\" = x ]", at(".busy.part"),
	    at("busy"));
	run("ln -s /etc/passwd %s", at(".busy.part"));
	assert_int_equal(try_save(NULL, at("busy"), &err), 0);
	run("cmp %s %s", at("busy"), at("empty"));
}

static int no_lock(const struct hp_io *io, int fd)
{
	(void)io;
	(void)fd;
	return -ENOLCK;
}

/* The second takes the first one's file for a dead one's, and gets the name. */
static void test_no_locks(void **state)
{
	struct hp_io io = hp_io_system;
	struct hp_outfile a, b;
	struct hpdsl_error err;
	struct hp_fd dir = { &io, open(top, O_RDONLY | O_DIRECTORY) };

	(void)state;
	io.lock = no_lock;
	assert_int_equal(hp_outfile_open_alone(&a, &io, dir.fd, "two", &err),
			 0);
	assert_int_equal(hp_outfile_pwrite(&a, "a", 1, 0, &err), 0);
	assert_int_equal(hp_outfile_open_alone(&b, &io, dir.fd, "two", &err),
			 0);
	assert_int_equal(hp_outfile_flush(&a, &err), 0);
	assert_int_equal(hp_outfile_commit(&a, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "two: another process"));
	hp_outfile_abandon(&a);
	run("[ ! -e %s ]", at("two"));
	assert_int_equal(hp_outfile_pwrite(&b, "b", 1, 0, &err), 0);
	assert_int_equal(hp_outfile_flush(&b, &err), 0);
	assert_int_equal(hp_outfile_commit(&b, &err), 0);
	run("[ \"$(cat %s)\" = b ] && [ ! -e %s ]", at("two"), at(".two.part"));
	hp_fd_release(&dir);
}

static void put_old(void)
{
	folder_remove(at("f"));
	assert_int_equal(mkdir(at("f"), 0777), 0);
	packed_put(at("f/file"), "old", 3);
}

static bool is_new(void)
{
	size_t n, want;
	hp_auto_free char *is = packed_get(at("f/file"), &n);
	hp_auto_free char *to_be = packed_get(at("empty"), &want);

	return n == want && memcmp(is, to_be, n) == 0;
}

static bool is_old(void)
{
	size_t n;
	hp_auto_free char *is = packed_get(at("f/file"), &n);

	return n == 3 && memcmp(is, "old", n) == 0;
}

/* In its folder. */
static bool is_alone(void)
{
	return folder_count(at("f")) == 1;
}

static void check_after(int r, const struct hpdsl_error *err, int fds)
{
	assert_int_equal(count_fds(), fds);
	if (r == 0) {
		assert_true(is_new());
		return;
	}
	assert_int_equal(r, err->code);
	assert_non_null(strstr(err->msg, r == -ENOMEM ? "memory" : top));
	assert_null(strchr(err->msg, '\n'));
	/* Old or new, never in between. */
	assert_true(is_old() || is_new());
}

static void faults(bool forever, int code)
{
	int fds = count_fds();

	for (struct each_fault e = { .forever = forever, .code = code };
	     each_fault(&e);) {
		struct hpdsl_error err;
		int r;

		put_old();
		r = try_save(&e.f.io, at("f/file"), &err);
		check_after(r, &err, fds);
		assert_false(e.f.synced_again);
		if (!e.f.failed)
			break;
		/* Only what cannot be removed is left. */
		if (!forever && r)
			assert_true(is_alone());
		assert_int_equal(try_save(NULL, at("f/file"), &err), 0);
		assert_true(is_new() && is_alone());
		assert_true(e.k < 200);
	}
}

static void test_faults(void **state)
{
	(void)state;
	faults(false, -EIO);
	faults(true, -ENOSPC);
}

static void test_no_memory(void **state)
{
	int fds = count_fds();

	(void)state;
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		struct hpdsl_snapshot *snap;
		struct hpdsl_error err;
		void *bytes;
		bool last;
		int r;

		put_old();
		each_alloc_begin(&e);
		r = try_save(NULL, at("f/file"), &err);
		each_alloc_end(&e);
		last = e.last;
		check_after(r, &err, fds);
		assert_true(is_alone());
		each_alloc_begin(&e);
		r = hp_snap_in_memory(&small, HPDSL_SERIAL, "m", &bytes, &snap,
				      &err);
		each_alloc_end(&e);
		e.last &= last;
		if (r == 0) {
			hpdsl_snapshot_close(snap);
			free(bytes);
		}
	}
}

static int setup(void **state)
{
	struct hp_leaf leaf = leaf_folder("");

	(void)state;
	assert_non_null(tmp_folder(top, sizeof top, "snap"));
	make_tree(&small, &leaf, 1);
	save(&small, 0, at("empty"));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hp_tree_release(&small);
	run("rm -rf %s", top);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_dataset),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_no_locks),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
