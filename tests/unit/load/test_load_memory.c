/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of samples of any sizes a loader goes on in any memory, and it says so where
 * reads get small.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "level.h"
#include "load/load.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- It never sticks -------------------------------------------------- */

static void check_sizes(uint64_t (*size)(uint64_t), uint64_t samples)
{
	static const struct hpdsl_order order[] = {
		{ .seed = 1, .batch = 16, .lanes = 512, .piece = 4 },
		{ .seed = 2, .batch = 512, .lanes = 512, .piece = 8 },
		{ .seed = 3, .batch = 8, .lanes = 64, .piece = 20 },
		{ .seed = 4, .batch = 32, .lanes = 4, .piece = 20 },
		{ .seed = 5, .batch = 2, .plain = true },
		{ .seed = 6 },
	};
	struct hpdsl_dataset *ds;
	struct forged f;

	forged_begin(&f, &(struct forged_options){ .samples = samples,
						   .size = size,
						   .chunks = 9 });
	ds = forged_open(&f);
	/* In check each order, and each way, but not each way of each. */
	for (uint32_t i = 0; i < COUNT(order) * 4;
	     i += at_level("more") ? 1 : 3) {
		struct cell c = { .opt = { .order = order[i / 4],
					   .memory = 16 * MIB,
					   .threads =
						   i % 2 ? 3 : HPDSL_SERIAL },
				  .hold = i / 2 % 2 };

		cell_read(ds, &c);
		assert_int_equal(c.stats.samples, samples);
	}
	hpdsl_close(ds);
	forged_end(&f);
}

static void test_ragged(void **state)
{
	(void)state;
	check_sizes(size_ragged, 300);
}

static void test_lognormal(void **state)
{
	(void)state;
	check_sizes(size_lognormal, 700);
}

static void test_even(void **state)
{
	(void)state;
	check_sizes(size_even, 1500);
	check_sizes(size_small, 20000);
}

static uint64_t empty(uint64_t i)
{
	return i % 3 == 0;
}

/* Of samples without bytes it is their rows that take memory. */
static void test_empty(void **state)
{
	(void)state;
	check_sizes(empty, 60000);
}

/*
 * Endless, and nothing is to be read: what is planned ahead is bounded all the
 * same.
 */
static void test_nothing_to_read(void **state)
{
	static const char *const all[] = { "m0" };
	struct cell c = { .opt = { .suffixes = all,
				   .n_suffixes = 1,
				   .threads = HPDSL_SERIAL,
				   .memory = 16 * MIB } };
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	uint64_t n = 0;
	struct forged f;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 900,
						   .size = size_small,
						   .chunks = 7 });
	ds = forged_open(&f);
	l = cell_begin(ds, &c);
	l->opt.epochs = 0;
	strcpy(l->suffix[0], "m9");
	pthread_mutex_lock(&l->lock);
	while (hp_load_work(l))
		assert_true(n++ < 100000);
	pthread_mutex_unlock(&l->lock);
	hpdsl_loader_stats(l, &c.stats);
	assert_true(c.stats.memory_peak <= c.stats.memory);
	assert_int_equal(c.stats.reads, 0);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
	forged_end(&f);
}

/* Two batches that are kept: it goes on, or says that they hold all. */
static void test_two_kept(void **state)
{
	struct cell c = {
		.opt = { .order = { .batch = 8, .lanes = 64, .piece = 20 },
			 .memory = 16 * MIB,
			 .threads = 2 }
	};
	const struct hpdsl_batch *held[3];
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	uint32_t n = 0, full = 0;
	uint64_t steps = 0;
	struct forged f;
	int r;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 200,
						   .size = size_lumpy,
						   .chunks = 9 });
	ds = forged_open(&f);
	l = cell_begin(ds, &c);
	while ((r = hpdsl_loader_next(l, &held[n], &err)) == 1 ||
	       r == -ENOBUFS) {
		if (r == 1) {
			assert_int_equal(held[n]->step, steps++);
			forged_check_batch(ds, held[n++]);
		} else {
			assert_int_equal(n, 2);
			full++;
		}
		if (n < 2 || (r == 1 && n < 3))
			continue;
		hpdsl_batch_release(held[0]);
		memmove(held, held + 1, --n * sizeof(*held));
	}
	assert_int_equal(r, 0);
	assert_int_equal(steps, 25);
	assert_true(full > 0);
	while (n)
		hpdsl_batch_release(held[--n]);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
	forged_end(&f);
}

/* A step that does not fit is read all the same, and told once. */
static void test_over(void **state)
{
	struct cell c = {
		.opt = { .order = { .batch = 600, .lanes = 60, .piece = 10 },
			 .memory = 16 * MIB }
	};
	struct hpdsl_dataset *ds;
	struct forged f;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 900,
						   .size = size_even,
						   .chunks = 7 });
	ds = forged_open(&f);
	for (uint32_t threads = 1; threads < 4; threads++) {
		c.opt.threads = threads < 3 ? threads : HPDSL_SERIAL;
		cell_read(ds, &c);
		assert_int_equal(c.over, 1);
		assert_true(c.stats.memory_peak > 23 * MIB);
		assert_true(c.stats.memory_peak < 36 * MIB);
		assert_true(c.stats.held_peak > 23 * MIB);
	}
	hpdsl_close(ds);
	forged_end(&f);
}

/* ---- Far ahead, and no farther --------------------------------------- */

static uint64_t size_large(uint64_t i)
{
	return 512 * 1024 + i % 7 * 4096;
}

/* Loads a turn, over which the loop takes so long; then all that is to be read
 * meanwhile is. */
static void turn_of(struct hpdsl_loader *l, double seconds)
{
	const struct hpdsl_batch *b;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_loader_next(l, &b, &err), 1);
	hpdsl_batch_release(b);
	pthread_mutex_lock(&l->lock);
	l->busy += seconds;
	while (hp_load_work(l))
		;
	pthread_mutex_unlock(&l->lock);
}

/* A slow loop: memory is the bound of what is read ahead, and not its aim.  One
 * that does nothing else gets all of it. */
static void test_slow_loop(void **state)
{
	struct cell c = { .opt = { .order = { .batch = 4, .lanes = 4 },
				   .memory = 256 * MIB,
				   .threads = HPDSL_SERIAL } };
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct forged f;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 900,
						   .size = size_large,
						   .chunks = 7 });
	ds = forged_open(&f);
	l = cell_begin(ds, &c);
	turn_of(l, 1e6);
	assert_in_range(l->ahead, HP_LEAD_LEAST, HP_LEAD_LEAST + 16 * MIB);
	turn_of(l, 1e6);
	assert_in_range(l->ahead, HP_LEAD_LEAST, HP_LEAD_LEAST + 16 * MIB);
	/* Reading is held back, but not what the first turn of a seek needs. */
	assert_in_range(l->lead.held_from, 2, 200);
	assert_int_equal(hpdsl_loader_seek(l, 0, 0, NULL), 0);
	assert_int_equal(l->lead.held_from, 0);
	turn_of(l, 1e6);
	turn_of(l, 1e6);
	assert_int_equal(l->lead.waits, 0);
	l->lead.rate = 1e15;
	turn_of(l, 0);
	assert_in_range(l->ahead, HP_LEAD_LEAST + 32 * MIB, 256 * MIB);
	hpdsl_loader_stats(l, &c.stats);
	assert_true(c.stats.memory_peak <= c.stats.memory);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
	forged_end(&f);
}

static uint64_t size_tiny(uint64_t i)
{
	return 100 + i % 7;
}

/* Of tiny samples units take more than their bytes, and that is what counts: of
 * what is ahead, and of what the loop takes. */
static void test_tiny(void **state)
{
	struct cell c = {
		.opt = { .order = { .batch = 16, .lanes = 16, .piece = 1 },
			 .memory = 16 * MIB,
			 .threads = HPDSL_SERIAL }
	};
	struct hpdsl_dataset *ds;
	struct hpdsl_loader *l;
	struct forged f;
	uint64_t used;

	(void)state;
	forged_begin(&f, &(struct forged_options){ .samples = 6000,
						   .size = size_tiny,
						   .chunks = 7 });
	ds = forged_open(&f);
	l = cell_begin(ds, &c);
	turn_of(l, 1);
	/* All but some units of lanes that the next turns go on with. */
	used = l->arena.used + l->arena.beside;
	assert_true(used > 14 * MIB);
	assert_in_range(l->ahead, used - used / 16, used);
	assert_in_range(l->lead.bytes, 16 * 4096, 16 * 8192);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
	forged_end(&f);
}

/* ---- Small reads ------------------------------------------------------ */

/* "with a memory of 39 MiB they" */
static uint64_t cure_in(const char *text)
{
	const char *at = strstr(text, "memory of ");
	char *unit;
	double v;

	assert_non_null(at);
	v = strtod(at + 10, &unit);
	assert_true(v > 0);
	if (!strncmp(unit, " KiB", 4))
		return (uint64_t)(v * 1024);
	if (!strncmp(unit, " MiB", 4))
		return (uint64_t)(v * (double)MIB);
	assert_memory_equal(unit, " GiB", 4);
	return (uint64_t)(v * 1024 * (double)MIB);
}

static void check_cure(const struct hpdsl_dataset *ds, uint64_t memory,
		       uint64_t batch, uint64_t lanes, uint64_t piece)
{
	struct cell c = { .opt = { .order = { .batch = (uint32_t)batch,
					      .lanes = lanes,
					      .piece = piece },
				   .memory = memory,
				   .threads = HPDSL_SERIAL } };
	struct hpdsl_loader *l = cell_begin(ds, &c);
	uint64_t piece_bytes = l->division.piece_bytes;
	uint64_t bytes = l->division.share_bytes, cure;
	/* Of one sample there is no smaller read. */
	bool several = piece_bytes > l->division.sample_bytes;

	hpdsl_loader_free(l);
	assert_int_equal(c.small, bytes < piece_bytes && several);
	if (!c.small)
		return;
	cure = cure_in(c.text);
	assert_true(cure > memory);
	if (cure > 65536 * MIB)
		return; /* not everywhere there are addresses for it */
	c.opt.memory = cure;
	l = cell_begin(ds, &c);
	assert_true(l->division.share_bytes >= l->division.piece_bytes);
	assert_int_equal(c.small, 0);
	hpdsl_loader_free(l);
	/* It is not much more than it takes. */
	c.opt.memory = cure / 4 * 3;
	if (c.opt.memory <= memory)
		return;
	l = cell_begin(ds, &c);
	assert_int_equal(c.small, 1);
	hpdsl_loader_free(l);
}

/* They are told just where they are smaller than pieces, and so is a memory
 * with which they are not. */
static void check_warnings(uint64_t (*size)(uint64_t), uint64_t samples)
{
	struct hpdsl_dataset *ds;
	struct forged f;

	forged_begin(&f, &(struct forged_options){ .samples = samples,
						   .size = size,
						   .chunks = 7 });
	ds = forged_open(&f);
	for (uint64_t batch = 1; batch <= 512; batch *= 8)
		for (uint64_t lanes = 1; lanes <= 4096; lanes *= 8)
			for (uint64_t piece = 1; piece <= 400; piece *= 7)
				for (uint64_t m = 16; m <= 1024; m *= 4)
					check_cure(ds, m * MIB, batch, lanes,
						   piece);
	hpdsl_close(ds);
	forged_end(&f);
}

static void test_warnings(void **state)
{
	(void)state;
	check_warnings(size_even, 900);
	check_warnings(size_small, 900);
	check_warnings(size_lognormal, 300);
}

static void test_text(void **state)
{
	struct hp_load_division d = { .sample_bytes = 1000,
				      .piece_bytes = 4 * MIB - 1,
				      .share_bytes = 900 * 1024,
				      .cure = 2048 * MIB };
	char text[HP_LOAD_DIVISION_TEXT];

	(void)state;
	hp_load_division_text(&d, text);
	assert_string_equal(text, "reads of 900 KiB: with a memory of 2.0 GiB "
				  "they would be 4.0 MiB");
	d.sample_bytes = 1023 * 1024; /* a sample is read as a whole */
	hp_load_division_text(&d, text);
	assert_string_equal(text, "reads of 1023 KiB: with a memory of 2.0 GiB "
				  "they would be 4.0 MiB");
	d = (struct hp_load_division){ 1, UINT64_MAX, 1, 512, UINT64_MAX / 2 };
	hp_load_division_text(&d, text);
	assert_string_equal(text, "reads of 0.5 KiB: with a memory of 8.0 EiB "
				  "they would be 16 EiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ragged),
		cmocka_unit_test(test_lognormal),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_two_kept),
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_slow_loop),
		cmocka_unit_test(test_tiny),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
