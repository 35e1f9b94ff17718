/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching members in blocks: from plain, compressed and adopted chunks, past
 * the page cache and through it, with every kind of read that can go wrong.
 */
#include "each_fault.h"
#include "fetching.h"
#include "packed.h"
#include "zst.h"

#include "dataset/dataset.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 9000001 };

static struct packed packed;
static struct hpdsl_dataset *good;

static struct hpdsl_dataset *open_at(const char *dir, const struct hp_io *io)
{
	struct hpdsl_error err;
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open(dir, io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

/* Small samples of two members, some of them empty, and two large ones. */
static void make_tree(void)
{
	char name[64];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "s%u/%03u.a", i % 7, i);
		packed_file(&packed, name, i % 5 ? i * 53 : 0, 0644, 1, 0);
		snprintf(name, sizeof name, "s%u/%03u.b", i % 7, i);
		packed_file(&packed, name, i * 7, 0644, 1, 0);
	}
	packed_file(&packed, "large/1.bin", LARGE, 0644, 1, 0);
	packed_file(&packed, "large/1.txt", 0, 0644, 1, 0);
	packed_file(&packed, "large/2.bin", 3 << 20, 0644, 1, 0);
}

static void pack(struct hpdsl_pack_options opt)
{
	if (!opt.chunk_size && !opt.chunks)
		opt.chunks = 3;
	packed_pack(&packed, opt);
	good = open_at(packed.out, NULL);
}

/* What was packed, in compressed chunks. */
static void compress(void)
{
	zst_dataset(packed.out, UINT64_MAX);
	hpdsl_close(good);
	good = open_at(packed.out, NULL);
}

static int begin(void **state)
{
	(void)state;
	packed_begin(&packed);
	make_tree();
	zst_frame_max = 1u << 30;
	return 0;
}

static int end(void **state)
{
	(void)state;
	hpdsl_close(good);
	good = NULL;
	packed_end(&packed);
	return 0;
}

/* All members are good. */
static struct hp_fetch_counts run(struct fetching t)
{
	t.good = good;
	assert_int_equal(fetching_run(&t), 0);
	if (t.bad)
		fail_msg("%s", t.why.msg);
	fetching_end(&t);
	return t.counts;
}

static uint64_t sum_sizes(const struct hp_fetch_counts *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < 40; i++)
		n += c->read_sizes[i];
	return n;
}

/* ---- Room ------------------------------------------------------------- */

static void test_room(void **state)
{
	struct hp_block_member m[] = {
		{ .chunk = 1, .offset = 5000, .size = 100 },
		{ .chunk = 1, .offset = 8000, .size = 1 },
		{ .chunk = 1, .offset = 8001 + HP_FETCH_GAP, .size = 1 },
		{ .chunk = 1, .offset = 8003 + 2 * HP_FETCH_GAP, .size = 1 },
		{ .chunk = 2, .offset = 8004 + 2 * HP_FETCH_GAP, .size = 1 },
		{ .chunk = 2, .offset = 10, .size = 4086 },
		{ .chunk = 2, .offset = 10, .size = 4087 },
	};

	(void)state;
	assert_int_equal(hp_fetch_room(m, 0), 0);
	assert_int_equal(hp_fetch_room(m, 1), 4096);
	assert_int_equal(hp_fetch_room(m, 2), 4096);
	assert_int_equal(hp_fetch_room(m, 3), 4096 + HP_FETCH_GAP);
	/* A byte too far. */
	assert_int_equal(hp_fetch_room(m, 4), 2 * 4096 + HP_FETCH_GAP);
	assert_int_equal(hp_fetch_room(m, 5), 3 * 4096 + HP_FETCH_GAP);
	/* One that goes back is read apart. */
	assert_int_equal(hp_fetch_room(m, 6), 4 * 4096 + HP_FETCH_GAP);
	assert_int_equal(hp_fetch_room(m, 7), 5 * 4096 + HP_FETCH_GAP);
}

/* Empty ones take nothing, wherever they lie. */
static void test_room_of_none(void **state)
{
	struct hp_block_member m[] = {
		{ .chunk = 1, .offset = 512 },
		{ .chunk = 1, .offset = 5000, .size = 100 },
		{ .chunk = 1, .offset = 8192 },
		{ .chunk = 1, .offset = 5100, .size = 3000 },
		{ .chunk = 2, .offset = 100000 },
		{ .chunk = 1, .offset = 8100, .size = 1 },
	};

	(void)state;
	assert_int_equal(hp_fetch_room(m, 1), 0);
	assert_int_equal(hp_fetch_room(m, 3), 4096);
	assert_int_equal(hp_fetch_room(m, 5), 4096);
	/* It is of another chunk, behind which all is read anew. */
	assert_int_equal(hp_fetch_room(m, 6), 2 * 4096);
}

/* ---- Forms ------------------------------------------------------------ */

/* Blocks of all sizes, members all and some, threads none and many. */
static void fetch_all_ways(const char *dir, struct odd_io *o)
{
	static const size_t slots[] = { 1, 8192, 100000, 4 << 20, 64 << 20 };
	struct hpdsl_dataset *ds = open_at(dir, &o->io);

	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		struct fetching t = { .ds = ds, .slot = slots[i] };

		t.threads = i % 2 ? 4 : 0;
		run(t);
		t.every = 1 + (unsigned)i * 3;
		run(t);
		t.opt.cache = HPDSL_CACHE_KEEP;
		run(t);
		t.opt.unchecked = true;
		run(t);
	}
	hpdsl_close(ds);
}

static void fetch_cached_and_not(const char *dir)
{
	struct odd_io o;

	for (int cached = -EOPNOTSUPP; cached <= 1;
	     cached = cached < 0 ? 0 : cached + 1) {
		odd_io_init(&o);
		o.cached = cached;
		fetch_all_ways(dir, &o);
		assert_true((o.direct_reads > 0) == (cached == 0));
	}
}

static void test_plain(void **state)
{
	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	fetch_cached_and_not(packed.out);
}

static void test_portable(void **state)
{
	(void)state;
	packed_file(&packed, "s1/a:b?.c", 100, 0644, 1, 0);
	pack((struct hpdsl_pack_options){ .names = HPDSL_NAMES_PORTABLE });
	fetch_cached_and_not(packed.out);
}

static void test_zstd(void **state)
{
	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	compress();
	fetch_cached_and_not(packed.out);
}

/* Large samples of several frames. */
static void test_zstd_frames(void **state)
{
	(void)state;
	zst_frame_max = 150000;
	pack((struct hpdsl_pack_options){ 0 });
	compress();
	fetch_cached_and_not(packed.out);
}

static void test_adopted(void **state)
{
	struct hpdsl_reindex_options opt = { 0 };
	struct hpdsl_reindex_report report;
	char command[400];
	struct hpdsl_error err = { 0 };

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	snprintf(command, sizeof command,
		 "cd %s && mkdir tars && cp out/chunk-000000.tar tars/a.tar && "
		 "cp out/chunk-000001.tar tars/b.tar",
		 packed.top);
	assert_int_equal(system(command), 0);
	if (hpdsl_reindex(packed_at(&packed, "tars"), &opt, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(report.adopted);
	hpdsl_close(good);
	good = open_at(packed_at(&packed, "tars"), NULL);
	fetch_cached_and_not(packed_at(&packed, "tars"));
}

/* The system's own table, whatever the file system of the test can do. */
static void test_system(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk c;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	ds = open_at(packed.out, NULL);
	for (int k = 0; k < 2; k++) {
		run((struct fetching){ .ds = ds, .slot = 4 << 20 });
		for (uint32_t i = 0; i < 3; i++) {
			int fd;

			hpdsl_chunk_get(ds, i, &c, NULL);
			fd = hp_io_system.open(&hp_io_system, ds->dir, c.name,
					       O_RDONLY, 0);
			fdatasync(fd);
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			close(fd);
		}
	}
	hpdsl_close(ds);
}

/* ---- How it is read --------------------------------------------------- */

/* The whole of small chunks is one read each, in whole pages. */
static void test_counts(void **state)
{
	struct hpdsl_dataset *ds;
	struct hp_fetch_counts c;
	struct odd_io o;
	uint64_t sizes = 0;

	(void)state;
	pack((struct hpdsl_pack_options){ .chunk_size = 600000 });
	odd_io_init(&o);
	ds = open_at(packed.out, &o.io);
	c = run((struct fetching){ .ds = ds, .slot = 64 << 20 });
	assert_int_equal(c.reads, sum_sizes(&c));
	assert_int_equal(c.reads, o.direct_reads);
	assert_int_equal(c.direct_bytes, c.read_bytes);
	for (uint32_t i = 0;; i++) {
		struct hpdsl_chunk row;

		if (hpdsl_chunk_get(ds, i, &row, NULL) < 0)
			break;
		sizes += (row.bytes + HP_FETCH_READ - 1) / HP_FETCH_READ;
	}
	assert_true(c.reads <= sizes);
	o.cached = 1;
	c = run((struct fetching){ .ds = ds, .slot = 64 << 20 });
	assert_int_equal(c.direct_bytes, 0);
	assert_true(c.reads > sizes);
	hpdsl_close(ds);
}

/* What is further away than a gap is not read. */
static void test_gaps(void **state)
{
	struct hp_fetch_counts far, near;
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;

	(void)state;
	pack((struct hpdsl_pack_options){ .chunks = 1,
					  .shuffle = HPDSL_SHUFFLE_NONE });
	ds = open_at(packed.out, NULL);
	hpdsl_count(ds, &n);
	near = run((struct fetching){ .ds = ds, .slot = 64 << 20, .every = 2 });
	far = run((struct fetching){ .ds = ds, .slot = 64 << 20, .every = 50 });
	assert_true(near.read_bytes > n.bytes / 2);
	assert_true(far.read_bytes < n.bytes * 9 / 10);
	assert_true(far.reads >= 3);
	hpdsl_close(ds);
}

/* File systems without a way past the page cache, at once or later. */
static void test_no_direct(void **state)
{
	struct odd_io o;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	odd_io_init(&o);
	o.open_direct = -EINVAL;
	fetch_all_ways(packed.out, &o);
	assert_int_equal(o.direct_reads, 0);
	odd_io_init(&o);
	o.open_direct = -EMFILE;
	fetch_all_ways(packed.out, &o);
	odd_io_init(&o);
	o.read_direct = -EINVAL;
	fetch_all_ways(packed.out, &o);
	/* It is not tried again and again: by four threads at most. */
	assert_in_range(o.direct_reads, 1, 4 * 20);
	odd_io_init(&o);
	o.read_direct = -EIO;
	fetch_all_ways(packed.out, &o);
}

static void test_dribble(void **state)
{
	struct odd_io o;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	for (int cached = 0; cached < 2; cached++) {
		odd_io_init(&o);
		o.cached = cached;
		o.dribble = true;
		fetch_all_ways(packed.out, &o);
	}
}

/* A block says if the page cache had it. */
static void test_cached(void **state)
{
	static const int have[] = { 1, 0, -EOPNOTSUPP };
	struct hp_fetch_options opt = { 0 };

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	for (int i = 0; i < 3; i++) {
		struct hpdsl_dataset *ds;
		struct hp_block_member is;
		struct hp_block b = { .member = &is, .n = 1 };
		struct hpdsl_member m = { 0 };
		struct hp_fetch *f;
		struct odd_io o;

		odd_io_init(&o);
		o.cached = have[i];
		ds = open_at(packed.out, &o.io);
		f = hp_fetch_new(ds, &opt);
		assert_non_null(f);
		for (uint64_t n = 0; !m.size; n++)
			assert_int_equal(hpdsl_member_get(ds, n, &m, NULL), 0);
		is = (struct hp_block_member){ m.checksum, m.offset, m.chunk, 0,
					       NULL,	   m.size,   m.number };
		b.room = hp_fetch_room(&is, 1);
		b.buf = aligned_alloc(HP_FETCH_PAGE, b.room);
		assert_int_equal(hp_fetch(f, &b), 0);
		assert_int_equal(b.cached, have[i] > 0);
		free(b.buf);
		hp_fetch_free(f);
		hpdsl_close(ds);
	}
	hp_fetch_free(NULL);
}

/* ---- Damage ----------------------------------------------------------- */

static const char *chunk_at(const struct hpdsl_dataset *ds, uint32_t number)
{
	struct hpdsl_chunk c;
	char name[64];

	assert_int_equal(hpdsl_chunk_get(ds, number, &c, NULL), 0);
	snprintf(name, sizeof name, "out/%s", c.name);
	return packed_at(&packed, name);
}

/* Keeps what is good: the tests damage the other. */
static void keep_good(void)
{
	char command[400];

	hpdsl_close(good);
	snprintf(command, sizeof command, "cp -r %s %s/good", packed.out,
		 packed.top);
	assert_int_equal(system(command), 0);
	good = open_at(packed_at(&packed, "good"), NULL);
}

static void expect_reason(const struct fetching *t, uint64_t member,
			  const char *file, const char *reason)
{
	struct hpdsl_member m;
	char want[3000];

	assert_int_equal(hpdsl_member_get(good, member, &m, NULL), 0);
	snprintf(want, sizeof want, "sample %llu: %s: member %llu '%s': %s",
		 (unsigned long long)m.sample, file, (unsigned long long)member,
		 m.path, reason);
	assert_string_equal(t->why.msg, want);
}

/* One member alone, its neighbours are as they were. */
static void test_one_bad(void **state)
{
	struct hpdsl_member m;
	struct odd_io o;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	keep_good();
	hpdsl_member_find(good, "s3/101.a", 8, &m, NULL);
	packed_flip(chunk_at(good, m.chunk), m.offset + m.size - 1, 2);
	for (int cached = 0; cached < 2; cached++) {
		struct fetching t = { .good = good, .slot = 4 << 20 };
		struct hpdsl_dataset *ds;

		odd_io_init(&o);
		o.cached = cached;
		t.ds = ds = open_at(packed.out, &o.io);
		assert_int_equal(fetching_run(&t), 0);
		assert_int_equal(t.bad, 1);
		assert_true(t.is_bad[m.number]);
		assert_int_equal(t.why.code, HPDSL_ECORRUPT);
		expect_reason(&t, m.number, chunk_at(good, m.chunk),
			      "checksum differs");
		fetching_end(&t);
		t.opt.unchecked = true;
		t.uncompared = true;
		assert_int_equal(fetching_run(&t), 0);
		assert_int_equal(t.bad, 0);
		fetching_end(&t);
		hpdsl_close(ds);
	}
}

/* Blocks that cannot be read: only those members that lie there. */
static void test_bad_place(void **state)
{
	struct hpdsl_member m;
	struct odd_io o;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	hpdsl_member_find(good, "s3/101.a", 8, &m, NULL);
	for (int cached = 0; cached < 2; cached++) {
		struct fetching t = { .good = good, .slot = 4 << 20 };
		struct hpdsl_dataset *ds;

		odd_io_init(&o);
		o.cached = cached;
		o.bad_from = m.offset + 1;
		o.bad_to = m.offset + 2;
		t.ds = ds = open_at(packed.out, &o.io);
		assert_int_equal(fetching_run(&t), 0);
		/* In each chunk that is so long. */
		assert_in_range(t.bad, 1, 3);
		assert_true(t.is_bad[m.number]);
		assert_int_equal(t.why.code, -EIO);
		fetching_end(&t);
		hpdsl_close(ds);
	}
}

static void test_cut(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	uint64_t below = 0;
	struct fetching t;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	keep_good();
	hpdsl_member_find(good, "s3/101.a", 8, &m, NULL);
	assert_int_equal(
		truncate(chunk_at(good, m.chunk), (off_t)(m.offset + 10)), 0);
	ds = open_at(packed.out, NULL);
	t = (struct fetching){ .ds = ds, .good = good, .threads = 3 };
	assert_int_equal(fetching_run(&t), 0);
	for (uint64_t i = 0; i < t.members; i++) {
		struct hpdsl_member k;

		hpdsl_member_get(good, i, &k, NULL);
		assert_int_equal(t.is_bad[i],
				 k.chunk == m.chunk && k.size &&
					 k.offset + k.size > m.offset + 10);
		below += t.is_bad[i];
	}
	assert_int_equal(below, t.bad);
	assert_non_null(strstr(t.why.msg, "the chunk ends in it"));
	fetching_end(&t);
	hpdsl_close(ds);
}

static void test_no_file(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct hpdsl_chunk c;
	struct fetching t;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	keep_good();
	assert_int_equal(hpdsl_chunk_get(good, 1, &c, &err), 0);
	assert_int_equal(unlink(chunk_at(good, 1)), 0);
	ds = open_at(packed.out, NULL);
	t = (struct fetching){ .ds = ds, .good = good };
	assert_int_equal(fetching_run(&t), 0);
	for (uint64_t i = 0; i < t.members; i++)
		assert_int_equal(t.is_bad[i],
				 i >= c.first_member &&
					 i < c.first_member + c.members);
	assert_int_equal(t.why.code, -ENOENT);
	assert_non_null(strstr(t.why.msg, "sample "));
	assert_non_null(strstr(t.why.msg, c.name));
	assert_non_null(strstr(t.why.msg, ": No such file or directory"));
	fetching_end(&t);
	hpdsl_close(ds);
}

/* What lies in a bad frame is bad, and nothing else. */
static void test_bad_frame(void **state)
{
	struct hpdsl_dataset *ds;
	struct hp_frame f;
	struct hpdsl_member m;
	struct hpdsl_chunk c;
	struct fetching t;
	uint32_t number;

	(void)state;
	pack((struct hpdsl_pack_options){ 0 });
	compress();
	keep_good();
	hpdsl_member_find(good, "s3/101.a", 8, &m, NULL);
	hpdsl_chunk_get(good, m.chunk, &c, NULL);
	hp_index_frame_find(good->index, &c, m.offset, &number, NULL);
	hp_index_frame(good->index, &c, number, &f, NULL);
	packed_flip(chunk_at(good, m.chunk), (f.stored + f.stored_end) / 2, 1);
	for (size_t slot = 1; slot <= 16 << 20; slot <<= 6) {
		ds = open_at(packed.out, NULL);
		t = (struct fetching){ .ds = ds, .good = good, .slot = slot };
		assert_int_equal(fetching_run(&t), 0);
		for (uint64_t i = 0; i < t.members; i++) {
			struct hpdsl_member k;

			hpdsl_member_get(good, i, &k, NULL);
			assert_int_equal(t.is_bad[i],
					 k.chunk == m.chunk && k.size &&
						 k.offset < f.plain_end &&
						 k.offset + k.size > f.plain);
		}
		assert_true(t.bad > 0);
		assert_int_equal(t.why.code, HPDSL_ECORRUPT);
		assert_non_null(strstr(t.why.msg, "sample "));
		assert_non_null(strstr(t.why.msg, c.name));
		assert_non_null(strstr(t.why.msg, ": frame "));
		fetching_end(&t);
		hpdsl_close(ds);
	}
}

/* ---- Faults ----------------------------------------------------------- */

/* The k-th operation fails: members are right, or told to be bad. */
static void fault_runs(bool forever)
{
	for (struct each_fault e = { .forever = forever }; each_fault(&e);) {
		struct hpdsl_dataset *ds = NULL;
		struct fetching t = { .good = good, .every = 9 };
		struct hpdsl_error err;

		e.f.code = e.k % 2 ? -EIO : -ENOMEM;
		if (hpdsl_open(packed.out, &e.f.io, &ds, &err) < 0)
			continue;
		t.ds = ds;
		assert_int_equal(fetching_run(&t), 0);
		fetching_end(&t);
		hpdsl_close(ds);
		if (!e.f.failed)
			assert_int_equal(t.bad, 0);
	}
}

static void memory_runs(void)
{
	for (struct each_alloc e = { .k = 0 }; each_alloc(&e);) {
		struct fetching t = { .good = good, .every = 9 };
		struct hpdsl_dataset *ds = open_at(packed.out, NULL);

		t.ds = ds;
		t.fail_allocation = e.k;
		fetching_run(&t);
		fetching_end(&t);
		hpdsl_close(ds);
		e.last = t.allocations < e.k;
	}
}

static void test_faults(void **state)
{
	(void)state;
	for (int zst = 0; zst < 2; zst++) {
		if (!zst)
			pack((struct hpdsl_pack_options){ 0 });
		else
			compress();
		fault_runs(false);
		fault_runs(true);
		memory_runs();
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_room),      test(test_room_of_none),
		test(test_plain),     test(test_portable),
		test(test_zstd),      test(test_zstd_frames),
		test(test_adopted),   test(test_system),
		test(test_counts),    test(test_gaps),
		test(test_no_direct), test(test_dribble),
		test(test_cached),    test(test_one_bad),
		test(test_bad_place), test(test_cut),
		test(test_no_file),   test(test_bad_frame),
		test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
