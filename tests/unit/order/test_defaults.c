/* SPDX-License-Identifier: Apache-2.0 */
/* The defaults of an order, for sets of all shapes on 1 to 4,096 ranks. */
#include "order/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* samples, bytes, chunks, shuffled, batch_size */
#define IMAGES 1281167, 1281167ull * 110900, 2115
#define PHOTOS 9000000, 9000000ull << 16, 8000
#define LARGE 100000000, 10000000000000, 32768
#define RECORDS 2000000000, 2000000000ull << 10, 32768
#define FILMS 200, 100000000000, 200
#define RAGGED 2000000, 760000000000, 10000
#define SMALL 1000000, 1000000000, 100

static const struct row {
	struct hp_seq_set set;
	uint32_t batch;
	uint64_t lanes, piece;
	uint32_t windows;
} rows[] = {
	{ { IMAGES, true, 64, 1, 0 }, 64, 64, 37, 16 },
	{ { IMAGES, true, 64, 8, 0 }, 512, 512, 37, 16 },
	{ { IMAGES, true, 64, 64, 0 }, 4096, 4096, 37, 8 },
	{ { IMAGES, true, 64, 512, 0 }, 32768, 16384, 9, 8 },
	{ { IMAGES, true, 64, 4096, 0 }, 262144, 16384, 9, 8 },
	{ { PHOTOS, true, 64, 1, 0 }, 64, 64, 64, 16 },
	{ { PHOTOS, true, 64, 512, 0 }, 32768, 32768, 34, 8 },
	{ { PHOTOS, true, 64, 4096, 0 }, 262144, 65536, 17, 8 },
	{ { LARGE, true, 32, 1, 0 }, 32, 64, 41, 16 },
	{ { LARGE, true, 32, 4096, 0 }, 131072, 131072, 41, 16 },
	{ { RECORDS, true, 1024, 1, 0 }, 1024, 256, 4096, 16 },
	{ { RECORDS, true, 1024, 512, 0 }, 524288, 131072, 1907, 8 },
	{ { RECORDS, true, 1024, 4096, 0 }, 4194304, 131072, 1907, 8 },
	{ { FILMS, true, 1, 1, 0 }, 1, 64, 1, 6 },
	{ { FILMS, true, 1, 8, 0 }, 8, 64, 1, 6 },
	{ { FILMS, true, 1, 512, 0 }, 512, 512, 1, 6 },
	{ { RAGGED, true, 16, 1, 0 }, 16, 64, 11, 16 },
	{ { RAGGED, true, 16, 4096, 0 }, 65536, 65536, 3, 8 },
	{ { IMAGES, false, 64, 1, 0 }, 64, 512, 9, 1 },
	{ { IMAGES, false, 64, 8, 0 }, 512, 512, 9, 1 },
	{ { LARGE, false, 32, 8, 0 }, 256, 512, 10, 1 },
	/* Workers that read themselves: each has lanes of its own. */
	{ { IMAGES, true, 64, 1, 8 }, 64, 512, 37, 16 },
	{ { LARGE, true, 32, 1, 2 }, 32, 64, 41, 16 },
	{ { LARGE, true, 32, 1, 3 }, 32, 96, 41, 16 },
	/* The edges of the rules, as in hpdsl-order(7). */
	{ { IMAGES, true, 24, 1, 0 }, 24, 72, 37, 16 },
	{ { SMALL, false, 100, 1, 2 }, 100, 600, 238, 1 },
	/* A few samples; more in a batch than there are. */
	{ { 1, 1, 1, true, 1, 1, 0 }, 1, 1, 1, 1 },
	{ { 10, 1000, 1, true, 64, 4, 0 }, 256, 4, 1, 1 },
	{ { 10, 1000, 1, false, 64, 4, 0 }, 256, 4, 1, 1 },
	/* Few bytes: at least 8 samples for a lane. */
	{ { 200, 600000, 1, true, 32, 1, 0 }, 32, 16, 1, 1 },
	{ { 60000, 30000000, 16, true, 256, 1, 0 }, 256, 64, 117, 1 },
	{ { 60000, 30000000, 16, false, 32, 8, 0 }, 256, 512, 14, 1 },
	{ { 511, 1000000, 64, true, 64, 1, 0 }, 64, 32, 1, 2 },
	{ { 512, 1000000, 64, true, 64, 1, 0 }, 64, 64, 1, 2 },
	/* A prime above 256: a lane for each sample, or one a rank. */
	{ { IMAGES, true, 257, 1, 0 }, 257, 257, 37, 16 },
	{ { IMAGES, true, 257, 512, 0 }, 131584, 512, 37, 16 },
};

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		struct hp_seq_order o = { .seed = 1 };

		assert_int_equal(hp_seq_fill(&row->set, &o, NULL), 0);
		assert_int_equal(o.batch, row->batch);
		assert_int_equal(o.lanes, row->lanes);
		assert_int_equal(o.piece, row->piece);
		assert_int_equal(o.windows, row->windows);
		assert_int_equal(o.parts, 1);
	}
}

/* Whatever the set, the result is an order. */
static void test_always_an_order(void **state)
{
	struct hp_seq_set set = { .chunks = 1 };

	(void)state;
	for (uint32_t ranks = 1; ranks <= 100000; ranks = ranks * 3 / 2 + 1)
		for (uint32_t size = 1; size < 5000; size = size * 5 / 4 + 1)
			for (uint64_t bytes = 1; bytes < (uint64_t)1 << 60;
			     bytes *= 37) {
				struct hp_seq_order o = { .seed = 0 };

				set.samples =
					bytes < 100000 ? bytes : bytes / 1000;
				set.bytes = bytes;
				set.shuffled = size % 2;
				set.batch_size = size;
				set.ranks = ranks;
				assert_int_equal(hp_seq_fill(&set, &o, NULL),
						 0);
				assert_true(o.lanes % o.batch == 0 ||
					    o.batch % o.lanes == 0);
				assert_in_range(o.piece, 1, set.samples);
				assert_in_range(o.windows, 1, 16);
			}
}

/* What somebody has chosen stays; a state's batch goes on with other ranks. */
static void test_chosen(void **state)
{
	struct hp_seq_set set = { IMAGES, true, 171, 24, 0 };
	struct hp_seq_order o = { .batch = 4096 };
	struct hp_seq_order all = { 1, 2, 6, 12, 5, 7, 3, 0 };
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hp_seq_fill(&set, &o, NULL), 0);
	assert_int_equal(o.batch, 4096);
	assert_int_equal(o.lanes, 4096);
	assert_int_equal(hp_seq_fill(&set, &all, NULL), 0);
	assert_int_equal(all.batch, 6);
	assert_int_equal(all.lanes, 12);
	assert_int_equal(all.piece, 5);
	assert_int_equal(all.windows, 7);
	assert_int_equal(all.parts, 3);
	all = (struct hp_seq_order){ .lanes = 9, .piece = 5, .plain = true };
	assert_int_equal(hp_seq_fill(&set, &all, NULL), 0);
	assert_true(all.batch == 4104 && all.lanes == 1 && all.piece == 1 &&
		    all.windows == 1 && all.parts == 1);
	set.batch_size = set.ranks = 65536;
	o.batch = 0;
	assert_int_equal(hp_seq_fill(&set, &o, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "order: a batch of 2^32 samples or more");
}

/* What is given counts in the rules for what is not. */
static void test_given(void **state)
{
	struct hp_seq_set set = { IMAGES, true, 320, 8, 0 };
	struct hp_seq_order o = { .batch = 2555 };

	(void)state;
	assert_int_equal(hp_seq_fill(&set, &o, NULL), 0);
	assert_true(o.lanes == 511 && o.piece == 37 && o.windows == 16);
	set = (struct hp_seq_set){ SMALL, true, 64, 1, 0 };
	o = (struct hp_seq_order){ .lanes = 256, .piece = 100 };
	assert_int_equal(hp_seq_fill(&set, &o, NULL), 0);
	assert_true(o.batch == 64 && o.lanes == 256 && o.piece == 100 &&
		    o.windows == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_always_an_order),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
