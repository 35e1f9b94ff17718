/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process makes of a node's silence, in virtual time: the times that are
 * promised, each by itself; and under any order of events no request waits
 * without a bound, and none goes where it may not.
 */
#include "peers/health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS (HP_SECOND / 1000)

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- The times -------------------------------------------------------- */

static void who_answers_stays_well(void **state)
{
	struct hp_health h = { 0 };
	uint64_t now = 5 * HP_SECOND;

	(void)state;
	assert_true(hp_health_next(&h) == UINT64_MAX);
	for (int i = 0; i < 1000; i++) {
		assert_true(hp_health_may(&h, now));
		hp_health_asked(&h, now);
		assert_true(hp_health_next(&h) == now + HP_SECOND);
		now += 999 * MS;
		assert_int_equal(hp_health_look(&h, now), HP_DO_NOTHING);
		hp_health_heard(&h, now);
		now += 999 * MS;
		assert_int_equal(hp_health_look(&h, now), HP_DO_NOTHING);
		hp_health_ended(&h, now, HP_END_DONE);
		/* it owes nothing: it may be silent for as long as it likes */
		now += 3600 * HP_SECOND;
		assert_int_equal(hp_health_look(&h, now), HP_DO_NOTHING);
	}
	assert_int_equal(h.is, HP_HEALTH_WELL);
}

static void silence_is_late_then_closed(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, HP_SECOND);
	assert_int_equal(hp_health_look(&h, 2 * HP_SECOND - 1), HP_DO_NOTHING);
	assert_true(hp_health_may(&h, 2 * HP_SECOND - 1));
	/* before anybody looked */
	assert_false(hp_health_may(&h, 2 * HP_SECOND));
	assert_int_equal(hp_health_look(&h, 2 * HP_SECOND), HP_DO_ELSEWHERE);
	assert_int_equal(h.is, HP_HEALTH_LATE);
	assert_true(hp_health_next(&h) == 6 * HP_SECOND);
	assert_int_equal(hp_health_look(&h, 6 * HP_SECOND - 1),
			 HP_DO_ELSEWHERE);
	assert_int_equal(hp_health_look(&h, 6 * HP_SECOND), HP_DO_CLOSE);
	assert_int_equal(h.is, HP_HEALTH_SUSPECT);
	hp_health_ended(&h, 6 * HP_SECOND, HP_END_GIVEN_UP);
	assert_true(hp_health_next(&h) == UINT64_MAX);
}

/* Half a second is enough where nobody was ever found; a byte ends that. */
static void who_is_sought_is_late_sooner(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, HP_SECOND);
	hp_health_sought(&h, true);
	assert_true(hp_health_next(&h) == 1500 * MS);
	assert_int_equal(hp_health_look(&h, 1500 * MS - 1), HP_DO_NOTHING);
	assert_false(hp_health_is_mute(&h));
	assert_int_equal(hp_health_look(&h, 1500 * MS), HP_DO_ELSEWHERE);
	assert_true(hp_health_is_mute(&h));
	assert_true(hp_health_next(&h) == 6 * HP_SECOND);
	hp_health_heard(&h, 2 * HP_SECOND);
	assert_false(hp_health_is_mute(&h));
	assert_true(hp_health_next(&h) == 3 * HP_SECOND);
	/* who refuses is not mute */
	hp_health_ended(&h, 2 * HP_SECOND, HP_END_FAILED);
	assert_false(hp_health_is_mute(&h));
	/* but who was late and failed, until it refuses or says a word */
	hp_health_asked(&h, 3 * HP_SECOND);
	hp_health_look(&h, 4 * HP_SECOND);
	hp_health_ended(&h, 4 * HP_SECOND, HP_END_FAILED);
	assert_true(hp_health_is_mute(&h));
	hp_health_asked(&h, 9 * HP_SECOND);
	hp_health_ended(&h, 9 * HP_SECOND, HP_END_FAILED);
	assert_false(hp_health_is_mute(&h));
}

/* What is owed is the probe: the byte that comes after all. */
static void who_was_late_is_well_by_a_byte(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, 0);
	hp_health_look(&h, 3 * HP_SECOND);
	assert_false(hp_health_may(&h, 3 * HP_SECOND));
	hp_health_heard(&h, 4 * HP_SECOND);
	assert_true(hp_health_may(&h, 4 * HP_SECOND));
	assert_int_equal(hp_health_look(&h, 4 * HP_SECOND), HP_DO_NOTHING);
	assert_true(hp_health_next(&h) == 5 * HP_SECOND);
}

static void probes_are_1_2_4_to_30_seconds(void **state)
{
	static const uint64_t wait[] = { 1, 2, 4, 8, 16, 30, 30, 30 };
	struct hp_health h = { 0 };
	uint64_t now = 100 * HP_SECOND;

	(void)state;
	hp_health_asked(&h, now);
	hp_health_ended(&h, now, HP_END_FAILED);
	for (size_t i = 0; i < sizeof wait / sizeof *wait; i++) {
		now += wait[i] * HP_SECOND;
		assert_false(hp_health_may(&h, now - 1));
		assert_true(hp_health_may(&h, now));
		hp_health_asked(&h, now);
		/* one is enough */
		assert_false(hp_health_may(&h, now));
		hp_health_ended(&h, now, HP_END_FAILED);
	}
	assert_true(hp_health_lost(&h, now));
	now += 30 * HP_SECOND;
	hp_health_asked(&h, now);
	hp_health_ended(&h, now, HP_END_DONE);
	assert_true(hp_health_may(&h, now));
	assert_false(hp_health_lost(&h, now));
	/* and from the beginning the next time */
	hp_health_asked(&h, now);
	hp_health_ended(&h, now, HP_END_FAILED);
	assert_true(hp_health_may(&h, now + HP_SECOND));
}

/* At once it is one who had much to do; asked again, and silent again, not. */
static void who_is_given_up_twice_is_suspect(void **state)
{
	const uint64_t t = 100 * HP_SECOND;
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, t);
	hp_health_ended(&h, t + 99 * MS, HP_END_GIVEN_UP);
	assert_false(hp_health_is_doubted(&h));
	/* two requests of the same silence are one */
	hp_health_asked(&h, t);
	hp_health_asked(&h, t);
	h.heard = t;
	hp_health_ended(&h, t + 100 * MS, HP_END_GIVEN_UP);
	hp_health_ended(&h, t + 100 * MS, HP_END_GIVEN_UP);
	assert_true(hp_health_is_doubted(&h));
	assert_true(hp_health_may(&h, t + 100 * MS));
	hp_health_asked(&h, t + 200 * MS);
	hp_health_ended(&h, t + 300 * MS, HP_END_GIVEN_UP);
	assert_int_equal(h.is, HP_HEALTH_SUSPECT);
	assert_false(hp_health_may(&h, t + 300 * MS));
	/* a word is enough */
	hp_health_heard(&h, t + 400 * MS);
	assert_false(hp_health_is_doubted(&h));
}

/* Somebody else answers, and it is given up: it is not asked each second. */
static void a_probe_that_is_late_has_failed(void **state)
{
	const uint64_t t = 100 * HP_SECOND;
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, t);
	hp_health_ended(&h, t, HP_END_FAILED);
	hp_health_asked(&h, t + HP_SECOND);
	assert_int_equal(hp_health_look(&h, t + 2 * HP_SECOND),
			 HP_DO_ELSEWHERE);
	/* once, however often it is looked at */
	assert_int_equal(hp_health_look(&h, t + 3 * HP_SECOND),
			 HP_DO_ELSEWHERE);
	hp_health_ended(&h, t + 3 * HP_SECOND, HP_END_GIVEN_UP);
	assert_false(hp_health_may(&h, t + 4 * HP_SECOND - 1));
	assert_true(hp_health_may(&h, t + 4 * HP_SECOND));
	/* what it owes stays the probe */
	hp_health_asked(&h, t + 4 * HP_SECOND);
	assert_int_equal(hp_health_look(&h, t + 5 * HP_SECOND),
			 HP_DO_ELSEWHERE);
	hp_health_heard(&h, t + 6 * HP_SECOND);
	assert_true(hp_health_may(&h, t + 6 * HP_SECOND));
}

static void what_fails_at_once_is_one_failure(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	for (int i = 0; i < 8; i++)
		hp_health_asked(&h, HP_SECOND);
	for (unsigned i = 0; i < 8; i++)
		hp_health_ended(&h, HP_SECOND + i, HP_END_FAILED);
	assert_true(hp_health_may(&h, 2 * HP_SECOND));
}

static void it_is_lost_after_30_seconds(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, HP_SECOND);
	hp_health_ended(&h, HP_SECOND, HP_END_FAILED);
	assert_false(hp_health_lost(&h, 31 * HP_SECOND - 1));
	assert_true(hp_health_lost(&h, 31 * HP_SECOND));
}

static void three_times_bad_is_for_good(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	for (int i = 0; i < HP_BAD_MOST; i++) {
		assert_true(hp_health_may(&h, HP_SECOND));
		hp_health_asked(&h, HP_SECOND);
		hp_health_ended(&h, HP_SECOND, HP_END_DONE);
		hp_health_bad(&h, HP_SECOND);
	}
	assert_int_equal(h.is, HP_HEALTH_BANNED);
	hp_health_asked(&h, HP_SECOND);
	hp_health_heard(&h, HP_SECOND);
	hp_health_ended(&h, HP_SECOND, HP_END_DONE);
	hp_health_asked(&h, HP_SECOND);
	hp_health_ended(&h, HP_SECOND, HP_END_FAILED);
	assert_int_equal(h.is, HP_HEALTH_BANNED);
	assert_false(hp_health_may(&h, UINT64_MAX));
}

/* It is told when it was read, which may be at any time. */
static void what_was_bad_is_no_probe_and_no_byte(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, HP_SECOND);
	hp_health_ended(&h, HP_SECOND, HP_END_FAILED);
	hp_health_bad(&h, HP_SECOND);
	assert_int_equal(h.is, HP_HEALTH_SUSPECT);
	assert_int_equal(h.owed, 0);
	assert_true(hp_health_may(&h, 2 * HP_SECOND));
	hp_health_asked(&h, 2 * HP_SECOND);
	hp_health_bad(&h, 2 * HP_SECOND);
	assert_int_equal(h.owed, 1);
	assert_int_equal(h.is, HP_HEALTH_SUSPECT);
	hp_health_bad(&h, 2 * HP_SECOND);
	assert_int_equal(h.is, HP_HEALTH_BANNED);
}

/* Who was stopped himself blames nobody for it, and forgets no silence. */
static void ones_own_absence_is_no_silence(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, HP_SECOND);
	hp_health_look(&h, HP_SECOND + 600 * MS);
	hp_health_away(&h, 3600 * HP_SECOND);
	assert_int_equal(hp_health_look(&h, 3601 * HP_SECOND + 900 * MS),
			 HP_DO_NOTHING);
	assert_int_equal(hp_health_look(&h, 3602 * HP_SECOND), HP_DO_ELSEWHERE);
}

/* ---- Any order of events ---------------------------------------------- */

/* A reader that keeps to the rules, and a node that does anything. */
struct game {
	struct hp_health h;
	uint64_t now;
	uint64_t quiet_since; /* the last byte, or since when it owes one */
	uint64_t tried;	      /* of a suspect one: since then, or probed then */
	uint32_t owed, bad;
};

static void ask(struct game *g)
{
	if (!hp_health_may(&g->h, g->now))
		return;
	/* neither late, nor banned, nor two probes, nor one too early */
	assert_true(g->bad < HP_BAD_MOST);
	assert_true(!g->owed || g->now - g->quiet_since < HP_LATE_AFTER);
	if (g->h.is == HP_HEALTH_SUSPECT) {
		assert_true(!g->owed && g->now - g->tried >= HP_SECOND);
		g->tried = g->now;
	}
	if (!g->owed++)
		g->quiet_since = g->now;
	hp_health_asked(&g->h, g->now);
}

static void end(struct game *g, enum hp_health_end how)
{
	if (!g->owed)
		return;
	g->owed--;
	if (how == HP_END_DONE)
		g->quiet_since = g->now;
	if (how == HP_END_FAILED && g->h.is != HP_HEALTH_SUSPECT)
		g->tried = g->now;
	hp_health_ended(&g->h, g->now, how);
}

static void bad(struct game *g)
{
	g->bad++;
	hp_health_bad(&g->h, g->now);
}

static void pass_time(struct game *g, uint64_t by)
{
	uint64_t to = g->now + by;

	while (hp_health_next(&g->h) <= to) {
		enum hp_health_do what;

		/* a look is never due in the past, or for ever */
		assert_true(hp_health_next(&g->h) >= g->now);
		g->now = hp_health_next(&g->h);
		if (g->h.is != HP_HEALTH_SUSPECT)
			g->tried = g->now;
		what = hp_health_look(&g->h, g->now);
		assert_int_not_equal(what, HP_DO_NOTHING);
		if (what == HP_DO_CLOSE) {
			while (g->owed)
				end(g, HP_END_GIVEN_UP);
		}
	}
	g->now = to;
	/* nothing that is owed has been silent for longer than that */
	assert_true(!g->owed || g->now - g->quiet_since < HP_CLOSED_AFTER);
}

static void no_request_waits_without_a_bound(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct game g = { .now = dice(100) * HP_SECOND };

		for (int i = 0; i < 3000; i++) {
			uint32_t event = dice(100);

			if (event < 40)
				ask(&g);
			else if (event < 55)
				end(&g, HP_END_DONE);
			else if (event < 60)
				end(&g, HP_END_GIVEN_UP);
			else if (event < 65)
				end(&g, HP_END_FAILED);
			else if (event == 65 && !dice(50))
				bad(&g);
			else if (event < 75 && g.owed) {
				g.quiet_since = g.now;
				hp_health_heard(&g.h, g.now);
			}
			pass_time(&g, dice(4) ? dice(900) * MS :
						dice(12) * HP_SECOND);
			assert_int_equal(g.h.owed, g.owed);
		}
	}
}

/* A clock that goes back is not followed. */
static void times_out_of_order_do_no_harm(void **state)
{
	struct hp_health h = { 0 };

	(void)state;
	hp_health_asked(&h, 10 * HP_SECOND);
	hp_health_heard(&h, 20 * HP_SECOND);
	assert_int_equal(hp_health_look(&h, 5 * HP_SECOND), HP_DO_NOTHING);
	hp_health_asked(&h, 3 * HP_SECOND);
	hp_health_heard(&h, 4 * HP_SECOND);
	assert_true(hp_health_next(&h) == 21 * HP_SECOND);
	assert_true(hp_health_may(&h, 5 * HP_SECOND));
}

/* ---- Asking twice ----------------------------------------------------- */

static void one_in_twenty_may_be_in_vain(void **state)
{
	struct hp_hedges g = { 0 };
	uint64_t now = 1000 * HP_SECOND;
	int n = 0;

	(void)state;
	assert_true(hp_hedges_may(&g, now));
	hp_hedges_vain(&g, now);
	assert_false(hp_hedges_may(&g, now));
	for (int i = 0; i < 1000; i++, now += 50 * MS) {
		hp_hedges_asked(&g, now);
		if (hp_hedges_may(&g, now)) {
			hp_hedges_vain(&g, now);
			n++;
		}
	}
	assert_int_equal(n, 49); /* and the first one: 50 of 1000 */
	/* what is more than a minute ago counts no more */
	assert_false(hp_hedges_may(&g, now + 5 * HP_SECOND));
	assert_true(hp_hedges_may(&g, now + 61 * HP_SECOND));
	hp_hedges_vain(&g, now + 61 * HP_SECOND);
	assert_false(hp_hedges_may(&g, now + 61 * HP_SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_answers_stays_well),
		cmocka_unit_test(silence_is_late_then_closed),
		cmocka_unit_test(who_is_sought_is_late_sooner),
		cmocka_unit_test(who_was_late_is_well_by_a_byte),
		cmocka_unit_test(probes_are_1_2_4_to_30_seconds),
		cmocka_unit_test(who_is_given_up_twice_is_suspect),
		cmocka_unit_test(a_probe_that_is_late_has_failed),
		cmocka_unit_test(what_fails_at_once_is_one_failure),
		cmocka_unit_test(it_is_lost_after_30_seconds),
		cmocka_unit_test(three_times_bad_is_for_good),
		cmocka_unit_test(what_was_bad_is_no_probe_and_no_byte),
		cmocka_unit_test(ones_own_absence_is_no_silence),
		cmocka_unit_test(no_request_waits_without_a_bound),
		cmocka_unit_test(times_out_of_order_do_no_harm),
		cmocka_unit_test(one_in_twenty_may_be_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
