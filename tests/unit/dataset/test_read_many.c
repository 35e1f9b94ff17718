/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_read_many: the same bytes as one by one, in any order, from any number
 * of threads; a code for each that cannot be had.
 */
#include "each_fault.h"
#include "packed.h"
#include "staged.h"
#include "zst.h"

#include "sys/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 400, LARGE = 5000001, UNTOUCHED = 0x77 };

static struct packed packed;
static struct hpdsl_dataset *good;

static int begin(void **state)
{
	char name[64];

	(void)state;
	packed_begin(&packed);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "s%u/%03u.a", i % 7, i);
		packed_file(&packed, name, i % 9 ? i * 41 : 0, 0644, 1, 0);
	}
	packed_file(&packed, "large/1.bin", LARGE, 0644, 1, 0);
	packed_file(&packed, "large/2.bin", 1 << 20, 0644, 1, 0);
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = 3 });
	good = staged_open(packed.out, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hpdsl_close(good);
	packed_end(&packed);
	return 0;
}

/* Members in some order, some of them twice. */
struct many {
	struct hpdsl_request *req;
	size_t n;
};

static void ask(struct many *k, size_t n, unsigned step)
{
	struct hpdsl_counts c;

	hpdsl_count(good, &c);
	k->n = n;
	k->req = calloc(n + 1, sizeof *k->req);
	assert_non_null(k->req);
	for (size_t i = 0; i < n; i++) {
		struct hpdsl_request *q = &k->req[i];
		struct hpdsl_member m;

		q->member = i * step % c.members;
		hpdsl_member_get(good, q->member, &m, NULL);
		q->room = m.size + i % 3;
		q->buf = malloc(q->room + 1);
		assert_non_null(q->buf);
		memset(q->buf, UNTOUCHED, q->room + 1);
		q->size = 99;
		q->code = 99;
	}
}

static void release(struct many *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->req[i].buf);
	free(k->req);
}

/* Every one is right, and nothing behind it was touched; or it has a code. */
static uint64_t check(const struct many *k)
{
	uint64_t done = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct hpdsl_request *q = &k->req[i];
		struct hpdsl_member m;
		uint8_t *want;

		if (q->code) {
			assert_true(q->code < 0);
			continue;
		}
		done++;
		hpdsl_member_get(good, q->member, &m, NULL);
		assert_int_equal(q->size, m.size);
		want = malloc(m.size + 1);
		assert_non_null(want);
		assert_int_equal(
			hpdsl_member_read(good, &m, 0, want, m.size, NULL), 0);
		assert_memory_equal(q->buf, want, m.size);
		free(want);
		for (size_t b = q->size; b <= q->room; b++)
			assert_int_equal(((uint8_t *)q->buf)[b], UNTOUCHED);
	}
	return done;
}

static void read_all(const struct hpdsl_dataset *ds, size_t n, unsigned step,
		     uint32_t threads)
{
	struct hpdsl_error err = { 0 };
	struct many k;
	int64_t r;

	ask(&k, n, step);
	r = hpdsl_read_many(ds, k.req, n, threads, &err);
	if (r != (int64_t)n)
		fail_msg("%s", err.msg);
	assert_int_equal(check(&k), n);
	release(&k);
}

static void test_orders(void **state)
{
	static const uint32_t threads[] = { HPDSL_SERIAL, 0, 1, 7 };
	static const unsigned steps[] = { 0, 1, 7, 151, 401 };
	struct hpdsl_dataset *ds;

	(void)state;
	for (int zst = 0; zst < 2; zst++) {
		if (zst) {
			zst_dataset(packed.out, UINT64_MAX);
			hpdsl_close(good);
			good = staged_open(packed.out, NULL);
		}
		ds = staged_open(packed.out, NULL);
		for (size_t t = 0; t < 4; t++)
			for (size_t s = 0; s < 5; s++) {
				read_all(ds, 1, steps[s] + 1, threads[t]);
				read_all(ds, 17, steps[s], threads[t]);
				read_all(ds, FILES + 2, steps[s], threads[t]);
			}
		read_all(ds, 0, 0, 3);
		hpdsl_close(ds);
	}
}

/* Neighbours cost one read. */
static struct counting {
	struct hp_io io;
	uint64_t reads;
} counting;

static ssize_t counted_pread(const struct hp_io *io, int fd, void *buf,
			     size_t n, uint64_t off)
{
	(void)io;
	__atomic_fetch_add(&counting.reads, 1, __ATOMIC_RELAXED);
	return hp_io_system.pread(&hp_io_system, fd, buf, n, off);
}

static void test_reads(void **state)
{
	struct hpdsl_dataset *ds;

	(void)state;
	counting = (struct counting){ .io = hp_io_system };
	counting.io.pread = counted_pread;
	ds = staged_open(packed.out, &counting.io);
	counting.reads = 0;
	read_all(ds, FILES + 2, 151, 4);
	assert_in_range(counting.reads, 3, FILES / 4);
	hpdsl_close(ds);
}

/* ---- What cannot be had ----------------------------------------------- */

static void test_codes(void **state)
{
	struct hpdsl_error err, serial = { 0 };
	struct hpdsl_member m;
	struct many k;

	(void)state;
	for (int t = 0; t < 3; t++) {
		ask(&k, 60, 7);
		hpdsl_member_get(good, k.req[20].member, &m, NULL);
		assert_true(m.size > 0);
		k.req[20].room = m.size - 1;
		k.req[30].member = 1000000;
		memset(&err, 0, sizeof err);
		assert_int_equal(
			hpdsl_read_many(good, k.req, k.n,
					t ? (uint32_t)t * 3 : HPDSL_SERIAL,
					&err),
			58);
		assert_int_equal(k.req[20].code, -ENOSPC);
		assert_int_equal(k.req[20].size, m.size);
		assert_int_equal(*(uint8_t *)k.req[20].buf, UNTOUCHED);
		assert_int_equal(k.req[30].code, -ERANGE);
		assert_int_equal(k.req[30].size, 0);
		assert_int_equal(err.code, -ENOSPC);
		if (!t)
			serial = err;
		assert_string_equal(err.msg, serial.msg);
		assert_int_equal(hpdsl_read_many(good, k.req, k.n, 1, NULL),
				 58);
		release(&k);
	}
}

/* The others are right; the reason is the same for every number of threads. */
static void test_damage(void **state)
{
	static const char *const bad[] = { "s3/143.a", "s6/202.a",
					   "large/1.bin" };
	struct hpdsl_error err, serial = { 0 };
	struct hpdsl_dataset *ds, *sound = good;
	char command[400], name[PACKED_PATH];
	struct hpdsl_chunk c;
	struct hpdsl_member m;
	struct many k;

	(void)state;
	snprintf(command, sizeof command, "cp -r %s %s/bad", packed.out,
		 packed.top);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hpdsl_member_find(sound, bad[i],
						   strlen(bad[i]), &m, NULL),
				 0);
		hpdsl_chunk_get(sound, m.chunk, &c, NULL);
		snprintf(name, sizeof name, "bad/%s", c.name);
		packed_flip(packed_at(&packed, name), m.offset + m.size / 2, 0);
	}
	ds = staged_open(packed_at(&packed, "bad"), NULL);
	for (int t = 0; t < 4; t++) {
		ask(&k, FILES + 2, 151);
		assert_int_equal(hpdsl_read_many(ds, k.req, k.n,
						 t ? (uint32_t)t : HPDSL_SERIAL,
						 &err),
				 FILES - 1);
		assert_int_equal(check(&k), FILES - 1);
		assert_int_equal(err.code, HPDSL_ECORRUPT);
		assert_non_null(strstr(err.msg, "checksum differs"));
		if (!t)
			serial = err;
		assert_string_equal(err.msg, serial.msg);
		for (size_t i = 0; i < k.n; i++) {
			hpdsl_member_get(sound, k.req[i].member, &m, NULL);
			assert_int_equal(
				k.req[i].code,
				!strcmp(m.path, bad[0]) ||
						!strcmp(m.path, bad[1]) ||
						!strcmp(m.path, bad[2]) ?
					HPDSL_ECORRUPT :
					0);
		}
		release(&k);
	}
	hpdsl_close(ds);
}

/* From a stage directory, some of whose chunks are bad or not here. */
static void test_stage(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_chunk c;
	struct staged f;

	(void)state;
	hpdsl_close(good);
	staged_begin(&f, 0);
	good = staged_open(f.p.out, NULL);
	staged_put_all(&f);
	hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
	staged_drop(&f, 2);
	hpdsl_member_get(good, staged_first(&f, 3), &m, NULL);
	staged_chunk(&f, 3, &c);
	packed_flip(staged_at(&f, c.name), m.offset, 0);
	ds = staged_open(f.dir, NULL);
	read_all(ds, f.n.members, 1, 4);
	staged_expect(ds, 1, 0, 2);
	assert_true(staged_sources(ds).local_bytes > 0);
	hpdsl_close(ds);
	hpdsl_close(good);
	staged_end(&f);
	good = staged_open(packed.out, NULL);
}

/* ---- Faults ----------------------------------------------------------- */

static void test_faults(void **state)
{
	(void)state;
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		struct hpdsl_dataset *ds = NULL;
		struct hpdsl_error err;
		struct many many;
		int64_t r;

		e.f.forever = e.k % 3 == 0;
		if (hpdsl_open(packed.out, &e.f.io, &ds, &err) < 0)
			continue;
		ask(&many, 200, 7);
		memset(&err, 0, sizeof err);
		r = hpdsl_read_many(ds, many.req, many.n, HPDSL_SERIAL, &err);
		assert_int_equal(r, check(&many));
		if (r < 200)
			assert_true(err.code < 0 && err.msg[0]);
		release(&many);
		hpdsl_close(ds);
	}
}

static void test_allocations(void **state)
{
	(void)state;
	for (struct each_alloc e = { .k = 0 }; each_alloc(&e);) {
		struct hpdsl_dataset *ds = staged_open(packed.out, NULL);
		struct hpdsl_error err = { 0 };
		struct many many;
		int64_t r;

		ask(&many, 200, 7);
		each_alloc_begin(&e);
		r = hpdsl_read_many(ds, many.req, many.n, HPDSL_SERIAL, &err);
		each_alloc_end(&e);
		if (r < 0)
			assert_int_equal(many.req[0].code, -ENOMEM);
		else
			assert_int_equal(r, check(&many));
		if (r < 200)
			assert_true(err.code < 0 && err.msg[0]);
		release(&many);
		hpdsl_close(ds);
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_orders),	test(test_reads), test(test_codes),
		test(test_damage),	test(test_stage), test(test_faults),
		test(test_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
