/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl_unpack: the files come back, and nothing is written elsewhere. */
#include "hpdsl.h"
#include "packed.h"

#include "index/write.h"
#include "unpack/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct packed packed;
static struct hpdsl_dataset *ds;
static char back[128];
static char warned[4096];

static int begin(void **state)
{
	(void)state;
	packed_begin(&packed);
	snprintf(back, sizeof back, "%s/back", packed.top);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hpdsl_close(ds);
	ds = NULL;
	packed_end(&packed);
	return 0;
}

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	snprintf(warned, sizeof warned, "%s", text);
}

static void make(void)
{
	char name[HPDSL_PATH_MAX + 1] = "long/";
	size_t n = 5;

	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof name, "c%d/d/%03d.jpg", i % 7, i);
		packed_file(&packed, name, (size_t)(i * 31),
			    i % 2 ? 0644 : 0755, 1500000000 - i,
			    999999999u - (unsigned)i);
	}
	packed_file(&packed, "large", 3000001, 0400, -1, 1);
	packed_file(&packed, "none", 0, 0400, 0, 0);
	packed_file(&packed, "odd\n\\ \xff", 5, 0666, 1, 0);
	strcpy(name, "long/");
	while (n < 3000) {
		memset(name + n, 'a' + (int)(n % 26), 200);
		n += 200;
		name[n++] = '/';
	}
	strcpy(name + n, "x.bin");
	packed_file(&packed, name, 7, 0644, 9, 9);
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = 4 });
	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
}

static int unpack(struct hpdsl_unpack_options opt,
		  struct hpdsl_unpack_report *report, struct hpdsl_error *err)
{
	warned[0] = '\0';
	opt.watch.warn = on_warning;
	return hpdsl_unpack(ds, back, &opt, report, err);
}

static void clear(void)
{
	char command[200];

	snprintf(command, sizeof command, "rm -rf %s", back);
	assert_int_equal(system(command), 0);
}

/* Files below back, and that none has a name of ours. */
static int count(void)
{
	char command[300];
	FILE *p;
	int n;

	snprintf(command, sizeof command, "find %s -name '*.part'", back);
	p = popen(command, "r");
	assert_int_equal(fgetc(p), EOF);
	pclose(p);
	snprintf(command, sizeof command,
		 "find %s -type f -printf x 2>/dev/null | wc -c", back);
	p = popen(command, "r");
	assert_int_equal(fscanf(p, "%d", &n), 1);
	pclose(p);
	return n;
}

static void test_all(void **state)
{
	const uint32_t threads[] = { HPDSL_SERIAL, 1, 4 };

	(void)state;
	make();
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		struct hpdsl_unpack_report r;
		struct hpdsl_error err;

		assert_int_equal(unpack(
					 (struct hpdsl_unpack_options){
						 .threads = threads[i] },
					 &r, &err),
				 0);
		assert_int_equal(r.members, 154);
		assert_int_equal(count(), 154);
		packed_same(&packed, back);
		clear();
	}
}

static void test_some(void **state)
{
	uint64_t numbers[] = { 9, 3, 150, 3, 0 };
	struct hpdsl_unpack_options opt = { .members = numbers,
					    .n_members = 5 };
	struct hpdsl_unpack_report r;
	struct hpdsl_error err;
	struct stat st;

	(void)state;
	make();
	/* An empty directory will do. */
	assert_int_equal(mkdir(back, 0700), 0);
	assert_int_equal(unpack(opt, &r, &err), 0);
	assert_int_equal(r.members, 4);
	assert_int_equal(count(), 4);
	clear();
	opt.n_members = 0;
	assert_int_equal(unpack(opt, &r, &err), 0);
	assert_int_equal(stat(back, &st), 0);
	assert_int_equal(count(), 0);
	clear();
	numbers[1] = 154;
	opt.n_members = 5;
	assert_int_equal(unpack(opt, &r, &err), -ERANGE);
	assert_int_equal(stat(back, &st), -1);
}

static void test_output(void **state)
{
	struct hpdsl_unpack_report r = { 0 };
	struct hpdsl_error err;

	(void)state;
	make();
	packed_put(back, "x", 1);
	assert_int_equal(unpack((struct hpdsl_unpack_options){ 0 }, &r, &err),
			 -EEXIST);
	unlink(back);
	mkdir(back, 0777);
	packed_put(packed_at(&packed, "back/.x"), "x", 1);
	assert_int_equal(unpack((struct hpdsl_unpack_options){ 0 }, &r, &err),
			 -ENOTEMPTY);
	assert_int_equal(count(), 1);
	snprintf(back, sizeof back, "%s/no/back", packed.top);
	assert_int_equal(unpack((struct hpdsl_unpack_options){ 0 }, &r, &err),
			 -ENOENT);
}

static void damage(const char *path, uint64_t at)
{
	struct hpdsl_member m;
	char name[64];

	assert_int_equal(hpdsl_member_find(ds, path, strlen(path), &m, NULL),
			 0);
	snprintf(name, sizeof name, "out/chunk-%06u.tar", m.chunk);
	packed_flip(packed_at(&packed, name), m.offset + at, 2);
}

static void test_damaged(void **state)
{
	struct hpdsl_unpack_report r = { 0 };
	struct hpdsl_error err;
	struct stat st;

	(void)state;
	make();
	damage("large", 2999999);
	damage("c3/d/003.jpg", 0);
	assert_int_equal(
		unpack((struct hpdsl_unpack_options){ .threads = 2 }, &r, &err),
		HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "2 of 154 members are damaged"));
	assert_non_null(strstr(err.msg, "checksum differs"));
	assert_non_null(strstr(warned, "checksum differs"));
	assert_int_equal(count(), 152);
	assert_int_equal(stat(packed_at(&packed, "back/large"), &st), -1);
	clear();
	hpdsl_close(ds);
	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	unlink(packed_at(&packed, "out/chunk-000001.tar"));
	assert_int_equal(unpack((struct hpdsl_unpack_options){ 0 }, &r, &err),
			 HPDSL_ECORRUPT);
	assert_true(count() > 100);
	clear();
	assert_int_equal(symlink("chunk-000001.tar",
				 packed_at(&packed, "out/chunk-000001.tar")),
			 0);
	assert_int_equal(unpack((struct hpdsl_unpack_options){ 0 }, &r, &err),
			 HPDSL_ECORRUPT);
	assert_true(count() > 100);
}

static void test_stop(void **state)
{
	struct hpdsl_unpack_options opt = { 0 };
	struct hpdsl_unpack_report r;
	struct hpdsl_error err;
	int stop = 1;

	(void)state;
	make();
	opt.watch.stop = &stop;
	assert_int_equal(unpack(opt, &r, &err), HPDSL_ESTOPPED);
	assert_int_equal(count(), 0);
}

/* Stops whoever writes a large piece. */
static int stop_here;

static ssize_t stop_at_write(const struct hp_io *io, int fd, const void *buf,
			     size_t n)
{
	(void)io;
	if (n > 500000)
		__atomic_store_n(&stop_here, 1, __ATOMIC_RELAXED);
	return hp_io_system.write(&hp_io_system, fd, buf, n);
}

/* In the middle of a member: nothing of it is left. */
static void test_stop_in_member(void **state)
{
	struct hpdsl_unpack_options opt = { .n_members = 1 };
	struct hp_io io = hp_io_system;
	struct hpdsl_unpack_report r;
	struct hpdsl_member m;
	struct hpdsl_error err;

	(void)state;
	make();
	assert_int_equal(hpdsl_member_find(ds, "large", 5, &m, NULL), 0);
	io.write = stop_at_write;
	stop_here = 0;
	opt.members = &m.number;
	opt.watch.io = &io;
	opt.watch.stop = &stop_here;
	assert_int_equal(unpack(opt, &r, &err), HPDSL_ESTOPPED);
	assert_int_equal(stop_here, 1);
	assert_int_equal(count(), 0);
}

/* ---- One file, in hostile surroundings -------------------------------- */

static const struct hp_io *restore_io = &hp_io_system;

/* Restores a file, a link to trap in place of the first temporary name. */
static int restore_past(int root, const char *path, const char *trap,
			struct hpdsl_error *err)
{
	struct hpdsl_member m = { .path = path,
				  .path_len = strlen(path),
				  .mode = 0644 };
	struct hp_restore place;
	char temp[64];
	int r;

	hp_restore_init(&place, restore_io, root);
	snprintf(temp, sizeof temp, ".hpdsl-%016" PRIx64 "-000000.part",
		 place.tag);
	if (trap)
		assert_int_equal(symlinkat(trap, root, temp), 0);
	r = hp_restore_open(&place, &m, err);
	if (r == 0)
		r = hp_restore_commit(&place, &m, err);
	hp_restore_release(&place);
	return r;
}

static int restore(int root, const char *path, struct hpdsl_error *err)
{
	return restore_past(root, path, NULL, err);
}

static int count_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_links(void **state)
{
	struct hpdsl_error err;
	char other[160], name[200];
	int root;

	(void)state;
	snprintf(other, sizeof other, "%s/other", packed.top);
	assert_int_equal(mkdir(other, 0777), 0);
	assert_int_equal(mkdir(back, 0777), 0);
	root = open(back, O_RDONLY | O_DIRECTORY);
	assert_int_equal(restore(root, "a/b/c", &err), 0);
	assert_int_equal(symlinkat(other, root, "link"), 0);
	assert_int_equal(symlinkat(other, root, "a/link"), 0);
	assert_int_equal(restore(root, "link/x", &err), -EEXIST);
	assert_int_equal(restore(root, "a/link/x", &err), -EEXIST);
	assert_int_equal(restore(root, "a/link/x/y", &err), -EEXIST);
	assert_int_equal(restore(root, "link", &err), -EEXIST);
	snprintf(name, sizeof name, "%s/target", other);
	assert_int_equal(symlinkat(name, root, "file"), 0);
	assert_int_equal(restore(root, "file", &err), -EEXIST);
	assert_int_equal(restore_past(root, "whole", name, &err), 0);
	assert_int_equal(count_in(other), 0);
	close(root);
}

static void test_file_and_folder(void **state)
{
	struct hpdsl_error err;
	int root;

	(void)state;
	assert_int_equal(mkdir(back, 0777), 0);
	root = open(back, O_RDONLY | O_DIRECTORY);
	assert_int_equal(restore(root, "a", &err), 0);
	assert_int_equal(restore(root, "a/b", &err), -EEXIST);
	assert_string_equal(err.msg, "'a' is no folder, but is there");
	assert_int_equal(restore(root, "b/c", &err), 0);
	assert_int_equal(restore(root, "b", &err), -EEXIST);
	assert_int_equal(restore(root, "b/c", &err), -EEXIST);
	close(root);
	assert_int_equal(count(), 2);
}

static int no_flags(const struct hp_io *io, int old_dir, const char *old_name,
		    int new_dir, const char *new_name, unsigned flags)
{
	return flags ? -EINVAL :
		       hp_io_system.rename(io, old_dir, old_name, new_dir,
					   new_name, flags);
}

/* A file system that cannot refuse to replace, as NFS: nothing is replaced. */
static void test_no_noreplace(void **state)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_error err;
	int root;

	(void)state;
	assert_int_equal(mkdir(back, 0777), 0);
	root = open(back, O_RDONLY | O_DIRECTORY);
	io.rename = no_flags;
	restore_io = &io;
	packed_put(packed_at(&packed, "back/a"), "x", 1);
	assert_int_equal(symlinkat("nowhere", root, "link"), 0);
	assert_int_equal(restore(root, "a", &err), -EEXIST);
	assert_int_equal(restore(root, "link", &err), -EEXIST);
	assert_int_equal(restore(root, "b", &err), 0);
	restore_io = &hp_io_system;
	close(root);
	assert_int_equal(count(), 2);
	assert_int_equal(count_in(back), 3);
}

/* ---- Names that an index may not have --------------------------------- */

struct one {
	const char *path;
	bool given;
};

static void one_begin(void *arg)
{
	((struct one *)arg)->given = false;
}

static int one_next(void *arg, struct hp_index_member *ret,
		    struct hpdsl_error *err)
{
	struct one *one = arg;

	(void)err;
	if (one->given)
		return 0;
	one->given = true;
	*ret = (struct hp_index_member){ .path = one->path,
					 .path_len = strlen(one->path),
					 .offset = 512,
					 .checksum = 0x2d06800538d394c2,
					 .mode = 0644,
					 .label = HPDSL_NO_LABEL };
	return 1;
}

static void write_index(const char *path)
{
	struct hp_chunk_made chunk = { .name = "chunk-000000.tar",
				       .bytes = 10240 };
	struct one one = { path, false };
	struct hp_index_source src = { .samples = 1,
				       .members = 1,
				       .chunks = &chunk,
				       .n_chunks = 1,
				       .arg = &one,
				       .begin = one_begin,
				       .next = one_next };
	struct hpdsl_error err;
	uint8_t checksum[16];
	uint64_t bytes;
	int dir = open(packed.out, O_RDONLY | O_DIRECTORY);

	if (hp_index_save(&src, &hp_io_system, dir, &bytes, checksum, NULL,
			  &err) < 0)
		fail_msg("%s", err.msg);
	close(dir);
}

static void test_hostile(void **state)
{
	static const char *const bad[] = { "../x",   "/x",  "a/../../x", "..",
					   "a//x",   "a/",  "./x",	 ".",
					   "a/./x/", "a/.." };
	static const char zeros[10240];
	struct hpdsl_unpack_report r;
	struct hpdsl_error err;
	int before;

	(void)state;
	assert_int_equal(mkdir(packed.out, 0777), 0);
	packed_put(packed_at(&packed, "out/chunk-000000.tar"), zeros,
		   sizeof zeros);
	packed_put(packed_at(&packed, "out/dataset.yaml"), zeros, 1);
	write_index("good");
	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	assert_int_equal(unpack((struct hpdsl_unpack_options){ 0 }, &r, &err),
			 0);
	assert_int_equal(count(), 1);
	before = count_in(packed.top);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		hpdsl_close(ds);
		ds = NULL;
		clear();
		write_index(bad[i]);
		if (hpdsl_open(packed.out, NULL, &ds, NULL) == 0)
			assert_int_equal(
				unpack((struct hpdsl_unpack_options){ 0 }, &r,
				       &err),
				HPDSL_ECORRUPT);
		else
			mkdir(back, 0777);
		assert_int_equal(count(), 0);
		assert_int_equal(count_in(packed.top), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all, begin, end),
		cmocka_unit_test_setup_teardown(test_some, begin, end),
		cmocka_unit_test_setup_teardown(test_output, begin, end),
		cmocka_unit_test_setup_teardown(test_damaged, begin, end),
		cmocka_unit_test_setup_teardown(test_stop, begin, end),
		cmocka_unit_test_setup_teardown(test_stop_in_member, begin,
						end),
		cmocka_unit_test_setup_teardown(test_no_noreplace, begin, end),
		cmocka_unit_test_setup_teardown(test_links, begin, end),
		cmocka_unit_test_setup_teardown(test_file_and_folder, begin,
						end),
		cmocka_unit_test_setup_teardown(test_hostile, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
