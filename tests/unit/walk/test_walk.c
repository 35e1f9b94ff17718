/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of a directory: what it finds, in whatever order it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scan_tree.h"
#include "snap/write.h"
#include "walk/walk.h"
#include "each_fault.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- A walk and what came of it --------------------------------------- */

struct walked {
	int code;
	struct hpdsl_error err;
	struct hp_tree tree;
	struct hpdsl_snapshot_report report;
	int warned;
	char warnings[8192]; /* a newline behind each */
};

static struct walked o;

static void hear(void *arg, const char *text)
{
	struct walked *w = arg;
	size_t n = strlen(w->warnings);

	snprintf(w->warnings + n, sizeof w->warnings - n, "%s\n", text);
	w->warned++;
}

static void walk_with(struct walked *w, const char *path,
		      const struct hp_walk_options *with)
{
	struct hpdsl_snapshot_options mine = *with->opt;
	struct hp_walk_options how = *with;

	memset(w, 0, sizeof *w);
	mine.watch.warn = hear;
	mine.watch.arg = w;
	how.opt = &mine;
	w->code = hp_walk(path, &how, &w->tree, &w->report, &w->err);
}

static void walk(struct walked *w, const char *path,
		 const struct hpdsl_snapshot_options *opt)
{
	const struct hpdsl_snapshot_options none = { 0 };

	walk_with(w, path,
		  &(struct hp_walk_options){ .opt = opt ? opt : &none });
}

static char type_of(const struct hp_node *node)
{
	return "?pc?d?b?f?l?s???"[node->mode >> 12];
}

static void print_folder(FILE *to, const struct hp_folder *f, bool brief)
{
	char path[HPDSL_PATH_MAX + 2];
	size_t len;

	hp_folder_path(f, path, &len);
	for (uint64_t i = 0; i < f->n; i++) {
		const struct hp_node *node = &f->nodes[i];

		assert_int_equal(strlen(node->name), node->name_len);
		fprintf(to, "%c %s%s", type_of(node), path, node->name);
		if (!brief)
			fprintf(to, " %o %" PRIu64 " %" PRId64 ".%09u",
				node->mode & 07777, node->size, node->mtime,
				node->nsec);
		if (S_ISLNK(node->mode)) {
			assert_int_equal(strlen(node->target), node->size);
			fprintf(to, " -> %s", node->target);
		} else if (S_ISREG(node->mode)) {
			assert_true(node->member == HPDSL_NO_MEMBER);
		}
		fputc('\n', to);
	}
}

/* A line for each entry. */
static char *text_of(const struct hp_tree *t, bool brief)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	for (uint64_t i = 0; i < t->n_folders; i++)
		print_folder(to, t->folders[i], brief);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void expect_tree(struct walked *w, const char *lines)
{
	char *text;

	if (w->code)
		print_error("%s\n", w->err.msg);
	assert_int_equal(w->code, 0);
	text = text_of(&w->tree, true);
	assert_string_equal(text, lines);
	free(text);
	hp_tree_release(&w->tree);
}

static void expect_failure(struct walked *w, int code, const char *msg)
{
	assert_string_equal(w->err.msg, msg);
	assert_int_equal(w->code, code);
	assert_int_equal(w->err.code, code);
	assert_null(w->tree.top.folder);
	assert_null(w->tree.arena);
}

/* ---- What is recorded ------------------------------------------------- */

static void set_time(const char *name, time_t sec, long nsec)
{
	struct timespec t[2] = { { sec, nsec }, { sec, nsec } };

	assert_int_equal(utimensat(AT_FDCWD, name, t, AT_SYMLINK_NOFOLLOW), 0);
}

static void make_socket(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(at.sun_path, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
}

static void make_all_kinds(void)
{
	make_dir("in");
	make_dir("in/empty");
	make_file("in/file", "12345");
	make_file("in/hole", "");
	make_link("in/link", "no/where");
	make_link("in/loop", "loop");
	make_file("in/new\nline \xff", "");
	assert_int_equal(mkfifo("in/pipe", 0600), 0);
	make_socket("in/socket");
	assert_int_equal(truncate("in/hole", 5000000000), 0);
	assert_int_equal(chmod("in/file", 04750), 0);
	assert_int_equal(chmod("in/hole", 0), 0);
	assert_int_equal(chmod("in/new\nline \xff", 0644), 0);
	assert_int_equal(chmod("in/socket", 0755), 0);
	assert_int_equal(chmod("in/empty", 01777), 0);
	set_time("in/empty", 1, 999999999);
	set_time("in/file", -1, 500000000);
	set_time("in/hole", 4000000000, 1);
	set_time("in/link", 12, 0);
	set_time("in/loop", 13, 0);
	set_time("in/new\nline \xff", 14, 0);
	set_time("in/pipe", 15, 0);
	set_time("in/socket", 16, 0);
	set_time("in", 17, 18);
}

static void test_kinds(void **state)
{
	char *text;

	(void)state;
	make_all_kinds();
	walk(&o, "in/", NULL);
	assert_int_equal(o.code, 0);
	text = text_of(&o.tree, false);
	/* A folder's size is the file system's affair. */
	o.tree.top.folder->nodes[0].size = 0;
	free(text);
	text = text_of(&o.tree, false);
	assert_string_equal(text, "d empty 1777 0 1.999999999\n"
				  "f file 4750 5 -1.500000000\n"
				  "f hole 0 5000000000 4000000000.000000001\n"
				  "l link 777 8 12.000000000 -> no/where\n"
				  "l loop 777 4 13.000000000 -> loop\n"
				  "f new\nline \xff 644 0 14.000000000\n"
				  "p pipe 600 0 15.000000000\n"
				  "s socket 755 0 16.000000000\n");
	free(text);
	assert_int_equal(o.tree.top.mtime, 17);
	assert_int_equal(o.tree.top.nsec, 18);
	assert_true(S_ISDIR(o.tree.top.mode));
	assert_int_equal(o.tree.entries, 9);
	assert_int_equal(o.tree.n_folders, 2);
	assert_int_equal(o.tree.files, 3);
	assert_int_equal(o.tree.symlinks, 2);
	assert_int_equal(o.tree.bytes, 5000000005);
	assert_true(o.report.walk_seconds > 0);
	hp_tree_release(&o.tree);
}

static void test_empty(void **state)
{
	(void)state;
	make_dir("in");
	walk(&o, "in", NULL);
	assert_int_equal(o.tree.entries, 1);
	expect_tree(&o, "");
	make_link("alias", "in");
	make_file("in/f", "");
	walk(&o, "alias", NULL);
	expect_tree(&o, "f f\n");
}

static void test_no_top(void **state)
{
	(void)state;
	walk(&o, "none", NULL);
	expect_failure(&o, -ENOENT, "none: No such file or directory");
	make_file("file", "");
	walk(&o, "file", NULL);
	expect_failure(&o, -ENOTDIR, "file: Not a directory");
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
		snprintf(name, sizeof name, "in/d%d/link", d);
		make_link(name, name);
	}
}

static void test_same(void **state)
{
	static const uint32_t threads[] = { 0, 1, 2, 3, 16, 1000 };
	struct hpdsl_snapshot_options opt = { .threads = HPDSL_SERIAL };
	char *serial, *text;
	struct tricks t;

	(void)state;
	make_mixed();
	tricks_init(&t);
	opt.watch.io = &t.io;
	walk(&o, "in", &opt);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.tree.entries, 1 + 40 * 6 + 7800);
	assert_false(t.elsewhere);
	serial = text_of(&o.tree, false);
	hp_tree_release(&o.tree);
	for (int i = 0; i < 24; i++) {
		opt.threads = threads[i % 6];
		t.shuffle = i & 1;
		t.untyped = i & 2;
		t.interrupt = i & 4;
		walk(&o, "in", &opt);
		assert_int_equal(o.code, 0);
		text = text_of(&o.tree, false);
		assert_string_equal(text, serial);
		free(text);
		hp_tree_release(&o.tree);
	}
	assert_true(t.elsewhere);
	assert_int_equal(t.fds, 0);
	free(serial);
}

/* One folder keeps many workers busy. */
static void test_parallel(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_files("in", 4000);
	tricks_init(&t);
	t.together = 8;
	opt.watch.io = &t.io;
	walk(&o, "in", &opt);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.tree.entries, 4001);
	assert_true(t.stats_most <= 16);
	hp_tree_release(&o.tree);
}

/* Many folders with more names than a batch has: few are open at a time. */
static void test_open_folders(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct tricks t;
	char name[64];

	(void)state;
	make_dir("in");
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "in/%d", i);
		make_files(name, 130);
	}
	tricks_init(&t);
	opt.watch.io = &t.io;
	walk(&o, "in", &opt);
	assert_int_equal(o.code, 0);
	/* The top, and for each worker: one that it lists, two on the stack. */
	assert_true(t.fds_most <= 1 + 3 * 16);
	assert_int_equal(t.fds, 0);
	hp_tree_release(&o.tree);
}

/* n folders, each in the one before, and a file in the last. */
static void make_deep(int n, const char *name, const char *file)
{
	int at = open(".", O_RDONLY), next;

	for (int i = 0; i < n; i++) {
		assert_int_equal(mkdirat(at, name, 0777), 0);
		next = openat(at, name, O_RDONLY);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	next = openat(at, file, O_CREAT | O_WRONLY, 0666);
	assert_true(next >= 0);
	close(next);
	close(at);
}

static void test_deep(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_dir("in");
	assert_int_equal(chdir("in"), 0);
	make_deep(2047, "d", "f");
	tricks_init(&t);
	opt.watch.io = &t.io;
	for (int i = 0; i < 2; i++) {
		opt.threads = i ? HPDSL_SERIAL : 0;
		walk(&o, ".", &opt);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.tree.entries, 2049);
		assert_int_equal(o.tree.n_folders, 2048);
		hp_tree_release(&o.tree);
	}
	assert_true(t.fds_most <= 4);
	assert_int_equal(t.fds, 0);
}

static void test_too_deep(void **state)
{
	char name[65];

	(void)state;
	memset(name, 'd', 63);
	name[63] = '\0';
	make_dir("in");
	assert_int_equal(chdir("in"), 0);
	make_deep(63, name, name); /* 64 * 63 bytes and 63 slashes: 4095 */
	walk(&o, ".", NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.tree.entries, 65);
	hp_tree_release(&o.tree);
	name[63] = 'e';
	name[64] = '\0';
	make_deep(64, name, "f"); /* 64 * 64 bytes and 63 slashes */
	walk(&o, ".", NULL);
	assert_int_equal(o.code, -ENAMETOOLONG);
	assert_non_null(strstr(o.err.msg, "de: File name too long"));
	assert_null(o.tree.top.folder);
}

/* ---- Left out --------------------------------------------------------- */

static void test_exclude(void **state)
{
	const char *exclude[] = { "*.bin", "no/", "top/deep/x" };
	struct hpdsl_snapshot_options opt = { .exclude = exclude,
					      .n_exclude = 3 };
	struct tricks t;

	(void)state;
	make_dir("in");
	make_file("in/a.txt", "1");
	make_file("in/b.bin", "1");
	make_files("in/dir.d", 2);
	make_files("in/no", 3);
	make_file("in/dir.d/no", "");
	make_file("in/dir.d/c.bin", "1");
	make_dir("in/top");
	make_dir("in/top/deep");
	make_file("in/top/deep/x", "");
	make_file("in/top/deep/y", "");
	make_file("in/top/x", "");
	make_files("in/dir.bin", 2);
	tricks_init(&t);
	opt.watch.io = &t.io;
	for (int i = 0; i < 4; i++) {
		t.untyped = i & 1;
		opt.threads = i & 2 ? HPDSL_SERIAL : 0;
		walk(&o, "in", &opt);
		assert_int_equal(o.report.excluded, 5);
		expect_tree(&o, "f a.txt\nd dir.d\nd top\n"
				"f dir.d/f0\nf dir.d/f1\nf dir.d/no\n"
				"d top/deep\nf top/x\nf top/deep/y\n");
	}
}

/* Batches become shorter when it takes attributes to know what is left out. */
static void test_exclude_many(void **state)
{
	const char *exclude[] = { "*7", "f3*" };
	struct hpdsl_snapshot_options opt = { .exclude = exclude,
					      .n_exclude = 2 };
	struct tricks t;
	char name[64];

	(void)state;
	make_files("in", 1000);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "in/d%d", i);
		make_dir(name);
	}
	tricks_init(&t);
	opt.watch.io = &t.io;
	for (int i = 0; i < 8; i++) {
		t.untyped = i & 1;
		t.shuffle = i & 4;
		opt.threads = i & 2 ? HPDSL_SERIAL : 0;
		walk(&o, "in", &opt);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.report.excluded, 100 + 100 + 50);
		assert_int_equal(o.tree.n_folders, 1 + 450);
		assert_int_equal(o.tree.entries, 1 + 1500 - 250);
		/* Once; for each folder: opened, asked, listed to its end. */
		assert_true(t.calls <= 1500 + 4 * 451 + 10);
		t.calls = 0;
		hp_tree_release(&o.tree);
	}
}

/* Two names in one folder; another name of the same file is just a file. */
static void test_own(void **state)
{
	const struct hpdsl_snapshot_options none = { 0 };
	struct hp_walk_options with = { .opt = &none };
	struct stat st;

	(void)state;
	make_dir("in");
	make_dir("in/d");
	make_file("in/d/snap", "");
	make_file("in/d/.snap.part", "");
	make_file("in/.snap.part", "");
	make_file("in/f", "");
	assert_int_equal(link("in/d/snap", "in/other"), 0);
	assert_int_equal(stat("in/d", &st), 0);
	with.skip_dir_dev = st.st_dev;
	with.skip_dir_ino = st.st_ino;
	strcpy(with.skip_name, "snap");
	strcpy(with.skip_temp, ".snap.part");
	walk_with(&o, "in", &with);
	expect_tree(&o, "f .snap.part\nd d\nf f\nf other\n");
	assert_int_equal(stat("in", &st), 0);
	with.skip_dir_ino = st.st_ino;
	walk_with(&o, "in/", &with);
	expect_tree(&o, "d d\nf f\nf other\nf d/.snap.part\nf d/snap\n");
}

/* ---- File operations that say something else -------------------------- */

/* What a table of the tests does to names that end as told. */
struct lies {
	struct hp_io io;
	const char *device;   /* another device than the top's */
	const char *mounted;  /* that, once it is opened */
	const char *other;    /* is not what it was, once opened */
	const char *gone;     /* has just vanished: stat */
	const char *replaced; /* is no link any more: readlink */
	bool twice;	      /* the first record of a listing comes again */
	int fd;		      /* of the one opened */
	int opens, stats, lists;
};

static bool ends(const char *name, const char *end)
{
	size_t n = strlen(name), k = end ? strlen(end) : 0;

	return end && n >= k && !strcmp(name + n - k, end);
}

static int lie_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	struct lies *l = (struct lies *)io;
	int fd = hp_io_system.open(io, dir, name, flags, mode);

	__atomic_fetch_add(&l->opens, 1, __ATOMIC_RELAXED);
	if (ends(name, l->mounted) || ends(name, l->other) ||
	    ends(name, l->device))
		l->fd = fd;
	else if (l->fd == fd)
		l->fd = -1;
	return fd;
}

static int lie_stat(const struct hp_io *io, int dir, const char *name,
		    struct stat *ret, int flags)
{
	struct lies *l = (struct lies *)io;
	int r = hp_io_system.stat(io, dir, name, ret, flags);
	bool open = (flags & AT_EMPTY_PATH) && dir == l->fd;

	__atomic_fetch_add(&l->stats, 1, __ATOMIC_RELAXED);
	if (ends(name, l->gone))
		return -ENOENT;
	if ((l->device && open) || ends(name, l->device) ||
	    (l->mounted && open))
		ret->st_dev++;
	if (l->other && open)
		ret->st_ino++;
	return r;
}

static ssize_t lie_readlink(const struct hp_io *io, int dir, const char *name,
			    char *buf, size_t n)
{
	if (ends(name, ((struct lies *)io)->replaced))
		return -EINVAL;
	return hp_io_system.readlink(io, dir, name, buf, n);
}

static ssize_t lie_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	struct lies *l = (struct lies *)io;
	ssize_t r = hp_io_system.getdents(io, fd, buf, n / 2);
	char *p = buf;

	__atomic_fetch_add(&l->lists, 1, __ATOMIC_RELAXED);
	for (ssize_t i = 0, len; l->twice && i < r; i += len) {
		struct dirent64 *d = (struct dirent64 *)(p + i);

		len = d->d_reclen;
		if (d->d_name[0] == '.')
			continue;
		memcpy(p + r, d, (size_t)len);
		return r + len;
	}
	return r;
}

static void lies_init(struct lies *l)
{
	memset(l, 0, sizeof *l);
	l->io = hp_io_system;
	l->io.open = lie_open;
	l->io.stat = lie_stat;
	l->io.readlink = lie_readlink;
	l->io.getdents = lie_getdents;
	l->fd = -1;
}

static void make_small(void)
{
	make_dir("in");
	make_files("in/a", 1);
	make_files("in/b", 2);
	make_link("in/l", "a");
}

static void test_mounts(void **state)
{
	struct hpdsl_snapshot_options opt = { .threads = HPDSL_SERIAL };
	struct lies l;

	(void)state;
	make_small();
	lies_init(&l);
	opt.watch.io = &l.io;
	for (int i = 0; i < 2; i++) {
		l.device = i ? NULL : "a";
		l.mounted = i ? "a" : NULL; /* by an automounter */
		opt.all_file_systems = false;
		walk(&o, "in", &opt);
		assert_int_equal(o.report.mounts, 1);
		assert_string_equal(o.warnings,
				    "in/a: another file system, not entered\n");
		expect_tree(&o, "d a\nd b\nl l -> a\nf b/f0\nf b/f1\n");
		opt.all_file_systems = true;
		walk(&o, "in", &opt);
		assert_int_equal(o.report.mounts, 0);
		assert_int_equal(o.warned, 0);
		expect_tree(&o, "d a\nd b\nl l -> a\nf a/f0\nf b/f0\nf b/f1\n");
	}
}

static void test_changed(void **state)
{
	struct hpdsl_snapshot_options opt = { .threads = HPDSL_SERIAL };
	struct lies l;

	(void)state;
	make_small();
	lies_init(&l);
	opt.watch.io = &l.io;
	l.other = "b";
	walk(&o, "in", &opt);
	expect_failure(&o, HPDSL_ECHANGED, "in/b: replaced during the walk");
	l.other = NULL;
	l.gone = "f1";
	walk(&o, "in", &opt);
	expect_failure(&o, HPDSL_ECHANGED, "in/b/f1: vanished during the walk");
	l.gone = "f0";
	walk(&o, "in", &opt);
	expect_failure(&o, HPDSL_ECHANGED,
		       "2 problems in in, first: in/a/f0: vanished during the "
		       "walk");
	assert_string_equal(o.warnings, "in/a/f0: vanished during the walk\n"
					"in/b/f0: vanished during the walk\n");
	l.gone = NULL;
	l.replaced = "l";
	walk(&o, "in", &opt);
	expect_failure(&o, HPDSL_ECHANGED, "in/l: replaced during the walk");
	l.replaced = NULL;
	l.twice = true;
	walk(&o, "in", &opt);
	assert_int_equal(o.code, HPDSL_ECHANGED);
	assert_non_null(strstr(o.err.msg, "in: changed during the walk: "));
	assert_null(o.tree.top.folder);
}

/* A folder that becomes a link to another one is not followed. */
static struct hp_io swap_io;

static int swap_stat(const struct hp_io *io, int dir, const char *name,
		     struct stat *ret, int flags)
{
	int r = hp_io_system.stat(io, dir, name, ret, flags);

	if (r == 0 && !strcmp(name, "b") && !rename("in/b", "in/c"))
		make_link("in/b", "c");
	return r;
}

static void test_swapped(void **state)
{
	struct hpdsl_snapshot_options opt = { .watch.io = &swap_io };

	(void)state;
	make_dir("in");
	make_files("in/b", 2);
	swap_io = hp_io_system;
	swap_io.stat = swap_stat;
	walk(&o, "in", &opt);
	expect_failure(&o, HPDSL_ECHANGED, "in/b: replaced during the walk");
}

/* ---- Failures --------------------------------------------------------- */

static void test_problems(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_dir("in");
	make_files("in/a", 3);
	make_files("in/b", 300);
	tricks_init(&t);
	opt.watch.io = &t.io;
	t.name = "a";
	t.fail_code = -EACCES;
	walk(&o, "in", &opt);
	expect_failure(&o, -EACCES, "in/a: Permission denied");
	assert_int_equal(o.warned, 0);
	t.name = "f2";
	t.fail_code = -EIO;
	walk(&o, "in", &opt);
	expect_failure(&o, -EIO,
		       "2 problems in in, first: in/a/f2: Input/output error");
	assert_int_equal(o.warned, 2);
	assert_int_equal(t.fds, 0);
	/* Only the first ones are told. */
	t.name = NULL;
	t.calls = 0;
	t.fail_at = 12;
	t.forever = true;
	walk(&o, "in", &opt);
	assert_int_equal(o.code, -EIO);
	assert_true(o.warned == 0 || (o.warned > 1 && o.warned <= 21));
	assert_int_equal(t.fds, 0);
}

static void test_stop(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
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
			walk(&o, "in", &opt);
			expect_failure(&o, HPDSL_ESTOPPED,
				       "stopped during the walk");
			assert_true(t.calls < t.stop_at + 64);
			assert_int_equal(t.fds, 0);
		}
	}
}

static uint64_t last_done;
static int told;

static void progress(void *arg, const struct hpdsl_progress *p)
{
	(void)arg;
	assert_string_equal(p->phase, "walking");
	assert_true(p->done >= last_done);
	last_done = p->done;
	told++;
}

static void test_progress(void **state)
{
	struct hpdsl_snapshot_options opt = { .watch.progress = progress };
	struct tricks t;

	(void)state;
	make_files("in", 2000);
	tricks_init(&t);
	t.passes = 0.0004;
	opt.watch.io = &t.io;
	last_done = 0;
	told = 0;
	clock_still(true);
	walk(&o, "in", &opt);
	clock_still(false);
	assert_int_equal(o.code, 0);
	assert_int_equal(last_done, 2000);
	assert_true(told >= 2 && told < 3 + o.report.walk_seconds * 5);
	hp_tree_release(&o.tree);
}

static void make_few(void)
{
	make_dir("in");
	make_files("in/a", 3);
	make_files("in/b", 2);
	make_link("in/l", "a/f1");
}

/* Every call fails once, or from there on. */
static void test_fail_each(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct tricks t;
	int k = 0;

	(void)state;
	make_few();
	for (int i = 0; i < 4; i++, k = 0) {
		opt.threads = i & 1 ? HPDSL_SERIAL : 0;
		do {
			tricks_init(&t);
			t.fail_at = ++k;
			t.fail_code = k % 2 ? -EIO : -ENOMEM;
			t.forever = i & 2;
			opt.watch.io = &t.io;
			walk(&o, "in", &opt);
			assert_int_equal(t.fds, 0);
			if (t.calls < k)
				break;
			assert_true(o.code < 0);
			assert_int_equal(o.err.code, o.code);
			assert_true(strlen(o.err.msg) > 5);
			assert_null(o.tree.top.folder);
		} while (true);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.tree.entries, 9);
		hp_tree_release(&o.tree);
		assert_true(k > 20);
	}
}

static void test_no_memory(void **state)
{
	struct hpdsl_snapshot_options opt = { 0 };
	struct tricks t;

	(void)state;
	make_few();
	for (int i = 0; i < 4; i++) {
		struct each_alloc e = { .forever = i & 2 };

		opt.threads = i & 1 ? HPDSL_SERIAL : 0;
		o.code = -ENOMEM;
		while (o.code && each_alloc(&e)) {
			tricks_init(&t);
			opt.watch.io = &t.io;
			each_alloc_begin(&e);
			walk(&o, "in", &opt);
			each_alloc_end(&e);
			assert_int_equal(t.fds, 0);
			if (o.code == 0)
				hp_tree_release(&o.tree);
			else
				assert_int_equal(o.code, -ENOMEM);
			assert_null(o.tree.top.folder);
		}
		assert_int_equal(o.code, 0);
		assert_true(e.k > 10);
	}
}

/* ---- What is known ---------------------------------------------------- */

/* The snapshot of what there is now, over *ret_bytes. */
static struct hpdsl_snapshot *snapshot_of(const char *path, void **ret_bytes)
{
	struct hpdsl_error err;
	struct hpdsl_snapshot *s;

	walk(&o, path, NULL);
	assert_int_equal(o.code, 0);
	assert_int_equal(hp_snap_in_memory(&o.tree, HPDSL_SERIAL, path,
					   ret_bytes, &s, &err),
			 0);
	hp_tree_release(&o.tree);
	return s;
}

struct known {
	struct lies lies;
	struct hpdsl_snapshot_options opt;
	struct hp_walk_options with;
	void *bytes;
	struct hpdsl_snapshot *s;
};

static void known_init(struct known *k)
{
	memset(k, 0, sizeof *k);
	lies_init(&k->lies);
	k->s = snapshot_of("in", &k->bytes);
	k->opt.watch.io = &k->lies.io;
	k->with.opt = &k->opt;
	k->with.known = k->s;
	k->with.since = INT64_MAX;
}

static void known_release(struct known *k)
{
	hpdsl_snapshot_close(k->s);
	free(k->bytes);
}

static void walk_known(struct known *k, uint64_t kept)
{
	k->lies.opens = k->lies.stats = k->lies.lists = 0;
	walk_with(&o, "in", &k->with);
	if (o.code == 0)
		assert_int_equal(o.report.folders_kept, kept);
}

static void make_nested(void)
{
	make_dir("in");
	make_files("in/a", 300);
	make_files("in/b", 2);
	make_link("in/b/l", "f0");
	make_dir("in/c");
	make_files("in/c/d", 1);
	make_dir("in/c/e");
}

static char *text_now(void)
{
	char *text;

	walk(&o, "in", NULL);
	assert_int_equal(o.code, 0);
	text = text_of(&o.tree, false);
	hp_tree_release(&o.tree);
	return text;
}

static void expect_text(const char *want)
{
	char *text;

	assert_int_equal(o.code, 0);
	text = text_of(&o.tree, false);
	assert_string_equal(text, want);
	free(text);
	hp_tree_release(&o.tree);
}

/* Nothing is asked for but the folders, nothing opened but the top. */
static void test_since(void **state)
{
	struct known k;
	char *text;

	(void)state;
	make_nested();
	/* What changes it now gives it another mtime, in the same tick too. */
	set_time("in/c/d", 3, 4);
	text = text_now();
	known_init(&k);
	for (int i = 0; i < 2; i++) {
		k.opt.threads = i ? HPDSL_SERIAL : 0;
		walk_known(&k, 6);
		expect_text(text);
		assert_int_equal(k.lies.opens, 1);
		assert_int_equal(k.lies.stats, 6);
		assert_int_equal(k.lies.lists, 0);
		/* What changed is listed, and nothing else. */
		make_file(i ? "in/c/d/new2" : "in/c/d/new", "12");
		make_file("in/b/f0", "was one byte");
		set_time("in/b/f0", 1, 2);
		walk_known(&k, 5);
		assert_int_equal(o.code, 0);
		assert_int_equal(o.tree.entries, 311 + i);
		assert_int_equal(k.lies.opens, 2);
		assert_int_equal(k.lies.stats, 6 + 1 + 2 + i);
		assert_int_equal(k.lies.lists, 2);
		hp_tree_release(&o.tree);
		free(text);
		set_time("in/c/d", 3, 4);
		text = text_now();
		known_release(&k);
		known_init(&k);
	}
	free(text);
	known_release(&k);
}

/* A change in the same tick is not to be seen in an mtime. */
static void test_since_ctime(void **state)
{
	struct known k;
	struct stat st;

	(void)state;
	make_nested();
	known_init(&k);
	assert_int_equal(stat("in/c/d", &st), 0);
	k.with.since = st.st_ctim.tv_sec;
	k.with.since_nsec = (uint32_t)st.st_ctim.tv_nsec;
	walk_with(&o, "in", &k.with);
	assert_int_equal(o.code, 0);
	assert_true(o.report.folders_kept < 6);
	hp_tree_release(&o.tree);
	k.with.since = 0;
	walk_known(&k, 0);
	hp_tree_release(&o.tree);
	/* Another mtime, whatever the ctime. */
	k.with.since = INT64_MAX;
	set_time("in/a", 5, 6);
	walk_known(&k, 5);
	hp_tree_release(&o.tree);
	known_release(&k);
}

static void test_since_exclude(void **state)
{
	const char *exclude[] = { "e/", "f1*", "l" };
	struct known k;

	(void)state;
	make_nested();
	known_init(&k);
	k.opt.exclude = exclude;
	k.opt.n_exclude = 3;
	walk_known(&k, 5);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.report.excluded, 1 + 111 + 1 + 1);
	assert_int_equal(o.tree.entries, 310 - 114);
	hp_tree_release(&o.tree);
	known_release(&k);
}

/* It may have been a mount point, which was recorded and not entered. */
static void test_since_mount(void **state)
{
	struct known k;

	(void)state;
	make_nested();
	known_init(&k);
	k.lies.device = "in/c/e";
	k.opt.all_file_systems = true;
	walk_known(&k, 5);
	assert_int_equal(o.code, 0);
	assert_int_equal(k.lies.lists, 2);
	hp_tree_release(&o.tree);
	known_release(&k);
}

/* Somebody set the mtime back: what is no folder any more is told. */
static void test_since_gone(void **state)
{
	struct known k;
	struct stat st;

	(void)state;
	make_nested();
	assert_int_equal(stat("in/c", &st), 0);
	known_init(&k);
	assert_int_equal(rmdir("in/c/e"), 0);
	set_time("in/c", st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	walk_known(&k, 0);
	expect_failure(&o, HPDSL_ECHANGED, "in/c/e: vanished during the walk");
	make_file("in/c/e", "");
	set_time("in/c", st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	walk_known(&k, 0);
	expect_failure(&o, HPDSL_ECHANGED, "in/c/e: replaced during the walk");
	known_release(&k);
}

static void test_since_damaged(void **state)
{
	struct hpdsl_snapshot_info info;
	struct known k;
	uint64_t bad = 0;

	(void)state;
	make_nested();
	known_init(&k);
	hpdsl_snapshot_info(k.s, &info);
	for (uint64_t i = HP_SNAP_FIXED + 300; i < info.file_bytes; i += 1013) {
		struct hpdsl_snapshot *damaged;
		uint8_t *bytes = malloc(info.file_bytes);

		assert_non_null(bytes);
		memcpy(bytes, k.bytes, info.file_bytes);
		bytes[i] ^= 1;
		assert_int_equal(hp_snap_open(bytes, info.file_bytes, "snap",
					      &damaged, NULL),
				 0);
		k.with.known = damaged;
		walk_with(&o, "in", &k.with);
		bad += o.code != 0;
		if (o.code)
			assert_int_equal(o.code, HPDSL_ECORRUPT);
		else
			hp_tree_release(&o.tree);
		hpdsl_snapshot_close(damaged);
		free(bytes);
	}
	assert_true(bad > 3);
	known_release(&k);
}

static void test_since_no_memory(void **state)
{
	struct each_alloc e = { .k = 0 };
	struct known k;

	(void)state;
	make_nested();
	known_init(&k);
	o.code = -ENOMEM;
	while (o.code && each_alloc(&e)) {
		each_alloc_begin(&e);
		walk_known(&k, 6);
		each_alloc_end(&e);
		if (o.code)
			assert_int_equal(o.code, -ENOMEM);
	}
	assert_int_equal(o.code, 0);
	hp_tree_release(&o.tree);
	assert_true(e.k > 10);
	known_release(&k);
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
	struct hpdsl_snapshot_options opt = { .watch.io = &io };

	(void)state;
	make_files("in", 3);
	io.getdents = bad_getdents;
	walk(&o, "in", &opt);
	expect_failure(&o, -EIO, "in: Input/output error");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_begin, tree_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_kinds),
		TEST(test_empty),
		TEST(test_no_top),
		TEST(test_same),
		TEST(test_parallel),
		TEST(test_open_folders),
		TEST(test_deep),
		TEST(test_too_deep),
		TEST(test_exclude),
		TEST(test_own),
		TEST(test_exclude_many),
		TEST(test_mounts),
		TEST(test_changed),
		TEST(test_swapped),
		TEST(test_problems),
		TEST(test_stop),
		TEST(test_progress),
		TEST(test_fail_each),
		TEST(test_no_memory),
		TEST(test_bad_records),
		TEST(test_since),
		TEST(test_since_ctime),
		TEST(test_since_exclude),
		TEST(test_since_mount),
		TEST(test_since_gone),
		TEST(test_since_damaged),
		TEST(test_since_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
