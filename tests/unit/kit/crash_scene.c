/* SPDX-License-Identifier: Apache-2.0 */
#include "crash_scene.h"
#include "level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SOME = 600, SEEN = 1 << 17 };

void scene_put_tree(struct memio *m)
{
	uint8_t bytes[3000];

	for (unsigned i = 0; i < SCENE_FILES; i++) {
		char name[40];
		size_t n = i * 317 % sizeof bytes;

		memset(bytes, (int)('a' + i), n);
		snprintf(name, sizeof name, "tree/%c/%u.bin", 'x' + i % 2, i);
		memio_add(m, name, bytes, n);
		snprintf(name, sizeof name, "tree/%c/%u.txt", 'x' + i % 2, i);
		memio_add(m, name, name, strlen(name));
	}
}

int scene_verify(struct memio *m, const char *path)
{
	struct hpdsl_verify_options opt = { .threads = HPDSL_SERIAL,
					    .watch.io = memio_io(m) };
	struct hpdsl_verify_report report;
	struct hpdsl_error err;

	return hpdsl_verify(path, &opt, &report, &err);
}

static void check_member(const struct hpdsl_dataset *ds, struct memio *m,
			 uint64_t number, const char *tree)
{
	struct hpdsl_error err;
	struct hpdsl_member member;
	static uint8_t got[3 << 20];
	const uint8_t *want;
	char path[256];
	size_t n = 0;

	if (hpdsl_member_get(ds, number, &member, &err) < 0)
		return;
	snprintf(path, sizeof path, "%s/%.*s", tree, (int)member.path_len,
		 member.path);
	want = memio_bytes(m, path, &n);
	assert_non_null(want);
	assert_int_equal(member.size, n);
	assert_true(n <= sizeof got);
	if (hpdsl_member_read(ds, &member, 0, got, n, &err) == 0 && n)
		assert_memory_equal(got, want, n);
}

void scene_check_reads(struct memio *m, const char *path, const char *tree)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;
	struct hpdsl_error err;

	if (hpdsl_open(path, memio_io(m), &ds, &err) < 0)
		return;
	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.members; i++)
		check_member(ds, m, i, tree);
	hpdsl_close(ds);
}

/* ---- One state -------------------------------------------------------- */

static void after_crash(struct scene *s, size_t k, struct memio *m)
{
	struct hpdsl_error err = { 0 };
	const char *path;
	int r;

	s->check(m, s, k == s->record->n);
	r = s->run(memio_io(m), true, &err);
	if (r)
		fail_msg("not completed: %d %s", r, err.msg);
	path = crash_differ(m, s->want, "", s->passed_over);
	if (path)
		fail_msg("completed with another %s", path);
}

static uint64_t seen[SEEN];

/* Is it new? */
static bool note(uint64_t digest)
{
	uint64_t i = digest % SEEN;

	while (seen[i] && seen[i] != digest)
		i = (i + 1) % SEEN;
	if (seen[i])
		return false;
	seen[i] = digest;
	return true;
}

/* What is told if a check fails, which does not return. */
static char where[16384];
static bool told;

static void tell(void)
{
	if (*where)
		fprintf(stderr, "# crash: %s\n", where);
	*where = '\0';
}

static bool play_one(struct scene *s, size_t k, const uint8_t *fate)
{
	struct memio *m = crash_build(s->record, k, fate);
	bool fresh = note(crash_digest(m) + (k == s->record->n));

	if (fresh) {
		crash_describe(s->record, k, fate, where, sizeof where);
		after_crash(s, k, m);
		*where = '\0';
	}
	memio_free(m);
	return fresh;
}

/* ---- All of them ------------------------------------------------------ */

static void record(struct scene *s, struct crash *c)
{
	struct hpdsl_error err = { 0 };
	int r;

	s->want = memio_new();
	s->record = c;
	s->put(s->want);
	crash_begin(c, s->want);
	r = s->run(memio_io(s->want), false, &err);
	crash_end(c);
	if (r)
		fail_msg("undisturbed: %d %s", r, err.msg);
}

static uint64_t count(const struct scene *s, bool thorough)
{
	static uint8_t fate[CRASH_OPS];
	uint64_t n = 0;

	for (size_t k = 0; k <= s->record->n; k++)
		for (uint64_t v = 0;
		     crash_choose(s->record, k, v, thorough, fate); v++)
			n++;
	return n;
}

void scene_play(struct scene *s)
{
	static struct crash c;
	static uint8_t fate[CRASH_OPS];
	bool thorough = at_level("long");
	uint64_t all, step = 1, i = 0, states = 0;

	tell();
	if (!told)
		atexit(tell);
	told = true;
	record(s, &c);
	memset(seen, 0, sizeof seen);
	all = count(s, thorough);
	if (!thorough && all > SOME)
		step = all / SOME;
	for (size_t k = 0; k <= c.n; k++)
		for (uint64_t v = 0; crash_choose(&c, k, v, thorough, fate);
		     v++)
			if (i++ % step == 0 || k == c.n)
				states += play_one(s, k, fate);
	print_message("# %llu states of %llu choices, %zu operations\n",
		      (unsigned long long)states, (unsigned long long)all, c.n);
	memio_free(s->want);
	crash_release(&c);
}
