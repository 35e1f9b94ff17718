/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a stage directory while chunks are published, the state file is
 * replaced, and all is taken away; where bytes came from, and how long was
 * waited.
 */
#include "fetching.h"
#include "packed.h"
#include "staged.h"
#include "clock.h"
#include "sys/io.h"
#include "each_fault.h"
#include "until.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNKS = STAGED_CHUNKS, LARGE = STAGED_LARGE, READERS = 4 };

#define SECOND UINT64_C(1000000000)

/* ---- Reading ---------------------------------------------------------- */

struct stream {
	uint64_t sum, bytes;
};

static int take(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	struct stream *s = arg;
	const uint8_t *p = buf;

	(void)err;
	for (size_t i = 0; i < n; i++)
		s->sum = s->sum * 31 + p[i];
	s->bytes += n;
	return 0;
}

/* Member number i as its checksum has it, or not. */
static int try_member(const struct hpdsl_dataset *ds, uint64_t i,
		      struct hpdsl_error *err)
{
	struct stream s = { 0 };
	struct hpdsl_member m;
	char *buf;
	int r = hpdsl_member_get(ds, i, &m, err);

	if (r < 0)
		return r;
	if (m.size > 1 << 20)
		return hpdsl_member_stream(ds, &m, take, &s, err);
	buf = malloc(m.size + 1);
	if (!buf)
		return -ENOMEM;
	r = hpdsl_member_read(ds, &m, 0, buf, m.size, err);
	free(buf);
	return r;
}

static void read_member(const struct hpdsl_dataset *ds, uint64_t i)
{
	struct hpdsl_error err = { 0 };

	if (try_member(ds, i, &err) < 0)
		fail_msg("%s", err.msg);
}

static void read_all(const struct hpdsl_dataset *ds)
{
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.members; i++)
		read_member(ds, i);
}

/* ---- Counting --------------------------------------------------------- */

static void test_plain(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	ds = staged_open(f.p.out, NULL);
	hpdsl_patience(ds, 1);
	read_all(ds);
	s = staged_sources(ds);
	assert_false(s.staged);
	assert_int_equal(s.local_bytes + s.origin_bytes, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_counts(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_sources s;
	struct staged f;
	uint64_t here = 0, there = 0;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
	hp_state_set(f.state, 4, 77);
	hp_state_set(f.state, 5, HP_CHUNK_EXPANDED); /* of a plain one */
	ds = staged_open(f.dir, NULL);
	for (int k = 0; k < 3; k++)
		for (uint64_t i = 0; i < f.n.members; i++) {
			hpdsl_member_get(ds, i, &m, NULL);
			if (m.size > 1 << 20)
				continue;
			read_member(ds, i);
			if (m.chunk == 1 || m.chunk == 4)
				there += m.size;
			else
				here += m.size;
		}
	staged_expect(ds, 2, 0, 0);
	s = staged_sources(ds);
	assert_int_equal(s.local_bytes, here);
	assert_int_equal(s.origin_bytes, there);
	assert_true(s.wait_seconds == 0);
	/* What has come since is read here. */
	hp_state_set(f.state, 1, HP_CHUNK_READY);
	read_member(ds, staged_first(&f, 1));
	assert_int_equal(staged_sources(ds).origin_bytes, there);
	hpdsl_close(ds);
	staged_end(&f);
}

/* Bytes of compressed chunks are counted as they are read. */
static void test_counts_zstd(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;

	(void)state;
	staged_begin(&f, 3);
	staged_put_all(&f);
	hp_state_set(f.state, 2, HP_CHUNK_ABSENT);
	ds = staged_open(f.dir, NULL);
	read_all(ds);
	staged_expect(ds, 1, 0, 0);
	s = staged_sources(ds);
	assert_true(s.local_bytes > 0 && s.origin_bytes > 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_other_boot(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	f.header.boot_id[0] ^= 1;
	staged_put_all(&f);
	ds = staged_open(f.dir, NULL);
	read_all(ds);
	staged_expect(ds, CHUNKS, 0, 0);
	assert_int_equal(staged_sources(ds).local_bytes, 0);
	/* A stager has read it again. */
	f.header.boot_id[0] ^= 1;
	staged_state(&f, HP_CHUNK_READY);
	clock_pass(1.1);
	staged_hide_origin(&f);
	read_all(ds);
	hpdsl_close(ds);
	staged_end(&f);
}

/* ---- What is here is bad ---------------------------------------------- */

static void test_damage(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct staged f;
	char want[PACKED_PATH];

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		staged_begin(&f, zstd ? 3 : 0);
		staged_put_all(&f);
		for (uint32_t c = 0; c < CHUNKS; c++) {
			hpdsl_member_get(f.origin, staged_first(&f, c), &m,
					 NULL);
			staged_chunk(&f, c, &row);
			packed_flip(staged_at(&f, row.name),
				    row.compressed ? 100 : m.offset, 3);
		}
		staged_chunk(&f, 0, &row);
		staged_drop(&f, 0);
		assert_int_equal(mkdir(staged_at(&f, row.name), 0700), 0);
		staged_chunk(&f, 1, &row);
		assert_int_equal(truncate(staged_at(&f, row.name), 2000), 0);
		staged_drop(&f, 2);
		ds = staged_open(f.dir, NULL);
		read_all(ds);
		read_all(ds);
		staged_expect(ds, 0, 0, CHUNKS);
		hpdsl_close(ds);
		/* Nor is there an origin. */
		staged_hide_origin(&f);
		ds = staged_open(f.dir, NULL);
		staged_chunk(&f, 3, &row);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(
				try_member(ds, staged_first(&f, 3), &err),
				-ENOENT);
			snprintf(want, sizeof want,
				 "at the origin: %s/%s: ", f.p.out, row.name);
			assert_non_null(strstr(err.msg, want));
			assert_non_null(strstr(err.msg, f.dir));
		}
		staged_expect(ds, 0, 0, 1);
		assert_int_equal(try_member(ds, staged_first(&f, 2), &err),
				 -ENOENT);
		staged_chunk(&f, 2, &row);
		snprintf(want, sizeof want,
			 "%s/%s: No such file or directory; and at the "
			 "origin: %s/%s: No such file or directory",
			 f.dir, row.name, f.p.out, row.name);
		assert_string_equal(err.msg, want);
		hpdsl_close(ds);
		staged_show_origin(&f);
		staged_end(&f);
	}
}

/* A sink never gets bytes of a bad file where there is a good one. */
static void test_stream(void **state)
{
	struct stream want = { 0 }, got = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hpdsl_member_find(f.origin, "large.bin", 9, &m, NULL);
	staged_chunk(&f, m.chunk, &row);
	packed_flip(staged_at(&f, row.name), m.offset + LARGE - 1, 0);
	assert_int_equal(hpdsl_member_stream(f.origin, &m, take, &want, NULL),
			 0);
	ds = staged_open(f.dir, NULL);
	assert_int_equal(hpdsl_member_stream(ds, &m, take, &got, NULL), 0);
	assert_int_equal(want.bytes, LARGE);
	assert_int_equal(got.bytes, want.bytes);
	assert_int_equal(got.sum, want.sum);
	staged_expect(ds, 0, 0, 1);
	hpdsl_close(ds);
	staged_end(&f);
}

/* The same for samples, members of which fail one by one. */
static void test_sample(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sample s;
	struct hpdsl_chunk row;
	struct hpdsl_error err;
	struct hpdsl_member m;
	struct staged f;
	char buf[2][5000];
	size_t n[2];

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hpdsl_sample_get(f.origin, 0, &s, NULL);
	hpdsl_member_get(f.origin, s.first_member, &m, NULL);
	if (m.size > 1 << 20) {
		hpdsl_sample_get(f.origin, 1, &s, NULL);
		hpdsl_member_get(f.origin, s.first_member, &m, NULL);
	}
	staged_chunk(&f, m.chunk, &row);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	ds = staged_open(f.dir, NULL);
	assert_int_equal(
		hpdsl_sample_read(ds, &s, buf[0], sizeof buf[0], &n[0], &err),
		0);
	assert_int_equal(hpdsl_sample_read(f.origin, &s, buf[1], sizeof buf[1],
					   &n[1], &err),
			 0);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(buf[0], buf[1], n[0]);
	staged_expect(ds, 0, 0, 1);
	hpdsl_close(ds);
	staged_end(&f);
}

/* As it is at the origin: whole, in a part, as a stream. */
static void same_member(const struct staged *f, const struct hpdsl_dataset *ds,
			uint64_t i)
{
	struct stream want = { 0 }, got = { 0 };
	struct hpdsl_error err = { 0 };
	struct hpdsl_member m;
	uint8_t a[300], b[300];

	read_member(ds, i);
	hpdsl_member_get(f->origin, i, &m, NULL);
	if (hpdsl_member_read(ds, &m, 100, a, sizeof a, &err) < 0 ||
	    hpdsl_member_stream(ds, &m, take, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(
		hpdsl_member_read(f->origin, &m, 100, b, sizeof b, NULL), 0);
	assert_memory_equal(a, b, sizeof a);
	assert_int_equal(hpdsl_member_stream(f->origin, &m, take, &want, NULL),
			 0);
	assert_int_equal(got.bytes, m.size);
	assert_int_equal(got.sum, want.sum);
}

/* Nowhere, in whatever way it is asked for. */
static void no_member(const struct hpdsl_dataset *ds, uint64_t i,
		      const char *why)
{
	struct stream got = { 0 };
	struct hpdsl_error err;
	struct hpdsl_member m;
	uint8_t a[10];

	hpdsl_member_get(ds, i, &m, NULL);
	assert_true(try_member(ds, i, &err) < 0);
	assert_non_null(strstr(err.msg, why));
	/* Its checksum is over all of it. */
	assert_true(hpdsl_member_read(ds, &m, 7, a, sizeof a, &err) < 0);
	assert_non_null(strstr(err.msg, why));
	assert_true(hpdsl_member_stream(ds, &m, take, &got, &err) < 0);
	assert_int_equal(got.bytes, 0);
}

static void break_member(const struct staged *f, const char *folder,
			 const struct hpdsl_member *m)
{
	char name[PACKED_PATH];
	struct hpdsl_chunk row;

	staged_chunk(f, m->chunk, &row);
	snprintf(name, sizeof name, "%s/%s", folder, row.name);
	packed_flip(name, m->offset + m->size - 1, 1);
}

/* What is good of a bad chunk is read here when there is no origin any more. */
static void test_rest(void **state)
{
	struct hpdsl_member bad, large;
	struct fetching fetched;
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;
	uint64_t before;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hpdsl_member_find(f.origin, "large.bin", 9, &large, NULL);
	hpdsl_member_get(f.origin, staged_first(&f, large.chunk), &bad, NULL);
	if (bad.number == large.number)
		hpdsl_member_get(f.origin, large.number + 1, &bad, NULL);
	break_member(&f, f.dir, &bad);
	ds = staged_open(f.dir, NULL);
	read_member(ds, bad.number);
	s = staged_sources(ds);
	assert_int_equal(s.failed_chunks, 1);
	assert_int_equal(s.origin_bytes, bad.size);
	/* As long as there is an origin it is the origin's. */
	same_member(&f, ds, large.number);
	assert_int_equal(staged_sources(ds).local_bytes, s.local_bytes);
	before = staged_sources(ds).origin_bytes;
	hpdsl_close(ds);
	assert_true(before > large.size);

	ds = staged_open(f.dir, NULL);
	read_member(ds, bad.number);
	staged_hide_origin(&f);
	/* Its chunk's file at the origin stays open, and is there as long. */
	hpdsl_close(ds);
	ds = staged_open(f.dir, NULL);
	no_member(ds, bad.number, "checksum differs; and at the origin: ");
	for (uint64_t i = 0; i < f.n.members; i++)
		if (i != bad.number)
			same_member(&f, ds, i);
	no_member(ds, bad.number, "checksum differs; and at the origin: ");
	fetched = (struct fetching){ .ds = ds, .good = f.origin, .threads = 2 };
	assert_int_equal(fetching_run(&fetched), 0);
	assert_int_equal(fetched.members, f.n.members);
	assert_int_equal(fetched.bad, 1);
	assert_true(fetched.is_bad[bad.number]);
	fetching_end(&fetched);
	staged_expect(ds, 0, 0, 1);
	assert_int_equal(staged_sources(ds).origin_bytes, 0);
	hpdsl_close(ds);
	staged_show_origin(&f);
	staged_end(&f);
}

/* The same of one that was cut short, and of compressed ones. */
static void test_rest_of_cut(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_chunk row;
	struct staged f;

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		staged_begin(&f, zstd ? 3 : 0);
		staged_put_all(&f);
		hpdsl_member_get(f.origin, staged_first(&f, 2), &m, NULL);
		staged_chunk(&f, 2, &row);
		assert_int_equal(truncate(staged_at(&f, row.name),
					  zstd ? (off_t)row.bytes - 1 :
						 (off_t)(m.offset + m.size)),
				 0);
		staged_hide_origin(&f);
		ds = staged_open(f.dir, NULL);
		same_member(&f, ds, m.number);
		if (!zstd)
			no_member(ds, m.number + 1,
				  "the chunk ends in it; and at the origin: ");
		staged_expect(ds, 0, 0, 1);
		hpdsl_close(ds);
		staged_show_origin(&f);
		staged_end(&f);
	}
}

/* Each copy has bad members, but no member is bad in both. */
static void test_rest_of_two(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sample s;
	struct hpdsl_member m;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	for (uint64_t i = 0; i < f.n.members; i++) {
		hpdsl_member_get(f.origin, i, &m, NULL);
		if (m.size < 1 << 20)
			break_member(&f, i % 2 ? f.dir : f.p.out, &m);
	}
	ds = staged_open(f.dir, NULL);
	for (uint64_t i = 0; i < 2 * f.n.members; i++)
		read_member(ds, i % f.n.members);
	for (uint64_t i = 0; i < f.n.samples; i++) {
		struct hpdsl_error err;
		char buf[20000];
		size_t n;

		hpdsl_sample_get(ds, i, &s, NULL);
		hpdsl_member_get(ds, s.first_member, &m, NULL);
		if (m.size < 1 << 20 &&
		    hpdsl_sample_read(ds, &s, buf, sizeof buf, &n, &err) < 0)
			fail_msg("%s", err.msg);
	}
	staged_expect(ds, 0, 0, CHUNKS);
	hpdsl_close(ds);
	staged_end(&f);
}

/* ---- Waiting ---------------------------------------------------------- */

static void test_patience(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;
	uint64_t start, took;

	(void)state;
	staged_begin(&f, 0);
	staged_state(&f, HP_CHUNK_COMING);
	ds = staged_open(f.dir, NULL);
	hpdsl_patience(ds, 0.2);
	clock_still(true);
	start = hp_monotonic();
	read_member(ds, staged_first(&f, 0));
	took = hp_monotonic() - start;
	clock_still(false);
	assert_true(took >= SECOND / 5);
	s = staged_sources(ds);
	assert_true(s.wait_seconds >= 0.2 &&
		    s.wait_seconds <= (double)took / (double)SECOND);
	staged_expect(ds, 0, 1, 0);
	/* Once for each chunk. */
	for (int i = 0; i < 20; i++)
		read_member(ds, staged_first(&f, 0));
	assert_true(staged_sources(ds).wait_seconds == s.wait_seconds);
	staged_expect(ds, 0, 1, 0);
	/* It comes all the same. */
	staged_put(&f, 0);
	hp_state_set(f.state, 0, HP_CHUNK_READY);
	s = staged_sources(ds);
	read_member(ds, staged_first(&f, 0));
	assert_true(staged_sources(ds).local_bytes > s.local_bytes);
	assert_int_equal(staged_sources(ds).origin_bytes, s.origin_bytes);
	hpdsl_patience(ds, 0);
	for (uint32_t c = 1; c < CHUNKS; c++)
		read_member(ds, staged_first(&f, c));
	staged_expect(ds, 0, CHUNKS, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_dead(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	for (int k = 0; k < 4; k++) {
		staged_state(&f, HP_CHUNK_COMING);
		if (k == 3) {
			/* killed two seconds ago: nobody has its lock */
			packed_put(staged_at(&f, HP_STAGE_LOCK), "x\n", 2);
			hp_state_beat(f.state, hp_monotonic() - 2 * SECOND);
		} else if (k == 0)
			hp_state_beat(f.state, hp_monotonic() - 16 * SECOND);
		else if (k == 1)
			hp_state_beat(f.state, 0);
		else
			hp_state_end(f.state, HP_STAGE_FAILED);
		ds = staged_open(f.dir, NULL);
		read_all(ds);
		staged_expect(ds, 0, CHUNKS, 0);
		assert_true(staged_sources(ds).wait_seconds == 0);
		hpdsl_close(ds);
	}
	staged_end(&f);
}

/* A thread that reads members at random until it is told to stop. */
struct reader {
	pthread_t thread;
	const struct hpdsl_dataset *ds;
	uint64_t members, reads;
	const int *stop; /* NULL: all of them once */
	int begun;	 /* atomic */
	int code;
	struct hpdsl_error err;
};

static void *read_much(void *arg)
{
	struct reader *r = arg;
	uint64_t x = (uintptr_t)arg | 1;

	__atomic_store_n(&r->begun, 1, __ATOMIC_RELAXED);
	for (; r->code == 0;
	     __atomic_add_fetch(&r->reads, 1, __ATOMIC_RELAXED)) {
		uint64_t i = r->reads;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		if (r->stop && __atomic_load_n(r->stop, __ATOMIC_RELAXED))
			break;
		if (!r->stop && i == r->members)
			break;
		r->code = try_member(r->ds, r->stop ? x % r->members : i,
				     &r->err);
	}
	return NULL;
}

static void start_readers(struct reader *r, const struct hpdsl_dataset *ds,
			  const int *stop)
{
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	for (int i = 0; i < READERS; i++) {
		r[i] = (struct reader){ .ds = ds,
					.members = n.members,
					.stop = stop };
		assert_int_equal(
			pthread_create(&r[i].thread, NULL, read_much, &r[i]),
			0);
	}
	for (int i = 0; i < READERS; i++) {
		struct until u = { 0 };

		while (!__atomic_load_n(&r[i].begun, __ATOMIC_RELAXED))
			until_next(&u);
	}
}

static uint64_t reads_of(struct reader *r)
{
	uint64_t n = 0;

	for (int i = 0; i < READERS; i++)
		n += __atomic_load_n(&r[i].reads, __ATOMIC_RELAXED);
	return n;
}

/* While they go on: each begins one, at least, or another one two. */
static void await_reads(struct reader *r)
{
	const uint64_t was = reads_of(r);

	for (struct until u = { 0 }; reads_of(r) < was + 2 * READERS;)
		until_next(&u);
}

static void join_readers(struct reader *r)
{
	for (int i = 0; i < READERS; i++)
		pthread_join(r[i].thread, NULL);
	for (int i = 0; i < READERS; i++)
		if (r[i].code < 0)
			fail_msg("%s", r[i].err.msg);
}

static int no_map(const struct hp_io *io, int fd, size_t size, const void **ret)
{
	(void)io, (void)fd, (void)size, (void)ret;
	return -ENODEV;
}

/* Readers of all, while the chunks come one by one, and no origin. */
static void test_published_meanwhile(void **state)
{
	struct hp_io unmapped = hp_io_system;
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;

	(void)state;
	unmapped.map = no_map;
	for (int k = 0; k < 2; k++) {
		staged_begin(&f, k ? 3 : 0);
		staged_state(&f, HP_CHUNK_COMING);
		ds = staged_open(f.dir, k ? &unmapped : NULL);
		start_readers(r, ds, NULL);
		for (uint32_t c = CHUNKS; c-- > 0;) {
			clock_await_waiter();
			staged_put(&f, c);
			hp_state_set(f.state, c, HP_CHUNK_READY);
			hp_state_beat(f.state, hp_monotonic());
		}
		join_readers(r);
		hp_state_end(f.state, HP_STAGE_COMPLETE);
		staged_expect(ds, 0, 0, 0);
		s = staged_sources(ds);
		assert_int_equal(s.origin_bytes, 0);
		assert_true(s.wait_seconds > 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Generations follow each other while many read; the last one is whole. */
static void test_replaced_meanwhile(void **state)
{
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct staged f;
	int stop = 0;

	(void)state;
	staged_begin(&f, 0);
	staged_state(&f, HP_CHUNK_COMING);
	hp_state_end(f.state, HP_STAGE_STOPPED);
	ds = staged_open(f.dir, NULL);
	start_readers(r, ds, &stop);
	for (int g = 0; g < 20; g++) {
		staged_state(&f, g % 2 ? HP_CHUNK_COMING : HP_CHUNK_ABSENT);
		hp_state_end(f.state, HP_STAGE_STOPPED);
		await_reads(r);
	}
	staged_put_all(&f);
	clock_pass(1.2);
	await_reads(r);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join_readers(r);
	staged_hide_origin(&f);
	/* Files of the origin that are open are not asked any more. */
	read_all(ds);
	assert_int_equal(staged_sources(ds).failed_chunks, 0);
	hpdsl_close(ds);
	staged_show_origin(&f);
	staged_end(&f);
}

/* What waits for a stager that was killed finds the one that came next. */
static void test_next_stager(void **state)
{
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_state(&f, HP_CHUNK_COMING);
	ds = staged_open(f.dir, NULL);
	staged_hide_origin(&f);
	start_readers(r, ds, NULL);
	clock_await_waiter();
	staged_show_origin(&f);
	for (uint32_t c = 0; c < CHUNKS; c++)
		staged_put(&f, c);
	staged_hide_origin(&f);
	staged_state(&f, HP_CHUNK_READY);
	/* The old one is not to be seen by its name any more, and beats. */
	join_readers(r);
	staged_expect(ds, 0, 0, 0);
	hpdsl_close(ds);
	staged_show_origin(&f);
	staged_end(&f);
}

/* hpdsl-stage --clean, and then staging again. */
static void test_cleaned_meanwhile(void **state)
{
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct staged f;
	int stop = 0;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	ds = staged_open(f.dir, NULL);
	start_readers(r, ds, &stop);
	for (int k = 0; k < 3; k++) {
		for (uint32_t c = 0; c < CHUNKS; c++) {
			await_reads(r);
			hp_state_set(f.state, c, HP_CHUNK_ABSENT);
			staged_drop(&f, c);
		}
		unlink(staged_at(&f, HP_STATE_NAME));
		await_reads(r);
		f.header.generation = 0;
		staged_put_all(&f);
		clock_pass(1.1);
		await_reads(r);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join_readers(r);
	assert_int_equal(staged_sources(ds).failed_chunks, 0);
	assert_true(staged_sources(ds).absent_chunks > 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void *put_later(void *arg)
{
	clock_await_waiter();
	staged_put_all(arg);
	return NULL;
}

/* The stager has locked the directory, and put no more than the index. */
static void test_unborn(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;
	pthread_t t;
	int lock;

	(void)state;
	staged_begin(&f, 0);
	packed_put(staged_at(&f, HP_STAGE_LOCK), "x\n", 2);
	lock = open(staged_at(&f, HP_STAGE_LOCK), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	ds = staged_open(f.dir, NULL);
	assert_int_equal(pthread_create(&t, NULL, put_later, &f), 0);
	read_member(ds, 0);
	pthread_join(t, NULL);
	read_all(ds);
	staged_expect(ds, 0, 0, 0);
	assert_true(staged_sources(ds).wait_seconds > 0);
	hpdsl_close(ds);
	staged_end(&f);
}

/* ---- Operations that fail --------------------------------------------- */

struct bad_io {
	struct hp_io io;
	int code; /* of opening a chunk here */
	long opened;
};

static int bad_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	struct bad_io *b = (struct bad_io *)(uintptr_t)io;

	if (strncmp(name, "chunk-", 6) == 0) {
		__atomic_fetch_add(&b->opened, 1, __ATOMIC_RELAXED);
		return b->code;
	}
	return hp_io_system.open(io, dir, name, flags, mode);
}

static void test_open_fails(void **state)
{
	struct bad_io bad = { .io = hp_io_system };
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	bad.io.open = bad_open;
	/* No fault of the chunk's. */
	bad.code = -EMFILE;
	ds = staged_open(f.dir, &bad.io);
	assert_int_equal(try_member(ds, 0, &err), -EMFILE);
	staged_expect(ds, 0, 0, 0);
	/* A disk that dies: each chunk is tried once. */
	bad.code = -EIO;
	bad.opened = 0;
	read_all(ds);
	read_all(ds);
	assert_int_equal(bad.opened, CHUNKS);
	staged_expect(ds, 0, 0, CHUNKS);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_allocations_fail(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct staged f;
	struct each_alloc e = { .k = 0 };
	int r = -ENOMEM;

	(void)state;
	staged_begin(&f, 3);
	staged_put_all(&f);
	hp_state_set(f.state, 0, HP_CHUNK_ABSENT);
	while (r && each_alloc(&e)) {
		ds = NULL;
		each_alloc_begin(&e);
		r = hpdsl_open(f.dir, NULL, &ds, &err);
		if (r == 0)
			r = try_member(ds, 0, &err);
		if (r == 0)
			r = try_member(ds, f.n.members - 1, &err);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
		if (ds)
			staged_expect(ds, staged_sources(ds).absent_chunks, 0,
				      0);
		hpdsl_close(ds);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > 10);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_counts_zstd),
		cmocka_unit_test(test_other_boot),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_rest_of_cut),
		cmocka_unit_test(test_rest_of_two),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_published_meanwhile),
		cmocka_unit_test(test_replaced_meanwhile),
		cmocka_unit_test(test_next_stager),
		cmocka_unit_test(test_cleaned_meanwhile),
		cmocka_unit_test(test_unborn),
		cmocka_unit_test(test_open_fails),
		cmocka_unit_test(test_allocations_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
