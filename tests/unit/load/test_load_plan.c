/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader decides, without files and threads: units of windows against
 * the order of steps, memory by turns, the queue of blocks, and slots.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "load/fit.h"
#include "load/live.h"
#include "load/queue.h"
#include "load_work.h"
#include "make_index.h"

/* ---- Units ------------------------------------------------------------ */

/* A step's places, as hpdsl_epoch_step() has them, by position. */
static uint64_t sample_at(const struct hpdsl_epoch *e,
			  const struct hp_load_share *s,
			  const struct hp_window *w, uint64_t x)
{
	uint64_t run = x / s->run * s->lanes + w->lane, sample;

	assert_int_equal(
		hpdsl_epoch_at(e, run * s->run + x % s->run, &sample, NULL), 0);
	return sample;
}

static void check_block(const struct hp_load_plan *p,
			const struct hp_load_unit *u,
			const struct hp_load_block *b)
{
	const struct hp_block_member *m = b->b.member;

	assert_true(b->b.n > 0);
	assert_ptr_equal(b->unit, u);
	assert_int_equal(b->b.room, hp_fetch_room(m, b->b.n));
	if (b->b.room > p->slot) /* then it is one sample's alone */
		for (uint32_t i = 0, rows = 0; i < u->rows; i++) {
			rows += u->row[i].block == (uint32_t)(b - u->block);
			assert_true(rows <= 1);
		}
	for (uint32_t i = 1; i < b->b.n; i++)
		assert_true(m[i].chunk != m[i - 1].chunk ||
			    m[i].offset >= m[i - 1].offset + m[i - 1].size);
}

struct seen {
	uint64_t first, last;
	uint32_t uses;
};

/* Turns rise with the places, so equal ones are neighbours. */
static void see(struct seen *s, uint64_t turn)
{
	if (s->uses && s->last == turn)
		return;
	if (!s->uses)
		s->first = turn;
	s->last = turn;
	s->uses++;
}

static uint64_t check_unit(const struct hp_load_plan *p,
			   const struct hpdsl_epoch *e,
			   const struct hp_load_share *s,
			   const struct hp_window *w,
			   const struct hp_load_unit *u)
{
	struct seen *seen = calloc(u->blocks + 1, sizeof *seen);
	uint64_t needed = 0, room = 0;

	assert_int_equal(u->begin, w->begin);
	assert_int_equal(u->end, w->begin + w->samples);
	for (uint64_t x = u->begin; x < u->end; x++) {
		uint64_t turn, run = x / s->run * s->lanes + w->lane;
		const struct hp_load_row *row;

		if (!hp_load_mine(s, run, &turn))
			continue;
		needed++;
		row = &u->row[u->at[x - u->begin]];
		assert_int_equal(row->number, sample_at(e, s, w, x));
		if (row->block != HP_LOAD_NONE)
			see(&seen[row->block], turn);
	}
	for (uint32_t i = 0; i < u->blocks; i++) {
		check_block(p, u, &u->block[i]);
		assert_int_equal(u->block[i].uses, seen[i].uses);
		assert_int_equal(u->block[i].first, seen[i].first);
		assert_int_equal(u->block[i].last, seen[i].last);
		room += hp_slots_cost(p->slot, u->block[i].b.room);
	}
	assert_int_equal(u->room, room);
	for (uint32_t i = 1; i < u->rows; i++)
		assert_int_not_equal(u->row[i].number, u->row[i - 1].number);
	free(seen);
	return needed;
}

/* All that the reader needs is in some window, and nothing else. */
static void check_lanes(const struct hp_load_plan *p,
			const struct hpdsl_epoch *e,
			const struct hp_load_share *s, uint64_t want)
{
	uint64_t needed = 0;

	for (uint32_t lane = 0; lane < hp_epoch_lanes(e); lane++)
		for (uint64_t i = 0; i < hp_epoch_windows(e, lane); i++) {
			struct hp_load_unit *u;
			struct hp_window w;

			hp_epoch_window(e, lane, i, &w);
			assert_int_equal(hp_load_plan_window(p, e, s, &w, &u),
					 0);
			if (u)
				needed += check_unit(p, e, s, &w, u);
			hp_load_unit_free(u);
		}
	assert_int_equal(needed, want);
}

/* Real places of the steps that are the reader's. */
static uint64_t count_places(const struct hp_load_share *s)
{
	uint64_t n = 0, end = s->base + hp_load_turns(s);

	for (uint64_t t = s->base; t < end; t++)
		for (uint32_t i = 0; i < hp_load_runs(s); i++)
			n += hp_load_run_at(s, hp_load_step(s, t), i).real;
	return n;
}

static void test_windows(void **state)
{
	static const size_t slots[] = { 4096, 64 << 10, 4 << 20 };
	struct hpdsl_order o = {
		.seed = 9, .window = 3, .lanes = 3, .run = 4, .step_runs = 4
	};
	struct hpdsl_dataset *ds;
	struct hpdsl_epoch *e;

	(void)state;
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_epoch_new(ds, NULL, &o, &e, NULL), 0);
	for (uint32_t i = 0; i < 3 * 12; i++) {
		struct hp_load_plan p = { .index = ds->index,
					  .slot = slots[i % 3] };
		struct hp_load_share s = {
			.samples = LOAD_SAMPLES,
			.lanes = 3,
			.run = 4,
			.step_runs = 4,
			.ranks = 1 + i / 3 % 2,
			.rank = i / 6 % (1 + i / 3 % 2),
			.stride = 1 + i / 12,
			.first = i % 5,
			.steps = hpdsl_epoch_steps(e, HPDSL_END_MASK),
			.base = 100,
		};

		check_lanes(&p, e, &s, count_places(&s));
	}
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* ---- What no memory holds --------------------------------------------- */

/* Three members that overlap, whose pages are 2^64 bytes in all. */
static const struct {
	uint64_t offset, size;
} overlapping[3] = { { 8192, INT64_MAX - 8192 },
		     { 4096, INT64_MAX - 4096 },
		     { 0, 12288 } };

static void test_overlap(void **state)
{
	struct hp_block_member b[3] = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		b[i].offset = overlapping[i].offset;
		b[i].size = overlapping[i].size;
	}
	assert_int_equal(hp_fetch_room(b, 2), UINT64_MAX - 12287);
	assert_int_equal(hp_fetch_room(b, 3), SIZE_MAX);
	assert_int_equal(hp_slots_cost(4096, SIZE_MAX), UINT64_MAX);
}

/* An index in which sample 2 has these members. */
static void forge(struct image *im)
{
	struct corpus c;
	uint8_t *row;

	corpus_make(&c, 4, 1, 0, 0);
	assert_int_equal(image_write(&c, im, NULL), 0);
	corpus_free(&c);
	row = image_section(im, HP_SECTION_MEMBERS, NULL) + 3 * HP_MEMBER_ROW;
	for (int i = 0; i < 3; i++, row += HP_MEMBER_ROW) {
		hp_put64(row, overlapping[i].offset);
		hp_put64(row + 8, overlapping[i].size);
	}
	row = image_section(im, HP_SECTION_CHUNKS, NULL);
	hp_put64(row + 16, INT64_MAX);
	hp_put64(row + 40, INT64_MAX);
	image_repair(im->p, im->n);
}

/* Such a sample is bad, and those beside it are not. */
static void test_too_large(void **state)
{
	static const struct hpdsl_place place[3] = { { .sample = 1 },
						     { .sample = 2 },
						     { .sample = 3 } };
	static const bool want[3] = { true, true, true };
	struct hp_load_plan p = { .slot = 64 << 10 };
	struct hp_load_unit *u;
	struct hp_index *ix;
	struct image image;

	(void)state;
	forge(&image);
	assert_int_equal(hp_index_open(image.p, image.n, "it", &ix, NULL), 0);
	p.index = ix;
	assert_int_equal(hp_load_plan_places(&p, 0, place, want, 3, &u), 0);
	assert_int_equal(u->rows, 3);
	assert_int_equal(u->row[1].code, -EFBIG);
	assert_int_equal(u->row[1].block, HP_LOAD_NONE);
	assert_int_equal(u->row[1].members, 0);
	assert_int_equal(u->row[0].code, 0);
	assert_int_equal(u->row[2].code, 0);
	assert_int_equal(u->blocks, 1);
	assert_true(u->room <= 64 << 10);
	hp_load_unit_free(u);
	hp_index_free(ix);
	free(image.p);
}

static void huge_chunk(const void *arg, uint32_t chunk, uint64_t *ret_bytes,
		       uint64_t *ret_samples)
{
	(void)arg;
	(void)chunk;
	*ret_bytes = INT64_MAX;
	*ret_samples = 1;
}

/* Windows of chunks of 2^63 bytes do not come out small. */
static void test_huge_windows(void **state)
{
	struct hpdsl_order o = {
		.seed = 9, .window = 3, .lanes = 3, .run = 4, .step_runs = 4
	};
	struct hp_load_sizes sizes = { .chunk = huge_chunk, .chosen = 1 };
	struct hp_load_share s = { .samples = LOAD_SAMPLES,
				   .lanes = 3,
				   .run = 4,
				   .step_runs = 4,
				   .ranks = 1,
				   .stride = 1 };
	struct hpdsl_dataset *ds;
	struct hpdsl_epoch *e;
	struct hp_load_fit fit;

	(void)state;
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_epoch_new(ds, NULL, &o, &e, NULL), 0);
	hp_load_windows(e, &s, &sizes, &fit);
	assert_int_equal(fit.lanes, 3);
	assert_int_equal(fit.largest, UINT64_C(1) << 62);
	assert_int_equal(fit.bytes, UINT64_C(1) << 62);
	hpdsl_epoch_free(e);
	hpdsl_close(ds);
}

/* What is noted for each suffix of each sample counts, too. */
static void test_suffixes_count(void **state)
{
	static const struct hpdsl_place place[3] = { { .sample = 1 },
						     { .sample = 2 },
						     { .sample = 3 } };
	static const bool want[3] = { true, true, true };
	const char *suffixes[1000];
	struct hp_load_plan p = { .slot = 64 << 10,
				  .suffixes = suffixes,
				  .n_suffixes = 1000 };
	struct hp_load_unit *u;
	struct hpdsl_dataset *ds;

	(void)state;
	for (int i = 0; i < 1000; i++)
		suffixes[i] = "png";
	assert_int_equal(hpdsl_open(load_plain, NULL, &ds, NULL), 0);
	p.index = ds->index;
	assert_int_equal(hp_load_plan_places(&p, 0, place, want, 3, &u), 0);
	assert_true(u->bytes >= UINT64_C(3) * 1000 * sizeof *u->pick);
	hp_load_unit_free(u);
	hpdsl_close(ds);
}

/* ---- Memory by turns -------------------------------------------------- */

static void unit_of(struct hp_load_unit *u, struct hp_load_block *b,
		    uint64_t first, uint64_t last, size_t room)
{
	*b = (struct hp_load_block){ .first = first,
				     .last = last,
				     .b.room = room };
	*u = (struct hp_load_unit){ .block = b, .blocks = 1 };
}

static void test_live(void **state)
{
	struct hp_load_live l = { 0 };
	struct hp_load_block b[4];
	struct hp_load_unit u[4];

	(void)state;
	unit_of(&u[0], &b[0], 3, 10, 50);
	unit_of(&u[1], &b[1], 12, 20, 500);
	unit_of(&u[2], &b[2], 11, 11, 50);
	unit_of(&u[3], &b[3], 31, 31, 50);
	assert_int_equal(hp_load_live_add(&l, &u[0], 100, 100), 1);
	/* A block of 500 takes a page; one behind turn 10 is out in turn 11. */
	assert_int_equal(hp_load_live_add(&l, &u[2], 100, 100), 0);
	assert_int_equal(hp_load_live_add(&l, &u[2], 100, 200), 1);
	assert_int_equal(hp_load_live_add(&l, &u[1], 100, 4195), 0);
	assert_int_equal(hp_load_live_add(&l, &u[1], 100, 4196), 1);
	hp_load_live_at(&l, 13);
	assert_int_equal(hp_load_live_add(&l, &u[3], 100, 4096), 1);
	hp_load_live_at(&l, 22);
	assert_int_equal(hp_load_live_add(&l, &u[3], 100, 200), 1);
	assert_int_equal(hp_load_live_add(&l, &u[3], 100, 200), 0);
	hp_load_live_at(&l, 1000);
	unit_of(&u[0], &b[0], 1000, 1000, 50);
	assert_int_equal(hp_load_live_add(&l, &u[0], 100, 100), 1);
	/* Its arrays count, from now on. */
	hp_load_live_at(&l, 2000);
	unit_of(&u[0], &b[0], 2010, 2010, 50);
	u[0].bytes = 30;
	assert_int_equal(hp_load_live_add(&l, &u[0], 100, 129), 0);
	assert_int_equal(hp_load_live_add(&l, &u[0], 100, 130), 1);
	unit_of(&u[1], &b[1], 2000, 2000, 50);
	assert_int_equal(hp_load_live_add(&l, &u[1], 100, 129), 0);
	assert_int_equal(hp_load_live_add(&l, &u[1], 100, 130), 1);
	/* Nor does it look farther ahead than it has memory for. */
	unit_of(&u[2], &b[2], 2000, UINT64_C(1) << 40, 50);
	assert_int_equal(hp_load_live_add(&l, &u[2], 100, 1 << 30), 0);
	hp_load_live_release(&l);
}

/* ---- Queue ------------------------------------------------------------ */

static void test_queue(void **state)
{
	enum { N = 500 };
	struct hp_load_block *b = calloc(N, sizeof *b), *last = NULL;
	struct hp_load_queue q = { 0 };
	uint32_t x = 1;

	(void)state;
	assert_null(hp_load_queue_first(&q));
	assert_int_equal(hp_load_queue_reserve(&q, N), 0);
	for (uint32_t i = 0; i < N; i++) {
		x = x * 1664525 + 1013904223;
		b[i].first = x >> 27;
		b[i].serial = i;
		b[i].b.room = 2;
		hp_load_queue_add(&q, &b[i]);
	}
	assert_int_equal(q.bytes, 2 * N);
	for (uint32_t i = 0; i < N; i++) {
		struct hp_load_block *is = hp_load_queue_first(&q);

		assert_true(!last || last->first < is->first ||
			    (last->first == is->first &&
			     last->serial < is->serial));
		last = is;
		hp_load_queue_take(&q);
	}
	assert_null(hp_load_queue_first(&q));
	assert_int_equal(q.bytes, 0);
	hp_load_queue_release(&q);
	free(b);
}

/* ---- Slots ------------------------------------------------------------ */

enum { KIB = 1 << 10, SLOT = 64 * KIB };

static void test_slots(void **state)
{
	struct hp_slot a, b, c, d;
	struct hp_slots s;

	(void)state;
	assert_int_equal(hp_slots_init(&s, 4 * SLOT, SLOT), 0);
	assert_true(hp_slots_get(&s, 1, false, &a));
	assert_true(hp_slots_get(&s, SLOT, false, &b));
	assert_int_equal((uintptr_t)a.p % 4096, 0);
	memset(a.p, 1, SLOT);
	memset(b.p, 2, SLOT);
	hp_slots_put(&s, &a);
	assert_true(hp_slots_get(&s, 5, false, &c)); /* the last one back */
	assert_ptr_equal(a.p, c.p);
	assert_int_equal(s.peak, 2 * SLOT);
	assert_false(hp_slots_fit(&s, 2 * SLOT + 1));
	assert_true(hp_slots_get(&s, 2 * SLOT, false, &d));
	assert_int_equal(s.peak, 4 * SLOT);
	assert_false(hp_slots_get(&s, 1, false, &a));
	assert_true(hp_slots_get(&s, 1, true, &a)); /* beyond the limit */
	assert_int_equal(s.peak, 5 * SLOT);
	hp_slots_put(&s, &a);
	hp_slots_put(&s, &d);
	hp_slots_put(&s, &c);
	hp_slots_put(&s, &b);
	hp_slots_release(&s);
}

/* Pages of free slots go when something large needs their memory. */
static void test_large(void **state)
{
	struct hp_slot v[4], large;
	struct hp_slots s;

	(void)state;
	assert_int_equal(hp_slots_init(&s, 4 * SLOT, SLOT), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(hp_slots_get(&s, SLOT, false, &v[i]));
		memset(v[i].p, 7, SLOT);
	}
	for (int i = 0; i < 3; i++)
		hp_slots_put(&s, &v[i]);
	assert_true(hp_slots_get(&s, 3 * SLOT - 5, false, &large));
	assert_int_equal(s.peak, 4 * SLOT);
	assert_int_equal(*(char *)v[1].p, 0);
	assert_int_equal(*(char *)v[3].p, 7);
	hp_slots_put(&s, &large);
	hp_slots_charge(&s, 2 * SLOT);
	assert_true(hp_slots_get(&s, SLOT, false, &large));
	assert_false(hp_slots_fit(&s, 1));
	hp_slots_charge(&s, -2 * SLOT);
	assert_true(hp_slots_fit(&s, 1));
	hp_slots_put(&s, &large);
	hp_slots_put(&s, &v[3]);
	assert_int_equal(s.peak, 4 * SLOT);
	hp_slots_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_suffixes_count),
		cmocka_unit_test(test_huge_windows),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
