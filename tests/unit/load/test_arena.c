/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's memory, against what should be where, and how much of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/arena.h"
#include "shell.h"
#include "wrap.h"

#define MIB (UINT64_C(1) << 20)
#define LIMIT (16 * MIB)

static uint64_t dice;

static uint64_t draw(uint64_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (dice >> 33) % below;
}

/* ---- A model ---------------------------------------------------------- */

enum { BLOCKS = 200 };

struct model {
	struct hp_arena a;
	struct block {
		struct hp_place place;
		uint8_t mark;
	} block[BLOCKS];
	unsigned n;
	uint64_t used, beside, peak;
};

static void mark(const struct block *b)
{
	uint8_t *p = b->place.p;

	for (size_t i = 0; i < b->place.bytes; i += 4096)
		p[i] = p[i + 4095] = b->mark;
}

static void check_mark(const struct block *b)
{
	const uint8_t *p = b->place.p;

	for (size_t i = 0; i < b->place.bytes; i += 4096)
		assert_true(p[i] == b->mark && p[i + 4095] == b->mark);
}

static bool overlap(const struct hp_place *a, const struct hp_place *b)
{
	const uint8_t *p = a->p, *q = b->p;

	return p < q + b->bytes && q < p + a->bytes;
}

/* Gaps in their order, none beside one of its kind; with what is out they are
 * all of the mapping. */
static void check_gaps(const struct model *m)
{
	const struct hp_arena *a = &m->a;
	uint64_t warm = 0, sum = 0, end = 0;

	for (size_t i = 0; i < a->gaps; i++) {
		const struct hp_arena_gap *g = &a->gap[i];

		assert_true(g->bytes > 0 && g->at >= end);
		assert_true(i == 0 || g->at > end || g->warm != g[-1].warm);
		end = g->at + g->bytes;
		sum += g->bytes;
		warm += g->warm ? g->bytes : 0;
	}
	assert_true(end <= a->mapped);
	for (unsigned i = 0; i < m->n; i++)
		if (!m->block[i].place.alone)
			sum += m->block[i].place.bytes;
	assert_int_equal(sum, a->mapped);
	assert_int_equal(a->warm, warm);
}

static void check_all(struct model *m)
{
	const struct hp_arena *a = &m->a;

	assert_int_equal(a->used, m->used);
	assert_int_equal(a->beside, m->beside);
	/* What was given back is kept only within the limit. */
	assert_true(!a->warm || m->used + m->beside + a->warm <= a->limit);
	if (m->used + m->beside > m->peak)
		m->peak = m->used + m->beside;
	assert_true(a->peak >= m->peak);
	assert_true(a->peak <= a->limit || a->peak == m->peak);
	check_gaps(m);
}

static void get(struct model *m, uint64_t bytes)
{
	struct block *b = &m->block[m->n];
	uint64_t cost = hp_arena_cost(bytes);
	bool fits = m->used + m->beside + cost <= m->a.limit;
	bool shared = m->a.fd >= 0;

	assert_int_equal(hp_arena_fits(&m->a, bytes, 0), fits);
	if (fits) {
		uint64_t left = m->a.limit - m->used - m->beside - cost;

		assert_true(hp_arena_fits(&m->a, bytes, left));
		assert_false(hp_arena_fits(&m->a, bytes, left + 1));
		assert_false(hp_arena_fits(&m->a, bytes, UINT64_MAX));
	}
	assert_true(hp_arena_get(&m->a, bytes, &b->place));
	assert_int_equal(b->place.bytes, cost);
	assert_int_equal((uintptr_t)b->place.p % 4096, 0);
	assert_true(!shared || !b->place.alone);
	for (unsigned i = 0; i < m->n; i++)
		assert_false(overlap(&b->place, &m->block[i].place));
	b->mark = (uint8_t)(1 + draw(255));
	mark(b);
	m->used += cost;
	m->n++;
	check_all(m);
}

static void put(struct model *m, unsigned i)
{
	struct block b = m->block[i];

	check_mark(&b);
	m->block[i] = m->block[--m->n];
	m->used -= b.place.bytes;
	hp_arena_put(&m->a, &b.place);
	check_all(m);
}

static uint64_t draw_bytes(void)
{
	static const uint64_t most[] = { 100, 5000, 300000, 2 * MIB };

	return draw(400) ? 1 + draw(most[draw(4)]) : LIMIT + draw(40 * MIB);
}

static void step(struct model *m)
{
	unsigned what = (unsigned)draw(100);
	uint64_t bytes = draw_bytes();

	if (what < 50 && m->n < BLOCKS) {
		/* Seldom beyond the limit. */
		if (hp_arena_fits(&m->a, bytes, 0) || !draw(20))
			get(m, bytes);
	} else if (what < 96 && m->n) {
		put(m, (unsigned)draw(m->n));
	} else if (what < 97) {
		hp_arena_trim(&m->a);
		assert_int_equal(m->a.warm, 0);
		check_all(m);
	} else {
		uint64_t is = draw(2) ? draw(MIB) : 0;

		hp_arena_charge(&m->a, (int64_t)(is - m->beside));
		m->beside = is;
		check_all(m);
	}
}

static void run_model(bool shared, uint64_t seed)
{
	static struct model m;

	m = (struct model){ .n = 0 };
	dice = seed;
	assert_int_equal(hp_arena_init(&m.a, LIMIT, shared), 0);
	for (int i = 0; i < 3000; i++)
		step(&m);
	while (m.n)
		put(&m, 0);
	hp_arena_trim(&m.a);
	assert_int_equal(m.a.gaps, 1);
	hp_arena_release(&m.a);
}

static void test_model(void **state)
{
	int fds = count_fds();

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		run_model(false, seed);
		run_model(true, seed);
	}
	assert_int_equal(count_fds(), fds);
}

/* ---- Sizes ------------------------------------------------------------ */

static void test_cost(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint64_t n = 0; n < UINT64_MAX / 4; n += n / 37 + 1) {
		uint64_t cost = hp_arena_cost(n);

		assert_true(cost >= n && cost % 4096 == 0 && cost > 0);
		assert_true(cost <= n + n / 8 + 4096);
		assert_true(cost >= last);
		/* A block of that size takes no more. */
		assert_int_equal(hp_arena_cost(cost), cost);
		last = cost;
	}
	assert_true(hp_arena_cost(UINT64_MAX) >= UINT64_MAX / 2);
}

/* An index may say anything. */
static void test_no_such_memory(void **state)
{
	struct hp_place place;
	struct hp_arena a;

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		assert_int_equal(hp_arena_init(&a, LIMIT, shared), 0);
		assert_false(hp_arena_fits(&a, UINT64_MAX, 0));
		assert_false(hp_arena_get(&a, UINT64_MAX, &place));
		assert_false(hp_arena_get(&a, UINT64_MAX / 3, &place));
		assert_int_equal(a.used, 0);
		assert_int_equal(a.peak, 0);
		hp_arena_release(&a);
		assert_true(hp_arena_init(&a, UINT64_MAX / 2, shared) < 0);
		hp_arena_release(&a);
	}
	memset(&a, 0, sizeof a);
	hp_arena_release(&a);
}

/* ---- Pages ------------------------------------------------------------ */

/* What was given back is there for the next block of its size, as it was. */
static void test_warm(void **state)
{
	struct hp_place a, b, c;
	struct hp_arena arena;

	(void)state;
	assert_int_equal(hp_arena_init(&arena, LIMIT, false), 0);
	assert_true(hp_arena_get(&arena, 3 * MIB, &a));
	assert_true(hp_arena_get(&arena, MIB, &b));
	memset(a.p, 7, a.bytes);
	hp_arena_put(&arena, &a);
	assert_int_equal(arena.warm, 3 * MIB);
	assert_true(hp_arena_get(&arena, 3 * MIB, &c));
	assert_ptr_equal(c.p, a.p);
	assert_int_equal(*(uint8_t *)c.p, 7);
	assert_int_equal(arena.warm, 0);
	assert_int_equal(arena.peak, 4 * MIB);
	hp_arena_put(&arena, &c);
	hp_arena_trim(&arena);
	assert_true(hp_arena_get(&arena, 3 * MIB, &c));
	assert_int_equal(*(uint8_t *)c.p, 0);
	hp_arena_put(&arena, &c);
	hp_arena_put(&arena, &b);
	hp_arena_release(&arena);
}

static size_t resident(const void *p, size_t bytes)
{
	size_t pages = bytes / 4096, n = 0;
	unsigned char *in = malloc(pages);

	assert_int_equal(mincore((void *)p, bytes, in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	free(in);
	return n * 4096;
}

/* Pages of what is free go when something else needs their memory. */
static void test_limit(void **state)
{
	struct hp_place v[8], large;
	struct hp_arena a;

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		assert_int_equal(hp_arena_init(&a, LIMIT, shared), 0);
		for (int i = 0; i < 8; i++) {
			assert_true(hp_arena_get(&a, 2 * MIB, &v[i]));
			memset(v[i].p, i + 1, v[i].bytes);
		}
		assert_false(hp_arena_fits(&a, 1, 0));
		for (int i = 0; i < 8; i += 2)
			hp_arena_put(&a, &v[i]);
		assert_true(hp_arena_fits(&a, 8 * MIB, 0));
		assert_false(hp_arena_fits(&a, 8 * MIB + 1, 0));
		assert_true(hp_arena_get(&a, 6 * MIB, &large));
		memset(large.p, 9, large.bytes);
		assert_int_equal(a.peak, LIMIT);
		assert_true(resident(a.base, 32 * MIB) <= LIMIT);
		for (int i = 1; i < 8; i += 2) {
			assert_int_equal(*(uint8_t *)v[i].p, i + 1);
			hp_arena_put(&a, &v[i]);
		}
		hp_arena_put(&a, &large);
		hp_arena_release(&a);
	}
}

/* Where there is no memory for a note of it, its pages go all the same. */
static void test_lost(void **state)
{
	struct hp_place v[200];
	struct hp_arena a;

	(void)state;
	assert_int_equal(hp_arena_init(&a, LIMIT, false), 0);
	for (int i = 0; i < 200; i++) {
		assert_true(hp_arena_get(&a, 4096, &v[i]));
		memset(v[i].p, 1, 4096);
	}
	wrap_fail_at(1, true);
	for (int i = 0; i < 200; i += 2)
		hp_arena_put(&a, &v[i]);
	wrap_fail_at(0, false);
	assert_int_equal(a.used, 100 * 4096);
	assert_true(a.gaps <= a.room);
	assert_true(a.warm < 100 * 4096);
	assert_int_equal(resident(v[198].p, 4096), 0);
	for (int i = 1; i < 200; i += 2)
		hp_arena_put(&a, &v[i]);
	assert_int_equal(a.used, 0);
	hp_arena_release(&a);
}

/* ---- Shared ----------------------------------------------------------- */

/* All blocks are in the file, large ones as well. */
static void test_other_mapping(void **state)
{
	struct hp_place small, large;
	const uint8_t *other;
	struct hp_arena a;

	(void)state;
	assert_int_equal(hp_arena_init(&a, LIMIT, true), 0);
	/* Not all of it: where there are sanitizers addresses are few. */
	other = mmap(NULL, 64 * LIMIT, PROT_READ, MAP_SHARED, a.fd, 0);
	assert_true(other != MAP_FAILED);
	assert_true(hp_arena_get(&a, 5000, &small));
	assert_true(hp_arena_get(&a, 5 * LIMIT, &large));
	memset(small.p, 3, small.bytes);
	memset(large.p, 4, large.bytes);
	assert_memory_equal(other + ((uint8_t *)small.p - a.base), small.p,
			    small.bytes);
	assert_memory_equal(other + ((uint8_t *)large.p - a.base), large.p,
			    large.bytes);
	/* Pages that go are gone for all. */
	hp_arena_put(&a, &large);
	assert_int_equal(a.warm, 0);
	assert_int_equal(other[(uint8_t *)large.p - a.base], 0);
	hp_arena_put(&a, &small);
	munmap((void *)other, 64 * LIMIT);
	hp_arena_release(&a);
}

/* A process that was forked before it was written sees it. */
static void test_child(void **state)
{
	struct hp_place place;
	struct hp_arena a;
	int go[2], status;
	pid_t child;
	char c = 0;

	(void)state;
	assert_int_equal(hp_arena_init(&a, LIMIT, true), 0);
	assert_true(hp_arena_get(&a, MIB, &place));
	assert_int_equal(pipe(go), 0);
	child = fork();
	if (child == 0)
		_exit(read(go[0], &c, 1) != 1 ||
		      ((uint8_t *)place.p)[MIB - 1] != 77);
	memset(place.p, 77, MIB);
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(go[0]);
	close(go[1]);
	hp_arena_put(&a, &place);
	hp_arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_no_such_memory),
		cmocka_unit_test(test_warm),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_other_mapping),
		cmocka_unit_test(test_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
