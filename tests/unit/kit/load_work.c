/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets for tests of the loader, and what has to come out of it. */
#include "load_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct packed load_fix, load_fix_big;
char load_plain[200], load_zst[200], load_big[200];

/* ---- Datasets --------------------------------------------------------- */

/* Some without text, some empty, one that is larger than the others, and one
 * with a picture of nothing. */
static void make_sample(int i)
{
	char name[64];

	snprintf(name, sizeof name, "c%d/s%03d.jpg", i % 3, i);
	packed_file(&load_fix, name,
		    i % 11 == 5 ? 0 :
		    i == 40	? 300000 :
				  (size_t)(i * 977 % 9000),
		    0644, 1000, 0);
	if (i == LOAD_PNG) {
		snprintf(name, sizeof name, "c%d/s%03d.png", i % 3, i);
		packed_file(&load_fix, name, 0, 0644, 1000, 0);
	}
	if (i % 4 == 0)
		return;
	snprintf(name, sizeof name, "c%d/s%03d.txt", i % 3, i);
	packed_file(&load_fix, name, (size_t)i * 13 % 50, 0644, 1000, 0);
}

static void pack(const struct packed *fix, char to[200], const char *name,
		 int zstd)
{
	const char *inputs[] = { fix->tree };
	struct hpdsl_pack_options opt = {
		.inputs = inputs,
		.n_inputs = 1,
		.output = to,
		.chunks = fix == &load_fix ? 9 : 12,
		.seed = 3,
		.labels = HPDSL_LABELS_DIR,
		.cls = true,
		.zstd = zstd,
	};
	struct hpdsl_pack_report report;
	struct hpdsl_error err = { 0 };

	snprintf(to, 200, "%s", packed_at(fix, name));
	if (hpdsl_pack(&opt, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.samples,
			 fix == &load_fix ? LOAD_SAMPLES : LOAD_BIG);
}

int load_setup(void **unused)
{
	(void)unused;
	packed_begin(&load_fix);
	for (int i = 0; i < LOAD_SAMPLES; i++)
		make_sample(i);
	pack(&load_fix, load_plain, "plain", 0);
	pack(&load_fix, load_zst, "zst", 1);
	packed_begin(&load_fix_big);
	for (int i = 0; i < LOAD_BIG; i++) {
		char name[64];

		snprintf(name, sizeof name, "c%d/b%02d.bin", i % 2, i);
		packed_file(&load_fix_big, name, LOAD_BIG_SIZE + (size_t)i,
			    0644, 1000, 0);
	}
	pack(&load_fix_big, load_big, "big", 0);
	return 0;
}

int load_teardown(void **unused)
{
	(void)unused;
	packed_end(&load_fix);
	packed_end(&load_fix_big);
	return 0;
}

/* ---- Samples ---------------------------------------------------------- */

static void check_member(const struct hpdsl_dataset *ds, uint64_t number,
			 const void *data, size_t size)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_member m;
	char *want;

	assert_int_equal(hpdsl_member_get(ds, number, &m, &err), 0);
	assert_int_equal(m.size, size);
	assert_non_null(data);
	want = malloc(size + 1);
	assert_non_null(want);
	if (hpdsl_member_read(ds, &m, 0, want, size, &err) < 0)
		fail_msg("%s", err.msg);
	assert_memory_equal(data, want, size);
	free(want);
}

/* The member of the sample that has this suffix; UINT64_MAX: none. */
static uint64_t find(const struct hpdsl_dataset *ds,
		     const struct hpdsl_sample *s, const char *suffix)
{
	for (uint64_t i = 0; i < s->members; i++) {
		struct hpdsl_member m;

		assert_int_equal(
			hpdsl_member_get(ds, s->first_member + i, &m, NULL), 0);
		if (!strcmp(strrchr(m.path, '.') + 1,
			    suffix + (*suffix == '.')))
			return m.number;
	}
	return UINT64_MAX;
}

static void check_suffixes(const struct hpdsl_dataset *ds,
			   const struct hpdsl_loader_options *opt,
			   const struct hpdsl_sample *s,
			   const struct hpdsl_batch *b, size_t i)
{
	assert_int_equal(b->first[i + 1] - b->first[i], opt->n_suffixes);
	for (size_t k = 0; k < opt->n_suffixes; k++) {
		size_t at = b->first[i] + k;
		uint64_t want = find(ds, s, opt->suffixes[k]);

		assert_int_equal(b->member_number[at], want);
		if (want != UINT64_MAX) {
			check_member(ds, want, b->member_data[at],
				     b->member_size[at]);
			continue;
		}
		assert_null(b->member_data[at]);
		assert_int_equal(b->member_size[at], 0);
	}
}

static void check_all(const struct hpdsl_dataset *ds,
		      const struct hpdsl_sample *s, const struct hpdsl_batch *b,
		      size_t i)
{
	size_t at = b->first[i];

	for (uint64_t k = 0; k < s->members; k++) {
		struct hpdsl_member m;

		assert_int_equal(
			hpdsl_member_get(ds, s->first_member + k, &m, NULL), 0);
		if (m.generated)
			continue;
		assert_int_equal(b->member_number[at], m.number);
		check_member(ds, m.number, b->member_data[at],
			     b->member_size[at]);
		at++;
	}
	assert_int_equal(b->first[i + 1], at);
}

static void check_sample(const struct hpdsl_dataset *ds,
			 const struct hpdsl_loader_options *opt,
			 const struct hpdsl_batch *b, size_t i)
{
	struct hpdsl_sample s;

	assert_int_equal(hpdsl_sample_get(ds, b->number[i], &s, NULL), 0);
	assert_int_equal(b->label[i], s.label);
	assert_int_equal(b->bad[i], 0);
	if (opt->n_suffixes)
		check_suffixes(ds, opt, &s, b, i);
	else
		check_all(ds, &s, b, i);
	if (b->first[i] < b->first[i + 1]) {
		assert_ptr_equal(b->data[i], b->member_data[b->first[i]]);
		assert_int_equal(b->size[i], b->member_size[b->first[i]]);
	} else {
		assert_null(b->data[i]);
		assert_int_equal(b->size[i], 0);
	}
}

/* What counts of the step, whoever has it. */
static void check_whole(const struct hpdsl_loader_options *opt,
			const struct hpdsl_epoch *e,
			const struct hpdsl_batch *b)
{
	uint32_t ranks = opt->share.ranks ? opt->share.ranks : 1;
	struct hpdsl_share share = { .ranks = ranks, .uneven = true };
	struct hpdsl_place place[1024];
	uint64_t whole = 0;

	for (share.rank = 0; share.rank < ranks; share.rank++) {
		int64_t n = hpdsl_epoch_step(e, opt->end, b->step, &share,
					     place, 1024, NULL);

		assert_true(n > 0);
		for (int64_t i = 0; i < n; i++)
			whole += place[i].real;
	}
	assert_int_equal(b->whole, whole);
}

void load_check_batch(const struct hpdsl_dataset *ds,
		      const struct hpdsl_loader_options *opt,
		      const struct hpdsl_epoch *e, const struct hpdsl_batch *b)
{
	struct hpdsl_share share = opt->share;
	struct hpdsl_place *place = malloc(b->n * sizeof *place);
	struct hpdsl_error err = { 0 };

	assert_non_null(place);
	if (hpdsl_epoch_step(e, opt->end, b->step, &share, place, b->n, &err) !=
	    (int64_t)b->n)
		fail_msg("step %llu: %s", (unsigned long long)b->step, err.msg);
	check_whole(opt, e, b);
	assert_int_equal(b->first[0], 0);
	for (size_t i = 0; i < b->n; i++) {
		assert_int_equal(b->number[i], place[i].sample);
		assert_int_equal(b->mask[i],
				 place[i].real || opt->end == HPDSL_END_REPEAT);
		check_sample(ds, opt, b, i);
	}
	free(place);
}

/* ---- Loaders ---------------------------------------------------------- */

struct hpdsl_loader_options load_base(void)
{
	return (struct hpdsl_loader_options){
		.order = { .seed = 7,
			   .batch = 12,
			   .lanes = 24,
			   .piece = 2,
			   .windows = 2,
			   .parts = 1 },
		.epochs = 1,
		.threads = 2,
	};
}

struct hpdsl_dataset *load_open(const char *dir, const struct hp_io *io)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open(dir, io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

struct hpdsl_loader *load_new(const struct hpdsl_dataset *ds,
			      const struct hpdsl_loader_options *opt)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_loader *l = NULL;

	if (hpdsl_loader_new(ds, opt, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

struct hpdsl_epoch *load_epoch(const struct hpdsl_dataset *ds,
			       const struct hpdsl_loader_options *opt)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_epoch *e = NULL;

	if (hpdsl_epoch_new(ds, opt->choice, &opt->order, &e, &err) < 0)
		fail_msg("%s", err.msg);
	return e;
}

/* ---- Epochs ----------------------------------------------------------- */

struct run {
	const struct hpdsl_dataset *ds;
	struct load_case *c;
	struct hpdsl_order order; /* filled */
	struct hpdsl_loader *l;
	const struct hpdsl_batch *held[16];
	uint32_t n_held;
};

static void hold(struct run *r, const struct hpdsl_batch *b)
{
	r->held[r->n_held++] = b;
	if (r->n_held <= r->c->hold)
		return;
	hpdsl_batch_release(r->held[0]);
	memmove(r->held, r->held + 1, --r->n_held * sizeof(*r->held));
}

struct hpdsl_order load_order(const struct hpdsl_dataset *ds,
			      const struct hpdsl_loader_options *opt)
{
	struct hpdsl_order_start start = { .choice = opt->choice,
					   .batch_size = opt->batch_size,
					   .ranks = opt->share.ranks,
					   .workers = opt->share.workers };
	struct hpdsl_order o = opt->order;
	struct hpdsl_error err = { 0 };

	if (hpdsl_order_fill(ds, &start, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

static void check_state(const struct run *r, uint64_t epoch, uint64_t step)
{
	char is[HPDSL_STATE_MAX], want[HPDSL_STATE_MAX];
	struct hpdsl_state s;

	hpdsl_loader_state(r->l, &s);
	hpdsl_state_format(&s, is);
	s.order = r->order;
	s.order.epoch = epoch;
	s.order.step = step;
	s.end = r->c->opt.end;
	hpdsl_state_format(&s, want);
	assert_string_equal(is, want);
}

static void check_epoch(struct run *r, uint64_t number, uint64_t first)
{
	const struct hpdsl_loader_options *opt = &r->c->opt;
	uint32_t w = opt->share.workers ? opt->share.workers : 1;
	struct hpdsl_order o = r->order;
	struct hpdsl_error err = { 0 };
	struct hpdsl_epoch *e;

	o.epoch = number;
	assert_int_equal(hpdsl_epoch_new(r->ds, opt->choice, &o, &e, &err), 0);
	assert_int_equal(hpdsl_loader_steps(r->l, number),
			 hpdsl_epoch_steps(e, opt->end));
	for (uint64_t s = first + opt->share.worker;
	     s < hpdsl_epoch_steps(e, opt->end); s += w) {
		const struct hpdsl_batch *b;

		if (hpdsl_loader_next(r->l, &b, &err) != 1)
			fail_msg("%s", err.msg);
		assert_int_equal(b->epoch, number);
		assert_int_equal(b->step, s);
		load_check_batch(r->ds, opt, e, b);
		check_state(r, number, s + 1);
		hold(r, b);
	}
	hpdsl_epoch_free(e);
}

static void count_warning(void *arg, const char *text)
{
	struct load_case *c = arg;

	if (strstr(text, "has no member of suffix '")) {
		c->told_lacking++;
		return;
	}
	assert_non_null(strstr(text, "memory"));
	c->told_small += !strncmp(text, "reads of ", 9);
	c->told_over += !!strstr(text, "do not fit");
}

/* What a step that is awaited takes beyond the memory is told; nothing else
 * takes more. */
static void check_stats(const struct load_case *c)
{
	const struct hpdsl_loader_stats *s = &c->stats;

	assert_int_equal(s->failed_steps, 0);
	assert_int_equal(s->bad_samples, 0);
	assert_true(s->memory_peak <= s->memory || c->told_over);
	assert_true(c->told_over <= 1 && c->told_small <= 1);
	assert_true(s->stall_seconds <= s->seconds);
}

void load_check(const char *dataset, struct load_case *c)
{
	struct run r = { .c = c };
	const struct hpdsl_batch *b;
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds;

	assert_int_equal(hpdsl_open(dataset, c->opt.watch.io, &ds, &err), 0);
	r.ds = ds;
	c->told_small = c->told_over = c->told_lacking = 0;
	c->opt.watch.warn = count_warning;
	c->opt.watch.arg = c;
	r.order = load_order(ds, &c->opt);
	if (hpdsl_loader_new(ds, &c->opt, &r.l, &err) < 0)
		fail_msg("%s", err.msg);
	check_state(&r, r.order.epoch, r.order.step);
	for (uint64_t i = 0; i < c->opt.epochs; i++)
		check_epoch(&r, r.order.epoch + i, i ? 0 : r.order.step);
	assert_int_equal(hpdsl_loader_next(r.l, &b, &err), 0);
	assert_int_equal(hpdsl_loader_next(r.l, &b, &err), 0);
	for (uint32_t i = 0; i < r.n_held; i++)
		hpdsl_batch_release(r.held[i]);
	hpdsl_loader_stats(r.l, &c->stats);
	check_stats(c);
	hpdsl_loader_free(r.l);
	hpdsl_close(ds);
}
