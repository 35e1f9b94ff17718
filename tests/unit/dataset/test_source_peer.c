/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks that other nodes of the job have, by a source that plays them: who
 * reads the dataset gets the same from them, from the origin when they are of
 * no use, and one kind of both when only some are.
 */
#include "dataset/dataset.h"
#include "fetching.h"
#include "staged.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Peers that answer at once, from the plain tars or from what is stored. */
struct peers {
	struct staged *f;
	struct hp_source_ops ops[2]; /* stored, plain */
	struct hp_sources table;
	bool there, only_plain;
	int fails;	   /* with this, from the k-th on */
	unsigned k, asked; /* stretches */
	bool flips;	   /* a bit of what it gives */
	unsigned bad;	   /* how often it was told so */
	uint64_t bytes;
};

static bool peers_there(void *arg)
{
	return ((const struct peers *)arg)->there;
}

/* Of compressed chunks the plain tar is not in any file. */
static ssize_t give(struct peers *p, const struct hp_source *s,
		    struct hp_source_stretch *v)
{
	char name[PACKED_PATH];
	struct hpdsl_chunk row;
	ssize_t got;
	int fd;

	staged_chunk(p->f, s->chunk, &row);
	if (row.compressed && p->only_plain != s->ops->plain)
		return HP_OTHER_FORM;
	assert_false(s->ops->plain && !row.compressed);
	if (p->fails && p->asked >= p->k)
		return p->fails;
	snprintf(name, sizeof name, "%s/%s", p->f->p.out, row.name);
	if (row.compressed && p->only_plain)
		snprintf(name, sizeof name, "%s/plain-%u", p->f->p.out,
			 (unsigned)s->chunk);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	got = hp_io_pread_full(hp_io_or_system(NULL), fd, v->buf, v->n,
			       v->offset);
	close(fd);
	if (p->flips && got > 0)
		((uint8_t *)v->buf)[got / 2] ^= 1;
	return got;
}

static void peers_submit(const struct hp_source *s, struct hp_source_stretch *v,
			 size_t n, uint64_t deadline, hp_source_done *done,
			 void *arg)
{
	struct peers *p = s->arg;

	(void)deadline;
	for (size_t i = 0; i < n; i++) {
		v[i].got = give(p, s, &v[i]);
		p->asked++;
		p->bytes += v[i].got > 0 ? (uint64_t)v[i].got : 0;
		done(arg, &v[i]);
	}
}

static int64_t peers_cached(const struct hp_source *s, uint64_t offset,
			    uint64_t n)
{
	(void)s, (void)offset, (void)n;
	return -EOPNOTSUPP;
}

static unsigned peers_blame(int code)
{
	(void)code;
	return 0;
}

static void peers_bad(const struct hp_source *s)
{
	((struct peers *)s->arg)->bad++;
}

static void peers_text(const char *path, const char *name, char *buf,
		       size_t room)
{
	(void)path;
	snprintf(buf, room, "peers:%.600s", name);
}

static void peers_begin(struct peers *p, struct staged *f)
{
	*p = (struct peers){ .f = f, .there = true, .table = hp_sources_files };
	for (int i = 0; i < 2; i++) {
		p->ops[i] = (struct hp_source_ops){
			.plain = i,
			.there = peers_there,
			.submit = peers_submit,
			.cached = peers_cached,
			.blame = peers_blame,
			.bad = peers_bad,
			.text = peers_text,
		};
		p->table.of[HP_AT_PEER + i] = &p->ops[i];
		p->table.arg[HP_AT_PEER + i] = p;
	}
}

/* Chunks that have odd numbers are not here. */
static void stage_half(struct staged *f)
{
	staged_put_all(f);
	for (uint32_t c = 1; c < STAGED_CHUNKS; c += 2) {
		staged_drop(f, c);
		hp_state_set(f->state, c, HP_CHUNK_ABSENT);
	}
}

static struct hpdsl_dataset *open_with(const struct staged *f,
				       const struct peers *p)
{
	struct hpdsl_dataset *ds = staged_open(f->dir, NULL);

	ds->sources = &p->table;
	return ds;
}

/* ---- Reading all of it ------------------------------------------------ */

static int compare(void *arg, const void *buf, size_t n,
		   struct hpdsl_error *err)
{
	char **at = arg;

	(void)err;
	assert_memory_equal(*at, buf, n);
	*at += n;
	return 0;
}

/* One by one, in both ways. */
static void read_alone(const struct staged *f, const struct hpdsl_dataset *ds)
{
	for (uint64_t i = 0; i < f->n.members; i++) {
		struct hpdsl_error err = { 0 };
		struct hpdsl_member m;
		char *a, *b, *at;

		assert_int_equal(hpdsl_member_get(ds, i, &m, NULL), 0);
		a = malloc(m.size + 1);
		at = b = malloc(m.size + 1);
		assert_true(a && b);
		assert_int_equal(
			hpdsl_member_read(f->origin, &m, 0, b, m.size, NULL),
			0);
		if (hpdsl_member_read(ds, &m, 0, a, m.size, &err) < 0)
			fail_msg("%s", err.msg);
		assert_memory_equal(a, b, m.size);
		if (hpdsl_member_stream(ds, &m, compare, &at, &err) < 0)
			fail_msg("%s", err.msg);
		assert_ptr_equal(at, b + m.size);
		free(a);
		free(b);
	}
}

static void read_all(const struct staged *f, const struct hpdsl_dataset *ds)
{
	struct fetching t = { .ds = ds, .good = f->origin, .slot = 64 << 10 };

	assert_int_equal(fetching_run(&t), 0);
	if (t.bad)
		fail_msg("%s", t.why.msg);
	fetching_end(&t);
	read_alone(f, ds);
}

static const int forms[] = { 0, 3 };

static void test_all_there(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct staged f;
		struct peers p;

		staged_begin(&f, forms[i]);
		stage_half(&f);
		peers_begin(&p, &f);
		ds = open_with(&f, &p);
		read_all(&f, ds);
		s = staged_sources(ds);
		assert_int_equal(s.origin_bytes, 0);
		assert_int_equal(s.absent_chunks, 0);
		assert_int_equal(s.peer_chunks, STAGED_CHUNKS / 2);
		assert_true(s.local_bytes > 0);
		assert_int_equal(s.peer_bytes, p.bytes);
		assert_int_equal(p.bad, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* Whatever the stretch at which they begin to fail. */
static void test_fail(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct staged f;
		struct peers p;

		staged_begin(&f, forms[i % 2]);
		stage_half(&f);
		peers_begin(&p, &f);
		p.fails = -EHOSTUNREACH;
		p.k = i / 2;
		ds = open_with(&f, &p);
		read_all(&f, ds);
		s = staged_sources(ds);
		assert_true(s.origin_bytes > 0);
		/* They are asked again by each read: they may be back. */
		assert_true(p.asked > p.k + 2);
		/* What is here is none of theirs. */
		assert_int_equal(s.failed_chunks, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

static void test_flips(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_dataset *ds;
		struct hpdsl_sources s;
		struct staged f;
		struct peers p;

		staged_begin(&f, forms[i]);
		stage_half(&f);
		peers_begin(&p, &f);
		p.flips = true;
		ds = open_with(&f, &p);
		read_all(&f, ds);
		s = staged_sources(ds);
		assert_true(s.origin_bytes > 0 && p.bad > 0);
		assert_int_equal(s.failed_chunks, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* The plain tars of compressed chunks, as others see them. */
static void expand(const struct staged *f, const struct staged *plain)
{
	for (uint32_t c = 0; c < STAGED_CHUNKS; c++) {
		char from[PACKED_PATH], to[PACKED_PATH];
		struct hpdsl_chunk row;

		staged_chunk(plain, c, &row);
		snprintf(from, sizeof from, "%s/%s", plain->p.out, row.name);
		snprintf(to, sizeof to, "%s/plain-%u", f->p.out, (unsigned)c);
		assert_int_equal(rename(from, to), 0);
	}
}

static void test_other_form(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f, plain;
	struct hpdsl_sources s;
	struct peers p;
	unsigned asked;

	(void)state;
	staged_begin(&plain, 0);
	staged_begin(&f, 3);
	stage_half(&f);
	expand(&f, &plain);
	peers_begin(&p, &f);
	p.only_plain = true;
	ds = open_with(&f, &p);
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(s.origin_bytes, 0);
	assert_int_equal(s.peer_bytes, p.bytes);
	/* It is found out once for each chunk. */
	asked = p.asked;
	read_alone(&f, ds);
	assert_true(p.asked > asked);
	p.only_plain = false;
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(s.origin_bytes, 0);
	hpdsl_close(ds);
	staged_end(&f);
	/* Its chunks are gone. */
	staged_end(&plain);
}

static void test_damaged_here(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct staged f;
	struct peers p;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	peers_begin(&p, &f);
	ds = open_with(&f, &p);
	staged_chunk(&f, 2, &row);
	hpdsl_member_get(ds, staged_first(&f, 2), &m, NULL);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(s.origin_bytes, 0);
	assert_int_equal(s.failed_chunks, 1);
	assert_int_equal(s.peer_bytes, p.bytes);
	assert_true(p.bytes > 0);
	hpdsl_close(ds);
	staged_end(&f);
}

static void stream_large(const struct staged *f, const struct hpdsl_dataset *ds)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_member m;
	char *want, *at;

	for (uint64_t i = 0; i < f->n.members; i++) {
		hpdsl_member_get(ds, i, &m, NULL);
		if (m.size == STAGED_LARGE)
			break;
	}
	assert_int_equal(m.size, STAGED_LARGE);
	at = want = malloc(m.size);
	assert_int_equal(
		hpdsl_member_read(f->origin, &m, 0, want, m.size, NULL), 0);
	if (hpdsl_member_stream(ds, &m, compare, &at, &err) < 0)
		fail_msg("%s", err.msg);
	assert_ptr_equal(at, want + m.size);
	free(want);
}

/* Also of what is handed over in pieces nothing wrong is given away. */
static void test_damaged_here_and_there(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;
	struct peers p;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	peers_begin(&p, &f);
	p.flips = true;
	ds = open_with(&f, &p);
	for (uint32_t c = 0; c < STAGED_CHUNKS; c++) {
		struct hpdsl_chunk row;
		struct hpdsl_member m;

		staged_chunk(&f, c, &row);
		for (uint64_t i = 0; i < row.members; i++) {
			hpdsl_member_get(ds, row.first_member + i, &m, NULL);
			packed_flip(staged_at(&f, row.name),
				    m.offset + m.size / 2, 0);
		}
	}
	stream_large(&f, ds);
	read_alone(&f, ds);
	assert_true(p.bad > 0);
	assert_true(staged_sources(ds).origin_bytes > STAGED_LARGE);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_nobody(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct staged f;
	struct peers p;

	(void)state;
	staged_begin(&f, 0);
	stage_half(&f);
	peers_begin(&p, &f);
	p.there = false;
	ds = open_with(&f, &p);
	read_all(&f, ds);
	s = staged_sources(ds);
	assert_int_equal(p.asked, 0);
	assert_int_equal(s.peer_chunks, 0);
	assert_int_equal(s.absent_chunks, STAGED_CHUNKS / 2);
	/* They come later. */
	p.there = true;
	read_all(&f, ds);
	assert_true(p.asked > 0);
	assert_int_equal(staged_sources(ds).origin_bytes, s.origin_bytes);
	hpdsl_close(ds);
	staged_end(&f);
}

/* Without a server of this node a dataset has nobody to ask. */
static void test_gate(void **state)
{
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	stage_half(&f);
	ds = staged_open(f.dir, NULL);
	assert_false(hp_source_is_there(ds->sources, HP_AT_PEER));
	read_all(&f, ds);
	staged_expect(ds, STAGED_CHUNKS / 2, 0, 0);
	hpdsl_close(ds);
	assert_int_equal(
		hpdsl_open_with(f.dir, HPDSL_OPEN_NO_PEERS, NULL, &ds, NULL),
		0);
	read_all(&f, ds);
	staged_expect(ds, STAGED_CHUNKS / 2, 0, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_there),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_other_form),
		cmocka_unit_test(test_damaged_here),
		cmocka_unit_test(test_damaged_here_and_there),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
