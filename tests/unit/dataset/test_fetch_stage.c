/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching from a stage directory that is whole, partial, growing, damaged
 * while it is read, and taken away: same bytes as from the origin, counted
 * where they came from, and what was bad is told once.
 */
#include "each_fault.h"
#include "fetching.h"
#include "staged.h"
#include "sys/clock.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNKS = STAGED_CHUNKS };

/* What was warned of; two threads may do so. */
struct told {
	pthread_mutex_t lock;
	unsigned n;
	char text[CHUNKS][1200];
};

static void warn(void *arg, const char *text)
{
	struct told *t = arg;

	pthread_mutex_lock(&t->lock);
	assert_true(t->n < CHUNKS);
	snprintf(t->text[t->n++], sizeof t->text[0], "%s", text);
	pthread_mutex_unlock(&t->lock);
}

#define TOLD                                      \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Was that told of the chunk, and that the origin is read? */
static void expect_told(const struct told *t, const struct staged *f,
			uint32_t chunk, const char *reason)
{
	struct hpdsl_chunk row;
	char begin[200];

	staged_chunk(f, chunk, &row);
	snprintf(begin, sizeof begin, "%s/%s: ", f->dir, row.name);
	for (unsigned i = 0; i < t->n; i++)
		if (!strncmp(t->text[i], begin, strlen(begin)) &&
		    strstr(t->text[i], reason) &&
		    strstr(t->text[i], ": reading it from the origin"))
			return;
	fail_msg("not told: %s%s", begin, reason);
}

static struct fetching fetching_of(const struct staged *f,
				   const struct hpdsl_dataset *ds,
				   struct told *told)
{
	struct fetching t = { .ds = ds, .good = f->origin, .slot = 4 << 20 };

	t.opt.warn = warn;
	t.opt.arg = told;
	return t;
}

/*
 * All are good; what was read is what the sources say, which have what was
 * read again beside.
 */
static struct hp_fetch_counts run(struct fetching t)
{
	struct hpdsl_sources before = staged_sources(t.ds), after;
	uint64_t bytes;

	assert_int_equal(fetching_run(&t), 0);
	if (t.bad)
		fail_msg("%s", t.why.msg);
	fetching_end(&t);
	after = staged_sources(t.ds);
	bytes = after.local_bytes + after.origin_bytes - before.local_bytes -
		before.origin_bytes;
	if (after.failed_chunks == before.failed_chunks)
		assert_int_equal(t.counts.read_bytes, bytes);
	else
		assert_true(t.counts.read_bytes <= bytes);
	return t.counts;
}

static void test_whole(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		staged_begin(&f, zstd ? 3 : 0);
		staged_put_all(&f);
		ds = staged_open(f.dir, NULL);
		run(fetching_of(&f, ds, &told));
		assert_int_equal(staged_sources(ds).origin_bytes, 0);
		staged_expect(ds, 0, 0, 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
	assert_int_equal(told.n, 0);
}

/* Some of it is here, and later more of it; absence is no reason to warn. */
static void test_partial(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct fetching t;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hp_state_set(f.state, 1, HP_CHUNK_ABSENT);
	staged_drop(&f, 1);
	hp_state_set(f.state, 4, HP_CHUNK_ABSENT);
	staged_drop(&f, 4);
	ds = staged_open(f.dir, NULL);
	t = fetching_of(&f, ds, &told);
	t.threads = 3;
	run(t);
	staged_expect(ds, 2, 0, 0);
	s = staged_sources(ds);
	assert_true(s.local_bytes > s.origin_bytes && s.origin_bytes > 0);
	staged_put(&f, 1);
	staged_put(&f, 4);
	hp_state_set(f.state, 1, HP_CHUNK_READY);
	hp_state_set(f.state, 4, HP_CHUNK_READY);
	run(t);
	assert_int_equal(staged_sources(ds).origin_bytes, s.origin_bytes);
	assert_int_equal(told.n, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

/* The plain tar of what is compressed at the origin. */
static void test_expanded(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds;
	struct hp_fetch_counts c;
	struct hpdsl_chunk row;
	char command[3 * PACKED_PATH], tar[32];
	struct staged f;

	(void)state;
	staged_begin(&f, 3);
	staged_put_all(&f);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		staged_chunk(&f, i, &row);
		if (!row.compressed)
			continue;
		snprintf(tar, sizeof tar, "chunk-%06u.tar", i);
		snprintf(command, sizeof command, "zstd -q -d %s -o %s",
			 staged_at(&f, row.name), staged_at(&f, tar));
		assert_int_equal(system(command), 0);
		staged_drop(&f, i);
		hp_state_set(f.state, i, HP_CHUNK_EXPANDED);
	}
	ds = staged_open(f.dir, NULL);
	c = run(fetching_of(&f, ds, &told));
	assert_int_equal(staged_sources(ds).origin_bytes, 0);
	assert_true(c.read_bytes >= f.n.bytes);
	assert_int_equal(told.n, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

/* A stager that fills it chunk by chunk, while four threads read. */
static void *fill(void *arg)
{
	struct staged *f = arg;

	for (uint32_t c = 0; c < CHUNKS; c++) {
		if (c == 3) {
			hp_state_set(f->state, c, HP_CHUNK_ABSENT);
			continue;
		}
		staged_put(f, c);
		hp_state_set(f->state, c, HP_CHUNK_READY);
		hp_state_beat(f->state, hp_monotonic());
	}
	return NULL;
}

static void test_growing(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct fetching t;
	pthread_t filler;
	struct staged f;

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		staged_begin(&f, zstd ? 3 : 0);
		staged_state(&f, HP_CHUNK_COMING);
		ds = staged_open(f.dir, NULL);
		t = fetching_of(&f, ds, &told);
		t.threads = 4;
		t.slot = 1 << 20;
		assert_int_equal(pthread_create(&filler, NULL, fill, &f), 0);
		run(t);
		pthread_join(filler, NULL);
		/* Which of them depends on when it was looked at. */
		s = staged_sources(ds);
		assert_int_equal(s.absent_chunks + s.overtaken_chunks, 1);
		assert_true(s.local_bytes > 0 && s.origin_bytes > 0);
		hpdsl_close(ds);
		staged_end(&f);
	}
	assert_int_equal(told.n, 0);
}

/* ---- Damage here ------------------------------------------------------ */

/* A bit of each chunk, and some in another way. */
static void damage(const struct staged *f)
{
	struct hpdsl_chunk row;
	struct hpdsl_member m;

	for (uint32_t c = 0; c < CHUNKS; c++) {
		hpdsl_member_get(f->origin, staged_first(f, c), &m, NULL);
		staged_chunk(f, c, &row);
		packed_flip(staged_at(f, row.name),
			    row.compressed ? 100 : m.offset, 3);
	}
	staged_chunk(f, 0, &row);
	staged_drop(f, 0);
	assert_int_equal(mkdir(staged_at(f, row.name), 0700), 0);
	staged_chunk(f, 1, &row);
	assert_int_equal(truncate(staged_at(f, row.name), 2000), 0);
	staged_drop(f, 2);
}

static void test_damage(void **state)
{
	struct hpdsl_dataset *ds;
	struct fetching t;
	struct staged f;

	(void)state;
	for (int k = 0; k < 8; k++) {
		bool zstd = k & 1, late = k & 2, threads = k & 4;
		struct told told = TOLD;
		uint64_t failed = CHUNKS;

		staged_begin(&f, zstd ? 3 : 0);
		staged_put_all(&f);
		ds = staged_open(f.dir, NULL);
		t = fetching_of(&f, ds, &told);
		t.threads = threads ? 4 : 0;
		t.slot = threads ? 8192 : 4 << 20;
		if (late)
			run(t);
		damage(&f);
		run(t);
		run(t);
		/* Frames that a decoder still has are as they were. */
		if (late && zstd)
			failed = staged_sources(ds).failed_chunks;
		assert_true(failed > 0);
		staged_expect(ds, 0, 0, failed);
		/* Two threads may find it so, and the first tells. */
		assert_int_equal(told.n, failed);
		if (!late) {
			expect_told(&told, &f, 0, "not a regular file");
			expect_told(&told, &f, 1, "is 2000 bytes, ");
			expect_told(&told, &f, 2, "No such file");
		}
		if (!zstd)
			expect_told(&told, &f, 3, "': checksum differs");
		hpdsl_close(ds);
		staged_end(&f);
	}
}

/* A few members here and there are worth no more than themselves. */
static void test_damage_costs_little(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds;
	struct hpdsl_sources s;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	hpdsl_member_find(f.origin, "large.bin", 9, &m, NULL);
	staged_chunk(&f, m.chunk, &row);
	/* One that lies together with the large one. */
	hpdsl_member_get(f.origin,
			 m.number == row.first_member ? m.number + 1 :
							m.number - 1,
			 &m, NULL);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	ds = staged_open(f.dir, NULL);
	run(fetching_of(&f, ds, &told));
	s = staged_sources(ds);
	assert_true(s.origin_bytes < STAGED_LARGE);
	staged_expect(ds, 0, 0, 1);
	assert_int_equal(told.n, 1);
	expect_told(&told, &f, m.chunk, "': checksum differs");
	hpdsl_close(ds);
	staged_end(&f);
}

/* The member is bad in both places: its neighbours are not. */
static void test_damage_everywhere(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds, *copy;
	struct hpdsl_chunk row;
	struct hpdsl_member m;
	char command[400], name[200], want[2 * PACKED_PATH];
	struct fetching t;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	snprintf(command, sizeof command, "cp -r %s %s/copy", f.p.out, f.p.top);
	assert_int_equal(system(command), 0);
	copy = staged_open(packed_at(&f.p, "copy"), NULL);
	hpdsl_member_get(f.origin, staged_first(&f, 3), &m, NULL);
	staged_chunk(&f, 3, &row);
	packed_flip(staged_at(&f, row.name), m.offset, 0);
	snprintf(name, sizeof name, "%s/%s", f.p.out, row.name);
	packed_flip(name, m.offset, 1);
	ds = staged_open(f.dir, NULL);
	for (int k = 0; k < 2; k++) {
		t = fetching_of(&f, ds, &told);
		t.good = copy;
		assert_int_equal(fetching_run(&t), 0);
		assert_int_equal(t.bad, 1);
		assert_true(t.is_bad[m.number]);
		assert_int_equal(t.why.code, HPDSL_ECORRUPT);
		snprintf(want, sizeof want,
			 "sample %llu: %s: member %llu '%s': checksum differs; "
			 "and at the origin: %s: member %llu '%s': checksum "
			 "differs",
			 (unsigned long long)m.sample, staged_at(&f, row.name),
			 (unsigned long long)m.number, m.path, name,
			 (unsigned long long)m.number, m.path);
		assert_string_equal(t.why.msg, want);
		fetching_end(&t);
	}
	assert_int_equal(told.n, 1);
	hpdsl_close(ds);
	hpdsl_close(copy);
	staged_end(&f);
}

/* Neither here nor there: told with both reasons. */
static void test_no_origin(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds, *copy;
	struct hpdsl_chunk row;
	char command[400];
	struct fetching t;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	snprintf(command, sizeof command, "cp -r %s %s/copy", f.p.out, f.p.top);
	assert_int_equal(system(command), 0);
	copy = staged_open(packed_at(&f.p, "copy"), NULL);
	staged_drop(&f, 2);
	staged_hide_origin(&f);
	ds = staged_open(f.dir, NULL);
	t = fetching_of(&f, ds, &told);
	t.good = copy;
	assert_int_equal(fetching_run(&t), 0);
	hpdsl_chunk_get(copy, 2, &row, NULL);
	assert_int_equal(t.bad, row.members);
	assert_int_equal(t.why.code, -ENOENT);
	assert_non_null(strstr(t.why.msg, "sample "));
	assert_non_null(strstr(t.why.msg, " and at the origin: "));
	assert_non_null(strstr(t.why.msg, ": member "));
	assert_non_null(strstr(t.why.msg, row.name));
	fetching_end(&t);
	hpdsl_close(ds);
	hpdsl_close(copy);
	staged_show_origin(&f);
	staged_end(&f);
}

/* hpdsl-stage --clean is no damage, and nothing to warn of. */
static void test_taken_away(void **state)
{
	struct told told = TOLD;
	struct hpdsl_dataset *ds;
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	ds = staged_open(f.dir, NULL);
	run(fetching_of(&f, ds, &told));
	for (uint32_t c = 0; c < CHUNKS; c++) {
		hp_state_set(f.state, c, HP_CHUNK_ABSENT);
		staged_drop(&f, c);
	}
	run(fetching_of(&f, ds, &told));
	staged_expect(ds, CHUNKS, 0, 0);
	assert_int_equal(told.n, 0);
	hpdsl_close(ds);
	staged_end(&f);
}

/* ---- Faults ----------------------------------------------------------- */

/*
 * One operation that fails costs nothing where there are two files to read,
 * unless it was the origin's.  Of the index there is only one.
 */
static void test_faults(void **state)
{
	struct staged f;

	(void)state;
	staged_begin(&f, 0);
	staged_put_all(&f);
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		struct told told = TOLD;
		struct hpdsl_dataset *ds = NULL;
		struct hpdsl_error err;
		struct fetching t;

		if (hpdsl_open_with(f.dir, HPDSL_OPEN_COPY, &e.f.io, &ds,
				    &err) < 0)
			continue;
		t = fetching_of(&f, ds, &told);
		assert_int_equal(fetching_run(&t), 0);
		if (t.bad)
			fail_msg("%ld: %s", e.k, t.why.msg);
		fetching_end(&t);
		hpdsl_close(ds);
	}
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_damage_costs_little),
		cmocka_unit_test(test_damage_everywhere),
		cmocka_unit_test(test_no_origin),
		cmocka_unit_test(test_taken_away),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
