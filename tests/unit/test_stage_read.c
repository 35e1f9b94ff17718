/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a stage directory while chunks are published, the state file is
 * replaced, and all is taken away; where bytes came from, and how long was
 * waited.
 */
#include "fetching.h"
#include "io.h"
#include "packed.h"
#include "stage_state.h"
#include "wrap.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNKS = 6, LARGE = 3 << 20, READERS = 4 };

#define SECOND UINT64_C(1000000000)

struct fixture {
	struct packed p;
	struct hpdsl_dataset *origin;
	struct hpdsl_counts n;
	char dir[80];
	uint8_t *state; /* mapped, as a stager does; or NULL */
	struct hp_state_header header;
};

static void nap(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000,
			      .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static struct hpdsl_dataset *open_at(const char *path, const struct hp_io *io)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open(path, io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

static const char *at(const struct fixture *f, const char *name)
{
	static char ring[4][PACKED_PATH];
	static int next;
	char *buf = ring[next++ % 4];

	snprintf(buf, PACKED_PATH, "%s/%s", f->dir, name);
	return buf;
}

static void copy(const char *from, const char *to)
{
	size_t n;
	char *data = packed_get(from, &n);

	packed_put(to, data, n);
	free(data);
}

static void chunk_row(const struct fixture *f, uint32_t c,
		      struct hpdsl_chunk *ret)
{
	assert_int_equal(hpdsl_chunk_get(f->origin, c, ret, NULL), 0);
}

/* The file of a chunk, as it is at the origin. */
static void put_chunk(const struct fixture *f, uint32_t c)
{
	char from[PACKED_PATH], part[PACKED_PATH];
	struct hpdsl_chunk row;

	chunk_row(f, c, &row);
	snprintf(from, sizeof from, "%s/%s", f->p.out, row.name);
	snprintf(part, sizeof part, "%s/.%s.part", f->dir, row.name);
	copy(from, part);
	assert_int_equal(rename(part, at(f, row.name)), 0);
}

static void drop_chunk(const struct fixture *f, uint32_t c)
{
	struct hpdsl_chunk row;

	chunk_row(f, c, &row);
	assert_int_equal(unlink(at(f, row.name)), 0);
}

/* A new generation of the state file, all chunks in one state. */
static void put_state(struct fixture *f, enum hp_chunk_state s)
{
	uint64_t size = hp_state_size(f->n.chunks);
	uint8_t *p = calloc(1, size);
	FILE *file;

	assert_non_null(p);
	f->header.generation++;
	hp_state_format(&f->header, p);
	for (uint32_t c = 0; c < f->n.chunks; c++)
		hp_state_set(p, c, s);
	hp_state_beat(p, hp_monotonic());
	packed_put(at(f, ".new"), p, size);
	free(p);
	if (f->state)
		munmap(f->state, size);
	file = fopen(at(f, ".new"), "r+b");
	assert_non_null(file);
	f->state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			fileno(file), 0);
	assert_true(f->state != MAP_FAILED);
	fclose(file);
	assert_int_equal(rename(at(f, ".new"), at(f, HP_STATE_NAME)), 0);
}

static void make_folder(struct fixture *f)
{
	snprintf(f->dir, sizeof f->dir, "%s/st", f->p.top);
	assert_int_equal(mkdir(f->dir, 0700), 0);
	copy(packed_at(&f->p, "out/index.hpdsl"), at(f, "index.hpdsl"));
	copy(packed_at(&f->p, "out/dataset.yaml"), at(f, "dataset.yaml"));
}

static void set_up(struct fixture *f, int zstd)
{
	struct hpdsl_pack_options opt = { .chunks = CHUNKS, .zstd = zstd };
	char name[32];

	memset(f, 0, sizeof *f);
	packed_begin(&f->p);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "s%u/m%u.bin", i % 4, i);
		packed_file(&f->p, name, 500 + i * 37, 0644, 1e9, 0);
	}
	packed_file(&f->p, "large.bin", LARGE, 0644, 1e9, 0);
	packed_pack(&f->p, opt);
	f->origin = open_at(f->p.out, NULL);
	hpdsl_count(f->origin, &f->n);
	assert_int_equal(f->n.chunks, CHUNKS);
	make_folder(f);
	f->header = (struct hp_state_header){ .chunks = f->n.chunks,
					      .nodes = 1,
					      .parts = 1 };
	assert_int_equal(hp_boot_id(&hp_io_system, f->header.boot_id), 0);
	snprintf(f->header.origin, sizeof f->header.origin, "%s", f->p.out);
}

/* All of it here. */
static void put_all(struct fixture *f)
{
	for (uint32_t c = 0; c < CHUNKS; c++)
		put_chunk(f, c);
	put_state(f, HP_CHUNK_READY);
}

static void tear_down(struct fixture *f)
{
	if (f->state)
		munmap(f->state, hp_state_size(f->n.chunks));
	hpdsl_close(f->origin);
	packed_end(&f->p);
}

static void hide_origin(const struct fixture *f)
{
	assert_int_equal(rename(f->p.out, packed_at(&f->p, "gone")), 0);
}

static void show_origin(const struct fixture *f)
{
	assert_int_equal(rename(packed_at(&f->p, "gone"), f->p.out), 0);
}

/* ---- Reading ------------------------------------------------------------ */

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

static struct hpdsl_sources sources(const struct hpdsl_dataset *ds)
{
	struct hpdsl_sources s;

	hpdsl_sources(ds, &s);
	return s;
}

static void expect_chunks(const struct hpdsl_dataset *ds, uint64_t absent,
			  uint64_t overtaken, uint64_t failed)
{
	struct hpdsl_sources s = sources(ds);

	assert_true(s.staged);
	assert_int_equal(s.absent_chunks, absent);
	assert_int_equal(s.overtaken_chunks, overtaken);
	assert_int_equal(s.failed_chunks, failed);
}

/* The first member of a chunk. */
static uint64_t first_of(const struct fixture *f, uint32_t c)
{
	struct hpdsl_chunk row;

	chunk_row(f, c, &row);
	return row.first_member;
}

/* ---- Counting ----------------------------------------------------------- */

static void test_plain(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	ds = open_at(f.p.out, NULL);
	hpdsl_patience(ds, 1);
	read_all(ds);
	s = sources(ds);
	assert_false(s.staged);
	assert_int_equal(s.local_bytes + s.origin_bytes, 0);
	hpdsl_close(ds);
	tear_down(&f);
}

static void test_counts(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_sources s;
	struct fixture f;
	uint64_t here = 0, there = 0;

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
	hp_state_set(f.state, 4, 77);
	hp_state_set(f.state, 5, HP_CHUNK_EXPANDED); /* of a plain one */
	ds = open_at(f.dir, NULL);
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
	expect_chunks(ds, 2, 0, 0);
	s = sources(ds);
	assert_int_equal(s.local_bytes, here);
	assert_int_equal(s.origin_bytes, there);
	assert_true(s.wait_seconds == 0);
	/* What has come since is read here. */
	hp_state_set(f.state, 1, HP_CHUNK_READY);
	read_member(ds, first_of(&f, 1));
	assert_int_equal(sources(ds).origin_bytes, there);
	hpdsl_close(ds);
	tear_down(&f);
}

/* Bytes of compressed chunks are counted as they are read. */
static void test_counts_zstd(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct fixture f;

	(void)state;
	set_up(&f, 3);
	put_all(&f);
	hp_state_set(f.state, 2, HP_CHUNK_ABSENT);
	ds = open_at(f.dir, NULL);
	read_all(ds);
	expect_chunks(ds, 1, 0, 0);
	s = sources(ds);
	assert_true(s.local_bytes > 0 && s.origin_bytes > 0);
	hpdsl_close(ds);
	tear_down(&f);
}

static void test_other_boot(void **state)
{
	struct hpdsl_dataset *ds;
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	f.header.boot_id[0] ^= 1;
	put_all(&f);
	ds = open_at(f.dir, NULL);
	read_all(ds);
	expect_chunks(ds, CHUNKS, 0, 0);
	assert_int_equal(sources(ds).local_bytes, 0);
	/* A stager has read it again. */
	f.header.boot_id[0] ^= 1;
	put_state(&f, HP_CHUNK_READY);
	nap(1100);
	hide_origin(&f);
	read_all(ds);
	hpdsl_close(ds);
	tear_down(&f);
}

/* ---- What is here is bad ------------------------------------------------ */

static void test_damage(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct fixture f;
	char want[PACKED_PATH];

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		set_up(&f, zstd ? 3 : 0);
		put_all(&f);
		for (uint32_t c = 0; c < CHUNKS; c++) {
			hpdsl_member_get(f.origin, first_of(&f, c), &m, NULL);
			chunk_row(&f, c, &row);
			packed_flip(at(&f, row.name),
				    row.compressed ? 100 : m.offset, 3);
		}
		chunk_row(&f, 0, &row);
		drop_chunk(&f, 0);
		assert_int_equal(mkdir(at(&f, row.name), 0700), 0);
		chunk_row(&f, 1, &row);
		assert_int_equal(truncate(at(&f, row.name), 2000), 0);
		drop_chunk(&f, 2);
		ds = open_at(f.dir, NULL);
		read_all(ds);
		read_all(ds);
		expect_chunks(ds, 0, 0, CHUNKS);
		hpdsl_close(ds);
		/* Nor is there an origin. */
		hide_origin(&f);
		ds = open_at(f.dir, NULL);
		chunk_row(&f, 3, &row);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(try_member(ds, first_of(&f, 3), &err),
					 -ENOENT);
			snprintf(want, sizeof want,
				 "at the origin: %s/%s: ", f.p.out, row.name);
			assert_non_null(strstr(err.msg, want));
			assert_non_null(strstr(err.msg, f.dir));
		}
		expect_chunks(ds, 0, 0, 1);
		assert_int_equal(try_member(ds, first_of(&f, 2), &err),
				 -ENOENT);
		chunk_row(&f, 2, &row);
		snprintf(want, sizeof want,
			 "%s/%s: No such file or directory; and at the "
			 "origin: %s/%s: No such file or directory",
			 f.dir, row.name, f.p.out, row.name);
		assert_string_equal(err.msg, want);
		hpdsl_close(ds);
		show_origin(&f);
		tear_down(&f);
	}
}

/* A sink never gets bytes of a bad file where there is a good one. */
static void test_stream(void **state)
{
	struct stream want = { 0 }, got = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	hpdsl_member_find(f.origin, "large.bin", 9, &m, NULL);
	chunk_row(&f, m.chunk, &row);
	packed_flip(at(&f, row.name), m.offset + LARGE - 1, 0);
	assert_int_equal(hpdsl_member_stream(f.origin, &m, take, &want, NULL),
			 0);
	ds = open_at(f.dir, NULL);
	assert_int_equal(hpdsl_member_stream(ds, &m, take, &got, NULL), 0);
	assert_int_equal(want.bytes, LARGE);
	assert_int_equal(got.bytes, want.bytes);
	assert_int_equal(got.sum, want.sum);
	expect_chunks(ds, 0, 0, 1);
	hpdsl_close(ds);
	tear_down(&f);
}

/* The same for samples, members of which fail one by one. */
static void test_sample(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sample s;
	struct hpdsl_chunk row;
	struct hpdsl_error err;
	struct hpdsl_member m;
	struct fixture f;
	char buf[2][5000];
	size_t n[2];

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	hpdsl_sample_get(f.origin, 0, &s, NULL);
	hpdsl_member_get(f.origin, s.first_member, &m, NULL);
	if (m.size > 1 << 20) {
		hpdsl_sample_get(f.origin, 1, &s, NULL);
		hpdsl_member_get(f.origin, s.first_member, &m, NULL);
	}
	chunk_row(&f, m.chunk, &row);
	packed_flip(at(&f, row.name), m.offset, 0);
	ds = open_at(f.dir, NULL);
	assert_int_equal(
		hpdsl_sample_read(ds, &s, buf[0], sizeof buf[0], &n[0], &err),
		0);
	assert_int_equal(hpdsl_sample_read(f.origin, &s, buf[1], sizeof buf[1],
					   &n[1], &err),
			 0);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(buf[0], buf[1], n[0]);
	expect_chunks(ds, 0, 0, 1);
	hpdsl_close(ds);
	tear_down(&f);
}

/* As it is at the origin: whole, in a part, as a stream. */
static void same_member(const struct fixture *f, const struct hpdsl_dataset *ds,
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

static void break_member(const struct fixture *f, const char *folder,
			 const struct hpdsl_member *m)
{
	char name[PACKED_PATH];
	struct hpdsl_chunk row;

	chunk_row(f, m->chunk, &row);
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
	struct fixture f;
	uint64_t before;

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	hpdsl_member_find(f.origin, "large.bin", 9, &large, NULL);
	hpdsl_member_get(f.origin, first_of(&f, large.chunk), &bad, NULL);
	if (bad.number == large.number)
		hpdsl_member_get(f.origin, large.number + 1, &bad, NULL);
	break_member(&f, f.dir, &bad);
	ds = open_at(f.dir, NULL);
	read_member(ds, bad.number);
	s = sources(ds);
	assert_int_equal(s.failed_chunks, 1);
	assert_int_equal(s.origin_bytes, bad.size);
	/* As long as there is an origin it is the origin's. */
	same_member(&f, ds, large.number);
	assert_int_equal(sources(ds).local_bytes, s.local_bytes);
	before = sources(ds).origin_bytes;
	hpdsl_close(ds);
	assert_true(before > large.size);

	ds = open_at(f.dir, NULL);
	read_member(ds, bad.number);
	hide_origin(&f);
	/* Its chunk's file at the origin stays open, and is there as long. */
	hpdsl_close(ds);
	ds = open_at(f.dir, NULL);
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
	expect_chunks(ds, 0, 0, 1);
	assert_int_equal(sources(ds).origin_bytes, 0);
	hpdsl_close(ds);
	show_origin(&f);
	tear_down(&f);
}

/* The same of one that was cut short, and of compressed ones. */
static void test_rest_of_cut(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_chunk row;
	struct fixture f;

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		set_up(&f, zstd ? 3 : 0);
		put_all(&f);
		hpdsl_member_get(f.origin, first_of(&f, 2), &m, NULL);
		chunk_row(&f, 2, &row);
		assert_int_equal(truncate(at(&f, row.name),
					  zstd ? (off_t)row.bytes - 1 :
						 (off_t)(m.offset + m.size)),
				 0);
		hide_origin(&f);
		ds = open_at(f.dir, NULL);
		same_member(&f, ds, m.number);
		if (!zstd)
			no_member(ds, m.number + 1,
				  "the chunk ends in it; and at the origin: ");
		expect_chunks(ds, 0, 0, 1);
		hpdsl_close(ds);
		show_origin(&f);
		tear_down(&f);
	}
}

/* Each copy has bad members, but no member is bad in both. */
static void test_rest_of_two(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sample s;
	struct hpdsl_member m;
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	for (uint64_t i = 0; i < f.n.members; i++) {
		hpdsl_member_get(f.origin, i, &m, NULL);
		if (m.size < 1 << 20)
			break_member(&f, i % 2 ? f.dir : f.p.out, &m);
	}
	ds = open_at(f.dir, NULL);
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
	expect_chunks(ds, 0, 0, CHUNKS);
	hpdsl_close(ds);
	tear_down(&f);
}

/* ---- Waiting ------------------------------------------------------------ */

static void test_patience(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct fixture f;
	uint64_t start, took;

	(void)state;
	set_up(&f, 0);
	put_state(&f, HP_CHUNK_COMING);
	ds = open_at(f.dir, NULL);
	hpdsl_patience(ds, 0.2);
	start = hp_monotonic();
	read_member(ds, first_of(&f, 0));
	took = hp_monotonic() - start;
	assert_true(took >= SECOND / 5);
	s = sources(ds);
	assert_true(s.wait_seconds >= 0.2 &&
		    s.wait_seconds <= (double)took / (double)SECOND);
	expect_chunks(ds, 0, 1, 0);
	/* Once for each chunk. */
	for (int i = 0; i < 20; i++)
		read_member(ds, first_of(&f, 0));
	assert_true(sources(ds).wait_seconds == s.wait_seconds);
	expect_chunks(ds, 0, 1, 0);
	/* It comes all the same. */
	put_chunk(&f, 0);
	hp_state_set(f.state, 0, HP_CHUNK_READY);
	s = sources(ds);
	read_member(ds, first_of(&f, 0));
	assert_true(sources(ds).local_bytes > s.local_bytes);
	assert_int_equal(sources(ds).origin_bytes, s.origin_bytes);
	hpdsl_patience(ds, 0);
	start = hp_monotonic();
	for (uint32_t c = 1; c < CHUNKS; c++)
		read_member(ds, first_of(&f, c));
	expect_chunks(ds, 0, CHUNKS, 0);
	hpdsl_close(ds);
	tear_down(&f);
}

static void test_dead(void **state)
{
	struct hpdsl_dataset *ds;
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	for (int k = 0; k < 3; k++) {
		put_state(&f, HP_CHUNK_COMING);
		if (k == 0)
			hp_state_beat(f.state, hp_monotonic() - 16 * SECOND);
		else if (k == 1)
			hp_state_beat(f.state, 0);
		else
			hp_state_end(f.state, HP_STAGE_FAILED);
		ds = open_at(f.dir, NULL);
		read_all(ds);
		expect_chunks(ds, 0, CHUNKS, 0);
		assert_true(sources(ds).wait_seconds == 0);
		hpdsl_close(ds);
	}
	tear_down(&f);
}

/* A thread that reads members at random until it is told to stop. */
struct reader {
	pthread_t thread;
	const struct hpdsl_dataset *ds;
	uint64_t members, reads;
	const int *stop; /* NULL: all of them once */
	int code;
	struct hpdsl_error err;
};

static void *read_much(void *arg)
{
	struct reader *r = arg;
	uint64_t x = (uintptr_t)arg | 1;

	for (; r->code == 0; r->reads++) {
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
	struct fixture f;

	(void)state;
	unmapped.map = no_map;
	for (int k = 0; k < 2; k++) {
		set_up(&f, k ? 3 : 0);
		put_state(&f, HP_CHUNK_COMING);
		ds = open_at(f.dir, k ? &unmapped : NULL);
		start_readers(r, ds, NULL);
		for (uint32_t c = CHUNKS; c-- > 0;) {
			nap(30);
			put_chunk(&f, c);
			hp_state_set(f.state, c, HP_CHUNK_READY);
			hp_state_beat(f.state, hp_monotonic());
		}
		join_readers(r);
		hp_state_end(f.state, HP_STAGE_COMPLETE);
		expect_chunks(ds, 0, 0, 0);
		s = sources(ds);
		assert_int_equal(s.origin_bytes, 0);
		assert_true(s.wait_seconds >= 0.1);
		hpdsl_close(ds);
		tear_down(&f);
	}
}

/* Generations follow each other while many read; the last one is whole. */
static void test_replaced_meanwhile(void **state)
{
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct fixture f;
	int stop = 0;

	(void)state;
	set_up(&f, 0);
	put_state(&f, HP_CHUNK_COMING);
	hp_state_end(f.state, HP_STAGE_STOPPED);
	ds = open_at(f.dir, NULL);
	start_readers(r, ds, &stop);
	for (int g = 0; g < 20; g++) {
		put_state(&f, g % 2 ? HP_CHUNK_COMING : HP_CHUNK_ABSENT);
		hp_state_end(f.state, HP_STAGE_STOPPED);
		nap(10);
	}
	put_all(&f);
	nap(1200);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join_readers(r);
	hide_origin(&f);
	/* Files of the origin that are open are not asked any more. */
	read_all(ds);
	assert_int_equal(sources(ds).failed_chunks, 0);
	hpdsl_close(ds);
	show_origin(&f);
	tear_down(&f);
}

/* What waits for a stager that was killed finds the one that came next. */
static void test_next_stager(void **state)
{
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	put_state(&f, HP_CHUNK_COMING);
	ds = open_at(f.dir, NULL);
	hide_origin(&f);
	start_readers(r, ds, NULL);
	nap(50);
	show_origin(&f);
	for (uint32_t c = 0; c < CHUNKS; c++)
		put_chunk(&f, c);
	hide_origin(&f);
	put_state(&f, HP_CHUNK_READY);
	/* The old one is not to be seen by its name any more, and beats. */
	join_readers(r);
	expect_chunks(ds, 0, 0, 0);
	hpdsl_close(ds);
	show_origin(&f);
	tear_down(&f);
}

/* hpdsl-stage --clean, and then staging again. */
static void test_cleaned_meanwhile(void **state)
{
	struct reader r[READERS];
	struct hpdsl_dataset *ds;
	struct fixture f;
	int stop = 0;

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	ds = open_at(f.dir, NULL);
	start_readers(r, ds, &stop);
	for (int k = 0; k < 3; k++) {
		for (uint32_t c = 0; c < CHUNKS; c++) {
			nap(2);
			hp_state_set(f.state, c, HP_CHUNK_ABSENT);
			drop_chunk(&f, c);
		}
		unlink(at(&f, HP_STATE_NAME));
		nap(20);
		f.header.generation = 0;
		put_all(&f);
		nap(1100);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join_readers(r);
	assert_int_equal(sources(ds).failed_chunks, 0);
	assert_true(sources(ds).absent_chunks > 0);
	hpdsl_close(ds);
	tear_down(&f);
}

struct later {
	struct fixture *f;
	unsigned ms;
};

static void *put_later(void *arg)
{
	struct later *l = arg;

	nap(l->ms);
	put_all(l->f);
	return NULL;
}

/* The stager has locked the directory, and put no more than the index. */
static void test_unborn(void **state)
{
	struct hpdsl_dataset *ds;
	struct fixture f;
	struct later l = { &f, 200 };
	pthread_t t;

	(void)state;
	set_up(&f, 0);
	packed_put(at(&f, HP_STAGE_LOCK), "x\n", 2);
	ds = open_at(f.dir, NULL);
	assert_int_equal(pthread_create(&t, NULL, put_later, &l), 0);
	read_member(ds, 0);
	pthread_join(t, NULL);
	read_all(ds);
	expect_chunks(ds, 0, 0, 0);
	assert_true(sources(ds).wait_seconds > 0.1);
	hpdsl_close(ds);
	tear_down(&f);
}

/* ---- Operations that fail ----------------------------------------------- */

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
	struct fixture f;

	(void)state;
	set_up(&f, 0);
	put_all(&f);
	bad.io.open = bad_open;
	/* No fault of the chunk's. */
	bad.code = -EMFILE;
	ds = open_at(f.dir, &bad.io);
	assert_int_equal(try_member(ds, 0, &err), -EMFILE);
	expect_chunks(ds, 0, 0, 0);
	/* A disk that dies: each chunk is tried once. */
	bad.code = -EIO;
	bad.opened = 0;
	read_all(ds);
	read_all(ds);
	assert_int_equal(bad.opened, CHUNKS);
	expect_chunks(ds, 0, 0, CHUNKS);
	hpdsl_close(ds);
	tear_down(&f);
}

static void test_allocations_fail(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct fixture f;
	long k = 0;
	int r;

	(void)state;
	set_up(&f, 3);
	put_all(&f);
	hp_state_set(f.state, 0, HP_CHUNK_ABSENT);
	do {
		ds = NULL;
		wrap_fail_at(++k, false);
		r = hpdsl_open(f.dir, NULL, &ds, &err);
		if (r == 0)
			r = try_member(ds, 0, &err);
		if (r == 0)
			r = try_member(ds, f.n.members - 1, &err);
		wrap_fail_at(0, false);
		assert_true(r == 0 || r == -ENOMEM);
		if (ds)
			expect_chunks(ds, sources(ds).absent_chunks, 0, 0);
		hpdsl_close(ds);
	} while (r);
	assert_true(k > 10);
	tear_down(&f);
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
