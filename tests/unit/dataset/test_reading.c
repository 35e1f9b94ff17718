/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member that is read in parts: what has passed from its start to its end is
 * verified, whatever is read between, and wherever it comes from.
 */
#include "dataset/dataset.h"
#include "other_nodes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PART = 200000 };

struct scene {
	struct staged f;
	struct other_nodes o;
	struct hpdsl_dataset *ds;
	struct hpdsl_member m; /* "large.bin" */
	struct hpdsl_reading *r;
	struct hpdsl_error err;
	char *want, *got;
	const char *file; /* its chunk's, here */
};

/* here: all chunks are; else other nodes are asked for them. */
static void scene_begin(struct scene *s, int zstd, bool here)
{
	struct hpdsl_chunk row;

	memset(s, 0, sizeof *s);
	staged_begin(&s->f, zstd);
	if (here)
		staged_put_all(&s->f);
	else
		staged_state(&s->f, HP_CHUNK_ABSENT);
	other_nodes_begin(&s->o, &s->f);
	s->o.there = !here;
	s->ds = other_nodes_open(&s->o);
	assert_int_equal(hpdsl_member_find(s->ds, "large.bin", 9, &s->m, NULL),
			 0);
	staged_chunk(&s->f, s->m.chunk, &row);
	s->file = staged_at(&s->f, row.name);
	s->want = malloc(s->m.size);
	s->got = malloc(s->m.size + 1);
	assert_true(s->want && s->got);
	assert_int_equal(hpdsl_member_read(s->f.origin, &s->m, 0, s->want,
					   s->m.size, NULL),
			 0);
	assert_int_equal(hpdsl_reading_new(&s->m, &s->r, NULL), 0);
}

static void scene_end(struct scene *s)
{
	hpdsl_reading_free(s->r);
	hpdsl_close(s->ds);
	staged_end(&s->f);
	free(s->want);
	free(s->got);
}

static int64_t read_at(struct scene *s, uint64_t at, size_t n)
{
	return hpdsl_reading_read(s->r, s->ds, at, s->got, n, &s->err);
}

static void expect_at(struct scene *s, uint64_t at, size_t n)
{
	uint64_t left = at < s->m.size ? s->m.size - at : 0;
	int64_t there = n < left ? (int64_t)n : (int64_t)left;

	if (read_at(s, at, n) != there)
		fail_msg("%s", s->err.msg);
	assert_memory_equal(s->got, s->want + at, there);
}

/* From the start to the end; what comes before the end is not looked at. */
static int go_through(struct scene *s, size_t step)
{
	int64_t n = 1;

	for (uint64_t at = 0; n > 0; at += (uint64_t)n) {
		n = read_at(s, at, step);
		if (n == 0)
			assert_int_equal(at, s->m.size);
	}
	return (int)n;
}

static void expect_all(struct scene *s, size_t step)
{
	for (uint64_t at = 0; at <= s->m.size; at += step)
		expect_at(s, at, step);
}

/* ---- In parts --------------------------------------------------------- */

static void test_parts(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		struct scene s;

		scene_begin(&s, zstd, true);
		expect_all(&s, PART);
		expect_all(&s, s.m.size - 1);
		expect_all(&s, s.m.size);
		expect_all(&s, s.m.size + 1);
		for (uint64_t at = s.m.size - 1; at < s.m.size + 3; at++)
			expect_at(&s, at, 10);
		expect_at(&s, UINT64_MAX, 10);
		expect_at(&s, 5, 0);
		scene_end(&s);
	}
}

static void test_not_of_the_index(void **state)
{
	struct hpdsl_reading *r;
	struct scene s;

	(void)state;
	scene_begin(&s, 0, true);
	s.m.offset++;
	assert_int_equal(hpdsl_reading_new(&s.m, &r, NULL), 0);
	assert_int_equal(hpdsl_reading_read(r, s.ds, 0, s.got, 5, &s.err),
			 HPDSL_ECORRUPT);
	hpdsl_reading_free(r);
	hpdsl_reading_free(NULL);
	scene_end(&s);
}

/* ---- Damage ----------------------------------------------------------- */

/* It is told in place of the last byte, also if others were read between; no
 * end is told then, until all of it was right. */
static void test_flipped_here(void **state)
{
	(void)state;
	for (int between = 0; between < 2; between++) {
		struct scene s;
		uint64_t size, at;

		scene_begin(&s, 0, true);
		size = s.m.size;
		packed_flip(s.file, s.m.offset + 5, 0);
		for (at = 0; at + PART < size; at += PART) {
			assert_int_equal(read_at(&s, at, PART), PART);
			if (between) {
				expect_at(&s, size - 70, 70);
				expect_at(&s, at + PART / 2, PART / 4);
			}
		}
		/* What begins before it, too. */
		if (between)
			at -= 100;
		assert_int_equal(read_at(&s, at, PART + 100), HPDSL_ECORRUPT);
		assert_non_null(strstr(s.err.msg, "large.bin': checksum"));
		for (int k = 0; k < 2; k++) {
			assert_int_equal(read_at(&s, at, PART), HPDSL_ECORRUPT);
			assert_int_equal(read_at(&s, 1, 1), HPDSL_ECORRUPT);
			assert_int_equal(read_at(&s, size, 1), HPDSL_ECORRUPT);
		}
		/* The origin has it right. */
		expect_at(&s, 0, PART);
		assert_int_equal(read_at(&s, size - 1, 1), HPDSL_ECORRUPT);
		expect_all(&s, PART);
		expect_at(&s, size - 1, 1);
		staged_expect(s.ds, 0, 0, 1);
		scene_end(&s);
	}
}

/* It is wrong here, and there is no origin any more: it stays an error. */
static void test_no_origin(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, 0, true);
	packed_flip(s.file, s.m.offset + 5, 0);
	staged_hide_origin(&s.f);
	for (int k = 0; k < 3; k++) {
		assert_true(go_through(&s, PART) < 0);
		assert_true(read_at(&s, s.m.size - 1, 1) < 0);
		assert_true(read_at(&s, s.m.size, 1) < 0);
	}
	assert_true(read_at(&s, 0, s.m.size) < 0);
	staged_show_origin(&s.f);
	expect_all(&s, PART);
	scene_end(&s);
}

/* The chunk is bad here and the origin gone, but the member is good. */
static void test_what_is_left(void **state)
{
	struct hpdsl_member other;
	struct scene s;
	char byte[64 << 10];

	(void)state;
	scene_begin(&s, 0, true);
	/* Another member of the chunk, which makes it known as bad. */
	assert_int_equal(
		hpdsl_member_get(s.ds,
				 s.m.number ? s.m.number - 1 : s.m.number + 1,
				 &other, NULL),
		0);
	if (other.chunk != s.m.chunk)
		hpdsl_member_get(s.ds, s.m.number + 1, &other, NULL);
	assert_int_equal(other.chunk, s.m.chunk);
	packed_flip(s.file, other.offset, 0);
	staged_hide_origin(&s.f);
	assert_true(hpdsl_member_read(s.ds, &other, 0, byte, other.size,
				      &s.err) < 0);
	expect_all(&s, PART);
	expect_at(&s, 77, 1000);
	staged_show_origin(&s.f);
	scene_end(&s);
}

/* ---- Other nodes ------------------------------------------------------ */

static void test_other_nodes(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, 0, false);
	expect_all(&s, PART);
	assert_int_equal(staged_sources(s.ds).peer_bytes, s.m.size);
	assert_int_equal(staged_sources(s.ds).origin_bytes, 0);
	scene_end(&s);
}

/* They send it wrong: the next pass is the origin's, which shows who it was. */
static void test_wrong_there(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, 0, false);
	s.o.flips = true;
	assert_int_equal(go_through(&s, PART), HPDSL_ECORRUPT);
	assert_int_equal(s.o.bad, 0);
	expect_all(&s, PART);
	assert_int_equal(s.o.bad, 1);
	assert_int_equal(staged_sources(s.ds).origin_bytes, s.m.size);
	scene_end(&s);
}

/* The first half was here, the second is theirs: nobody is blamed for it. */
static void test_of_two_sources(void **state)
{
	struct scene s;
	uint64_t at;

	(void)state;
	scene_begin(&s, 0, true);
	for (at = 0; at < s.m.size / 2; at += PART)
		expect_at(&s, at, PART);
	assert_int_equal(truncate(s.file, (off_t)(s.m.offset + at)), 0);
	s.o.there = s.o.flips = true;
	for (; at + PART < s.m.size; at += PART)
		assert_int_equal(read_at(&s, at, PART), PART);
	assert_int_equal(read_at(&s, at, PART), HPDSL_ECORRUPT);
	assert_non_null(strstr(s.err.msg, "of what two sources gave"));
	assert_int_equal(s.o.bad, 0);
	s.o.flips = false;
	expect_all(&s, PART);
	assert_int_equal(s.o.bad, 0);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_not_of_the_index),
		cmocka_unit_test(test_flipped_here),
		cmocka_unit_test(test_no_origin),
		cmocka_unit_test(test_what_is_left),
		cmocka_unit_test(test_other_nodes),
		cmocka_unit_test(test_wrong_there),
		cmocka_unit_test(test_of_two_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
