/* SPDX-License-Identifier: Apache-2.0 */
/* Plans over hand-made lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/perm.h"
#include "format/names.h"
#include "plan/plan.h"

#define MAX_SAMPLES 1000
#define MAX_FILES (3 * MAX_SAMPLES)

static struct hp_file files[MAX_FILES];
static uint64_t samples[MAX_SAMPLES + 1];
static char paths[MAX_FILES][300];

/* n samples of one to three files, some with long paths, of mixed sizes. */
static struct hp_list make_list(uint64_t n)
{
	struct hp_list list = { .files = files, .samples = samples };

	memset(files, 0, sizeof files);
	for (uint64_t s = 0; s < n; s++) {
		samples[s] = list.n_files;
		for (uint64_t k = 0; k <= s % 3; k++) {
			uint64_t i = list.n_files++;
			int width = i % 7 ? 6 : 200;

			snprintf(paths[i], sizeof paths[i],
				 "%0*" PRIu64 ".%" PRIu64, width, s, k);
			files[i].path = paths[i];
			files[i].path_len = (uint16_t)strlen(paths[i]);
			files[i].size = i * 37 % 3000;
			files[i].mode = 0644;
		}
	}
	samples[n] = list.n_files;
	list.n_samples = n;
	return list;
}

/* Fails unless chunk c holds its samples' members, one behind the other. */
static uint64_t check_chunk(const struct hp_plan *plan, uint32_t c, char *seen)
{
	uint64_t end = hp_plan_first(plan, c + 1), offset = 0, file = 0;
	uint64_t sample = UINT64_MAX;
	struct hp_plan_walk w;
	struct hp_plan_place at;

	hp_plan_walk_begin(&w, plan, hp_plan_first(plan, c), end);
	while (hp_plan_walk_next(&w, &at) > 0) {
		const struct hp_file *f = &plan->list->files[at.file];
		struct hp_tar_member m;
		uint64_t s = hp_plan_sample(plan, at.sample);

		if (at.sample != sample)
			file = plan->list->samples[s];
		sample = at.sample;
		assert_true(sample >= hp_plan_first(plan, c) && sample < end);
		assert_int_equal(at.file, file++);
		assert_true(at.file < plan->list->samples[s + 1]);
		assert_false(seen[at.file]);
		seen[at.file] = 1;
		hp_plan_header(plan->list, at.file, &m);
		assert_int_equal(at.header, offset);
		assert_int_equal(at.data, offset + hp_tar_header_size(&m));
		assert_int_equal(at.next, at.data + hp_tar_padded(f->size));
		offset = at.next;
	}
	assert_int_equal(sample, end - 1);
	assert_int_equal(hp_plan_walk_next(&w, &at), 0);
	assert_int_equal(hp_plan_chunk_bytes(plan, c), hp_tar_total(offset));
	return hp_tar_total(offset);
}

/* Every file once; counts within one of each other; sums right. */
static void check_plan(const struct hp_plan *plan)
{
	uint64_t total = 0, bytes = 0, q = plan->n_samples / plan->n_chunks;
	char seen[MAX_FILES] = { 0 };

	assert_int_equal(hp_plan_first(plan, 0), 0);
	assert_int_equal(hp_plan_first(plan, plan->n_chunks), plan->n_samples);
	for (uint32_t c = 0; c < plan->n_chunks; c++) {
		uint64_t n =
			hp_plan_first(plan, c + 1) - hp_plan_first(plan, c);
		uint64_t size = check_chunk(plan, c, seen);

		assert_true(n == q || n == q + 1);
		assert_true(size >= plan->chunk_min && size <= plan->chunk_max);
		total += size;
	}
	for (uint64_t i = 0; i < plan->list->n_files; i++) {
		assert_true(seen[i]);
		bytes += plan->list->files[i].size;
	}
	assert_int_equal(plan->tar_bytes, total);
	assert_int_equal(plan->bytes, bytes);
	assert_true(plan->chunk_min <= plan->chunk_median &&
		    plan->chunk_median <= plan->chunk_max);
}

/* Makes a plan, checks it and returns its number of chunks. */
static uint32_t planned(uint64_t n, const struct hpdsl_pack_options *opt)
{
	struct hp_list list = make_list(n);
	struct hpdsl_error err;
	struct hp_plan plan;
	uint32_t chunks;

	assert_int_equal(hp_plan_make(&plan, &list, opt, &err), 0);
	check_plan(&plan);
	chunks = plan.n_chunks;
	hp_plan_release(&plan);
	return chunks;
}

static void check_error(uint64_t n, const struct hpdsl_pack_options *opt,
			const char *text)
{
	struct hp_list list = make_list(n);
	struct hp_plan plan = { .n_chunks = 77 };
	struct hpdsl_error err;

	assert_int_equal(hp_plan_make(&plan, &list, opt, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, text);
	assert_int_equal(plan.n_chunks, 77);
}

static void test_walk(void **state)
{
	const uint64_t ns[] = { 1, 2, 3, 10, 100, 999 };

	(void)state;
	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
		for (uint64_t c = 1; c <= ns[i]; c = c * 3 + i % 2) {
			struct hpdsl_pack_options opt = { .chunks = c };

			assert_int_equal(planned(ns[i], &opt), c);
			opt.shuffle = HPDSL_SHUFFLE_NONE;
			assert_int_equal(planned(ns[i], &opt), c);
		}
	}
}

static void test_order(void **state)
{
	struct hpdsl_pack_options opt = { .chunks = 7, .seed = 42 };
	struct hp_list list = make_list(100);
	struct hp_perm perm;
	struct hp_plan plan;

	(void)state;
	hp_perm_init(&perm, 100, hp_perm_key(42, "pack", NULL, 0));
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	for (uint64_t p = 0; p < 100; p++)
		assert_int_equal(hp_plan_sample(&plan, p),
				 hp_perm_at(&perm, p));
	hp_plan_release(&plan);
	opt.shuffle = HPDSL_SHUFFLE_NONE;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	assert_null(plan.order);
	assert_int_equal(hp_plan_sample(&plan, 13), 13);
	hp_plan_release(&plan);
}

static void test_first_chunks_are_larger(void **state)
{
	struct hpdsl_pack_options opt = { .chunks = 4 };
	struct hp_list list = make_list(10);
	struct hp_plan plan;

	(void)state;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	assert_int_equal(hp_plan_first(&plan, 1), 3);
	assert_int_equal(hp_plan_first(&plan, 2), 6);
	assert_int_equal(hp_plan_first(&plan, 3), 8);
	hp_plan_release(&plan);
}

/* 90 samples of one file: 512 bytes of header and 512 of data each. */
static uint32_t automatic(uint64_t chunk_size, uint64_t multiple_of)
{
	struct hpdsl_pack_options opt = { .chunk_size = chunk_size,
					  .multiple_of = multiple_of };
	struct hp_list list = { .files = files,
				.n_files = 90,
				.samples = samples,
				.n_samples = 90 };
	struct hp_plan plan;
	uint32_t chunks;

	for (uint64_t i = 0; i < 90; i++) {
		files[i] = (struct hp_file){ .path = "a",
					     .path_len = 1,
					     .size = 1 + i };
		samples[i + 1] = i + 1;
	}
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	check_plan(&plan);
	chunks = plan.n_chunks;
	hp_plan_release(&plan);
	return chunks;
}

static void test_automatic(void **state)
{
	(void)state;
	assert_int_equal(automatic(0, 0), 1);
	assert_int_equal(automatic(10 * 1024, 0), 9);
	assert_int_equal(automatic(1, 0), 90);
	assert_int_equal(automatic(UINT64_MAX, 0), 1);
	assert_int_equal(automatic(36864, 0), 3); /* 2.5 is rounded up */
	assert_int_equal(automatic(36865, 0), 2);
	assert_int_equal(automatic(10 * 1024, 4), 12);
	assert_int_equal(automatic(10 * 1024, 9), 9);
	assert_int_equal(automatic(0, 90), 90);
}

/*
 * Chunks of n samples of one file of size bytes each, in the order of the list;
 * 0: refused.
 */
static uint32_t large(uint64_t n, uint64_t size, struct hpdsl_pack_options opt)
{
	hp_auto_free struct hp_file *many = calloc(n, sizeof *many);
	hp_auto_free uint64_t *first = hp_array(n + 1, sizeof *first);
	struct hp_list list = {
		.files = many, .n_files = n, .samples = first, .n_samples = n
	};
	struct hpdsl_error err;
	struct hp_plan plan;
	uint32_t chunks;

	assert_non_null(many);
	assert_non_null(first);
	for (uint64_t i = 0; i <= n; i++)
		first[i] = i;
	for (uint64_t i = 0; i < n; i++) {
		many[i].path = "a";
		many[i].path_len = 1;
		many[i].size = size;
	}
	opt.shuffle = HPDSL_SHUFFLE_NONE;
	if (hp_plan_make(&plan, &list, &opt, &err) < 0) {
		assert_string_equal(err.msg,
				    "1000002 chunks are more than 1000000");
		return 0;
	}
	assert_int_equal(plan.bytes, n * size);
	assert_true(plan.chunk_max - plan.chunk_min <= size + 20480);
	chunks = plan.n_chunks;
	hp_plan_release(&plan);
	return chunks;
}

/* A sample of so many blocks of 512 in the chunk. */
static uint64_t blocks(uint64_t n)
{
	return 512 * (n - 1);
}

/*
 * Unasked, chunks grow from 64 MiB on to 1 GiB, where there would be more than
 * 32,768 of them, and then their number does.
 */
static void test_large_inputs(void **state)
{
	const struct hpdsl_pack_options none = { 0 };
	const uint64_t mib = 2048;

	(void)state;
	assert_int_equal(large(300, blocks(mib), none), 5);
	/* 1.28 million of 110 KB, as 10,000 of 14 MB: 64 MiB yet */
	assert_int_equal(large(10000, 14080000, none), 2098);
	/* 2 TiB are 32,768 of 64 MiB: one more would be, and is not */
	assert_int_equal(large(65536, blocks(32 * mib), none), 32768);
	assert_int_equal(large(65537, blocks(32 * mib), none), 32768);
	/* 10 TB: 32,768 of 291 MiB */
	assert_int_equal(large(100000, 100000000, none), 32768);
	/* 32 TiB are 32,768 of 1 GiB; from here on there are more */
	assert_int_equal(large(65536, blocks(512 * mib), none), 32768);
	assert_int_equal(large(65538, blocks(512 * mib), none), 32769);
	/* 100 TB: 93,000 of 1 GiB */
	assert_int_equal(large(200000, 500000000, none), 93132);
	/* never more chunks than samples */
	assert_int_equal(large(20000, UINT64_C(1) << 40, none), 20000);
}

/* The number of nodes goes into any of them. */
static void test_large_multiples(void **state)
{
	struct hpdsl_pack_options opt = { .multiple_of = 1000 };

	(void)state;
	assert_int_equal(large(100000, 100000000, opt), 33000);
	assert_int_equal(large(200000, 500000000, opt), 94000);
	opt.multiple_of = 50000;
	assert_int_equal(large(100000, 100000000, opt), 50000);
}

/* A dataset has 1,000,000 chunks at most. */
static void test_most_chunks(void **state)
{
	struct hpdsl_pack_options opt = { .chunk_size = 1 };

	(void)state;
	assert_int_equal(large(1000003, 1, opt), 1000000);
	opt.multiple_of = 3;
	assert_int_equal(large(1000003, 1, opt), 0);
}

static void test_multiple_of(void **state)
{
	struct hpdsl_pack_options opt = { .chunks = 10, .multiple_of = 4 };

	(void)state;
	assert_int_equal(planned(100, &opt), 12);
	opt.chunks = 12;
	assert_int_equal(planned(100, &opt), 12);
	check_error(11, &opt, "11 samples cannot fill 12 chunks");
	opt.multiple_of = UINT64_MAX;
	check_error(11, &opt,
		    "11 samples cannot fill 18446744073709551615 chunks");
	opt.multiple_of = UINT64_MAX / 2 + 1;
	opt.chunks = UINT64_MAX;
	check_error(11, &opt,
		    "11 samples cannot fill 18446744073709551615 chunks");
}

static void test_samples_per_chunk(void **state)
{
	struct hpdsl_pack_options opt = { .samples_per_chunk = 10 };

	(void)state;
	assert_int_equal(planned(100, &opt), 10);
	assert_int_equal(planned(101, &opt), 11);
	assert_int_equal(planned(9, &opt), 1);
	opt.samples_per_chunk = 1;
	assert_int_equal(planned(17, &opt), 17);
	opt.samples_per_chunk = UINT64_MAX;
	assert_int_equal(planned(17, &opt), 1);
}

static void test_errors(void **state)
{
	struct hpdsl_pack_options none = { 0 }, many = { .chunks = 16 };
	struct hpdsl_pack_options two = { .chunks = 2, .chunk_size = 5 };

	(void)state;
	check_error(0, &none, "no samples");
	check_error(12, &many, "12 samples cannot fill 16 chunks");
	many.chunks = 2;
	check_error(1, &many, "1 sample cannot fill 2 chunks");
	check_error(12, &two,
		    "only one of chunk size, number of chunks and samples per "
		    "chunk can be given");
}

static void test_too_many_chunks(void **state)
{
	struct hpdsl_pack_options opt = { .chunks = HP_CHUNKS_MAX + 1 };
	struct hp_list list = { .n_samples = 2 * HP_CHUNKS_MAX };
	struct hpdsl_error err;
	struct hp_plan plan;

	(void)state;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "1000001 chunks are more than 1000000");
}

static void test_huge(void **state)
{
	struct hpdsl_pack_options opt = { .chunks = 1 };
	struct hp_list list = make_list(3);
	struct hp_plan plan;

	(void)state;
	files[0].size = UINT64_MAX;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), -EFBIG);
	files[0].size = files[1].size = INT64_MAX / 3;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), -EFBIG);
	files[1].size = 0;
	assert_int_equal(hp_plan_make(&plan, &list, &opt, NULL), 0);
	check_plan(&plan);
	hp_plan_release(&plan);
}

static void test_chunk_names(void **state)
{
	const char *bad[] = { "",
			      "chunk-",
			      "chunk-00001.tar",
			      "chunk-0000001.tar",
			      "chunk-000001.zst",
			      "chunk-000001.tar.zst.zst",
			      "chunk-000001.tar.gz",
			      "chunk-00001.tar.zst",
			      "chunk-00000x.tar",
			      "chunk-000001",
			      "Chunk-000001.tar",
			      ".chunk-000001.tar.part" };
	char name[HP_CHUNK_NAME];

	(void)state;
	hp_chunk_name(17, name);
	assert_string_equal(name, "chunk-000017.tar");
	assert_int_equal(hp_chunk_number(name), 17);
	hp_chunk_name(HP_CHUNKS_MAX - 1, name);
	assert_string_equal(name, "chunk-999999.tar");
	assert_int_equal(hp_chunk_number(name), 999999);
	assert_false(hp_chunk_name_is_zst(name));
	hp_chunk_zst_name(17, name);
	assert_string_equal(name, "chunk-000017.tar.zst");
	assert_int_equal(hp_chunk_number(name), 17);
	assert_true(hp_chunk_name_is_zst(name));
	hp_chunk_zst_name(HP_CHUNKS_MAX - 1, name);
	assert_int_equal(hp_chunk_number(name), 999999);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(hp_chunk_number(bad[i]), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_first_chunks_are_larger),
		cmocka_unit_test(test_automatic),
		cmocka_unit_test(test_large_inputs),
		cmocka_unit_test(test_large_multiples),
		cmocka_unit_test(test_most_chunks),
		cmocka_unit_test(test_multiple_of),
		cmocka_unit_test(test_samples_per_chunk),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_too_many_chunks),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_chunk_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
