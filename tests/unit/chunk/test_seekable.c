/* SPDX-License-Identifier: Apache-2.0 */
/* Where the frames of compressed chunks begin, and the seek table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/frame.h"
#include "chunk/seek_table.h"
#include "plan/frame_cut.h"

#include <zstd_errors.h>

#define MAX_SAMPLES 600
#define MAX_FILES (3 * MAX_SAMPLES)
#define GIB (UINT64_C(1) << 30)

static struct hp_file files[MAX_FILES];
static uint64_t samples[MAX_SAMPLES + 1];
static char paths[MAX_FILES][32];

/* n samples of one to three files; size(i) gives the i-th file's bytes. */
static struct hp_list make_list(uint64_t n, uint64_t (*size)(uint64_t i))
{
	struct hp_list list = { .files = files, .samples = samples };

	memset(files, 0, sizeof files);
	for (uint64_t s = 0; s < n; s++) {
		samples[s] = list.n_files;
		for (uint64_t k = 0; k <= s % 3; k++) {
			uint64_t i = list.n_files++;

			snprintf(paths[i], sizeof paths[i], "%06u.%u",
				 (unsigned)s, (unsigned)k);
			files[i].path = paths[i];
			files[i].path_len = (uint16_t)strlen(paths[i]);
			files[i].size = size(i);
			files[i].mode = 0644;
		}
	}
	samples[n] = list.n_files;
	list.n_samples = n;
	return list;
}

/* Ends of the samples of a chunk; their number. */
static size_t sample_ends(const struct hp_plan *plan, uint32_t c,
			  uint64_t ret[MAX_SAMPLES])
{
	struct hp_plan_place at;
	struct hp_plan_walk w;
	uint64_t first = hp_plan_first(plan, c);
	size_t n = 0;

	hp_plan_walk_begin(&w, plan, first, hp_plan_first(plan, c + 1));
	while (hp_plan_walk_next(&w, &at)) {
		n = (size_t)(at.sample - first) + 1;
		ret[n - 1] = at.next;
	}
	return n;
}

/*
 * What the format promises, said another way than the code does it: frames
 * tile the chunk; each is as many whole samples as fit, or a part of one.
 */
static uint32_t check_chunk(const struct hp_plan *plan, uint32_t c)
{
	static uint64_t end[MAX_SAMPLES];
	size_t n = sample_ends(plan, c, end), s = 0;
	uint64_t at = 0, size, begin = 0;
	struct hp_frame_walk w;
	uint32_t frames = 0;

	hp_frame_walk_begin(&w, plan, c);
	for (; (size = hp_frame_walk_next(&w)); frames++) {
		at += size;
		if (s == n) { /* the trailer, alone and last */
			assert_int_equal(at, hp_plan_chunk_bytes(plan, c));
			assert_int_equal(at - size, end[n - 1]);
			assert_true(size >= 1024 && size < 1024 + 10240);
			begin = at;
			s++;
			continue;
		}
		assert_true(s < n);
		if (end[s] - begin > HP_FRAME_BYTES) {
			/* One large sample, the rest of it its last frame. */
			assert_true(at <= end[s]);
			assert_true(size == HP_FRAME_MAX || at == end[s]);
			if (at == end[s])
				begin = end[s++];
			continue;
		}
		assert_true(size <= HP_FRAME_BYTES);
		while (s < n && end[s] <= at)
			s++;
		assert_int_equal(end[s - 1], at);
		/* The next one would not have fitted. */
		if (s < n)
			assert_true(end[s] - begin > HP_FRAME_BYTES);
		begin = at;
	}
	assert_int_equal(s, n + 1);
	assert_int_equal(at, hp_plan_chunk_bytes(plan, c));
	assert_int_equal(hp_frame_walk_next(&w), 0);
	return frames;
}

static uint64_t frames_of(const struct hp_list *list, uint64_t chunks,
			  uint64_t seed)
{
	struct hpdsl_pack_options opt = { .chunks = chunks, .seed = seed };
	struct hp_plan plan;
	struct hpdsl_error err;
	uint64_t n = 0;

	assert_int_equal(hp_plan_make(&plan, list, &opt, &err), 0);
	for (uint32_t c = 0; c < plan.n_chunks; c++)
		n += check_chunk(&plan, c);
	hp_plan_release(&plan);
	return n;
}

static uint64_t small(uint64_t i)
{
	return i * 7919 % 20000;
}

static uint64_t mixed(uint64_t i)
{
	return i % 11 ? i * 7919 % 60000 : i * 104729 % 400000;
}

/* Some over 1 GiB, and some whose rest is tiny or nothing. */
static uint64_t huge(uint64_t i)
{
	static const uint64_t sizes[] = { 3 * GIB,
					  512,
					  2 * GIB - 512,
					  GIB - 511,
					  GIB - 512,
					  (5 * GIB) + 60000,
					  7,
					  1 << 17,
					  9 * GIB,
					  130560,
					  (1 << 17) - 512 - 1 };

	return sizes[i % (sizeof sizes / sizeof *sizes)];
}

static void test_frames_tile_chunks(void **state)
{
	uint64_t (*const kinds[])(uint64_t) = { small, mixed, huge };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		for (uint64_t n = 1; n <= MAX_SAMPLES; n = n * 3 + 1) {
			struct hp_list list = make_list(n, kinds[k]);

			frames_of(&list, 1, 0);
			frames_of(&list, n < 7 ? n : 7, n);
		}
	}
}

static uint64_t exact(uint64_t i)
{
	/* Two samples of one file: header and content fill 64 KiB each. */
	return i == 0 ? 65536 - 512 : i == 1 ? 65024 : 1;
}

/* 128 KiB go in one frame, a block more does not. */
static void test_frame_is_filled(void **state)
{
	struct hp_list list = make_list(3, exact);
	struct hpdsl_pack_options opt = { .chunks = 1,
					  .shuffle = HPDSL_SHUFFLE_NONE };
	struct hp_frame_walk w;
	struct hp_plan plan;

	(void)state;
	for (uint64_t s = 0; s <= 3; s++)
		samples[s] = s;
	list.n_files = 3;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	hp_frame_walk_begin(&w, &plan, 0);
	assert_int_equal(hp_frame_walk_next(&w), HP_FRAME_BYTES);
	assert_int_equal(hp_frame_walk_next(&w), 1024);
	hp_plan_release(&plan);
}

static uint64_t over(uint64_t i)
{
	return i == 0 ? 2 * GIB - 512 + 1 : 100;
}

/* The tail of a large sample is not shared, however small it is. */
static void test_rest_is_alone(void **state)
{
	struct hp_list list = make_list(2, over);
	struct hpdsl_pack_options opt = { .chunks = 1,
					  .shuffle = HPDSL_SHUFFLE_NONE };
	struct hp_frame_walk w;
	struct hp_plan plan;

	(void)state;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	hp_frame_walk_begin(&w, &plan, 0);
	assert_int_equal(hp_frame_walk_next(&w), GIB);
	assert_int_equal(hp_frame_walk_next(&w), GIB);
	assert_int_equal(hp_frame_walk_next(&w), 512);
	assert_int_equal(hp_frame_walk_next(&w), 2 * 1024);
	assert_true(hp_frame_walk_next(&w) >= 1024);
	assert_int_equal(hp_frame_walk_next(&w), 0);
	hp_plan_release(&plan);
}

/* ---- The seek table --------------------------------------------------- */

enum { ENTRIES = 3, TABLE = 8 + 12 * ENTRIES + 9, FILE_BYTES = 6000 + TABLE };

static const struct hp_seek_entry entries[ENTRIES] = {
	{ 1000, 131072, 0x01020304 },
	{ 2000, 1u << 30, 0xffffffff },
	{ 3000, 1024, 0 },
};

static void test_table_bytes(void **state)
{
	static const uint8_t want[TABLE] =
		"\x5e\x2a\x4d\x18\x2d\0\0\0"
		"\xe8\x03\0\0\0\0\2\0\4\3\2\1"
		"\xd0\7\0\0\0\0\0\x40\xff\xff\xff\xff"
		"\xb8\x0b\0\0\0\4\0\0\0\0\0\0"
		"\3\0\0\0\x80\xb1\xea\x92\x8f";
	struct hp_seek_entry again[ENTRIES];
	uint8_t table[TABLE];
	uint32_t n = 0;

	(void)state;
	assert_int_equal(hp_seek_table_bytes(ENTRIES), TABLE);
	hp_seek_table_write(entries, ENTRIES, table);
	assert_memory_equal(table, want, TABLE);
	assert_int_equal(hp_seek_foot_read(table + TABLE - 9, &n, NULL), 0);
	assert_int_equal(n, ENTRIES);
	assert_int_equal(hp_seek_table_read(table, n, FILE_BYTES, again, NULL),
			 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(again[i].stored, entries[i].stored);
		assert_int_equal(again[i].plain, entries[i].plain);
		assert_int_equal(again[i].checksum, entries[i].checksum);
	}
}

/* Plain sizes and checksums are compared with the frames; all else is here. */
static void test_table_flips(void **state)
{
	struct hp_seek_entry again[ENTRIES];
	uint8_t table[TABLE];

	(void)state;
	for (unsigned bit = 0; bit < 8 * TABLE; bit++) {
		unsigned at = bit / 8, field = (at - 8) / 4 % 3;
		uint32_t n = 0;
		int r;

		if (at >= 8 && at < TABLE - 9 && field > 0)
			continue;
		hp_seek_table_write(entries, ENTRIES, table);
		table[at] ^= (uint8_t)(1 << bit % 8);
		r = hp_seek_foot_read(table + TABLE - 9, &n, NULL);
		if (r == 0 && n == ENTRIES)
			r = hp_seek_table_read(table, n, FILE_BYTES, again,
					       NULL);
		/* Another number: the table would begin elsewhere. */
		if (r == 0)
			assert_true(n != ENTRIES);
		else
			assert_int_equal(r, HPDSL_ECORRUPT);
	}
}

static void test_table_limits(void **state)
{
	struct hp_seek_entry bad[ENTRIES], again[ENTRIES];
	uint8_t table[TABLE];
	uint32_t n;

	(void)state;
	memcpy(bad, entries, sizeof bad);
	bad[1].plain = (1u << 30) + 1;
	hp_seek_table_write(bad, ENTRIES, table);
	assert_int_equal(
		hp_seek_table_read(table, ENTRIES, FILE_BYTES, again, NULL),
		HPDSL_ECORRUPT);
	bad[1].plain = 0;
	hp_seek_table_write(bad, ENTRIES, table);
	assert_int_equal(
		hp_seek_table_read(table, ENTRIES, FILE_BYTES, again, NULL),
		HPDSL_ECORRUPT);
	hp_seek_table_write(entries, ENTRIES, table);
	assert_int_equal(
		hp_seek_table_read(table, ENTRIES, FILE_BYTES + 1, again, NULL),
		HPDSL_ECORRUPT);
	hp_put32(table + TABLE - 9, HP_SEEK_FRAMES + 1);
	assert_int_equal(hp_seek_foot_read(table + TABLE - 9, &n, NULL),
			 HPDSL_ECORRUPT);
	hp_put32(table + TABLE - 9, 0);
	assert_int_equal(hp_seek_foot_read(table + TABLE - 9, &n, NULL),
			 HPDSL_ECORRUPT);
}

/* ---- Frames ----------------------------------------------------------- */

static size_t make_frame(uint8_t out[300], int checksum, int size)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t n;

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, checksum);
	ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, size);
	n = ZSTD_compress2(z, out, 300, "0123456789", 10);
	assert_false(ZSTD_isError(n));
	ZSTD_freeCCtx(z);
	return n;
}

static void test_frame(void **state)
{
	ZSTD_DCtx *d = hp_frame_decoder();
	struct hpdsl_error err;
	uint8_t frame[300];
	char out[20];
	uint64_t plain;
	size_t n;

	(void)state;
	n = make_frame(frame, 1, 1);
	assert_int_equal(hp_frame_head(frame, n, &plain, NULL), 0);
	assert_int_equal(plain, 10);
	assert_int_equal(hp_frame_decode(d, frame, n, out, 10, NULL), 0);
	assert_memory_equal(out, "0123456789", 10);
	/* Neither more nor less, of both. */
	assert_int_equal(hp_frame_decode(d, frame, n, out, 11, &err),
			 HPDSL_ECORRUPT);
	assert_int_equal(hp_frame_decode(d, frame, n, out, 9, &err),
			 HPDSL_ECORRUPT);
	assert_int_equal(hp_frame_decode(d, frame, n + 1, out, 10, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "ends early");
	for (size_t k = 0; k < n; k++)
		assert_int_equal(hp_frame_decode(d, frame, k, out, 10, &err),
				 HPDSL_ECORRUPT);
	frame[n - 1] ^= 1;
	assert_int_equal(hp_frame_decode(d, frame, n, out, 10, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "checksum differs");
	n = make_frame(frame, 0, 1);
	assert_int_equal(hp_frame_head(frame, n, &plain, NULL), HPDSL_ECORRUPT);
	n = make_frame(frame, 1, 0);
	assert_int_equal(hp_frame_head(frame, n, &plain, NULL), HPDSL_ECORRUPT);
	memcpy(frame, "\x5e\x2a\x4d\x18\4\0\0\0abcd", 12);
	assert_int_equal(hp_frame_head(frame, 12, &plain, NULL),
			 HPDSL_ECORRUPT);
	ZSTD_freeDCtx(d);
}

/* A frame may want a window of 128 MiB, as level 22 does, and no larger one. */
static void test_window(void **state)
{
	/* Magic; content size in 4 bytes, checksum; window; 512 MiB. */
	uint8_t head[] = "\x28\xb5\x2f\xfd\x84\0\0\0\0\x20";

	(void)state;
	for (int log = 26; log <= 30; log++) {
		ZSTD_DCtx *d = hp_frame_decoder();
		ZSTD_outBuffer out = { head, 0, 0 };
		ZSTD_inBuffer in = { head, 10, 0 };
		uint64_t plain = 1 << 29;
		size_t r;

		head[5] = (uint8_t)((log - 10) << 3);
		/* By itself, too: not all decoders look at it. */
		assert_int_equal(hp_frame_head(head, 10, &plain, NULL),
				 log <= 27 ? 0 : HPDSL_ECORRUPT);
		assert_int_equal(plain, 1 << 29);
		r = ZSTD_decompressStream(d, &out, &in);
		if (log <= 27)
			assert_false(ZSTD_isError(r));
		else
			assert_int_equal(
				ZSTD_getErrorCode(r),
				ZSTD_error_frameParameter_windowTooLarge);
		ZSTD_freeDCtx(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_tile_chunks),
		cmocka_unit_test(test_frame_is_filled),
		cmocka_unit_test(test_rest_is_alone),
		cmocka_unit_test(test_table_bytes),
		cmocka_unit_test(test_table_flips),
		cmocka_unit_test(test_table_limits),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests_name("seekable", tests, NULL, NULL);
}
