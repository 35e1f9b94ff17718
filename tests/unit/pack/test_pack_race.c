/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens only now and then, made to happen: one operation of a pack runs
 * something else first, or fails while others go on.
 */
#include "packed.h"
#include "until.h"

#include "sys/io.h"

#include <errno.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define BASE hp_io_system
#define RELAXED __ATOMIC_RELAXED

enum { SEGMENT = 512 << 10, MEMORY = 8 << 20 };

/* The system's operations, but for the one that a test puts in. */
struct trick {
	struct hp_io io;
	struct packed *p;
	unsigned calls;
	bool lost; /* the first segment */
	int code;  /* of the pack that ran meanwhile */
	struct hpdsl_error err;
};

static void is_sound(const struct packed *p)
{
	struct hpdsl_verify_options opt = { .source = p->tree };
	struct hpdsl_verify_report report;
	struct hpdsl_error err;

	if (hpdsl_verify(p->out, &opt, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(access(packed_at(p, "out/journal.hpdsl"), F_OK), -1);
}

static void nothing_beside(const struct packed *p)
{
	assert_false(packed_has(p, ".out.hpdsl-new"));
	assert_false(packed_has(p, ".out.hpdsl-old"));
}

static void begin(struct packed *p, struct trick *t)
{
	packed_begin(p);
	packed_file(p, "a/1.bin", 30000, 0644, 1600000000, 5);
	packed_file(p, "a/2.bin", 70000, 0644, 1600000000, 5);
	*t = (struct trick){ .io = hp_io_system, .p = p };
}

/* One file has content, though its size is 0, as those of /proc. */
static ssize_t more_than_none(const struct hp_io *io, int fd, void *buf,
			      size_t n, uint64_t off)
{
	struct trick *t = (struct trick *)io;
	struct stat st;

	if (n && !off && fstat(fd, &st) == 0 && st.st_size == 0 &&
	    st.st_mtim.tv_nsec == 7) {
		t->calls++;
		memset(buf, 'x', 1);
		return 1;
	}
	return BASE.pread(io, fd, buf, n, off);
}

static void test_not_empty(void **state)
{
	(void)state;
	for (uint32_t threads = 1; threads < 3; threads++) {
		struct hpdsl_pack_options opt = {
			.threads = threads > 1 ? threads : HPDSL_SERIAL
		};
		struct hpdsl_error err;
		struct packed p;
		struct trick t;

		begin(&p, &t);
		packed_file(&p, "a/empty", 0, 0644, 1600000000, 5);
		t.io.pread = more_than_none;
		opt.watch.io = &t.io;
		assert_int_equal(packed_try(&p, opt, &err), 0);
		assert_int_equal(t.calls, 0);
		is_sound(&p);
		packed_file(&p, "a/full", 0, 0644, 1600000000, 7);
		opt.force = true;
		assert_int_equal(packed_try(&p, opt, &err), -EOPNOTSUPP);
		assert_non_null(strstr(err.msg, "tree/a/full: has content, "
						"though its size is 0"));
		assert_int_equal(t.calls, 1);
		packed_end(&p);
	}
}

/* The first segment cannot be written while the next is on its way. */
static ssize_t first_fails(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	struct trick *t = (struct trick *)io;
	struct until u = { 0 };

	if (n != SEGMENT || (off && __atomic_load_n(&t->lost, RELAXED)))
		return BASE.pwrite(io, fd, buf, n, off);
	if (off) {
		__atomic_add_fetch(&t->calls, 1, RELAXED);
		while (!__atomic_load_n(&t->lost, RELAXED))
			until_next(&u);
		return BASE.pwrite(io, fd, buf, n, off);
	}
	while (!__atomic_load_n(&t->calls, RELAXED))
		until_next(&u);
	__atomic_store_n(&t->lost, true, RELAXED);
	return -EIO;
}

static void test_lost_segment(void **state)
{
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_file(&p, "large", 6 * SEGMENT, 0644, 1600000000, 0);
	t.io.pwrite = first_fails;
	assert_int_equal(
		packed_try(&p,
			   (struct hpdsl_pack_options){ .chunks = 1,
							.memory = MEMORY,
							.threads = 8,
							.watch.io = &t.io },
			   &err),
		-EIO);
	assert_non_null(strstr(err.msg, "chunk-000000.tar: cannot write"));
	assert_false(packed_has(&p, "out/chunk-000000.tar"));
	packed_end(&p);
}

/* Creates the file before it refuses, as some do, or refuses each write. */
static int no_direct_open(const struct hp_io *io, int dir, const char *name,
			  int flags, mode_t mode)
{
	int fd = BASE.open(io, dir, name, flags & ~O_DIRECT, mode);

	if (fd < 0 || !(flags & O_DIRECT))
		return fd;
	BASE.close(io, fd);
	return -EINVAL;
}

static ssize_t no_direct_write(const struct hp_io *io, int fd, const void *buf,
			       size_t n, uint64_t off)
{
	if (fcntl(fd, F_GETFL) & O_DIRECT)
		return -EINVAL;
	return BASE.pwrite(io, fd, buf, n, off);
}

static void test_no_direct(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_error err;
		struct packed p;
		struct trick t;

		begin(&p, &t);
		packed_file(&p, "large", 6 * SEGMENT, 0644, 1600000000, 0);
		if (i)
			t.io.open = no_direct_open;
		else
			t.io.pwrite = no_direct_write;
		assert_int_equal(packed_try(&p,
					    (struct hpdsl_pack_options){
						    .memory = MEMORY,
						    .threads = 8,
						    .watch.io = &t.io },
					    &err),
				 0);
		is_sound(&p);
		packed_end(&p);
	}
}

/* Just before the new dataset is swapped in, another packer begins. */
static int other_replaces(const struct hp_io *io, int old_dir,
			  const char *old_name, int new_dir,
			  const char *new_name, unsigned flags)
{
	struct trick *t = (struct trick *)io;

	if (flags == RENAME_EXCHANGE && !t->calls++)
		t->code = packed_try(t->p,
				     (struct hpdsl_pack_options){ .force = true,
								  .chunks = 2 },
				     &t->err);
	return BASE.rename(io, old_dir, old_name, new_dir, new_name, flags);
}

static void test_two_replace(void **state)
{
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_pack(&p, (struct hpdsl_pack_options){ .seed = 1 });
	t.io.rename = other_replaces;
	assert_int_equal(packed_try(&p,
				    (struct hpdsl_pack_options){
					    .force = true, .watch.io = &t.io },
				    &err),
			 0);
	assert_int_equal(t.calls, 1);
	assert_int_equal(t.code, -EBUSY);
	is_sound(&p);
	nothing_beside(&p);
	packed_end(&p);
}

/* After a look at the output, before the lock, another packer does it all. */
static int other_completes(const struct hp_io *io, int dir, const char *name,
			   int flags, mode_t mode)
{
	struct trick *t = (struct trick *)io;

	if (!strcmp(name, "journal.hpdsl") && !t->calls++)
		t->code = packed_try(t->p,
				     (struct hpdsl_pack_options){ .chunks = 2 },
				     &t->err);
	return BASE.open(io, dir, name, flags, mode);
}

static void test_two_begin(void **state)
{
	const struct hpdsl_pack_options how[] = {
		{ .resume = true },
		{ .force = true },
		{ .chunks = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		struct hpdsl_pack_options opt = how[i];
		struct hpdsl_error err;
		struct packed p;
		struct trick t;

		begin(&p, &t);
		t.io.open = other_completes;
		opt.watch.io = &t.io;
		assert_int_equal(packed_try(&p, opt, &err), -EBUSY);
		assert_int_equal(t.calls, 1);
		assert_int_equal(t.code, 0);
		is_sound(&p);
		packed_end(&p);
	}
}

/* A link gets the file's name after the scan. */
static int becomes_link(const struct hp_io *io, int dir, const char *name,
			int flags, mode_t mode)
{
	struct trick *t = (struct trick *)io;

	if (!strcmp(name, "a/1.bin")) {
		assert_int_equal(unlinkat(dir, name, 0), 0);
		assert_int_equal(symlinkat("2.bin", dir, name), 0);
		t->code = BASE.open(io, dir, name, flags, mode);
		t->calls++;
		return t->code;
	}
	return BASE.open(io, dir, name, flags, mode);
}

static void test_becomes_link(void **state)
{
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	t.io.open = becomes_link;
	assert_int_equal(
		packed_try(&p, (struct hpdsl_pack_options){ .watch.io = &t.io },
			   &err),
		HPDSL_ECHANGED);
	/* By who looks for pointers, and by who packs. */
	assert_int_equal(t.calls, 2);
	assert_int_equal(t.code, -ELOOP); /* what it leads to is not opened */
	assert_non_null(strstr(err.msg, "1.bin: vanished"));
	packed_end(&p);
}

/* After the scan a file says something else of itself, but not its size. */
static int stat_differs(const struct hp_io *io, int dir, const char *name,
			struct stat *ret, int flags)
{
	const struct trick *t = (const struct trick *)io;
	int r = BASE.stat(io, dir, name, ret, flags);

	if (r == 0 && !*name && S_ISREG(ret->st_mode) &&
	    ret->st_size == 30000) {
		ret->st_mtim.tv_sec += t->calls == 0;
		ret->st_mtim.tv_nsec += t->calls == 1;
		ret->st_ctim.tv_nsec ^= t->calls == 2;
		ret->st_ino += t->calls == 3;
	}
	return r;
}

static void test_stat_differs(void **state)
{
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	t.io.stat = stat_differs;
	for (; t.calls < 5; t.calls++) {
		struct hpdsl_pack_options opt = { .force = true,
						  .watch.io = &t.io };
		int r = packed_try(&p, opt, &err);

		if (r != (t.calls < 4 ? HPDSL_ECHANGED : 0))
			fail_msg("%u: %d", t.calls, r);
		if (r)
			assert_non_null(
				strstr(err.msg,
				       "1.bin: changed since it was scanned"));
		if (r)
			assert_false(packed_has(&p, "out/dataset.yaml"));
	}
	is_sound(&p);
	packed_end(&p);
}

/*
 * A snapshot knows no inode: a file that another one takes the place of while
 * it is read in parts is found out by what was seen of its first part.
 */
static int stat_differs_later(const struct hp_io *io, int dir, const char *name,
			      struct stat *ret, int flags)
{
	struct trick *t = (struct trick *)io;
	int r = BASE.stat(io, dir, name, ret, flags);

	if (r == 0 && !*name && S_ISREG(ret->st_mode) &&
	    ret->st_size == 3 * SEGMENT &&
	    __atomic_fetch_add(&t->calls, 1, __ATOMIC_RELAXED))
		ret->st_ino += t->code == 1;
	if (t->code == 2 && S_ISREG(ret->st_mode) && ret->st_size == 30000)
		ret->st_mode ^= S_IFREG ^ S_IFIFO;
	return r;
}

static void test_frozen(void **state)
{
	struct hpdsl_snapshot_options how = { 0 };
	struct hpdsl_snapshot_report report;
	struct hpdsl_snapshot *s;
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_file(&p, "large", 3 * SEGMENT, 0644, 1600000000, 0);
	if (hpdsl_snapshot_create(p.tree, packed_at(&p, "snap"), &how, &report,
				  &err) < 0 ||
	    hpdsl_snapshot_open(packed_at(&p, "snap"), 0, NULL, &s, &err) < 0)
		fail_msg("%s", err.msg);
	t.io.stat = stat_differs_later;
	for (; t.code < 3; t.code++) {
		struct hpdsl_pack_options opt = { .force = true,
						  .snapshot = s,
						  .memory = MEMORY,
						  .watch.io = &t.io };
		int r;

		t.calls = 0;
		r = packed_try(&p, opt, &err);
		assert_true(t.calls >= (t.code == 2 ? 0 : 2));
		if (r != (t.code ? HPDSL_ECHANGED : 0))
			fail_msg("%d: %d", t.code, r);
		if (t.code == 0)
			is_sound(&p);
		else if (!strstr(err.msg, t.code == 1 ? "large: changed since "
							"the snapshot" :
							"1.bin: replaced by "
							"what is no file"))
			fail_msg("%s", err.msg);
	}
	hpdsl_snapshot_close(s);
	packed_end(&p);
}

/* Contents and ends of members on both sides of each end of a segment. */
static void test_segment_ends(void **state)
{
	const size_t near[] = { SEGMENT - 1024, SEGMENT - 512,
				2 * SEGMENT - 512, 2 * SEGMENT - 1024 };
	struct hpdsl_pack_options opt = { .memory = MEMORY,
					  .samples_per_chunk = 1 };
	struct hpdsl_error err;
	struct packed p;

	(void)state;
	packed_begin(&p);
	for (unsigned i = 0; i < 4; i++) {
		for (int d = -1; d <= 1; d++) {
			char name[32];

			snprintf(name, sizeof name, "%u.%d", i, d + 1);
			packed_file(&p, name, near[i] + (size_t)d, 0644, 1, 0);
		}
	}
	opt.group = HPDSL_GROUP_NONE;
	assert_int_equal(packed_try(&p, opt, &err), 0);
	is_sound(&p);
	packed_end(&p);
}

/* ---- Reads and writes that stop half way or are interrupted ----------- */

static bool interrupted(const struct hp_io *io)
{
	struct trick *t = (struct trick *)io;

	return __atomic_fetch_add(&t->calls, 1, __ATOMIC_RELAXED) % 2;
}

/* Half of it, in whole blocks where O_DIRECT may want that. */
static size_t half(size_t n)
{
	return n > 8192 ? n / 2 & ~(size_t)4095 : n > 4096 ? 4096 : n;
}

static ssize_t half_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			  uint64_t off)
{
	return interrupted(io) ? -EINTR : BASE.pread(io, fd, buf, half(n), off);
}

static ssize_t half_write(const struct hp_io *io, int fd, const void *buf,
			  size_t n)
{
	return interrupted(io) ? -EINTR : BASE.write(io, fd, buf, half(n));
}

static ssize_t half_pwrite(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	return interrupted(io) ? -EINTR :
				 BASE.pwrite(io, fd, buf, half(n), off);
}

static void unpack(const struct packed *p, const struct hp_io *io)
{
	struct hpdsl_unpack_options opt = { .watch.io = io };
	struct hpdsl_unpack_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;

	if (hpdsl_open(p->out, io, &ds, &err) < 0 ||
	    hpdsl_unpack(ds, packed_at(p, "back"), &opt, &report, &err) < 0)
		fail_msg("%s", err.msg);
	hpdsl_close(ds);
	packed_same(p, packed_at(p, "back"));
}

static void test_half(void **state)
{
	struct hpdsl_pack_options opt = { .memory = MEMORY };
	struct hpdsl_verify_options verify = { 0 };
	struct hpdsl_verify_report report;
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_file(&p, "large", 3 * SEGMENT, 0644, 1600000000, 0);
	t.io.pread = half_pread;
	t.io.write = half_write;
	t.io.pwrite = half_pwrite;
	opt.watch.io = verify.watch.io = &t.io;
	verify.source = p.tree;
	if (packed_try(&p, opt, &err) < 0)
		fail_msg("%s", err.msg);
	is_sound(&p);
	if (hpdsl_verify(p.out, &verify, &report, &err) < 0)
		fail_msg("%s", err.msg);
	unpack(&p, &t.io);
	packed_end(&p);
}

/* ---- Replacing -------------------------------------------------------- */

/* When all is written, somebody puts another folder in the place beside. */
static int other_beside(const struct hp_io *io, int old_dir,
			const char *old_name, int new_dir, const char *new_name,
			unsigned flags)
{
	const struct trick *t = (const struct trick *)io;
	int r = BASE.rename(io, old_dir, old_name, new_dir, new_name, flags);

	if (!strcmp(new_name, "dataset.yaml")) {
		char work[PACKED_PATH];

		snprintf(work, sizeof work, "%s",
			 packed_at(t->p, ".out.hpdsl-new"));
		assert_int_equal(rename(work, packed_at(t->p, "away")), 0);
		assert_int_equal(mkdir(work, 0777), 0);
	}
	return r;
}

static void test_other_beside(void **state)
{
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_pack(&p, (struct hpdsl_pack_options){ .seed = 1 });
	t.io.rename = other_beside;
	assert_int_equal(packed_try(&p,
				    (struct hpdsl_pack_options){
					    .force = true, .watch.io = &t.io },
				    &err),
			 -EBUSY);
	assert_non_null(strstr(err.msg, "is another directory now"));
	is_sound(&p); /* the old one */
	packed_end(&p);
}

/* A file system without RENAME_EXCHANGE, as NFS is. */
static int no_exchange(const struct hp_io *io, int old_dir,
		       const char *old_name, int new_dir, const char *new_name,
		       unsigned flags)
{
	if (flags)
		return -EINVAL;
	return BASE.rename(io, old_dir, old_name, new_dir, new_name, flags);
}

/* The same, and the new dataset does not get the name. */
static int no_swap(const struct hp_io *io, int old_dir, const char *old_name,
		   int new_dir, const char *new_name, unsigned flags)
{
	if (!flags && strstr(old_name, "hpdsl-new"))
		return -EIO;
	return no_exchange(io, old_dir, old_name, new_dir, new_name, flags);
}

static void test_two_steps(void **state)
{
	const struct hpdsl_pack_options opt = { .force = true };
	struct hpdsl_pack_options with;
	struct hpdsl_error err;
	struct packed p;
	struct trick t;

	(void)state;
	begin(&p, &t);
	packed_pack(&p, (struct hpdsl_pack_options){ .seed = 1 });
	with = opt;
	with.watch.io = &t.io;
	t.io.rename = no_swap;
	assert_int_equal(packed_try(&p, with, &err), -EIO);
	assert_non_null(strstr(err.msg, ".out.hpdsl-new"));
	is_sound(&p); /* the old one */
	t.io.rename = no_exchange;
	with.resume = true;
	assert_int_equal(packed_try(&p, with, &err), 0);
	is_sound(&p);
	nothing_beside(&p);
	packed_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_empty),
		cmocka_unit_test(test_lost_segment),
		cmocka_unit_test(test_no_direct),
		cmocka_unit_test(test_two_replace),
		cmocka_unit_test(test_two_begin),
		cmocka_unit_test(test_becomes_link),
		cmocka_unit_test(test_stat_differs),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_segment_ends),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_other_beside),
		cmocka_unit_test(test_two_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
