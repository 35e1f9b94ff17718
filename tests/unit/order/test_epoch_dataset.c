/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of real datasets: what they cost, and what damage does to them. */
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

/* From the first byte of a sample's contents to the last one of another's. */
static uint64_t stretch(const struct hpdsl_dataset *ds, uint64_t first,
			uint64_t last)
{
	struct hpdsl_sample a, b;
	struct hpdsl_member from, to;

	assert_int_equal(hpdsl_sample_get(ds, first, &a, NULL), 0);
	assert_int_equal(hpdsl_sample_get(ds, last, &b, NULL), 0);
	assert_int_equal(hpdsl_member_get(ds, a.first_member, &from, NULL), 0);
	assert_int_equal(
		hpdsl_member_get(ds, b.first_member + b.members - 1, &to, NULL),
		0);
	return to.offset + to.size - from.offset;
}

/* One lane, one chunk a window: every chunk is read once, whole. */
static void the_cost_of_whole_chunks(void **state)
{
	struct hpdsl_order o = { .window = 1, .lanes = 1 };
	struct hpdsl_dataset *ds = open_packed();
	uint64_t most = 0, least = UINT64_MAX;
	struct hpdsl_epoch_cost cost;
	struct hpdsl_epoch_info info;
	struct hpdsl_epoch *e;
	struct hpdsl_chunk c;

	(void)state;
	assert_int_equal(hpdsl_epoch_new(ds, NULL, &o, &e, NULL), 0);
	hpdsl_epoch_info(e, &info);
	assert_true(info.samples == SAMPLES && info.chunks == CHUNKS &&
		    info.windows == CHUNKS && info.batch == 256);
	assert_int_equal(hpdsl_epoch_cost(e, ds, &cost, NULL), 0);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		uint64_t n;

		assert_int_equal(hpdsl_chunk_get(ds, i, &c, NULL), 0);
		n = stretch(ds, c.first_sample, c.first_sample + c.samples - 1);
		most = n > most ? n : most;
		least = n < least ? n : least;
	}
	assert_int_equal(cost.reads, CHUNKS);
	assert_int_equal(cost.window_bytes, most);
	assert_int_equal(cost.job_bytes, most);
	assert_int_equal(cost.smallest_read, least);
	assert_in_range(cost.median_read, least, most);
	/* all are in one step */
	assert_true(fabs(cost.mates_expected - 1) < 1e-9);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* What is left out at the ends of a piece is not read. */
static void the_cost_of_a_choice(void **state)
{
	static const uint64_t list[] = { 2, 5, 39 };
	const struct hpdsl_choice_options opt = { .samples = list,
						  .n_samples = 3 };
	struct hpdsl_order o = { .lanes = 2, .run = 1, .step_runs = 2 };
	struct hpdsl_dataset *ds = open_packed();
	struct hpdsl_epoch_cost cost;
	struct hpdsl_choice *c;
	struct hpdsl_epoch *e;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(hpdsl_choose(ds, &opt, &c, NULL), 0);
	assert_int_equal(hpdsl_epoch_new(ds, c, &o, &e, NULL), 0);
	assert_int_equal(hpdsl_epoch_cost(e, ds, &cost, NULL), 0);
	for (uint64_t i = 0; i < e->n_pieces; i++) {
		uint64_t s[3];

		hp_epoch_samples(e, &e->piece[i], s);
		sum += stretch(ds, s[0], s[e->piece[i].samples - 1]);
	}
	/* lanes of two and of one sample, each in one window */
	assert_int_equal(cost.job_bytes, sum);
	assert_int_equal(cost.reads, e->n_pieces);
	hpdsl_epoch_free(e);
	hpdsl_choice_free(c);
	hpdsl_close(ds);
}

static void a_choice_of_another_dataset(void **state)
{
	struct hpdsl_choice other = { .n = SAMPLES + 1 };
	struct hpdsl_dataset *ds = open_packed();
	struct hpdsl_order o = { 0 };
	struct hpdsl_epoch *e = NULL;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hpdsl_epoch_new(ds, &other, &o, &e, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "the choice is of another dataset");
	hpdsl_close(ds);
}

/* The k-th allocation fails, for every k until none does. */
static void no_memory(void **state)
{
	struct hpdsl_order o = { .lanes = 4, .run = 3, .parts = 2 };
	struct hpdsl_dataset *ds = open_packed();
	struct hpdsl_error err;
	int r = -ENOMEM;

	(void)state;
	for (long k = 1; r < 0; k++) {
		struct hpdsl_epoch_cost cost;
		struct hpdsl_epoch *e = NULL;

		wrap_fail_at(k, false);
		r = hpdsl_epoch_new(ds, NULL, &o, &e, &err);
		if (r == 0)
			r = hpdsl_epoch_cost(e, ds, &cost, &err);
		wrap_fail_at(0, false);
		assert_true(r == 0 ? k > 9 : r == -ENOMEM);
		hpdsl_epoch_free(e);
	}
	hpdsl_close(ds);
}

/* ---- Damage ----------------------------------------------------------- */

/* What an epoch of this index, alone in its directory, comes to. */
static int try_index(const struct image *im, struct hpdsl_error *err)
{
	struct memio *m = memio_new();
	struct hpdsl_order o = { .lanes = 1 };
	struct hpdsl_epoch_cost cost;
	struct hpdsl_dataset *ds = NULL;
	struct hpdsl_epoch *e = NULL;
	int r;

	memio_add(m, "d/index.hpdsl", im->p, im->n);
	memio_add(m, "d/dataset.yaml", "", 0);
	r = hpdsl_open("d", memio_io(m), &ds, err);
	assert_int_equal(r, 0);
	r = hpdsl_epoch_new(ds, NULL, &o, &e, err);
	if (r == 0)
		r = hpdsl_epoch_cost(e, ds, &cost, err);
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
		cmocka_unit_test(the_cost_of_whole_chunks),
		cmocka_unit_test(the_cost_of_a_choice),
		cmocka_unit_test(a_choice_of_another_dataset),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(damage_is_told),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
