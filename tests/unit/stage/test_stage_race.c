/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a stage directory, and asking for its state, while somebody changes
 * bytes of the state file or cuts it short: members come out right, from here
 * or from the origin.  And while a chunk gets another name in the index.
 */
#include "flips.h"
#include "staged.h"
#include "sys/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 100 }; /* of each race */

/* All members but the large one. */
static void read_all(const struct staged *f, const struct hpdsl_dataset *ds)
{
	char buf[4096];

	for (uint64_t i = 0; i < f->n.members; i++) {
		struct hpdsl_error err = { 0 };
		struct hpdsl_member m;

		assert_int_equal(hpdsl_member_get(ds, i, &m, &err), 0);
		if (m.size <= sizeof buf &&
		    hpdsl_member_read(ds, &m, 0, buf, m.size, &err) < 0)
			fail_msg("%s", err.msg);
	}
}

static void ask(const struct staged *f)
{
	struct hpdsl_stage_status s;
	struct hpdsl_error err;

	if (hpdsl_stage_status(f->dir, NULL, &s, &err) < 0)
		return;
	assert_true(memchr(s.host, '\0', sizeof s.host) != NULL);
	assert_true(memchr(s.job, '\0', sizeof s.job) != NULL);
	assert_true(memchr(s.origin, '\0', sizeof s.origin) != NULL);
	assert_int_equal(s.chunks, STAGED_CHUNKS);
	assert_true(s.ready + s.coming <= STAGED_CHUNKS);
}

static void race(int zstd)
{
	struct hpdsl_dataset *ds;
	struct staged f;
	struct flips flips;

	staged_begin(&f, zstd);
	staged_put_all(&f);
	ds = staged_open(f.dir, NULL);
	hpdsl_patience(ds, 0);
	flips_begin(&flips, f.state, hp_state_size(STAGED_CHUNKS));
	for (int i = 0; i < ROUNDS; i++) {
		read_all(&f, ds);
		ask(&f);
	}
	flips_end(&flips);
	ask(&f);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_race(void **state)
{
	(void)state;
#ifdef FLIPS_UNDER_TSAN
	skip();
#endif
	race(0);
	race(1);
}

/* A parser of memory that changes: what it takes makes sense. */
static void test_parse(void **state)
{
	const uint64_t size = hp_state_size(STAGED_CHUNKS);
	const size_t used =
		offsetof(struct hp_state_header, origin) + HP_STATE_ORIGIN;
	struct hp_state_header h, had;
	struct flips flips;
	struct staged f;
	uint8_t *p = malloc(size);
	int taken = 0;

	(void)state;
	assert_non_null(p);
#ifdef FLIPS_UNDER_TSAN
	skip();
#endif
	staged_begin(&f, 0);
	staged_state(&f, HP_CHUNK_READY);
	memcpy(p, f.state, size);
	assert_int_equal(hp_state_parse(p, size, "it", &had, NULL), 0);
	flips_begin(&flips, p, size);
	for (int i = 0; i < 1000 * ROUNDS || !taken; i++) {
		if (hp_state_parse(p, size, "it", &h, NULL) < 0)
			continue;
		/* What has the checksum of what was written is that; what lies
		 * behind the last field is anything. */
		assert_memory_equal(&h, &had, used);
		taken++;
	}
	flips_end(&flips);
	free(p);
	staged_end(&f);
}

/* Cut to n bytes under an open dataset, it says no more of what is gone. */
static void cut(off_t n)
{
	struct hpdsl_dataset *ds;
	struct staged f;

	staged_begin(&f, 0);
	staged_put_all(&f);
	ds = staged_open(f.dir, NULL);
	hpdsl_patience(ds, 0);
	read_all(&f, ds);
	staged_expect(ds, 0, 0, 0);
	assert_int_equal(truncate(staged_at(&f, HP_STATE_NAME), n), 0);
	read_all(&f, ds);
	/* The large one is the sixth's, which nobody reads. */
	assert_true(staged_sources(ds).absent_chunks >= STAGED_CHUNKS - 1);
	ask(&f);
	hpdsl_close(ds);
	staged_end(&f);
}

static void test_cut(void **state)
{
	(void)state;
	cut(0);
	cut(HP_STATE_FIXED + 4);
	cut(HP_STATE_CHUNKS);
}

/* ---- The name of a chunk ---------------------------------------------- */

static struct {
	const struct staged *f;
	bool armed, done, escaped;
} attack;

/* A chunk's name in the index becomes one that leads elsewhere. */
static void strike(void)
{
	const char was[] = "chunk-000003.tar", is[] = "../x/../../y.tar";
	char name[200];
	size_t n;
	char *p, *at;
	int fd;

	snprintf(name, sizeof name, "%s", staged_at(attack.f, "index.hpdsl"));
	p = packed_get(name, &n);
	at = memmem(p, n, was, sizeof was);
	assert_non_null(at);
	fd = open(name, O_WRONLY);
	assert_int_equal(pwrite(fd, is, sizeof is, at - p), sizeof is);
	close(fd);
	free(p);
	attack.done = true;
}

/* Before a reader goes to the origin it looks for a newer state file. */
static int open_and_strike(const struct hp_io *io, int dir, const char *name,
			   int flags, mode_t mode)
{
	(void)io;
	if (attack.armed && !attack.done && !strcmp(name, HP_STATE_NAME))
		strike();
	attack.escaped = attack.escaped || strstr(name, "..") != NULL;
	return hp_io_system.open(&hp_io_system, dir, name, flags, mode);
}

static void test_chunk_name(void **state)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct hpdsl_member m;
	struct staged f;
	char buf[4096];

	(void)state;
	staged_begin(&f, 0);
	staged_state(&f, HP_CHUNK_ABSENT);
	memset(&attack, 0, sizeof attack);
	attack.f = &f;
	io.open = open_and_strike;
	ds = staged_open(f.dir, &io);
	assert_int_equal(hpdsl_member_get(ds, staged_first(&f, 3), &m, &err),
			 0);
	assert_true(m.size <= sizeof buf);
	attack.armed = true;
	/* The right bytes or an error, but nobody opens what it says now. */
	hpdsl_member_read(ds, &m, 0, buf, m.size, &err);
	assert_true(attack.done);
	assert_false(attack.escaped);
	hpdsl_close(ds);
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_race),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_chunk_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
