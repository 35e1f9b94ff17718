/* SPDX-License-Identifier: Apache-2.0 */
/* How far ahead the loader reads, over a loop and reads that are played. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "load/lead.h"

#define MIB (UINT64_C(1) << 20)
#define MEMORY (1024 * MIB)

static void take(struct hp_lead *p, int turns, uint64_t bytes, double busy)
{
	while (turns--)
		hp_lead_took(p, bytes, busy);
}

/* ---- The rule --------------------------------------------------------- */

static void test_nothing_known(void **state)
{
	struct hp_lead p = { 0 };

	(void)state;
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), MEMORY);
	assert_int_equal(hp_lead_far(&p, 100, 16 * MIB), 16 * MIB);
	/* The first turns: by what they took so far. */
	hp_lead_read(&p, 0.01);
	hp_lead_read(&p, 0.01);
	take(&p, 1, 7 * MIB, 0);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), MEMORY);
	assert_int_equal(hp_lead_far(&p, 0.02, MEMORY), HP_LEAD_LEAST);
}

static void test_loop_and_latency(void **state)
{
	struct hp_lead p = { 0 };

	(void)state;
	hp_lead_read(&p, 0.01);
	take(&p, 16, 7 * MIB, 0.02);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), HP_LEAD_LEAST);
	assert_int_equal(hp_lead_far(&p, 0, 16 * MIB), 16 * MIB);
	/* 350 MiB a second, twice as much as comes within a read. */
	hp_lead_read(&p, 0.5);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY) / MIB, 350);
	hp_lead_read(&p, 2);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), MEMORY);
	for (int i = 0; i < 100; i++)
		hp_lead_read(&p, 0.01);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), HP_LEAD_LEAST);
	/* A loop that does nothing else, and does it again after a rest. */
	take(&p, 16, 7 * MIB, 0);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), MEMORY);
	take(&p, 320, 7 * MIB, 0.02);
	assert_in_range(hp_lead_far(&p, 0, MEMORY), 2 * HP_LEAD_LEAST, MEMORY);
	take(&p, 2000, 7 * MIB, 0.02);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), HP_LEAD_LEAST);
	/* Of samples without bytes. */
	take(&p, 2000, 0, 0);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), HP_LEAD_LEAST);
}

/* Validation, a checkpoint: it is no slower loop. */
static void test_pause(void **state)
{
	struct hp_lead p = { 0 };
	uint64_t far;

	(void)state;
	hp_lead_read(&p, 0.5);
	take(&p, 32, 7 * MIB, 0.02);
	far = hp_lead_far(&p, 0, MEMORY);
	assert_int_equal(hp_lead_far(&p, 1000, MEMORY), far);
	take(&p, 1, 7 * MIB, 1000);
	for (int i = 0; i < 40; i++) {
		assert_in_range(hp_lead_far(&p, 0, MEMORY), far / 16 * 15, far);
		take(&p, 1, 7 * MIB, 0.02);
	}
}

static void test_waits(void **state)
{
	struct hp_lead p = { 0 };
	uint64_t turn = 20;

	(void)state;
	take(&p, 16, 7 * MIB, 0.02);
	/* It waits, but all that could be read is. */
	for (int i = 0; i < 10; i++)
		hp_lead_waits(&p, turn);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), HP_LEAD_LEAST);
	for (uint64_t far = HP_LEAD_LEAST; far < MEMORY; far *= 2) {
		assert_int_equal(hp_lead_far(&p, 0, MEMORY), far);
		turn += 10;
		hp_lead_holds(&p, turn);
		hp_lead_waits(&p, turn);
		hp_lead_waits(&p, turn);
	}
	for (int i = 0; i < 100; i++) {
		turn += 10;
		hp_lead_holds(&p, turn);
		hp_lead_waits(&p, turn);
		assert_int_equal(hp_lead_far(&p, 0, MEMORY), MEMORY);
	}
}

/* One read that takes long, of which the loop asks again and again: what is
 * doubled is filled meanwhile, and held back again, but for later turns. */
static void test_slow_read(void **state)
{
	struct hp_lead p = { 0 };

	(void)state;
	take(&p, 16, 7 * MIB, 0.02);
	hp_lead_holds(&p, 30);
	for (uint64_t i = 0; i < 50; i++) {
		hp_lead_waits(&p, 40);
		hp_lead_holds(&p, 60 + i);
	}
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), 2 * HP_LEAD_LEAST);
	/* It is over; what was asked for earlier is no cause of this wait. */
	hp_lead_waits(&p, 59);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), 2 * HP_LEAD_LEAST);
	hp_lead_waits(&p, 60);
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), 4 * HP_LEAD_LEAST);
}

/* Behind a seek the first batch is waited for, however far ahead one reads. */
static void test_seek(void **state)
{
	struct hp_lead p = { 0 };

	(void)state;
	take(&p, 16, 7 * MIB, 0.02);
	for (int i = 0; i < 10; i++) {
		hp_lead_holds(&p, 2);
		hp_lead_seek(&p);
		hp_lead_waits(&p, 0);
		hp_lead_holds(&p, 20);
		hp_lead_waits(&p, 1);
		hp_lead_waits(&p, 2);
	}
	assert_int_equal(hp_lead_far(&p, 0, MEMORY), HP_LEAD_LEAST);
}

/* ---- Played, millisecond by millisecond ------------------------------- */

enum { UNIT = 2 << 20, TURN = 7 << 20, READERS = 16 };

struct played {
	unsigned latency; /* of a read; READERS are under way at most */
	unsigned (*busy)(unsigned turn);
	bool all; /* as much as memory holds, as without a rule */
	/* What came of it. */
	unsigned waited;
	uint64_t peak;
};

struct playing {
	struct hp_lead lead;
	unsigned left[READERS]; /* of a read; 0: none */
	uint64_t ahead, there;	/* asked for; and read */
	uint64_t asked;		/* in all */
	unsigned busy, turns;
};

static void play_reads(struct playing *p, const struct played *of)
{
	double busy = p->turns ? of->busy(p->turns - 1) - p->busy : 0;
	uint64_t far =
		of->all ? MEMORY : hp_lead_far(&p->lead, busy / 1e3, MEMORY);

	for (unsigned i = 0; i < READERS; i++) {
		if (p->left[i] && !--p->left[i]) {
			p->there += UNIT;
			hp_lead_read(&p->lead, of->latency / 1e3);
		}
		if (p->left[i])
			continue;
		if (p->ahead + UNIT > MEMORY)
			continue;
		if (p->ahead >= far) {
			hp_lead_holds(&p->lead, p->asked / TURN);
			continue;
		}
		p->left[i] = of->latency;
		p->ahead += UNIT;
		p->asked += UNIT;
	}
}

static void play_loop(struct playing *p, struct played *of)
{
	if (p->busy && --p->busy)
		return;
	if (p->there < TURN) {
		hp_lead_waits(&p->lead, p->turns);
		of->waited++;
		return;
	}
	p->there -= TURN;
	p->ahead -= TURN;
	hp_lead_took(&p->lead, TURN,
		     p->turns ? of->busy(p->turns - 1) / 1e3 : 0);
	p->busy = of->busy(p->turns++);
}

static void play(struct played *of, unsigned turns)
{
	struct playing p = { 0 };

	while (p.turns < turns) {
		play_reads(&p, of);
		play_loop(&p, of);
		if (p.ahead > of->peak)
			of->peak = p.ahead;
	}
}

static unsigned steady(unsigned turn)
{
	(void)turn;
	return 20;
}

/* Faster than can be read: for a while, and for good. */
static unsigned hurries(unsigned turn)
{
	return turn % 250 < 200 ? 40 : 2;
}

static unsigned speeds_up(unsigned turn)
{
	return turn < 300 ? 100 : 3;
}

static void compare(unsigned latency, unsigned (*busy)(unsigned), uint64_t peak,
		    unsigned more)
{
	struct played all = { .latency = latency, .busy = busy, .all = true };
	struct played is = { .latency = latency, .busy = busy };

	play(&all, 3000);
	play(&is, 3000);
	print_message("%u ms: %u ms waited, %u with all; %u MiB, %u\n", latency,
		      is.waited, all.waited, (unsigned)(is.peak / MIB),
		      (unsigned)(all.peak / MIB));
	assert_true(is.waited <= all.waited + more);
	assert_true(is.peak <= peak);
}

/* A step of 20 ms, of a disk and of a parallel file system: no wait more, in a
 * fraction of the memory. */
static void test_steady(void **state)
{
	(void)state;
	compare(5, steady, 200 * MIB, 0);
	compare(60, steady, 200 * MIB, 0);
	/* No faster than it is read: there is never more. */
	compare(100, steady, MEMORY, 0);
}

/* What a loop takes at times is known once it has; and each wait doubles what
 * is read ahead, so there are three of them at most, of 3,000 turns. */
static void test_bursts(void **state)
{
	(void)state;
	compare(20, hurries, MEMORY, 100);
	compare(100, hurries, MEMORY, 1000);
	compare(20, speeds_up, MEMORY, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_loop_and_latency),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_slow_read),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_bursts),
	};

	return cmocka_run_group_tests_name("lead", tests, NULL, NULL);
}
