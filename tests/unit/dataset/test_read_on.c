/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read that goes on at another source: each of them once, what is of two of
 * them charged to none, and what was given in the meantime right.
 */
#include "dataset/dataset.h"
#include "fetching.h"
#include "other_nodes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

/* ---- A large member, of which the file here comes to an end ----------- */

struct scene {
	struct staged f;
	struct other_nodes o;
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	const char *file; /* here */
	char *want;	  /* its bytes */
	/* Handed over. */
	char *at;
	void (*first)(const struct scene *s); /* before any is looked at */
	bool wrong;			      /* some of it was to be so */
};

static void open_here(const struct scene *s)
{
	char byte;

	/* It stays open. */
	assert_int_equal(hpdsl_member_read(s->ds, &s->m, 0, &byte, 1, NULL), 0);
}

static void scene_begin(struct scene *s)
{
	struct hpdsl_chunk row;

	memset(s, 0, sizeof *s);
	staged_begin(&s->f, 0);
	staged_put_all(&s->f);
	other_nodes_begin(&s->o, &s->f);
	s->ds = other_nodes_open(&s->o);
	assert_int_equal(hpdsl_member_find(s->ds, "large.bin", 9, &s->m, NULL),
			 0);
	staged_chunk(&s->f, s->m.chunk, &row);
	s->file = staged_at(&s->f, row.name);
	s->at = s->want = malloc(s->m.size);
	assert_non_null(s->want);
	assert_int_equal(hpdsl_member_read(s->f.origin, &s->m, 0, s->want,
					   s->m.size, NULL),
			 0);
	open_here(s);
}

static void scene_end(struct scene *s)
{
	hpdsl_close(s->ds);
	staged_end(&s->f);
	free(s->want);
}

static void cut(const struct scene *s, uint64_t at)
{
	assert_int_equal(truncate(s->file, (off_t)(s->m.offset + at)), 0);
}

static int take(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	struct scene *s = arg;

	(void)err;
	if (s->first && s->at == s->want)
		s->first(s);
	if (!s->wrong)
		assert_memory_equal(s->at, buf, n);
	s->at += n;
	return 0;
}

static void stream_well(struct scene *s)
{
	struct hpdsl_error err = { 0 };

	if (hpdsl_member_stream(s->ds, &s->m, take, s, &err) < 0)
		fail_msg("%s", err.msg);
	assert_ptr_equal(s->at, s->want + s->m.size);
}

/* Bad at its beginning, gone at its end: the next source is good all the same.
 */
static void test_bad_then_gone(void **state)
{
	(void)state;
	for (int there = 0; there < 2; there++) {
		struct scene s;

		scene_begin(&s);
		s.o.there = there;
		packed_flip(s.file, s.m.offset + 5, 0);
		cut(&s, MIB + MIB / 2);
		stream_well(&s);
		assert_int_equal(s.o.bad, 0);
		staged_expect(s.ds, 0, 0, 1);
		scene_end(&s);
	}
}

static void cut_early(const struct scene *s)
{
	cut(s, MIB + MIB / 2);
}

/* Gone while it was handed over, and wrong at other nodes. */
static void test_gone_meanwhile(void **state)
{
	(void)state;
	for (int flips = 0; flips < 2; flips++) {
		struct hpdsl_sources n;
		struct scene s;

		scene_begin(&s);
		s.o.flips = flips;
		s.first = cut_early;
		stream_well(&s);
		n = staged_sources(s.ds);
		assert_int_equal(s.o.bad > 0, flips);
		assert_int_equal(n.peer_failed, flips);
		assert_int_equal(n.origin_bytes > 0, flips);
		assert_int_equal(n.peer_chunks, 1);
		staged_expect(s.ds, 0, 0, 1);
		scene_end(&s);
	}
}

static void damage_and_cut(const struct scene *s)
{
	packed_flip(s->file, s->m.offset + MIB + 5, 0);
	cut(s, 2 * MIB + MIB / 2);
}

/* It became bad, and was gone on with elsewhere: nobody there is to blame. */
static void test_bad_meanwhile(void **state)
{
	(void)state;
	for (int there = 0; there < 2; there++) {
		struct hpdsl_error err;
		struct scene s;

		scene_begin(&s);
		s.o.there = there;
		s.first = damage_and_cut;
		s.wrong = true;
		assert_int_equal(
			hpdsl_member_stream(s.ds, &s.m, take, &s, &err),
			HPDSL_ECORRUPT);
		assert_non_null(strstr(err.msg, "of what two sources gave"));
		assert_int_equal(s.o.bad, 0);
		assert_int_equal(staged_sources(s.ds).peer_failed, 0);
		s.first = NULL;
		s.wrong = false;
		s.at = s.want;
		stream_well(&s);
		scene_end(&s);
	}
}

/* ---- Each source once ------------------------------------------------- */

/* Wrong everywhere: it is looked at once here, there and at the origin. */
static void test_wrong_everywhere(void **state)
{
	struct hpdsl_sources n;
	struct hpdsl_error err;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct other_nodes o;
	struct hpdsl_dataset *ds;
	struct staged f;
	char buf[8192];

	(void)state;
	staged_begin(&f, 0);
	hpdsl_member_get(f.origin, staged_first(&f, 1), &m, NULL);
	if (m.size > sizeof buf)
		hpdsl_member_get(f.origin, m.number + 1, &m, NULL);
	staged_chunk(&f, 1, &row);
	snprintf(buf, sizeof buf, "%s/%s", f.p.out, row.name);
	packed_flip(buf, m.offset + 1, 0);
	staged_put_all(&f);
	other_nodes_begin(&o, &f);
	ds = other_nodes_open(&o);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err),
			 HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, staged_at(&f, row.name)));
	assert_non_null(strstr(err.msg, "; and at the origin: "));
	n = staged_sources(ds);
	assert_int_equal(n.local_bytes, m.size);
	assert_int_equal(n.peer_bytes, m.size);
	assert_int_equal(n.origin_bytes, m.size);
	assert_int_equal(n.failed_chunks, 1);
	assert_int_equal(n.peer_failed, 1);
	hpdsl_close(ds);
	staged_end(&f);
}

static unsigned asked_by_all(const struct other_nodes *o,
			     const struct staged *f)
{
	struct hpdsl_dataset *ds = other_nodes_open(o);
	struct fetching t = { .ds = ds, .good = f->origin };
	unsigned before = o->asked;

	assert_int_equal(fetching_run(&t), 0);
	if (t.bad)
		fail_msg("%s", t.why.msg);
	fetching_end(&t);
	hpdsl_close(ds);
	return o->asked - before;
}

/* What other nodes sent wrong with its neighbours they are not asked for
 * alone. */
static void test_one_of_many(void **state)
{
	struct hpdsl_member m;
	struct other_nodes o;
	struct staged f;
	unsigned asked;

	(void)state;
	staged_begin(&f, 0);
	other_nodes_stage_half(&f);
	other_nodes_begin(&o, &f);
	asked = asked_by_all(&o, &f);
	hpdsl_member_get(f.origin, staged_first(&f, 3) + 1, &m, NULL);
	o.flipped = m.chunk;
	o.flipped_at = m.offset;
	assert_int_equal(asked_by_all(&o, &f), asked);
	assert_int_equal(o.bad, 1);
	staged_end(&f);
}

/* Four members in one chunk, which is read by three requests. */
static void pack_four(struct staged *f)
{
	memset(f, 0, sizeof *f);
	packed_begin(&f->p);
	for (unsigned i = 0; i < 4; i++) {
		char name[] = { (char)('a' + i), 0 };

		packed_file(&f->p, name, 5 * MIB / 2, 0644, 1e9, 0);
	}
	staged_pack(f, (struct hpdsl_pack_options){ .chunks = 1 });
	staged_state(f, HP_CHUNK_ABSENT);
}

/* Two nodes sent it: whose bytes are wrong shows what he sends alone. */
static void test_of_two_senders(void **state)
{
	/* Who is asked for the first of them, and which is bad: of the liar's,
	 * that alone is asked of himself, or of the other one. */
	static const struct {
		unsigned first, bad;
		bool blamed;
	} is[] = { { 0, 2, true }, { 1, 0, false } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_member m;
		struct other_nodes o;
		struct hpdsl_dataset *ds;
		struct fetching t = { .slot = 16 * MIB };
		struct staged f;

		pack_four(&f);
		other_nodes_begin(&o, &f);
		o.two = true;
		o.asked = is[i].first;
		hpdsl_member_get(f.origin, is[i].bad, &m, NULL);
		o.flipped = 0;
		o.flipped_at = m.offset + m.size / 2;
		t.ds = ds = other_nodes_open(&o);
		t.good = f.origin;
		assert_int_equal(fetching_run(&t), 0);
		assert_int_equal(t.bad, 0);
		assert_int_equal(o.asked, is[i].first + 3 + 1);
		assert_int_equal(o.bad, is[i].blamed);
		assert_int_equal(staged_sources(ds).origin_bytes,
				 is[i].blamed ? m.size : 0);
		fetching_end(&t);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Opening files of the origin, counted. */
struct counting {
	struct hp_io io;
	unsigned opened;
};

static int count_open(const struct hp_io *io, int dir, const char *name,
		      int flags, mode_t mode)
{
	if (strstr(name, "/out/chunk-"))
		((struct counting *)io)->opened++; /* its first member */
	return hp_io_system.open(io, dir, name, flags, mode);
}

/* An origin that is gone is not asked for each member that is good here. */
static void test_no_origin(void **state)
{
	struct counting c = { .io = hp_io_system };
	struct fetching t = { .opt.cache = HPDSL_CACHE_KEEP };
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	staged_hide_origin(&f);
	c.io.open = count_open;
	ds = staged_open(f.dir, &c.io);
	hpdsl_member_get(ds, staged_first(&f, 2), &m, NULL);
	staged_chunk(&f, m.chunk, &row);
	assert_true(row.members > 3);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	for (int i = 0; i < 2; i++) {
		t.ds = ds;
		t.good = f.origin;
		c.opened = 0;
		assert_int_equal(fetching_run(&t), 0);
		assert_int_equal(t.bad, 1);
		fetching_end(&t);
		assert_int_equal(c.opened, 1);
	}
	hpdsl_close(ds);
	staged_show_origin(&f);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_then_gone),
		cmocka_unit_test(test_gone_meanwhile),
		cmocka_unit_test(test_bad_meanwhile),
		cmocka_unit_test(test_wrong_everywhere),
		cmocka_unit_test(test_one_of_many),
		cmocka_unit_test(test_of_two_senders),
		cmocka_unit_test(test_no_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
