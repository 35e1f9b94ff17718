/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks that other nodes of the job have, by a source that plays them: who
 * reads the dataset gets the same from them, from the origin when they are of
 * no use, and one kind of both when only some are.
 */
#include "dataset/dataset.h"
#include "fetching.h"
#include "other_nodes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Reading all of it ------------------------------------------------ */

static int compare(void *arg, const void *buf, size_t n,
		   struct hpdsl_error *err)
{
	char **at = arg;

	(void)err;
	assert_memory_equal(*at, buf, n);
	*at += n;
	return 0;
}

/* One by one, in both ways. */
static void read_alone(const struct staged *f, const struct hpdsl_dataset *ds)
{
	for (uint64_t i = 0; i < f->n.members; i++) {
		struct hpdsl_error err = { 0 };
		struct hpdsl_member m;
		char *a, *b, *at;

		assert_int_equal(hpdsl_member_get(ds, i, &m, NULL), 0);
		a = malloc(m.size + 1);
		at = b = malloc(m.size + 1);
		assert_true(a && b);
		assert_int_equal(
			hpdsl_member_read(f->origin, &m, 0, b, m.size, NULL),
			0);
		if (hpdsl_member_read(ds, &m, 0, a, m.size, &err) < 0)
			fail_msg("%s", err.msg);
		assert_memory_equal(a, b, m.size);
		if (hpdsl_member_stream(ds, &m, compare, &at, &err) < 0)
			fail_msg("%s", err.msg);
		assert_ptr_equal(at, b + m.size);
		free(a);
		free(b);
	}
}

static void read_all(const struct staged *f, const struct hpdsl_dataset *ds)
{
	struct fetching t = { .ds = ds, .good = f->origin, .slot = 64 << 10 };

	assert_int_equal(fetching_run(&t), 0);
	if (t.bad)
		fail_msg("%s", t.why.msg);
	fetching_end(&t);
	read_alone(f, ds);
}

static const int forms[] = { 0, 3 };

static void test_all_there(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct staged f;
		struct other_nodes p;

		staged_begin(&f, forms[i]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&p, &f);
		ds = other_nodes_open(&p);
		read_all(&f, ds);
		s = staged_sources(ds);
		assert_int_equal(s.origin_bytes, 0);
		assert_int_equal(s.absent_chunks, 0);
		assert_int_equal(s.peer_chunks, STAGED_CHUNKS / 2);
		assert_true(s.local_bytes > 0);
		assert_int_equal(s.peer_bytes, p.bytes);
		assert_int_equal(p.bad, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Whatever the stretch at which they begin to fail. */
static void test_fail(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct staged f;
		struct other_nodes p;

		staged_begin(&f, forms[i % 2]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&p, &f);
		p.fails = -EHOSTUNREACH;
		p.k = i / 2;
		ds = other_nodes_open(&p);
		read_all(&f, ds);
		s = staged_sources(ds);
		assert_true(s.origin_bytes > 0);
		/* They are asked again by each read: they may be back. */
		assert_true(p.asked > p.k + 2);
		/* What is here is none of theirs. */
		assert_int_equal(s.failed_chunks, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Nor has the origin them: codes of ours are told in words of ours. */
static void test_nowhere(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_counts n;
		struct staged f;
		struct other_nodes p;
		unsigned told = 0;

		staged_begin(&f, forms[i]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&p, &f);
		p.fails = -EHOSTUNREACH;
		ds = other_nodes_open(&p);
		staged_hide_origin(&f);
		hpdsl_count(ds, &n);
		for (uint64_t k = 0; k < n.members; k++) {
			struct hpdsl_error err = { 0 };
			struct hpdsl_member m;
			char byte;

			hpdsl_member_get(ds, k, &m, NULL);
			if (!m.size ||
			    hpdsl_member_read(ds, &m, 0, &byte, 1, &err) == 0)
				continue;
			told += strstr(err.msg, "none of them gives it") !=
				NULL;
			assert_null(strstr(err.msg, strerror(EHOSTUNREACH)));
			assert_null(strstr(err.msg, strerror(EMEDIUMTYPE)));
		}
		assert_true(told > 0);
		hpdsl_close(ds);
		staged_show_origin(&f);
		staged_end(&f);
	}
}

static void test_flips(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct staged f;
		struct other_nodes p;

		staged_begin(&f, forms[i]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&p, &f);
		p.flips = true;
		ds = other_nodes_open(&p);
		read_all(&f, ds);
		s = staged_sources(ds);
		assert_true(s.origin_bytes > 0 && p.bad > 0);
		assert_int_equal(s.failed_chunks, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Of two who send in turn it is the one who did that is blamed. */
static void test_two(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_dataset *ds;
		struct staged f;
		struct other_nodes p;

		staged_begin(&f, forms[i]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&p, &f);
		p.flips = p.two = true;
		ds = other_nodes_open(&p);
		read_all(&f, ds);
		read_all(&f, ds);
		assert_true(p.bad > 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Nobody has it right: then it is not the other nodes who are to blame. */
static void test_wrong_everywhere(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk row;
	struct hpdsl_error err;
	struct staged f;
	struct other_nodes p;
	unsigned bad = 0;

	(void)state;
	staged_begin(&f, 0);
	other_nodes_stage_half(&f);
	other_nodes_begin(&p, &f);
	staged_chunk(&f, 1, &row);
	ds = other_nodes_open(&p);
	for (uint64_t i = 0; i < row.members; i++) {
		char file[PACKED_PATH];
		struct hpdsl_member m;
		void *buf;

		hpdsl_member_get(ds, row.first_member + i, &m, NULL);
		if (!m.size)
			continue;
		snprintf(file, sizeof file, "%s/%s", f.p.out, row.name);
		packed_flip(file, m.offset + m.size / 2, 0);
		buf = malloc(m.size);
		assert_non_null(buf);
		bad += hpdsl_member_read(ds, &m, 0, buf, m.size, &err) ==
		       HPDSL_ECORRUPT;
		free(buf);
	}
	assert_true(bad > 0 && p.asked > 0);
	assert_int_equal(p.bad, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_other_form(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f, plain;
	struct hpdsl_sources s;
	struct other_nodes p;
	unsigned asked;

	(void)state;
	staged_begin(&plain, 0);
	staged_begin(&f, 3);
	other_nodes_stage_half(&f);
	other_nodes_begin(&p, &f);
	p.plain = &plain;
	ds = other_nodes_open(&p);
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(s.origin_bytes, 0);
	assert_int_equal(s.peer_bytes, p.bytes);
	/* It is found out once for each chunk. */
	asked = p.asked;
	read_alone(&f, ds);
	assert_true(p.asked > asked);
	p.plain = NULL;
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(s.origin_bytes, 0);
	hpdsl_close(ds);
	staged_end(&f);
	staged_end(&plain);
}

static void test_damaged_here(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct staged f;
	struct other_nodes p;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	other_nodes_begin(&p, &f);
	ds = other_nodes_open(&p);
	staged_chunk(&f, 2, &row);
	hpdsl_member_get(ds, staged_first(&f, 2), &m, NULL);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(s.origin_bytes, 0);
	assert_int_equal(s.failed_chunks, 1);
	assert_int_equal(s.peer_bytes, p.bytes);
	assert_true(p.bytes > 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void stream_large(const struct staged *f, const struct hpdsl_dataset *ds)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_member m;
	char *want, *at;

	for (uint64_t i = 0; i < f->n.members; i++) {
		hpdsl_member_get(ds, i, &m, NULL);
		if (m.size == STAGED_LARGE)
			break;
	}
	assert_int_equal(m.size, STAGED_LARGE);
	at = want = malloc(m.size);
	assert_int_equal(
		hpdsl_member_read(f->origin, &m, 0, want, m.size, NULL), 0);
	if (hpdsl_member_stream(ds, &m, compare, &at, &err) < 0)
		fail_msg("%s", err.msg);
	assert_ptr_equal(at, want + m.size);
	free(want);
}

/* Also of what is handed over in pieces nothing wrong is given away. */
static void test_damaged_here_and_there(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;
	struct other_nodes p;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	other_nodes_begin(&p, &f);
	p.flips = true;
	ds = other_nodes_open(&p);
	for (uint32_t c = 0; c < STAGED_CHUNKS; c++) {
		struct hpdsl_chunk row;
		struct hpdsl_member m;

		staged_chunk(&f, c, &row);
		for (uint64_t i = 0; i < row.members; i++) {
			hpdsl_member_get(ds, row.first_member + i, &m, NULL);
			packed_flip(staged_at(&f, row.name),
				    m.offset + m.size / 2, 0);
		}
	}
	stream_large(&f, ds);
	read_alone(&f, ds);
	assert_true(p.bad > 0);
	assert_true(staged_sources(ds).origin_bytes > STAGED_LARGE);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_nobody(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;
	struct other_nodes p;

	(void)state;
	staged_begin(&f, 0);
	other_nodes_stage_half(&f);
	other_nodes_begin(&p, &f);
	p.there = false;
	ds = other_nodes_open(&p);
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(p.asked, 0);
	assert_int_equal(s.peer_chunks, 0);
	assert_int_equal(s.absent_chunks, STAGED_CHUNKS / 2);
	/* They come later. */
	p.there = true;
	read_all(&f, ds);
	assert_true(p.asked > 0);
	assert_int_equal(staged_sources(ds).origin_bytes, s.origin_bytes);
	hpdsl_close(ds);
	staged_end(&f);
}

/* Without a server of this node a dataset has nobody to ask. */
static void test_gate(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	other_nodes_stage_half(&f);
	ds = staged_open(f.dir, NULL);
	assert_false(hp_source_is_there(ds->sources, HP_AT_PEER));
	read_all(&f, ds);
	staged_expect(ds, STAGED_CHUNKS / 2, 0, 0);
	hpdsl_close(ds);
	assert_int_equal(
		hpdsl_open_with(f.dir, HPDSL_OPEN_NO_PEERS, NULL, &ds, NULL),
		0);
	read_all(&f, ds);
	staged_expect(ds, STAGED_CHUNKS / 2, 0, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_there),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_wrong_everywhere),
		cmocka_unit_test(test_other_form),
		cmocka_unit_test(test_damaged_here),
		cmocka_unit_test(test_damaged_here_and_there),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
