/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: what comes back, what has changed, damage, the lock, and file
 * operations that fail or do less than they were asked to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/names.h"
#include "make_list.h"
#include "write/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NAME HP_JOURNAL_NAME

static char dir_name[] = "/tmp/hpdsl-journal-XXXXXX";
static int dir;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir_name))
		return -1;
	dir = open(dir_name, O_RDONLY | O_DIRECTORY);
	return dir < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(dir, NAME, 0);
	close(dir);
	return rmdir(dir_name);
}

/* ---- A file system that fails ----------------------------------------- */

/* Operation number fail_at (from 1) and, with for_ever, all later ones fail. */
static struct {
	int count, fail_at, code;
	bool for_ever;
	bool fsync_failed, synced_again;
	bool dribble;	 /* a byte at a time, every second one interrupted */
	uint64_t lowest; /* that was written to */
	int lock_code;
	bool renewed; /* the name goes before the lock is had, */
	bool taken;   /* and another file gets it */
} fake;

static struct hp_io fake_io;

static int count(void)
{
	fake.count++;
	if (fake.count == fake.fail_at ||
	    (fake.for_ever && fake.fail_at && fake.count > fake.fail_at))
		return fake.code;
	return 0;
}

static int fake_open(const struct hp_io *io, int at, const char *name,
		     int flags, mode_t mode)
{
	int r = count();

	return r ? r : hp_io_system.open(io, at, name, flags, mode);
}

static ssize_t fake_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			  uint64_t off)
{
	int r = count();

	if (!r && fake.dribble && fake.count % 2)
		return -EINTR;
	return r ? r :
		   hp_io_system.pread(io, fd, buf, fake.dribble ? 1 : n, off);
}

static ssize_t fake_pwrite(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	int r = count();

	if (off < fake.lowest)
		fake.lowest = off;
	if (r) { /* half of it gets there */
		hp_io_system.pwrite(io, fd, buf, n / 2, off);
		return r;
	}
	if (fake.dribble && fake.count % 2)
		return -EINTR;
	return hp_io_system.pwrite(io, fd, buf, fake.dribble ? 1 : n, off);
}

static int fake_fsync(const struct hp_io *io, int fd)
{
	int r = count();

	(void)io;
	(void)fd;
	fake.synced_again |= fake.fsync_failed;
	fake.fsync_failed |= r < 0;
	return r;
}

static int fake_truncate(const struct hp_io *io, int fd, uint64_t size)
{
	int r = count();

	return r ? r : hp_io_system.truncate(io, fd, size);
}

static int fake_lock(const struct hp_io *io, int fd)
{
	int r = count();

	if (fake.renewed) {
		fake.renewed = false;
		unlinkat(dir, NAME, 0);
		if (fake.taken)
			close(openat(dir, NAME, O_WRONLY | O_CREAT, 0666));
	}
	if (fake.lock_code)
		return fake.lock_code;
	return r ? r : hp_io_system.lock(io, fd);
}

static int fake_stat(const struct hp_io *io, int at, const char *name,
		     struct stat *ret, int flags)
{
	int r = count();

	return r ? r : hp_io_system.stat(io, at, name, ret, flags);
}

static int fake_unlink(const struct hp_io *io, int at, const char *name,
		       int flags)
{
	int r = count();

	return r ? r : hp_io_system.unlink(io, at, name, flags);
}

static void fake_reset(void)
{
	memset(&fake, 0, sizeof fake);
	fake.code = -EIO;
	fake_io = hp_io_system;
	fake_io.open = fake_open;
	fake_io.pread = fake_pread;
	fake_io.pwrite = fake_pwrite;
	fake_io.fsync = fake_fsync;
	fake_io.truncate = fake_truncate;
	fake_io.lock = fake_lock;
	fake_io.stat = fake_stat;
	fake_io.unlink = fake_unlink;
}

/* ---- Helpers ---------------------------------------------------------- */

static struct hp_pair option[] = { { "shuffle", "global" },
				   { "seed", "1" },
				   { "include", "*.jpg" },
				   { "include", "" } };
static const struct hp_pairs options = { option, 4 };

static void make_list(struct hp_list *list)
{
	LIST_OF(list, "b/c.txt", "a.jpg", "a.json", "b.jpg", "b/c", ".x",
		"caf\xe9\n.jpg", "z/y/x.tar.gz");
	for (uint64_t i = 0; i < list->n_files; i++) {
		list->files[i].size = 100 + i;
		list->files[i].mtime = 1700000000 - (int64_t)i * 900000000;
		list->files[i].nsec = 999999999;
		list->files[i].mode = 0644;
	}
	assert_int_equal(hp_list_sort(list, NULL), 0);
}

static struct hp_file *file_of(struct hp_list *list, const char *path)
{
	for (uint64_t i = 0; i < list->n_files; i++) {
		if (!strcmp(list->files[i].path, path))
			return &list->files[i];
	}
	fail();
	return NULL;
}

static struct hp_journal_record record(uint32_t chunk, uint64_t bytes)
{
	struct hp_journal_record rec = { .chunk = chunk, .bytes = bytes };

	memset(rec.checksum, (int)(chunk + bytes), 16);
	return rec;
}

static struct hp_journal *open_it(bool resumable)
{
	struct hpdsl_error err = { 0 };
	struct hp_journal *j;
	bool is;

	if (hp_journal_open(NULL, dir, NULL, &j, &is, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(is, resumable);
	return j;
}

/* A journal with n records, for chunks 0, 1, .. */
static void make_journal(const struct hp_list *list, uint32_t n)
{
	struct hp_journal *j;

	unlinkat(dir, NAME, 0);
	j = open_it(false);
	assert_int_equal(hp_journal_begin(j, &options, list, 1, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct hp_journal_record rec = record(i, 1000 + i);

		assert_int_equal(hp_journal_add(j, &rec, NULL), 0);
	}
	hp_journal_close(j);
}

static uint8_t *slurp(size_t *ret_len)
{
	char *buf;

	assert_int_equal(
		hp_io_slurp(&hp_io_system, dir, NAME, 1 << 20, &buf, ret_len),
		0);
	return (uint8_t *)buf;
}

static void spew(const uint8_t *buf, size_t n)
{
	int fd = openat(dir, NAME, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf, n), n);
	close(fd);
}

/* ---- What comes back -------------------------------------------------- */

static void test_resume(void **state)
{
	struct hp_journal_record rec = record(7, 1), *v;
	struct hp_journal *j;
	struct hp_list list;
	size_t n;

	(void)state;
	make_list(&list);
	make_journal(&list, 3);
	for (uint32_t round = 0; round < 3; round++) {
		j = open_it(true);
		assert_int_equal(hp_journal_compare(j, &options, &list, NULL),
				 0);
		assert_int_equal(hp_journal_records(j, &v, &n, NULL), 0);
		assert_int_equal(n, round ? 4 : 3);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(v[i].chunk, i);
			assert_false(v[i].compressed);
			assert_int_equal(v[i].bytes, 1000 + i);
			assert_int_equal(v[i].checksum[15],
					 (232 + i + i) & 255);
		}
		if (round) { /* the last one written for a chunk */
			assert_int_equal(v[3].chunk, 7);
			assert_int_equal(v[3].bytes, round);
			assert_int_equal(v[3].compressed, round == 2);
		}
		free(v);
		rec = record(7, round + 1);
		rec.compressed = round == 1;
		assert_int_equal(hp_journal_add(j, &rec, NULL), 0);
		hp_journal_close(j);
	}
	j = open_it(true);
	assert_int_equal(hp_journal_begin(j, &options, &list, 1, NULL), 0);
	assert_int_equal(hp_journal_records(j, &v, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(v);
	assert_int_equal(hp_journal_remove(j, NULL), 0);
	assert_int_equal(faccessat(dir, NAME, F_OK, 0), -1);
	hp_list_release(&list);
}

/* Rows of positions lie between those of chunks; the last one counts. */
static void test_positions(void **state)
{
	struct hp_journal_position p[2] = { { 3, 1, 2, 5 }, { 0, 7, 8, 9 } };
	struct hp_journal_record rec = record(4, 4), *v;
	const struct hp_journal_position *got;
	struct hp_journal *j;
	struct hp_list list;
	size_t n;

	(void)state;
	make_list(&list);
	make_journal(&list, 2);
	j = open_it(true);
	assert_int_equal(hp_journal_records(j, &v, &n, NULL), 0);
	free(v);
	assert_null(hp_journal_position(j, 0));
	assert_int_equal(hp_journal_add_positions(j, p, 2, NULL), 0);
	assert_int_equal(hp_journal_add(j, &rec, NULL), 0);
	p[1].files = UINT64_MAX;
	assert_int_equal(hp_journal_add_positions(j, p + 1, 1, NULL), 0);
	hp_journal_close(j);
	j = open_it(true);
	assert_int_equal(hp_journal_records(j, &v, &n, NULL), 0);
	assert_int_equal(n, 3);
	free(v);
	got = hp_journal_position(j, 0);
	assert_non_null(got);
	assert_int_equal(got->root, 0);
	assert_true(got->files == UINT64_MAX);
	assert_int_equal(got->bytes, 8);
	assert_int_equal(got->archive, 9);
	got = hp_journal_position(j, 3);
	assert_non_null(got);
	assert_int_equal(got->bytes, 2);
	assert_int_equal(got->archive, 5);
	assert_null(hp_journal_position(j, 1));
	assert_null(hp_journal_position(j, 4));
	/* Another pack begins here. */
	assert_int_equal(hp_journal_begin(j, &options, &list, 1, NULL), 0);
	assert_null(hp_journal_position(j, 0));
	hp_journal_remove(j, NULL);
	hp_list_release(&list);
}

/* Many records and files: over every buffer's end. */
static void test_many(void **state)
{
	enum { FILES = 30000, RECORDS = 3000 };
	struct hp_journal_record *v;
	struct hp_list list;
	struct hp_journal *j;
	char path[200];
	size_t n;

	(void)state;
	list_begin(&list, FILES);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "folder/%0*d.jpg", 10 + i % 100,
			 i * 7919 % FILES);
		list_add(&list, path);
	}
	assert_int_equal(hp_list_sort(&list, NULL), 0);
	unlinkat(dir, NAME, 0);
	fake_reset(); /* its fsync does nothing */
	assert_int_equal(hp_journal_open(&fake_io, dir, NULL, &j,
					 &(bool){ false }, NULL),
			 0);
	assert_int_equal(hp_journal_begin(j, &options, &list, 1, NULL), 0);
	for (uint32_t i = 0; i < RECORDS; i++) {
		struct hp_journal_record rec = record(RECORDS - 1 - i, i);

		assert_int_equal(hp_journal_add(j, &rec, NULL), 0);
	}
	hp_journal_close(j);
	j = open_it(true);
	assert_int_equal(hp_journal_compare(j, &options, &list, NULL), 0);
	assert_int_equal(hp_journal_records(j, &v, &n, NULL), 0);
	assert_int_equal(n, RECORDS);
	for (uint32_t i = 0; i < RECORDS; i++)
		assert_int_equal(v[i].chunk, i);
	free(v);
	hp_journal_remove(j, NULL);
	hp_list_release(&list);
}

/* The longest path there may be, and none at all. */
static void test_extremes(void **state)
{
	char path[HPDSL_PATH_MAX + 1];
	struct hp_list list;
	struct hp_journal *j;

	(void)state;
	memset(path, 'a', sizeof path);
	path[HPDSL_PATH_MAX] = '\0';
	LIST_OF(&list, path);
	list.files[0].size = UINT64_MAX;
	list.files[0].mtime = INT64_MIN;
	list.files[0].mode = 07777;
	make_journal(&list, 0);
	j = open_it(true);
	assert_int_equal(hp_journal_compare(j, &options, &list, NULL), 0);
	list.n_files = 0;
	assert_int_equal(hp_journal_begin(j, &options, &list, 1, NULL), 0);
	assert_int_equal(hp_journal_compare(j, &options, &list, NULL), 0);
	hp_journal_remove(j, NULL);
	hp_list_release(&list);
}

/* ---- What has changed ------------------------------------------------- */

static void expect_change(const struct hp_list *list, const char *what)
{
	char msg[300] = "the input has changed since the interrupted run: ";
	struct hp_journal *j = open_it(true);
	struct hpdsl_error err;

	strcat(msg, what);
	assert_int_equal(hp_journal_compare(j, &options, list, &err),
			 HPDSL_EDIFFERS);
	assert_string_equal(err.msg, msg);
	hp_journal_close(j);
}

static void test_changed(void **state)
{
	struct hp_list list;
	struct hp_file *f;

	(void)state;
	make_list(&list);
	make_journal(&list, 1);
	f = file_of(&list, "b/c");
	f->mode = 0600;
	expect_change(&list, "'b/c' has mode 0600, had 0644 "
			     "(1 changed, 0 added, 0 removed)");
	f->nsec = 1;
	expect_change(&list, "'b/c' was modified "
			     "(1 changed, 0 added, 0 removed)");
	f->size = 12;
	expect_change(&list, "'b/c' is 12 bytes, was 104 "
			     "(1 changed, 0 added, 0 removed)");
	file_of(&list, "caf\xe9\n.jpg")->size++;
	expect_change(&list, "'b/c' is 12 bytes, was 104 "
			     "(2 changed, 0 added, 0 removed)");
	hp_list_release(&list);
}

static void test_added_and_removed(void **state)
{
	struct hp_list list, other;

	(void)state;
	make_list(&list);
	make_journal(&list, 1);
	list.n_files--; /* sizes no longer matter: the last one is gone */
	expect_change(&list, "'z/y/x.tar.gz' is gone "
			     "(0 changed, 0 added, 1 removed)");
	list.n_files = 0;
	expect_change(&list, "'.x' is gone (0 changed, 0 added, 8 removed)");
	hp_list_release(&list);

	LIST_OF(&list, "b", "d");
	make_journal(&list, 1);
	LIST_OF(&other, "a", "b", "c", "e", "f");
	expect_change(&other, "'a' is new (1 changed, 4 added, 1 removed)");
	hp_list_release(&other);
	LIST_OF(&other, "b", "b.x", "d", "d.x");
	other.files[2].size = 1;
	expect_change(&other, "'b.x' is new (0 changed, 2 added, 0 removed)");
	hp_list_release(&other);
	hp_list_release(&list);
}

static void test_other_options(void **state)
{
	struct hp_pair two[] = { { "shuffle", "global" },
				 { "seed", "2" },
				 { "include", "*.jpg" },
				 { "include", "" } };
	struct hpdsl_error err;
	struct hp_list list;
	struct hp_journal *j;

	(void)state;
	make_list(&list);
	make_journal(&list, 0);
	j = open_it(true);
	assert_int_equal(hp_journal_compare(j, &(struct hp_pairs){ two, 4 },
					    &list, &err),
			 HPDSL_EDIFFERS);
	assert_string_equal(err.msg, "seed is 2 now, was 1");
	two[1].value = "1";
	assert_int_equal(hp_journal_compare(j, &(struct hp_pairs){ two, 3 },
					    &list, &err),
			 HPDSL_EDIFFERS);
	assert_string_equal(err.msg, "include is '*.jpg' now, was '*.jpg', ''");
	hp_journal_close(j);
	hp_list_release(&list);
}

/* ---- Damage ----------------------------------------------------------- */

/*
 * Opens what is there.  -1: not to be resumed; a code: told so; else how many
 * records are left, each of them right.
 */
static int look(const struct hp_list *list)
{
	struct hp_journal_record *v;
	struct hpdsl_error err;
	struct hp_journal *j;
	bool resumable;
	size_t n;
	int r = hp_journal_open(NULL, dir, NULL, &j, &resumable, &err);

	if (r < 0)
		return r;
	r = resumable ? hp_journal_compare(j, &options, list, &err) : -1;
	if (r == 0) {
		assert_int_equal(hp_journal_records(j, &v, &n, &err), 0);
		for (uint32_t i = 0; i < n; i++) {
			struct hp_journal_record rec = record(i, 1000 + i);

			assert_int_equal(v[i].chunk, i);
			assert_int_equal(v[i].bytes, rec.bytes);
			assert_memory_equal(v[i].checksum, rec.checksum, 16);
		}
		free(v);
		r = (int)n;
	}
	hp_journal_close(j);
	return r;
}

static void test_every_bit(void **state)
{
	struct hp_list list;
	size_t n, body;
	uint8_t *buf;

	(void)state;
	make_list(&list);
	make_journal(&list, 3);
	buf = slurp(&n);
	body = n - 3 * HP_JOURNAL_RECORD;
	for (size_t i = 0; i < 8 * n; i++) {
		int expected = HPDSL_ECORRUPT;

		if (i / 8 < HP_JOURNAL_HEAD)
			expected = -1;
		else if (i / 8 < HP_JOURNAL_BODY) /* who wrote it last */
			expected = 3;
		else if (i / 8 >= body)
			expected = (int)((i / 8 - body) / HP_JOURNAL_RECORD);
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
		spew(buf, n);
		assert_int_equal(look(&list), expected);
		buf[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	free(buf);
	hp_list_release(&list);
}

/* Taken over by the next packer, the head is not written again. */
static void test_head_stays(void **state)
{
	struct hp_list list;
	struct hp_journal *j;
	uint8_t *before, *after;
	bool resumable;
	size_t n, m;

	(void)state;
	make_list(&list);
	make_journal(&list, 3);
	before = slurp(&n);
	memset(before + HP_JOURNAL_HEAD, 0xff, HP_JOURNAL_OWNER);
	spew(before, n);
	fake_reset();
	fake.lowest = UINT64_MAX;
	assert_int_equal(
		hp_journal_open(&fake_io, dir, NULL, &j, &resumable, NULL), 0);
	assert_true(resumable);
	hp_journal_close(j);
	assert_int_equal(fake.lowest, HP_JOURNAL_HEAD);
	after = slurp(&m);
	assert_int_equal(n, m);
	assert_memory_equal(before, after, HP_JOURNAL_HEAD);
	assert_memory_not_equal(before + HP_JOURNAL_HEAD,
				after + HP_JOURNAL_HEAD, HP_JOURNAL_OWNER);
	assert_memory_equal(before + HP_JOURNAL_BODY, after + HP_JOURNAL_BODY,
			    n - HP_JOURNAL_BODY);
	free(before);
	free(after);
	hp_list_release(&list);
}

static void test_every_length(void **state)
{
	struct hp_list list;
	size_t n, body;
	uint8_t *buf;

	(void)state;
	make_list(&list);
	make_journal(&list, 3);
	buf = slurp(&n);
	body = n - 3 * HP_JOURNAL_RECORD;
	for (size_t i = 0; i <= n; i++) {
		spew(buf, i);
		if (i < HP_JOURNAL_HEAD)
			assert_int_equal(look(&list), -1);
		else if (i < body)
			assert_int_equal(look(&list), HPDSL_ECORRUPT);
		else
			assert_int_equal(look(&list),
					 (i - body) / HP_JOURNAL_RECORD);
	}
	free(buf);
	hp_list_release(&list);
}

/* A torn record is cut off, and the next one takes its place. */
static void test_torn(void **state)
{
	struct hp_journal_record rec = record(2, 1002), *v;
	struct hp_journal *j;
	struct hp_list list;
	uint8_t *buf;
	size_t n;

	(void)state;
	make_list(&list);
	make_journal(&list, 3);
	buf = slurp(&n);
	spew(buf, n - 1);
	free(buf);
	j = open_it(true);
	assert_int_equal(hp_journal_records(j, &v, &n, NULL), 0);
	assert_int_equal(n, 2);
	free(v);
	assert_int_equal(hp_journal_add(j, &rec, NULL), 0);
	hp_journal_close(j);
	assert_int_equal(look(&list), 3);
	hp_list_release(&list);
}

static void test_hostile(void **state)
{
	static const uint8_t zeros[400];
	struct hp_journal_head h = { .options_bytes = UINT64_MAX }, back;
	uint8_t buf[HP_JOURNAL_HEAD];
	struct hpdsl_error err;
	struct hp_list list;

	(void)state;
	make_list(&list);
	spew(zeros, sizeof zeros);
	assert_int_equal(look(&list), -1);
	h.options_bytes = h.list_bytes = (uint64_t)1 << 63;
	hp_journal_head_write(&h, buf);
	assert_int_equal(hp_journal_head_read(buf, &back, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, NAME ": the head is damaged");
	h.options_bytes = 1;
	h.list_bytes = 250;
	h.n_files = 11;
	hp_journal_head_write(&h, buf);
	assert_int_equal(hp_journal_head_read(buf, &back, &err),
			 HPDSL_ECORRUPT);
	h.n_files = 10;
	h.chunks = 11;
	hp_journal_head_write(&h, buf);
	assert_int_equal(hp_journal_head_read(buf, &back, &err),
			 HPDSL_ECORRUPT);
	h.chunks = 10;
	hp_journal_head_write(&h, buf);
	assert_int_equal(hp_journal_head_read(buf, &back, &err), 0);
	assert_int_equal(back.chunks, 10);
	/* A list that is not as long as the head has it, checksums right. */
	h.list_bytes = 0;
	h.n_files = 0;
	h.chunks = 0;
	h.body_checksum = hp_hash64("", 1);
	hp_journal_head_write(&h, buf);
	spew(buf, sizeof buf);
	assert_int_equal(look(&list), HPDSL_ECORRUPT);
	hp_list_release(&list);
}

static void test_too_new(void **state)
{
	struct hp_journal_head h = { .options_bytes = 1 };
	uint8_t buf[HP_JOURNAL_HEAD];
	struct hpdsl_error err;
	struct hp_journal *j;
	bool resumable;

	(void)state;
	hp_journal_head_write(&h, buf);
	buf[8] = 2;
	hp_put64(buf + 56, hp_hash64(buf, 56));
	spew(buf, sizeof buf);
	assert_int_equal(hp_journal_open(NULL, dir, NULL, &j, &resumable, &err),
			 HPDSL_ETOONEW);
	assert_string_equal(err.msg,
			    NAME ": version 2 is too new for this program");
}

static void test_options_read(void **state)
{
	struct hp_pairs p;

	(void)state;
	assert_int_equal(hp_journal_options_read("", 0, &p, NULL), 0);
	hp_pairs_release(&p);
	assert_int_equal(hp_journal_options_read("a\0\0\0b", 6, &p, NULL), 0);
	assert_int_equal(p.n, 2);
	assert_string_equal(p.v[1].value, "b");
	hp_pairs_release(&p);
	assert_int_equal(hp_journal_options_read("a\0b", 2, &p, NULL),
			 HPDSL_ECORRUPT);
	assert_int_equal(hp_journal_options_read("a\0bc", 3, &p, NULL),
			 HPDSL_ECORRUPT);
}

/* ---- The lock --------------------------------------------------------- */

static void expect_busy(const char *msg)
{
	struct hpdsl_error err;
	struct hp_journal *j;
	bool resumable;

	assert_int_equal(hp_journal_open(NULL, dir, NULL, &j, &resumable, &err),
			 -EBUSY);
	assert_string_equal(err.msg, msg);
}

static void test_lock(void **state)
{
	char host[64] = "", msg[200];
	struct hp_list list;
	struct hp_journal *j;

	(void)state;
	gethostname(host, 63);
	snprintf(msg, sizeof msg,
		 NAME ": another hpdsl-pack is at work here (node %s, "
		      "process %d)",
		 host, (int)getpid());
	make_list(&list);
	unlinkat(dir, NAME, 0);
	j = open_it(false);
	expect_busy(msg); /* already before the journal is begun */
	assert_int_equal(hp_journal_begin(j, &options, &list, 1, NULL), 0);
	expect_busy(msg);
	hp_journal_close(j);
	j = open_it(true);
	expect_busy(msg);
	assert_int_equal(hp_journal_remove(j, NULL), 0);
	hp_journal_close(open_it(false));
	hp_list_release(&list);
}

/* Who had the lock removed the file just before we got ours. */
static void test_lock_renewed(void **state)
{
	struct hp_journal *j, *other;
	bool resumable;

	(void)state;
	fake_reset();
	fake.renewed = true;
	assert_int_equal(
		hp_journal_open(&fake_io, dir, NULL, &j, &resumable, NULL), 0);
	assert_int_equal(faccessat(dir, NAME, F_OK, 0), 0);
	hp_journal_close(j);
	fake.renewed = fake.taken = true;
	assert_int_equal(
		hp_journal_open(&fake_io, dir, NULL, &j, &resumable, NULL), 0);
	/* The lock is that of the file which has the name. */
	assert_int_equal(
		hp_journal_open(NULL, dir, NULL, &other, &resumable, NULL),
		-EBUSY);
	hp_journal_close(j);
}

static void count_warning(void *arg, const char *text)
{
	assert_non_null(strstr(text, "no locks"));
	++*(int *)arg;
}

static void test_no_locks(void **state)
{
	static const int codes[] = { -ENOSYS, -EOPNOTSUPP, -ENOLCK, -EINVAL };
	int warnings = 0;
	struct hpdsl_watch watch = { .warn = count_warning, .arg = &warnings };
	struct hp_journal *j;
	bool resumable;

	(void)state;
	fake_reset();
	for (int i = 0; i < 4; i++) {
		fake.lock_code = codes[i];
		assert_int_equal(hp_journal_open(&fake_io, dir, &watch, &j,
						 &resumable, NULL),
				 0);
		hp_journal_close(j);
		assert_int_equal(warnings, i + 1);
	}
	assert_int_equal(
		hp_journal_open(&fake_io, dir, NULL, &j, &resumable, NULL), 0);
	hp_journal_close(j);
}

static void test_no_file(void **state)
{
	struct hpdsl_error err;
	struct hp_journal *j;
	bool resumable;

	(void)state;
	unlinkat(dir, NAME, 0);
	assert_int_equal(symlinkat("elsewhere", dir, NAME), 0);
	assert_int_equal(hp_journal_open(NULL, dir, NULL, &j, &resumable, &err),
			 -ELOOP);
	unlinkat(dir, NAME, 0);
	assert_int_equal(mkfifoat(dir, NAME, 0666), 0);
	assert_true(hp_journal_open(NULL, dir, NULL, &j, &resumable, &err) < 0);
	unlinkat(dir, NAME, 0);
}

/* ---- Failing operations ----------------------------------------------- */

static int begin_run(const struct hp_list *list, struct hpdsl_error *err)
{
	struct hp_journal *j;
	bool resumable;
	int r = hp_journal_open(&fake_io, dir, NULL, &j, &resumable, err);

	if (r < 0)
		return r;
	r = hp_journal_begin(j, &options, list, 1, err);
	for (uint32_t i = 0; i < 3; i++) { /* goes on after a failure */
		struct hp_journal_record rec = record(i, 1000 + i);
		int k = r < 0 ? r : hp_journal_add(j, &rec, err);

		if (k < 0)
			r = k;
	}
	hp_journal_close(j);
	return r;
}

static int resume_run(const struct hp_list *list, struct hpdsl_error *err)
{
	struct hp_journal_record *v, rec = record(3, 1003);
	struct hp_journal *j;
	bool resumable;
	size_t n;
	int r = hp_journal_open(&fake_io, dir, NULL, &j, &resumable, err);

	if (r < 0)
		return r;
	r = hp_journal_compare(j, &options, list, err);
	if (r == 0)
		r = hp_journal_records(j, &v, &n, err);
	if (r == 0) {
		free(v);
		r = hp_journal_add(j, &rec, err);
	}
	if (r == 0)
		return hp_journal_remove(j, err);
	hp_journal_close(j);
	return r;
}

/* run with every operation failing in turn; what is left is sound. */
static void fail_each(int (*run)(const struct hp_list *list,
				 struct hpdsl_error *err),
		      bool resume, bool for_ever)
{
	struct hp_list list;
	int k = 1, r;

	make_list(&list);
	do {
		struct hpdsl_error err = { 0 };
		int left;

		unlinkat(dir, NAME, 0);
		if (resume)
			make_journal(&list, 3);
		fake_reset();
		fake.fail_at = k;
		fake.for_ever = for_ever;
		r = run(&list, &err);
		assert_int_equal(r < 0, fake.count >= k);
		assert_false(fake.synced_again);
		if (r < 0) {
			assert_int_equal(r, -EIO);
			assert_int_equal(err.code, -EIO);
			assert_string_equal(err.msg,
					    NAME ": Input/output error");
		}
		left = look(&list);
		assert_true(left >= -1 && (!resume || r == 0 || left >= 3));
		k++;
	} while (r < 0);
	assert_in_range(k, 10, 40);
	hp_list_release(&list);
}

static void test_failures(void **state)
{
	(void)state;
	fail_each(begin_run, false, false);
	fail_each(begin_run, false, true);
	fail_each(resume_run, true, false);
	fail_each(resume_run, true, true);
}

static void test_dribble(void **state)
{
	struct hp_list list;

	(void)state;
	make_list(&list);
	unlinkat(dir, NAME, 0);
	fake_reset();
	fake.dribble = true;
	assert_int_equal(begin_run(&list, NULL), 0);
	assert_int_equal(look(&list), 3);
	assert_int_equal(resume_run(&list, NULL), 0);
	hp_list_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_added_and_removed),
		cmocka_unit_test(test_other_options),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_head_stays),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_too_new),
		cmocka_unit_test(test_options_read),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_lock_renewed),
		cmocka_unit_test(test_no_locks),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_dribble),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
