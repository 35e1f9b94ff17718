/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where samples lie and what units are made of, against the epoch and the
 * index; and what is made of rows that are damaged.
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
#include "load/unit.h"
#include "load_work.h"
#include "make_index.h"
#include "order/private.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- One reader's units ----------------------------------------------- */

struct reader {
	struct hpdsl_dataset *ds;
	struct hpdsl_epoch *e;
	struct hp_load_extents x;
	struct hp_shares *shares;
	struct hp_load_plan plan;
	uint64_t seen; /* own samples */
};

static void begin(struct reader *r, const char *dir,
		  const struct hpdsl_loader_options *opt, uint64_t bytes)
{
	struct hp_shares_options s = {
		.extent = hp_load_extent,
		.dense = hp_load_dense,
		.arg = &r->x,
		.own = { .rank = opt->share.rank,
			 .ranks = opt->share.ranks ? opt->share.ranks : 1,
			 .first = opt->share.worker,
			 .stride = opt->share.workers,
			 .fill = true },
		.bytes = bytes,
	};
	struct hp_load_wanted wanted = {
		.suffixes = opt->suffixes,
		.n_suffixes = (uint32_t)opt->n_suffixes,
	};

	*r = (struct reader){ .ds = load_open(dir, NULL) };
	r->e = load_epoch(r->ds, opt);
	r->x = (struct hp_load_extents){ .e = r->e,
					 .index = r->ds->index,
					 .wanted = wanted };
	s.seq = hp_epoch_seq(r->e);
	s.own.end = hpdsl_epoch_steps(r->e, HPDSL_END_MASK);
	assert_int_equal(hp_shares_new(&s, &r->shares, NULL), 0);
	r->plan = (struct hp_load_plan){ .e = r->e,
					 .own = hp_shares_own(r->shares),
					 .index = r->ds->index,
					 .wanted = wanted };
}

static void end(struct reader *r)
{
	hp_shares_free(r->shares);
	hpdsl_epoch_free(r->e);
	hpdsl_close(r->ds);
}

static uint64_t sample_at(const struct reader *r, const struct hp_share *s,
			  uint64_t x)
{
	const struct hp_deal *d = hp_seq_deal(hp_epoch_seq(r->e));
	struct hp_deal_place place = { s->lane, x };
	uint64_t position, sample;
	bool real;

	position = s->lane == HP_SHARE_APART ?
			   hp_deal_slot(d, s->need, (uint32_t)x, &real) :
			   hp_deal_position(d, place);
	assert_int_equal(hpdsl_epoch_at(r->e, position, &sample, NULL), 0);
	return sample;
}

static bool is_wanted(const struct reader *r, const struct hpdsl_member *m)
{
	for (uint32_t i = 0; i < r->plan.wanted.n_suffixes; i++)
		if (hp_load_has_suffix(r->ds->index, m,
				       r->plan.wanted.suffixes[i]))
			return true;
	return !r->plan.wanted.n_suffixes && !m->generated;
}

/* It has the members that are wanted, and the share has their bytes. */
static void check_row(const struct reader *r, const struct hp_load_unit *u,
		      uint32_t row, uint64_t sample)
{
	const struct hp_load_row *is = &u->row[row];
	const struct hp_extent *at = &u->share.at;
	uint32_t n = is->member;
	struct hpdsl_sample s;

	assert_int_equal(is->number, sample);
	assert_int_equal(is->code, 0);
	assert_int_equal(hpdsl_sample_get(r->ds, sample, &s, NULL), 0);
	assert_int_equal(is->label, s.label);
	for (uint64_t i = 0; i < s.members; i++) {
		struct hpdsl_member m;

		hpdsl_member_get(r->ds, s.first_member + i, &m, NULL);
		if (!is_wanted(r, &m))
			continue;
		assert_int_equal(u->member[n].number, m.number);
		assert_int_equal(u->member[n].offset, m.offset);
		assert_int_equal(u->member[n].size, m.size);
		assert_int_equal(u->member[n].chunk, m.chunk);
		n++;
		if (m.size)
			assert_true(m.offset >= at->begin &&
				    m.offset + m.size <= at->end);
	}
	assert_int_equal(is->members, n - is->member);
}

/* Of compressed chunks they are whole frames. */
static void check_extent(const struct reader *r, const struct hp_share *s)
{
	struct hp_extent stored = hp_load_stored((void *)&r->x, s->list, s->at);
	const struct hpdsl_chunk *c = &r->x.chunk;
	struct hp_frame first, last;
	uint32_t a, b;

	if (!c->compressed || s->at.end == s->at.begin) {
		assert_memory_equal(&stored, &s->at, sizeof stored);
		return;
	}
	hp_index_frame_find(r->ds->index, c, s->at.begin, &a, NULL);
	hp_index_frame_find(r->ds->index, c, s->at.end - 1, &b, NULL);
	hp_index_frame(r->ds->index, c, a, &first, NULL);
	hp_index_frame(r->ds->index, c, b, &last, NULL);
	assert_int_equal(first.plain, s->at.begin);
	assert_int_equal(last.plain_end, s->at.end);
	assert_int_equal(first.stored, stored.begin);
	assert_int_equal(last.stored_end, stored.end);
}

/* What it takes was known before. */
static void check_bytes(const struct hp_load_unit *u)
{
	assert_int_equal(u->b.n, u->members);
	assert_ptr_equal(u->b.member, u->member);
	assert_int_equal(u->b.room, hp_fetch_room(u->member, u->members));
	assert_true(u->b.room <= hp_load_unit_room(u));
	assert_true(u->members <= u->members_most);
	assert_true(u->made <= sizeof *u + hp_load_unit_arrays(u));
}

static void check_unit(struct reader *r, const struct hp_share *s)
{
	struct hp_load_unit *u = hp_load_unit_new(&r->plan, s);
	bool apart = s->lane == HP_SHARE_APART;
	uint32_t rows = 0;

	assert_non_null(u);
	u->members_most = hp_load_members(&r->x, s);
	assert_int_equal(hp_load_unit_make(u), 0);
	for (uint64_t x = s->x; x < s->x + s->samples; x++) {
		uint32_t row = hp_load_unit_row(u, x);

		if (!apart && !hp_own_has(r->plan.own, s->lane, x)) {
			assert_int_equal(row, HP_LOAD_NONE);
			continue;
		}
		assert_int_equal(row, rows++);
		check_row(r, u, row, sample_at(r, s, x));
	}
	assert_int_equal(u->rows, rows);
	r->seen += apart ? 0 : rows;
	check_bytes(u);
	check_extent(r, s);
	hp_load_unit_free(u);
}

static uint64_t check_reader(const char *dir,
			     const struct hpdsl_loader_options *opt,
			     uint64_t bytes)
{
	struct hp_share s;
	struct reader r;

	begin(&r, dir, opt, bytes);
	for (;;) {
		r.x.members = 0;
		if (!hp_shares_next(r.shares, &s))
			break;
		check_unit(&r, &s);
	}
	end(&r);
	return r.seen;
}

/* All readers have all samples, each once. */
static void check_readers(const char *dir, struct hpdsl_loader_options opt,
			  uint64_t bytes)
{
	for (uint32_t ranks = 1; ranks <= 4; ranks++)
		for (uint32_t workers = 1; workers <= 3; workers++) {
			uint64_t seen = 0;

			for (uint32_t i = 0; i < ranks * workers; i++) {
				opt.share = (struct hpdsl_share){
					.rank = i % ranks,
					.ranks = ranks,
					.worker = i / ranks,
					.workers = workers,
				};
				seen += check_reader(dir, &opt, bytes);
			}
			assert_int_equal(seen, LOAD_SAMPLES);
		}
}

static const struct hpdsl_order orders[] = {
	{ .seed = 1,
	  .batch = 12,
	  .lanes = 4,
	  .piece = 7,
	  .windows = 2,
	  .parts = 1 },
	{ .seed = 2,
	  .batch = 4,
	  .lanes = 12,
	  .piece = 5,
	  .windows = 1,
	  .parts = 2 },
	{ .seed = 3,
	  .batch = 10,
	  .lanes = 1,
	  .piece = 1,
	  .windows = 1,
	  .parts = 1,
	  .plain = true },
};

static void test_units(void **state)
{
	static const uint64_t bytes[] = { 1, 20000, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < COUNT(orders) * COUNT(bytes); i++) {
		struct hpdsl_loader_options opt = load_base();

		opt.order = orders[i / COUNT(bytes)];
		check_readers(load_plain, opt, bytes[i % COUNT(bytes)]);
		check_readers(load_zst, opt, bytes[i % COUNT(bytes)]);
	}
}

static void test_suffixes(void **state)
{
	static const char *const suffixes[] = { "txt", "jpg", "png" };

	(void)state;
	for (size_t i = 0; i < COUNT(orders) * 3; i++) {
		struct hpdsl_loader_options opt = load_base();

		opt.order = orders[i / 3];
		opt.suffixes = suffixes + i % 3;
		opt.n_suffixes = 3 - i % 3;
		check_readers(load_plain, opt, 20000);
		check_readers(load_zst, opt, 20000);
	}
}

/* ---- Neighbours ------------------------------------------------------- */

/* Told to be neighbours are just those that are. */
static void test_dense(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	const struct hpdsl_choice_options half = { .split_to = 600000000 };
	struct hpdsl_choice *choice;
	struct hpdsl_dataset *ds = load_open(load_plain, NULL);
	struct hp_load_extents x = { .index = ds->index };
	struct hpdsl_epoch *e;
	uint64_t last = 0, number, dense = 0;

	(void)state;
	assert_int_equal(hpdsl_choose(ds, &half, &choice, NULL), 0);
	opt.choice = choice;
	x.e = e = load_epoch(ds, &opt);
	for (uint32_t list = 0; list < e->lists.n; list++) {
		uint64_t n = e->lists.v[list].samples;

		for (uint64_t i = 0; i < n; i++, last = number) {
			hp_epoch_list_samples(e, list, i, 1, &number);
			assert_true(hp_load_dense(&x, list, i, 1));
			if (i == 0)
				continue;
			assert_int_equal(hp_load_dense(&x, list, i - 1, 2),
					 number == last + 1);
			dense += number == last + 1;
		}
	}
	assert_true(dense > 0 && dense < LOAD_SAMPLES / 2);
	hpdsl_epoch_free(e);
	hpdsl_choice_free(choice);
	hpdsl_close(ds);
}

/* Frames, and members that nobody wants, are gone through. */
static void test_not_dense(void **state)
{
	static const char *const jpg[] = { "jpg" };
	struct hpdsl_loader_options opt = load_base();
	struct reader r;

	(void)state;
	begin(&r, load_zst, &opt, 1);
	assert_false(hp_load_dense(&r.x, 0, 0, 2));
	end(&r);
	opt.suffixes = jpg;
	opt.n_suffixes = 1;
	begin(&r, load_plain, &opt, 1);
	assert_false(hp_load_dense(&r.x, 0, 0, 2));
	end(&r);
}

/* ---- Damage ----------------------------------------------------------- */

/* Three members that overlap, whose pages are 2^64 bytes in all. */
static const struct {
	uint64_t offset, size;
} overlapping[3] = { { 8192, INT64_MAX - 8192 },
		     { 4096, INT64_MAX - 4096 },
		     { 0, 12288 } };

/* An index of four samples, in which sample 2 has these members. */
static void forge(struct image *im, bool overlap)
{
	struct corpus c;
	uint8_t *row;

	corpus_make(&c, 4, 1, 0, 0);
	assert_int_equal(image_write(&c, im, NULL), 0);
	corpus_free(&c);
	row = image_section(im, HP_SECTION_MEMBERS, NULL) + 3 * HP_MEMBER_ROW;
	for (int i = 0; i < 3; i++, row += HP_MEMBER_ROW) {
		hp_put64(row, overlap ? overlapping[i].offset : UINT64_MAX);
		hp_put64(row + 8, overlap ? overlapping[i].size : 5);
	}
	row = image_section(im, HP_SECTION_CHUNKS, NULL);
	if (overlap) {
		hp_put64(row + 16, INT64_MAX);
		hp_put64(row + 40, INT64_MAX);
	}
	image_repair(im->p, im->n);
}

/* Such a sample is bad, and those beside it are not. */
static void check_damage(bool overlap, int code)
{
	static const uint64_t first[] = { 0, 4 };
	const struct hpdsl_order o = {
		.batch = 1, .lanes = 1, .piece = 4, .windows = 1, .parts = 1
	};
	struct hp_load_extents x = { .known = 0 };
	struct hp_own own;
	struct hp_load_plan p = { .own = &own };
	struct hp_share share = { .samples = 4, .at = { 0, 1 << 20 } };
	struct hp_load_unit *u;
	struct hp_index *ix;
	struct hpdsl_epoch *e;
	struct image image;

	forge(&image, overlap);
	assert_int_equal(hp_index_open(image.p, image.n, "it", &ix, NULL), 0);
	assert_int_equal(hp_epoch_make(&o, first, 1, NULL, &e, NULL), 0);
	hp_own_init(&own, hp_seq_deal(hp_epoch_seq(e)),
		    &(struct hp_own_options){ .ranks = 1, .end = 4 });
	p.e = x.e = e;
	p.index = x.index = ix;
	u = hp_load_unit_new(&p, &share);
	u->members_most = hp_load_members(&x, &share);
	assert_int_equal(hp_load_unit_make(u), 0);
	assert_int_equal(u->rows, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(u->row[i].code, i == 2 ? code : 0);
		assert_int_equal(u->row[i].members, i == 2 ? 0 : 1 + i % 3);
	}
	assert_true(u->b.room <= 64 << 10);
	if (!overlap) {
		struct hp_extent at = hp_load_extent(&x, 0, 2);

		assert_true(at.begin == at.end);
		at = hp_load_extent(&x, 0, 1);
		assert_true(at.begin < at.end);
	}
	hp_load_unit_free(u);
	hpdsl_epoch_free(e);
	hp_index_free(ix);
	free(image.p);
}

static void test_too_large(void **state)
{
	(void)state;
	check_damage(true, HPDSL_ECORRUPT);
}

static void test_no_such_place(void **state)
{
	(void)state;
	check_damage(false, HPDSL_ECORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_not_dense),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_no_such_place),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
