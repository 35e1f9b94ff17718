/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a node's processes share of what they see of others, in a real
 * directory.  It may be cut, removed, scribbled over or of somebody else at any
 * time: then its readers forget, or go on alone, and never fail.  What several
 * count at a time is all there in the end.
 */
#include "each_fault.h"
#include "tmp.h"
#include "peers/health.h"
#include "peers/table_rows.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const struct hp_book_head head = {
	.id = "book............",
	.made = 7,
	.nodes = 2,
	.node = 1,
	.parts = 2,
};

#define MS UINT64_C(1000000)
/* What was read of a row is not good for so long. */
#define LATER (100 * MS)
#define SIZE (64 + 3 * 576)

static char folder[TMP_NAME], path[TMP_NAME + 20];
static int dir;

static int enter(void **state)
{
	(void)state;
	assert_non_null(tmp_folder(folder, sizeof folder, "table"));
	snprintf(path, sizeof path, "%s/" HP_TABLE_NAME, folder);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0;
}

static int leave(void **state)
{
	(void)state;
	unlinkat(dir, HP_TABLE_NAME, 0);
	unlinkat(dir, "other", 0);
	close(dir);
	/* Nothing else is left. */
	return rmdir(folder);
}

static void make(const struct hp_book_head *h)
{
	struct hp_table_file f;
	struct hpdsl_error err;

	assert_int_equal(hp_table_make(&hp_io_system, dir, folder, h, &f, &err),
			 0);
	hp_table_leave(&f);
}

static int find_code(const struct hp_book_head *h, struct hpdsl_error *err)
{
	struct hp_table_file f = { 0 };
	int r = hp_table_find(&hp_io_system, dir, folder, h, &f, err);

	hp_table_leave(&f);
	return r;
}

/* Of a process: the file, and its way to it. */
struct one {
	struct hp_table_file f;
	struct hp_table t;
};

static struct one *come(struct one *o)
{
	struct hpdsl_error err;

	assert_int_equal(
		hp_table_find(&hp_io_system, dir, folder, &head, &o->f, &err),
		0);
	assert_int_equal(hp_table_open(&o->f, &o->t), 0);
	return o;
}

static void go(struct one *o)
{
	hp_table_close(&o->t);
	hp_table_close(&o->t);
	hp_table_leave(&o->f);
	hp_table_leave(&o->f);
}

/* ---- Made, found ------------------------------------------------------ */

static void test_shared(void **state)
{
	struct hp_book_head other = head;
	struct hpdsl_error err;
	struct one a, b;
	mode_t old = umask(0);
	struct stat st;

	(void)state;
	assert_int_equal(find_code(&head, &err), -ENOENT);
	make(&head);
	umask(old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, SIZE);
	come(&a);
	come(&b);
	/* What one sees, all see; also after the server was started again. */
	hp_table_found(&a.t, 1, MS, 20007);
	hp_table_told(&a.t, 1, LATER, 1000);
	hp_table_up(&a.t, 77);
	assert_int_equal(hp_table_get(&b.t, 1, LATER).port, 20007);
	assert_int_equal(hp_table_since(&b.t, LATER), 77);
	go(&a);
	make(&head);
	come(&a);
	assert_int_equal(hp_table_get(&a.t, 1, 0).load, 1000);
	assert_int_equal(hp_table_get(&a.t, 1, 0).told, LATER);
	assert_int_equal(hp_table_since(&a.t, 0), 77);
	assert_int_equal(hp_table_get(&a.t, 0, 0).told, 0);
	/* Who was heard of before is not waited for, however new this is. */
	hp_table_up(&a.t, 2 * LATER);
	assert_false(hp_table_is_starting(&a.t, 1, 2 * LATER));
	assert_true(hp_table_is_starting(&a.t, 0, 2 * LATER));
	assert_true(
		hp_table_is_starting(&a.t, 0, 2 * LATER + HP_STARTING_FOR - 1));
	assert_false(
		hp_table_is_starting(&a.t, 0, 2 * LATER + HP_STARTING_FOR));
	go(&a);
	go(&b);

	other.id[0]++;
	assert_int_equal(find_code(&other, &err), -ESTALE);
	make(&other);
	assert_int_equal(find_code(&head, &err), -ESTALE);
}

static void test_refused(void **state)
{
	struct hpdsl_error err;

	(void)state;
	make(&head);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(find_code(&head, &err), -EPERM);
	make(&head);
	assert_int_equal(find_code(&head, &err), 0);
	assert_int_equal(truncate(path, 60), 0);
	assert_int_equal(find_code(&head, &err), HPDSL_ENOTOURS);
	make(&head);
	assert_int_equal(renameat(dir, HP_TABLE_NAME, dir, "other"), 0);
	assert_int_equal(symlinkat("other", dir, HP_TABLE_NAME), 0);
	assert_int_equal(find_code(&head, &err), -EPERM);
	make(&head);
	assert_int_equal(find_code(&head, &err), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(find_code(&head, &err), -EPERM);
	make(&head);
	assert_int_equal(find_code(&head, &err), 0);
}

static void test_somebody_elses(void **state)
{
	struct hpdsl_error err;
	struct one a;

	(void)state;
	if (geteuid() != 0) {
		print_message("# SKIP a file of another user: not root\n");
		skip();
	}
	make(&head);
	come(&a);
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(find_code(&head, &err), -EPERM);
	go(&a);
	/* The server replaces it. */
	make(&head);
	assert_int_equal(find_code(&head, &err), 0);
}

/* Bytes of the head: another one's, though its checksum is right or not. */
static void test_other_head(void **state)
{
	static const struct {
		long at;
		uint8_t is;
		int code;
	} cases[] = { { 0, 'x', HPDSL_ENOTOURS },  { 8, 3, HPDSL_ETOONEW },
		      { 8, 1, HPDSL_ECORRUPT },	   { 16, 0, HPDSL_ECORRUPT },
		      { 32, 'B', HPDSL_ECORRUPT }, { 63, 0, HPDSL_ECORRUPT } };
	struct hpdsl_error err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t was;
		int fd;

		make(&head);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_int_equal(pread(fd, &was, 1, cases[i].at), 1);
		assert_int_equal(pwrite(fd, &cases[i].is, 1, cases[i].at), 1);
		if (was != cases[i].is)
			assert_int_equal(find_code(&head, &err), cases[i].code);
		close(fd);
		make(&head);
		assert_int_equal(find_code(&head, &err), 0);
	}
}

/* ---- Rows ------------------------------------------------------------- */

static void test_rows(void **state)
{
	struct one a;
	struct hp_table *t = &a.t;
	uint64_t now = 1000 * HP_SECOND;

	(void)state;
	make(&head);
	come(&a);
	assert_true(hp_table_lives(t, 0, 0));
	hp_table_suspect(t, 0, now, now + HP_SECOND);
	assert_false(hp_table_lives(t, 0, now));
	assert_true(hp_table_lives(t, 1, now));
	hp_table_suspect(t, 0, now + LATER, now + LATER + HP_SECOND);
	assert_int_equal(hp_table_get(t, 0, now).failures, 1);
	now += LATER;
	assert_false(hp_table_lives(t, 0, now - 1 + HP_SECOND));
	assert_true(hp_table_lives(t, 0, now + HP_SECOND));
	hp_table_suspect(t, 0, now, now + HP_SECOND);
	hp_table_well(t, 0, now);
	assert_true(hp_table_lives(t, 0, now));
	/* Nobody is left out for longer than a probe takes. */
	hp_table_suspect(t, 0, now, UINT64_MAX);
	assert_false(hp_table_lives(t, 0, now - 1 + HP_PROBE_MOST));
	assert_true(hp_table_lives(t, 0, now + HP_PROBE_MOST));
	assert_true(hp_table_lives(t, 0, now - 1));
	for (int i = 0; i < HP_BAD_MOST; i++) {
		assert_true(hp_table_lives(t, 1, 0));
		hp_table_bad(t, 1);
	}
	hp_table_well(t, 1, now);
	assert_false(hp_table_lives(t, 1, UINT64_MAX));
	go(&a);
}

/* Wrong bytes that three of them saw, once each, ban for all. */
static void test_banned_by_all(void **state)
{
	struct one o[3];

	(void)state;
	make(&head);
	for (int i = 0; i < 3; i++)
		assert_true(hp_table_lives(&come(&o[i])->t, 0, 1));
	for (int i = 0; i < 3; i++)
		hp_table_bad(&o[i].t, 0);
	for (int i = 0; i < 3; i++)
		assert_false(hp_table_lives(&o[i].t, 0, 1 + LATER));
	for (int i = 0; i < 3; i++)
		go(&o[i]);
}

/* A row of another place, or with one wrong bit, is none. */
static void test_wrong_rows(void **state)
{
	struct one a, b;
	uint8_t row[576];
	int fd;

	(void)state;
	make(&head);
	come(&a);
	hp_table_suspect(&a.t, 0, MS, MS + HP_SECOND);
	for (int i = 0; i < HP_BAD_MOST; i++)
		hp_table_bad(&a.t, 0);
	go(&a);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, row, sizeof row, 64), sizeof row);
	assert_int_equal(pwrite(fd, row, sizeof row, 64 + 576), sizeof row);
	come(&b);
	assert_false(hp_table_lives(&b.t, 0, MS));
	assert_true(hp_table_lives(&b.t, 1, MS));
	go(&b);
	for (size_t i = 0; i < sizeof row; i++) {
		const struct hp_table_row none = { 0 };
		struct hp_table_row is;

		row[i] ^= 1;
		assert_int_equal(pwrite(fd, row, sizeof row, 64), sizeof row);
		row[i] ^= 1;
		come(&b);
		is = hp_table_get(&b.t, 0, MS);
		if (i < 64)
			assert_int_equal(is.until, none.until);
		else
			assert_int_equal(is.bad, none.bad);
		go(&b);
	}
	close(fd);
}

/* ---- Cut, removed, while it is read ----------------------------------- */

static void use_all(struct hp_table *t, uint64_t now)
{
	for (uint32_t i = 0; i < 2; i++) {
		hp_table_get(t, i, now);
		hp_table_suspect(t, i, now, now + HP_SECOND);
		assert_false(hp_table_lives(t, i, now + LATER));
		hp_table_told(t, i, now, 5);
		hp_table_found(t, i, now, 20001);
		hp_table_well(t, i, now);
		hp_table_count(t, i)->reads++;
	}
	hp_table_since(t, now);
	hp_table_add(t, false);
}

static void test_cut(void **state)
{
	struct hpdsl_error err;

	(void)state;
	for (off_t n = 0; n < SIZE; n += n < 80 || n > SIZE - 9 ? 1 : 61) {
		struct one a;
		int r;

		make(&head);
		come(&a);
		hp_table_told(&a.t, 0, MS, 9);
		assert_int_equal(truncate(path, n), 0);
		/* Not a word of it, and what it sees itself it knows. */
		assert_int_equal(hp_table_get(&a.t, 0, MS + LATER).load, 9);
		assert_false(hp_table_look(&a.t, 1, &err));
		assert_true(err.code < 0 && strstr(err.msg, HP_TABLE_NAME));
		use_all(&a.t, MS);
		assert_false(hp_table_owes(&a.t));
		assert_false(hp_table_look(&a.t, HP_SECOND, &err));
		assert_int_equal(err.code, 0);
		/* Who comes now has one of his own, as long as there is its
		 * head to be known by. */
		r = find_code(&head, &err);
		assert_int_equal(r, n < 64 ? HPDSL_ENOTOURS : 0);
		/* The server mends it; what was counted comes there. */
		assert_int_equal(hp_table_mend(&a.f, &err), 1);
		assert_int_equal(hp_table_mend(&a.f, &err), 0);
		assert_true(hp_table_look(&a.t, 2 * HP_SECOND, &err));
		go(&a);
	}
}

static void test_removed(void **state)
{
	struct hp_table_tally sum;
	struct hpdsl_error err;
	struct one a, b;

	(void)state;
	make(&head);
	come(&a);
	assert_true(hp_table_look(&a.t, 1, &err));
	assert_int_equal(unlink(path), 0);
	use_all(&a.t, MS); /* into one without a name */
	assert_false(hp_table_look(&a.t, 2, &err));
	assert_int_equal(err.code, -ENOENT);
	hp_table_count(&a.t, 1)->reads += 6;
	hp_table_count(&a.t, 2)->origin[3]++;
	assert_int_equal(hp_table_mend(&a.f, &err), 1);
	assert_true(hp_table_look(&a.t, 3, &err));
	come(&b);
	hp_table_tally(&b.t, 1, &sum);
	assert_int_equal(sum.reads, 6);
	hp_table_tally(&b.t, 2, &sum);
	assert_int_equal(sum.origin[3], 1);
	/* Another file of the same name is taken as soon as it is seen. */
	assert_int_equal(unlink(path), 0);
	make(&head);
	assert_true(hp_table_look(&a.t, 4, &err));
	hp_table_suspect(&a.t, 0, HP_SECOND, 2 * HP_SECOND);
	assert_true(hp_table_lives(&b.t, 0, HP_SECOND));
	assert_true(hp_table_look(&b.t, 4, &err));
	assert_false(hp_table_lives(&b.t, 0, HP_SECOND));
	go(&a);
	go(&b);
}

/* ---- Counted ---------------------------------------------------------- */

enum { TIMES = 60 };

/* Others come between what is read and what is written. */
static ssize_t slow_pwrite(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	(void)io;
	sched_yield();
	return hp_io_system.pwrite(&hp_io_system, fd, buf, n, off);
}

static void count_alone(void)
{
	struct hp_io slow = hp_io_system;
	struct one a;

	slow.pwrite = slow_pwrite;
	come(&a);
	a.f.io = &slow;
	for (int i = 0; i < TIMES; i++) {
		struct hp_table_tally *c = hp_table_count(&a.t, i % 3);

		c->reads++;
		c->bytes += 1000;
		c->latency[hp_table_time((uint64_t)i * MS)]++;
		hp_table_add(&a.t, false);
		if (i % 10 == 0)
			hp_table_suspect(&a.t, 0, (uint64_t)i * HP_SECOND,
					 (uint64_t)i * HP_SECOND + 1);
	}
	hp_table_add(&a.t, true);
	_exit(hp_table_owes(&a.t));
}

static void test_many_count(void **state)
{
	struct hp_table_tally sum = { 0 }, is;
	struct one a;
	uint64_t times = 0;
	int status;

	(void)state;
	make(&head);
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			count_alone();
	while (wait(&status) > 0)
		assert_int_equal(status, 0);
	come(&a);
	for (uint32_t i = 0; i < 3; i++) {
		hp_table_tally(&a.t, i, &is);
		sum.reads += is.reads;
		sum.bytes += is.bytes;
		sum.suspect += is.suspect;
		for (int b = 0; b < HP_TABLE_TIMES; b++)
			times += is.latency[b];
	}
	assert_int_equal(sum.reads, 3 * TIMES);
	assert_int_equal(sum.bytes, 3 * TIMES * 1000);
	assert_int_equal(times, 3 * TIMES);
	assert_true(sum.suspect >= TIMES / 10);
	go(&a);
}

/* A lock that is held is not waited for, and nothing is lost. */
static void test_locked(void **state)
{
	struct hp_table_tally is;
	struct one a, b;

	(void)state;
	make(&head);
	come(&a);
	come(&b);
	assert_int_equal(
		hp_io_system.lock_range(&hp_io_system, a.t.fd, 0, SIZE, true),
		0);
	hp_table_count(&b.t, 0)->reads = 5;
	hp_table_add(&b.t, false);
	hp_table_count(&b.t, 0)->reads++;
	hp_table_bad(&b.t, 1);
	assert_true(hp_table_owes(&b.t));
	assert_int_equal(hp_table_get(&b.t, 1, 1).bad, 1);
	assert_int_equal(
		hp_io_system.lock_range(&hp_io_system, a.t.fd, 0, SIZE, false),
		0);
	hp_table_add(&b.t, true);
	assert_false(hp_table_owes(&b.t));
	hp_table_tally(&a.t, 0, &is);
	assert_int_equal(is.reads, 6);
	assert_int_equal(hp_table_get(&a.t, 1, 1).bad, 1);
	go(&a);
	go(&b);
}

static void test_times(void **state)
{
	(void)state;
	assert_int_equal(hp_table_time(0), 0);
	assert_int_equal(hp_table_time(1999), 0);
	assert_int_equal(hp_table_time(2000), 1);
	assert_int_equal(hp_table_time(1023999), 9);
	assert_int_equal(hp_table_time(1024000), 10);
	assert_int_equal(hp_table_time(UINT64_MAX), HP_TABLE_TIMES - 1);
}

/* ---- Faults ----------------------------------------------------------- */

static void test_faults(void **state)
{
	struct hpdsl_error err;

	(void)state;
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		struct hp_table_file f = { 0 };
		struct hp_table t = { 0 };
		int r;

		unlinkat(dir, HP_TABLE_NAME, 0);
		r = hp_table_make(&e.f.io, dir, folder, &head, &f, &err);
		assert_true(r == 0 || r == -EIO);
		if (r == 0 && hp_table_open(&f, &t) == 0) {
			use_all(&t, MS);
			hp_table_look(&t, 1, &err);
			assert_int_equal(hp_table_get(&t, 0, MS).load, 5);
		}
		hp_table_close(&t);
		hp_table_leave(&f);
		r = find_code(&head, &err);
		assert_true(r == 0 || r == -ENOENT);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shared),	   TEST(test_refused),
		TEST(test_somebody_elses), TEST(test_other_head),
		TEST(test_rows),	   TEST(test_banned_by_all),
		TEST(test_wrong_rows),	   TEST(test_cut),
		TEST(test_removed),	   TEST(test_many_count),
		TEST(test_locked),	   TEST(test_times),
		TEST(test_faults),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
