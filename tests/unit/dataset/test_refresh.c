/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dataset that becomes another one, of the same names and sizes, while it is
 * open: no sample of the other one without an error.  And what is no change, an
 * index that is cut short, and one in memory, to which none of it matters.
 */
#include "packed.h"

#include "hpdsl.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 200, SAMPLES = 100, ROOM = 20000, CHUNKS = 3 };

static struct packed packed;
static char was[80]; /* the pack that is opened, copied from .. */
static char first[80], second[80];
static struct hpdsl_dataset *a; /* first, opened, and left alone */

/* ---- Files ------------------------------------------------------------ */

static const char *at(const char *dir, const char *name)
{
	static char ring[4][200];
	static int next;
	char *buf = ring[next++ % 4];

	snprintf(buf, 200, "%s/%s", dir, name);
	return buf;
}

/* As rsync --inplace does. */
static void put_in_place(const char *from, const char *to)
{
	size_t n;
	char *data = packed_get(from, &n);
	int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, 0), n);
	assert_int_equal(ftruncate(fd, (off_t)n), 0);
	close(fd);
	free(data);
}

static void put_chunks(const char *from)
{
	for (unsigned i = 0; i < CHUNKS; i++) {
		char name[40];

		snprintf(name, sizeof name, "chunk-%06u.tar", i);
		put_in_place(at(from, name), at(was, name));
	}
}

static void put_index(const char *from)
{
	put_in_place(at(from, "index.hpdsl"), at(was, "index.hpdsl"));
}

/* Long ago: what is written now has another time, whatever the clock's tick. */
static void age(void)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	assert_int_equal(utimensat(AT_FDCWD, at(was, "index.hpdsl"), times, 0),
			 0);
}

static void pack_into(char out[80], const char *name)
{
	snprintf(packed.out, sizeof packed.out, "%s/%s", packed.top, name);
	packed_pack(&packed,
		    (struct hpdsl_pack_options){ .chunks = CHUNKS,
						 .labels = HPDSL_LABELS_DIR });
	snprintf(out, 80, "%s", packed.out);
}

static struct hpdsl_dataset *open_it(const char *dir, unsigned flags)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open_with(dir, flags, NULL, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

static int make_packs(void **state)
{
	char name[64];

	(void)state;
	packed_begin(&packed);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "c%u/%03u.%s", i / 2 % 5, i / 2,
			 i % 2 ? "a" : "b");
		packed_file(&packed, name, 1 + i * 37, 0644, 1, 0);
	}
	pack_into(first, "first");
	for (unsigned i = 0; i < FILES; i++) {
		const struct timespec old[2] = { { .tv_sec = 1 },
						 { .tv_sec = 1 } };

		snprintf(name, sizeof name, "c%u/%03u.%s", i / 2 % 5, i / 2,
			 i % 2 ? "a" : "b");
		packed_flip(at(packed.tree, name), i * 37 / 2, 3);
		utimensat(AT_FDCWD, at(packed.tree, name), old, 0);
	}
	pack_into(second, "second");
	a = open_it(first, 0);
	return 0;
}

static int remove_packs(void **state)
{
	(void)state;
	hpdsl_close(a);
	packed_end(&packed);
	return 0;
}

/* The pack to be opened is the first one, again. */
static int begin(void **state)
{
	(void)state;
	snprintf(was, sizeof was, "%s/was", packed.top);
	mkdir(was, 0777);
	unlink(at(was, "index.hpdsl"));
	put_chunks(first);
	put_index(first);
	put_in_place(at(first, "dataset.yaml"), at(was, "dataset.yaml"));
	age();
	return 0;
}

/* ---- Reading ---------------------------------------------------------- */

static int read_sample(const struct hpdsl_dataset *ds, uint64_t number,
		       char *buf, size_t *n)
{
	const struct hpdsl_sample s = { .number = number };
	struct hpdsl_error err = { 0 };
	int r = hpdsl_sample_read(ds, &s, buf, ROOM, n, &err);

	assert_int_equal(err.code, r);
	return r;
}

/* Is it what the first pack has? */
static void check_sample(uint64_t number, const char *buf, size_t n)
{
	char good[ROOM];
	size_t k;

	assert_int_equal(read_sample(a, number, good, &k), 0);
	assert_int_equal(n, k);
	assert_memory_equal(buf, good, n);
}

static int take(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)arg;
	(void)buf;
	(void)n;
	(void)err;
	return 0;
}

static int read_many(const struct hpdsl_dataset *ds, uint64_t number)
{
	char buf[ROOM];
	struct hpdsl_request q = { .member = number,
				   .buf = buf,
				   .room = sizeof buf };

	hpdsl_read_many(ds, &q, 1, HPDSL_SERIAL, NULL);
	return q.code;
}

static int get_rows(const struct hpdsl_dataset *ds,
		    const struct hpdsl_member *m)
{
	struct hpdsl_rows *rows = NULL;
	int r = hpdsl_member_rows(ds, m->number, &rows, NULL);

	hpdsl_rows_free(rows);
	return r;
}

/* Each call that hands out contents of this member gives this code. */
static void expect(const struct hpdsl_dataset *ds, const struct hpdsl_member *m,
		   int code)
{
	char buf[ROOM];
	size_t n;

	assert_int_equal(hpdsl_member_read(ds, m, 0, buf, m->size, NULL), code);
	/* Of a part there is no checksum, but of its row. */
	if (code == 0)
		assert_int_equal(hpdsl_member_read(ds, m, 0, buf, 1, NULL), 0);
	assert_int_equal(hpdsl_member_stream(ds, m, take, NULL, NULL), code);
	assert_int_equal(read_many(ds, m->number), code);
	assert_int_equal(read_sample(ds, m->sample, buf, &n), code);
	if (code == 0)
		check_sample(m->sample, buf, n);
}

/* The member, as it was looked up before anything happened to the file. */
static struct hpdsl_member member(const struct hpdsl_dataset *ds,
				  uint64_t number)
{
	struct hpdsl_member m;

	assert_int_equal(hpdsl_member_get(ds, number, &m, NULL), 0);
	return m;
}

static void read_all(const struct hpdsl_dataset *ds)
{
	for (uint64_t i = 0; i < FILES; i++) {
		struct hpdsl_member m = member(ds, i);

		expect(ds, &m, 0);
	}
}

/* ---- Tests ------------------------------------------------------------ */

static void test_by_number(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, 0), *anew;
	struct hpdsl_member old[FILES];
	char buf[ROOM];

	(void)state;
	read_all(ds);
	for (uint64_t i = 0; i < FILES; i++)
		old[i] = member(ds, i);
	put_chunks(second);
	put_index(second);
	for (uint64_t i = 0; i < FILES; i++) {
		struct hpdsl_member now = member(ds, i);

		expect(ds, &old[i], HPDSL_ECHANGED);
		expect(ds, &now, HPDSL_ECHANGED);
		assert_int_equal(hpdsl_member_read(ds, &now, 0, buf, 1, NULL),
				 HPDSL_ECHANGED);
		assert_int_equal(get_rows(ds, &now), HPDSL_ECHANGED);
	}
	anew = open_it(was, 0);
	assert_int_equal(read_many(anew, 7), 0);
	hpdsl_close(anew);
	hpdsl_close(ds);
}

struct seen {
	uint64_t good, bad;
};

static void count_bad(void *arg, const struct hpdsl_damage *d)
{
	struct seen *seen = arg;

	assert_non_null(d->reason);
	seen->bad++;
}

/* Each sample of a batch is the first pack's, or it is said to be bad. */
static void check_batch(const struct hpdsl_batch *b, struct seen *seen)
{
	for (size_t i = 0; i < b->n; i++) {
		char buf[ROOM];
		size_t n = 0;

		if (b->bad[i] || !b->mask[i])
			continue;
		for (size_t k = b->first[i]; k < b->first[i + 1]; k++) {
			memcpy(buf + n, b->member_data[k], b->member_size[k]);
			n += b->member_size[k];
		}
		check_sample(b->number[i], buf, n);
		seen->good++;
	}
}

/* Refreshed behind the first step; what is seen is counted. */
static struct seen load(struct hpdsl_dataset *ds, uint32_t threads,
			bool refresh)
{
	struct seen seen = { 0 };
	struct hpdsl_loader_options opt = { .epochs = 3,
					    .threads = threads,
					    .skip_bad = true,
					    .bad = count_bad,
					    .arg = &seen };
	const struct hpdsl_batch *b;
	struct hpdsl_error err = { 0 };
	struct hpdsl_loader *l;
	int r;

	assert_int_equal(hpdsl_loader_new(ds, &opt, &l, &err), 0);
	while ((r = hpdsl_loader_next(l, &b, &err)) > 0) {
		check_batch(b, &seen);
		hpdsl_batch_release(b);
		if (!refresh)
			continue;
		put_chunks(second);
		put_index(second);
		refresh = false;
	}
	if (r < 0)
		fail_msg("%s", err.msg);
	hpdsl_loader_free(l);
	return seen;
}

static void test_loader(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, 0);
	struct seen seen = load(ds, HPDSL_SERIAL, false);

	(void)state;
	assert_int_equal(seen.good, 3 * SAMPLES);
	seen = load(ds, HPDSL_SERIAL, true);
	assert_true(seen.good && seen.bad);
	assert_int_equal(seen.good + seen.bad, 3 * SAMPLES);
	/* With all of the rows read from what has been written. */
	seen = load(ds, 2, false);
	assert_int_equal(seen.good, 0);
	hpdsl_close(ds);
	begin(NULL);
	ds = open_it(was, 0);
	seen = load(ds, 2, true);
	assert_int_equal(seen.good + seen.bad, 3 * SAMPLES);
	hpdsl_close(ds);
}

/* The same bytes written again, a link, other bits and times. */
static void test_no_change(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, 0);

	(void)state;
	read_all(ds);
	assert_int_equal(link(at(was, "index.hpdsl"), at(was, "link")), 0);
	read_all(ds);
	assert_int_equal(unlink(at(was, "link")), 0);
	assert_int_equal(chmod(at(was, "index.hpdsl"), 0600), 0);
	read_all(ds);
	assert_int_equal(utimensat(AT_FDCWD, at(was, "index.hpdsl"), NULL, 0),
			 0);
	read_all(ds);
	put_index(first);
	read_all(ds);
	/* Under its name there is nothing, then another one. */
	assert_int_equal(unlink(at(was, "index.hpdsl")), 0);
	read_all(ds);
	put_index(second);
	read_all(ds);
	assert_int_equal(load(ds, HPDSL_SERIAL, false).good, 3 * SAMPLES);
	hpdsl_close(ds);
}

/* A chunk of another pack, and what the index's name stands for then. */
static void test_blame(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, 0);
	struct hpdsl_member m = member(ds, 0);
	struct hpdsl_error err;
	char buf[ROOM];

	(void)state;
	put_chunks(second);
	expect(ds, &m, HPDSL_ECORRUPT);
	unlink(at(was, "index.hpdsl"));
	expect(ds, &m, HPDSL_ECORRUPT);
	put_index(second);
	expect(ds, &m, HPDSL_ECHANGED);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err),
			 HPDSL_ECHANGED);
	assert_non_null(strstr(err.msg, "chunk-000000.tar: member 0 'c"));
	assert_non_null(strstr(err.msg, "index.hpdsl is of another pack"));
	/* One that is none is no other pack. */
	assert_int_equal(truncate(at(was, "index.hpdsl"), 1000), 0);
	expect(ds, &m, HPDSL_ECORRUPT);
	put_index(first);
	expect(ds, &m, HPDSL_ECORRUPT);
	hpdsl_close(ds);
}

static void cut_at(off_t size)
{
	struct hpdsl_dataset *ds = open_it(was, 0);
	struct hpdsl_member m = member(ds, FILES - 1);
	struct seen seen;
	uint8_t pack[16];

	expect(ds, &m, 0);
	assert_int_equal(truncate(at(was, "index.hpdsl"), size), 0);
	expect(ds, &m, HPDSL_ECORRUPT);
	assert_int_equal(get_rows(ds, &m), HPDSL_ECORRUPT);
	seen = load(ds, HPDSL_SERIAL, false);
	assert_int_equal(seen.bad, 3 * SAMPLES);
	hpdsl_pack_id(ds, pack);
	hpdsl_close(ds);
	begin(NULL);
}

static void test_cut(void **state)
{
	(void)state;
	cut_at(0);
	cut_at(600);
	cut_at(4096);
}

static void test_copy(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, HPDSL_OPEN_COPY);
	struct hpdsl_error err;

	(void)state;
	put_index(second);
	read_all(ds);
	assert_int_equal(truncate(at(was, "index.hpdsl"), 0), 0);
	read_all(ds);
	assert_int_equal(load(ds, 2, false).good, 3 * SAMPLES);
	put_index(second);
	put_chunks(second);
	for (uint64_t i = 0; i < FILES; i++) {
		struct hpdsl_member m = member(ds, i);

		expect(ds, &m, HPDSL_ECHANGED);
	}
	hpdsl_close(ds);
	assert_int_equal(hpdsl_open_with(was, 1u << 30, NULL, &ds, &err),
			 HPDSL_EUSAGE);
}

/* What tells packs apart is what was opened, whatever has its name now. */
static void test_digest(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, 0), *copy, *other;
	uint8_t x[16], y[16];

	(void)state;
	copy = open_it(was, HPDSL_OPEN_COPY);
	hpdsl_index_digest(ds, x);
	hpdsl_index_digest(copy, y);
	assert_memory_equal(x, y, 16);
	put_index(second);
	hpdsl_index_digest(ds, y);
	assert_memory_equal(x, y, 16);
	other = open_it(was, 0);
	hpdsl_index_digest(other, y);
	assert_memory_not_equal(x, y, 16);
	hpdsl_close(ds);
	hpdsl_close(copy);
	hpdsl_close(other);
}

static void check_rows(const struct hpdsl_dataset *ds,
		       const struct hpdsl_rows *rows)
{
	for (uint64_t k = 0; k < rows->n; k++) {
		const struct hpdsl_member *m = &rows->member[k];
		struct hpdsl_member is = member(ds, m->number);

		assert_int_equal(m->sample, rows->sample.number);
		assert_int_equal(m->checksum, is.checksum);
		assert_string_equal(m->path, is.path);
		assert_int_equal(m->path_len, strlen(m->path));
		assert_memory_equal(m->path, rows->sample.key,
				    rows->sample.key_len);
	}
}

enum { SOME = 5 };

/* Rows of many at once; what becomes of them in hpdsl_read_many. */
static void test_many_rows(void **state)
{
	const uint64_t number[SOME] = { 70, 3, 99, 3, 0 };
	struct hpdsl_dataset *ds = open_it(was, 0);
	struct hpdsl_request q[SOME] = { 0 };
	struct hpdsl_rows *rows = NULL;
	static char buf[SOME][ROOM];
	struct hpdsl_member other;

	(void)state;
	for (int again = 0; again < 2; again++) {
		assert_int_equal(
			hpdsl_samples_rows(ds, number, SOME, &rows, NULL), 0);
		for (unsigned i = 0; i < SOME; i++) {
			const struct hpdsl_member *m = &rows[i].member[1];

			assert_int_equal(rows[i].sample.number, number[i]);
			assert_int_equal(rows[i].n, 2);
			check_rows(ds, &rows[i]);
			q[i] = (struct hpdsl_request){ .member = m->number,
						       .buf = buf[i],
						       .room = ROOM,
						       .row = m };
		}
		assert_int_equal(hpdsl_read_many(ds, q, SOME, 1, NULL), SOME);
		other = rows[0].member[0];
		q[0].row = &other;
		assert_int_equal(hpdsl_read_many(ds, q, SOME, 1, NULL),
				 SOME - 1);
		assert_int_equal(q[0].code, HPDSL_EUSAGE);
		q[0].member = other.number;
		other.offset = UINT64_MAX - 3;
		hpdsl_read_many(ds, q, SOME, 1, NULL);
		assert_int_equal(q[0].code, HPDSL_ECORRUPT);
		other.chunk = CHUNKS;
		hpdsl_read_many(ds, q, SOME, 1, NULL);
		assert_int_equal(q[0].code, -ERANGE);
		hpdsl_rows_free(rows);
		age(); /* no change: all of it is taken again */
	}
	assert_int_equal(hpdsl_samples_rows(ds, NULL, 0, &rows, NULL), 0);
	hpdsl_rows_free(rows);
	put_index(second);
	assert_int_equal(hpdsl_samples_rows(ds, number, SOME, &rows, NULL),
			 HPDSL_ECHANGED);
	hpdsl_close(ds);
}

static void test_rows(void **state)
{
	struct hpdsl_dataset *ds = open_it(was, 0);
	struct hpdsl_rows *rows = NULL;

	(void)state;
	for (uint64_t i = 0; i < SAMPLES; i++) {
		assert_int_equal(hpdsl_sample_rows(ds, i, &rows, NULL), 0);
		assert_int_equal(rows->n, 2);
		assert_int_equal(rows->member[0].number,
				 rows->sample.first_member);
		check_rows(ds, rows);
		hpdsl_rows_free(rows);
	}
	for (uint64_t i = 0; i < FILES; i++) {
		struct hpdsl_member m = member(ds, i);

		assert_int_equal(
			hpdsl_path_rows(ds, m.path, m.path_len, &rows, NULL),
			0);
		assert_int_equal(rows->n, 1);
		assert_int_equal(rows->member[0].number, i);
		check_rows(ds, rows);
		hpdsl_rows_free(rows);
	}
	assert_int_equal(hpdsl_sample_rows(ds, SAMPLES, &rows, NULL), -ERANGE);
	assert_int_equal(hpdsl_member_rows(ds, FILES, &rows, NULL), -ERANGE);
	assert_int_equal(hpdsl_path_rows(ds, "c0/x", 4, &rows, NULL), -ENOENT);
	hpdsl_rows_free(NULL);
	hpdsl_close(ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_by_number, begin),
		cmocka_unit_test_setup(test_loader, begin),
		cmocka_unit_test_setup(test_no_change, begin),
		cmocka_unit_test_setup(test_blame, begin),
		cmocka_unit_test_setup(test_cut, begin),
		cmocka_unit_test_setup(test_copy, begin),
		cmocka_unit_test_setup(test_digest, begin),
		cmocka_unit_test_setup(test_rows, begin),
		cmocka_unit_test_setup(test_many_rows, begin),
	};

	return cmocka_run_group_tests(tests, make_packs, remove_packs);
}
