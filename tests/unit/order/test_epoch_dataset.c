/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of real datasets: their defaults, first use, and what damage does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/private.h"
#include "make_index.h"
#include "memio.h"
#include "order/private.h"
#include "packed.h"
#include "wrap.h"

enum { SAMPLES = 40, CHUNKS = 5 };

static struct packed packed;

static int begin(void **state)
{
	char name[32];

	(void)state;
	packed_begin(&packed);
	for (int i = 0; i < SAMPLES; i++) {
		snprintf(name, sizeof name, "%d.a", i);
		packed_file(&packed, name, (size_t)i * 97, 0644, 0, 0);
		snprintf(name, sizeof name, "%d.b", i);
		packed_file(&packed, name, (size_t)i % 7 * 300, 0644, 0, 0);
	}
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = CHUNKS });
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

static struct hpdsl_dataset *open_packed(void)
{
	struct hpdsl_dataset *ds = NULL;

	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	return ds;
}

/* ---- Orders ----------------------------------------------------------- */

/* What is not said follows from the index and from what the job is. */
static void what_is_not_said(void **state)
{
	struct hpdsl_order_start start = { .batch_size = 4, .ranks = 2 };
	struct hpdsl_dataset *ds = open_packed();
	struct hpdsl_order o = { .seed = 7 };
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hpdsl_order_fill(ds, NULL, &o, NULL), 0);
	assert_true(o.seed == 7 && o.batch == HPDSL_BATCH_SIZE && o.lanes &&
		    o.piece && o.windows == 1 && o.parts == 1);
	o = (struct hpdsl_order){ 0 };
	assert_int_equal(hpdsl_order_fill(ds, &start, &o, NULL), 0);
	assert_int_equal(o.batch, 8);
	/* A state's batch on other ranks. */
	start = (struct hpdsl_order_start){ .ranks = 3 };
	assert_int_equal(hpdsl_order_fill(ds, &start, &o, NULL), 0);
	assert_int_equal(o.batch, 8);
	start.batch_size = 4;
	assert_int_equal(hpdsl_order_fill(ds, &start, &o, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg,
			    "a batch of 8 is not 4 samples on each of 3 ranks");
	/* Uneven ones: 3, 3 and 2. */
	start.batch_size = 3;
	assert_int_equal(hpdsl_order_fill(ds, &start, &o, &err), 0);
	start.batch_size = 2;
	assert_int_equal(hpdsl_order_fill(ds, &start, &o, &err), HPDSL_EUSAGE);
	o = (struct hpdsl_order){ .batch = 6, .plain = true };
	assert_int_equal(hpdsl_order_fill(ds, NULL, &o, NULL), 0);
	assert_true(o.lanes == 1 && o.piece == 1 && o.windows == 1);
	hpdsl_close(ds);
}

/* A set that was not shuffled gets more lanes of less; of a choice it is what
 * was chosen that counts. */
static void what_the_index_says(void **state)
{
	struct hpdsl_pack_options plain = { .chunks = CHUNKS,
					    .shuffle = HPDSL_SHUFFLE_NONE };
	static const uint64_t list[] = { 2, 5, 39 };
	const struct hpdsl_choice_options opt = { .samples = list,
						  .n_samples = 3 };
	struct hpdsl_order_start start = { .batch_size = 1 };
	struct hpdsl_order of_some = { 0 }, sorted = { 0 };
	struct hp_seq_set set = { 3, 0, CHUNKS, true, 1, 1, 1 };
	struct hp_seq_order want = { 0 };
	struct hpdsl_dataset *ds = open_packed();
	struct hpdsl_chunk chunk;
	struct hpdsl_choice *c;
	struct packed p;

	(void)state;
	for (uint32_t i = 0; i < CHUNKS; i++) {
		assert_int_equal(hpdsl_chunk_get(ds, i, &chunk, NULL), 0);
		set.bytes += chunk.plain_bytes;
	}
	set.bytes = set.bytes * 3 / SAMPLES;
	assert_int_equal(hp_seq_fill(&set, &want, NULL), 0);
	assert_int_equal(hpdsl_choose(ds, &opt, &c, NULL), 0);
	start.choice = c;
	assert_int_equal(hpdsl_order_fill(ds, &start, &of_some, NULL), 0);
	assert_true(of_some.lanes == want.lanes &&
		    of_some.piece == want.piece &&
		    of_some.windows == want.windows);
	start.choice = NULL;
	hpdsl_choice_free(c);
	hpdsl_close(ds);
	packed_begin(&p);
	for (int i = 0; i < SAMPLES; i++)
		packed_file(&p, (const char[]){ (char)('A' + i), '\0' }, 40000,
			    0644, 0, 0);
	packed_pack(&p, plain);
	assert_int_equal(hpdsl_open(p.out, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_order_fill(ds, &start, &sorted, NULL), 0);
	/* 40 samples of 40,000 bytes: an eighth of a MiB a lane. */
	assert_int_equal(sorted.lanes, 12);
	hpdsl_close(ds);
	packed_end(&p);
}

static void chunks_in_order(void **state)
{
	struct hpdsl_dataset *ds = open_packed();
	struct hpdsl_order o = { .seed = 3, .batch = 2 };
	uint32_t chunk[CHUNKS], n = 0;
	bool seen[CHUNKS] = { false };
	struct hpdsl_epoch *e;

	(void)state;
	assert_int_equal(hpdsl_order_fill(ds, NULL, &o, NULL), 0);
	assert_int_equal(hpdsl_order_first_use(ds, &o, chunk, NULL), 0);
	assert_int_equal(hpdsl_epoch_new(ds, NULL, &o, &e, NULL), 0);
	for (uint64_t p = 0; p < SAMPLES; p++) {
		uint64_t s, at = 0;

		assert_int_equal(hpdsl_epoch_at(e, p, &s, NULL), 0);
		while (at + 1 < CHUNKS && e->lists.first[at + 1] <= s)
			at++;
		if (!seen[at])
			assert_int_equal(chunk[n++], at);
		seen[at] = true;
	}
	assert_int_equal(n, CHUNKS);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

static void a_choice_of_another_dataset(void **state)
{
	struct hpdsl_choice other = { .n = SAMPLES + 1 };
	struct hpdsl_dataset *ds = open_packed();
	const struct hpdsl_order_start start = { .choice = &other };
	struct hpdsl_order o = { 0 };
	struct hpdsl_epoch *e = NULL;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hpdsl_order_fill(ds, &start, &o, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "the choice is of another dataset: of 41 "
				     "samples, and not 40");
	assert_int_equal(hpdsl_epoch_new(ds, &other, &o, &e, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "the choice is of another dataset: of 41 "
				     "samples, and not 40");
	hpdsl_close(ds);
}

/* ---- Damage ----------------------------------------------------------- */

/* What an epoch of this index, alone in its directory, comes to. */
static int try_index(const struct image *im, struct hpdsl_error *err)
{
	struct memio *m = memio_new();
	struct hpdsl_order o = { .batch = 8 };
	struct hpdsl_dataset *ds = NULL;
	struct hpdsl_epoch *e = NULL;
	int r;

	memio_add(m, "d/index.hpdsl", im->p, im->n);
	memio_add(m, "d/dataset.yaml", "", 0);
	r = hpdsl_open("d", memio_io(m), &ds, err);
	assert_int_equal(r, 0);
	r = hpdsl_order_fill(ds, NULL, &o, err);
	if (r == 0)
		r = hpdsl_epoch_new(ds, NULL, &o, &e, err);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
	memio_free(m);
	return r;
}

static void damage_is_told(void **state)
{
	struct hpdsl_error err;
	struct corpus c;
	struct image im;
	uint8_t *row;

	(void)state;
	corpus_make(&c, 100, 7, 0, 0);
	corpus_enrich(&c);
	assert_int_equal(image_write(&c, &im, NULL), 0);
	corpus_free(&c);
	assert_int_equal(try_index(&im, &err), 0);

	row = image_section(&im, HP_SECTION_CHUNKS, NULL);
	row[5 * HP_CHUNK_ROW] ^= 4;
	assert_int_equal(try_index(&im, &err), HPDSL_ECORRUPT);
	row[5 * HP_CHUNK_ROW] ^= 4;
	/* on purpose: checksums that agree */
	row[0] = 1;
	image_repair(im.p, im.n);
	assert_int_equal(try_index(&im, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "d/index.hpdsl: sample 0 is in no chunk");
	row[0] = 0;
	row[5 * HP_CHUNK_ROW] = 101;
	image_repair(im.p, im.n);
	assert_int_equal(try_index(&im, &err), HPDSL_ECORRUPT);
	free(im.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_said),
		cmocka_unit_test(what_the_index_says),
		cmocka_unit_test(chunks_in_order),
		cmocka_unit_test(a_choice_of_another_dataset),
		cmocka_unit_test(damage_is_told),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
