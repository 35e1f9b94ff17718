/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stretches of a chunk to frames: the same bytes however the chunk is cut
 * up and whoever compresses what when, and nothing that does not decompress to
 * what went in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "level.h"
#include "plan/frame_cut.h"
#include "wrap.h"
#include "write/zst_file.h"

#define FRAME HP_FRAME_BYTES
#define HEADER 512
#define MAX_FRAMES 200

/* One member each; with its header and padding a sample takes .. */
static const uint32_t sizes[] = {
	100,
	0, /* a header alone */
	0,
	5000,
	FRAME - HEADER,	    /* exactly a frame */
	FRAME - HEADER,	    /* so that borders of frames and .. */
	FRAME / 2 - HEADER, /* .. of stretches meet */
	FRAME / 2 - HEADER,
	FRAME - HEADER + 1, /* one block over */
	1,
	200000,
	2 * FRAME - HEADER,
	300,
	(1 << 20) + 17, /* of several stretches */
	FRAME - 2 * HEADER,
	0, /* exactly full */
	300000,
	400000,
	40000,
	40000,
	40000,
	40000,
};
enum { N = sizeof sizes / sizeof *sizes };

static struct hp_file files[N];
static uint64_t samples[N + 1];
static struct hp_list list;
static struct hp_plan plan;
static uint64_t bytes;
static uint8_t *plain;

struct made {
	uint8_t *stored;
	size_t n;
	struct hp_seek_entry rows[MAX_FRAMES];
	uint32_t n_rows;
};

/* Words, so that levels and window sizes matter, and some noise. */
static void fill(uint8_t *p, uint64_t n)
{
	uint64_t x = 88172645463325252u;

	for (uint64_t i = 0; i < n;) {
		char word[24];
		int len;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		len = snprintf(word, sizeof word, x % 5 ? "w%u " : "%u,",
			       (unsigned)(x >> 40) % (x % 7 ? 300 : 100000));
		for (int k = 0; k < len && i < n; k++)
			p[i++] = (uint8_t)word[k];
	}
}

static int set_up(void **state)
{
	struct hpdsl_pack_options opt = { .chunks = 1,
					  .shuffle = HPDSL_SHUFFLE_NONE };
	static char paths[N][16];
	struct hpdsl_error err;

	(void)state;
	for (int i = 0; i < N; i++) {
		snprintf(paths[i], sizeof paths[i], "%03d.bin", i);
		files[i].path = paths[i];
		files[i].path_len = (uint16_t)strlen(paths[i]);
		files[i].size = sizes[i];
		files[i].mode = 0644;
		samples[i] = (uint64_t)i;
	}
	samples[N] = N;
	list = (struct hp_list){
		.files = files, .n_files = N, .samples = samples, .n_samples = N
	};
	assert_int_equal(hp_plan_make(&plan, &list, &opt, &err), 0);
	bytes = hp_plan_chunk_bytes(&plan, 0);
	plain = malloc(bytes);
	assert_non_null(plain);
	fill(plain, bytes);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	hp_plan_release(&plan);
	free(plain);
	return 0;
}

/* ---- Making them ------------------------------------------------------ */

static struct hp_stretch *stretch_new(uint64_t offset, uint32_t len)
{
	struct hp_stretch *s = calloc(1, sizeof *s);
	uint8_t *memory = malloc(FRAME + len);

	assert_non_null(s);
	assert_non_null(memory);
	s->buf = memory + FRAME;
	memcpy(s->buf, plain + offset, len);
	s->offset = offset;
	s->len = len;
	/* Exactly so large, for the sanitizer. */
	s->out = malloc(hp_stretch_room(len));
	s->frame = calloc(hp_stretch_frames(len), sizeof *s->frame);
	assert_non_null(s->out);
	assert_non_null(s->frame);
	return s;
}

static void stretch_free(struct hp_stretch *s)
{
	free(s->buf - FRAME);
	free(s->out);
	free(s->frame);
	free(s);
}

static void take(struct made *m, const struct hp_stretch *s)
{
	assert_true(m->n_rows + s->n_frames <= MAX_FRAMES);
	memcpy(m->rows + m->n_rows, s->frame, s->n_frames * sizeof *s->frame);
	assert_int_equal(s->first, m->n_rows);
	m->n_rows += s->n_frames;
	for (int i = 0; i < 3; i++) {
		memcpy(m->stored + m->n, s->part[i].p, s->part[i].n);
		m->n += s->part[i].n;
	}
}

/*
 * In stretches of len bytes; backwards: all are cut, then compressed in the
 * wrong order, by two compressors in turn.
 */
static int make(int level, uint32_t len, bool backwards, struct made *m,
		struct hpdsl_error *err)
{
	uint32_t n = (uint32_t)((bytes + len - 1) / len);
	struct hp_stretch **s = calloc(n, sizeof(struct hp_stretch *));
	struct hp_zstd *zip[2] = { hp_zstd_new(level), hp_zstd_new(level) };
	struct hp_frames f = { .stream = hp_zstd_new(level) };
	int r = 0;

	assert_non_null(s);
	m->n = m->n_rows = 0;
	m->stored = malloc(bytes + bytes / 64 + 65536);
	assert_non_null(m->stored);
	hp_frames_begin(&f, &plan, 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)i * len, left = bytes - at;

		s[i] = stretch_new(at, left < len ? (uint32_t)left : len);
		if (r == 0)
			r = hp_frames_cut(&f, s[i], err);
		if (r == 0 && !backwards)
			r = hp_stretch_compress(zip[0], 0, s[i], err);
	}
	for (uint32_t i = n; r == 0 && backwards && i-- > 0;)
		r = hp_stretch_compress(zip[i % 2], 0, s[i], err);
	for (uint32_t i = 0; i < n; i++) {
		if (r == 0)
			take(m, s[i]);
		stretch_free(s[i]);
	}
	free(s);
	hp_zstd_free(zip[0]);
	hp_zstd_free(zip[1]);
	hp_zstd_free(f.stream);
	hp_frames_release(&f);
	return r;
}

static void must_make(int level, uint32_t len, bool backwards, struct made *m)
{
	struct hpdsl_error err;

	if (make(level, len, backwards, m, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Frames tile the chunk as the walk says; each one alone is its part. */
static void check(const struct made *m)
{
	struct hp_frame_walk w;
	uint64_t at = 0, stored = 0;
	uint8_t *out = malloc(2 << 20);

	assert_non_null(out);
	hp_frame_walk_begin(&w, &plan, 0);
	for (uint32_t i = 0; i < m->n_rows; i++) {
		const struct hp_seek_entry *row = &m->rows[i];
		const uint8_t *frame = m->stored + stored;

		assert_int_equal(row->plain, hp_frame_walk_next(&w));
		assert_int_equal(ZSTD_getFrameContentSize(frame, row->stored),
				 row->plain);
		assert_true(frame[4] & 4); /* has a checksum */
		assert_int_equal(
			ZSTD_findFrameCompressedSize(frame, row->stored),
			row->stored);
		assert_int_equal(
			ZSTD_decompress(out, 2 << 20, frame, row->stored),
			row->plain);
		assert_memory_equal(out, plain + at, row->plain);
		assert_int_equal(row->checksum,
				 (uint32_t)XXH64(out, row->plain, 0));
		at += row->plain;
		stored += row->stored;
	}
	assert_int_equal(hp_frame_walk_next(&w), 0);
	assert_int_equal(at, bytes);
	assert_int_equal(stored, m->n);
	free(out);
}

static void same(const struct made *a, const struct made *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->stored, b->stored, a->n);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof *a->rows);
}

static void test_stretches(void **state)
{
	static const uint32_t lens[] = {
		512,	     1536,	65536,		 FRAME,
		FRAME + 512, 3 * FRAME, 2 * FRAME - 512, 1 << 20,
		4 << 20,
	};
	static const int levels[] = { 3, 1, 6, 9 };
	const size_t step = at_level("more") ? 1 : 3;
	struct made one, other;

	(void)state;
	for (size_t l = 0; l < sizeof levels / sizeof *levels; l += step) {
		must_make(levels[l], (uint32_t)bytes, false, &one);
		check(&one);
		for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
			must_make(levels[l], lens[i], i % 2, &other);
			same(&one, &other);
			free(other.stored);
		}
		free(one.stored);
	}
}

static void test_high_levels(void **state)
{
	const int most = at_level("more") ? 22 : 19;
	struct made one, other;

	(void)state;
	for (int level = 19; level <= most; level += 3) {
		must_make(level, (uint32_t)bytes, false, &one);
		check(&one);
		must_make(level, 300 << 10, true, &other);
		same(&one, &other);
		free(one.stored);
		free(other.stored);
	}
}

/* ---- A compressor that lies ------------------------------------------- */

enum lie {
	FLIP,	 /* a bit of the output */
	CUT,	 /* the last byte is lost, and filled up by what follows */
	CHANGED, /* a sound frame of other bytes */
	NO_CHECKSUM,
	FAILS,
};

static long call, lie_at;
static enum lie lie;
static bool lied;

static size_t lying(ZSTD_CCtx *c, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
		    ZSTD_EndDirective end)
{
	size_t out_from = out->pos, in_from = in->pos;
	uint8_t *copy = NULL;
	size_t r;

	if (++call != lie_at)
		return wrap_compress_really(c, out, in, end);
	if (lie == FAILS) {
		lied = true;
		return (size_t)-ZSTD_error_memory_allocation;
	}
	if (lie == NO_CHECKSUM)
		ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 0);
	if (lie == CHANGED && in->size > in->pos) {
		copy = malloc(in->size);
		assert_non_null(copy);
		memcpy(copy, in->src, in->size);
		copy[in->pos + (in->size - in->pos) / 2] ^= 1;
		in->src = copy;
		lied = true;
	}
	r = wrap_compress_really(c, out, in, end);
	free(copy);
	in->src = NULL;
	assert_true(in->pos >= in_from);
	/* A call that gives nothing is no place for the others. */
	if (out->pos > out_from && lie != CHANGED) {
		uint8_t *p = out->dst;

		lied = true;
		if (lie == FLIP)
			p[(out_from + out->pos) / 2] ^= 0x10;
		else if (lie == CUT)
			out->pos--;
	}
	return r;
}

static void test_lies(void **state)
{
	struct made m;
	long lies = 0;

	(void)state;
	wrap_compress = lying;
	for (lie = FLIP; lie <= FAILS; lie++) {
		/* Every call at first, then some of them. */
		for (lie_at = 1;; lie_at += 1 + lie_at / 16) {
			struct hpdsl_error err = { 0 };
			int r;

			call = 0;
			lied = false;
			r = make(1, 500 << 10, true, &m, &err);
			free(m.stored);
			/* What the first call of a frame decides. */
			if (lied && lie == NO_CHECKSUM && r == 0) {
				assert_true(call >= lie_at);
				continue;
			}
			if (!lied && r == 0) {
				if (call < lie_at)
					break;
				continue;
			}
			lies++;
			assert_int_equal(r, lie == FAILS ? -ENOMEM :
							   HPDSL_ECORRUPT);
			assert_non_null(
				strstr(err.msg, "chunk-000000.tar.zst"));
			assert_non_null(strstr(err.msg, "frame "));
		}
	}
	wrap_compress = NULL;
	print_message("# %ld lies\n", lies);
	assert_true(lies > 100);
}

/* ---- The 5 % ---------------------------------------------------------- */

static void test_saves(void **state)
{
	struct hp_zst_file f = { .n = 1 };
	uint64_t table = hp_seek_table_bytes(1);

	(void)state;
	f.bytes = 950 - table;
	assert_true(hp_zst_saves(&f, 1000));
	f.bytes++;
	assert_false(hp_zst_saves(&f, 1000));
	/* 5 % of 1010 is 50.5. */
	f.bytes = 959 - table;
	assert_true(hp_zst_saves(&f, 1010));
	f.bytes++;
	assert_false(hp_zst_saves(&f, 1010));
	f.bytes = 2000;
	assert_false(hp_zst_saves(&f, 1000));
	f.bytes = UINT64_C(1) << 62;
	assert_true(hp_zst_saves(&f, UINT64_C(1) << 63));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_high_levels),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_saves),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
