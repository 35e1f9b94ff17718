/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request in virtual time: who is asked, who else, and when it is enough,
 * each by itself; and under any order of events it ends by its patience, asks
 * nobody afterwards, and lets go of each ask exactly once.
 */
#include "peers/want.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS (HP_SECOND / 1000)
#define START (100 * HP_SECOND)
#define PATIENCE (20 * HP_SECOND)

enum { NODES = 6, SELF = 0, LARGE = 4 << 20 };

static struct {
	struct hp_peer_view view[NODES];
	bool coming[NODES], starting[NODES], other[NODES];
	struct hp_hedges hedges;
} world;

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

static struct hp_peer_view look(void *arg, uint32_t node)
{
	(void)arg;
	return world.view[node];
}

static bool coming(void *arg, uint32_t node)
{
	(void)arg;
	return world.coming[node];
}

static bool starting(void *arg, uint32_t node)
{
	(void)arg;
	return world.starting[node];
}

static bool other(void *arg, uint32_t node)
{
	(void)arg;
	return world.other[node];
}

/* All live; holders are first to last. */
static struct hp_want want(uint32_t first, uint32_t last)
{
	memset(&world, 0, sizeof world);
	for (int i = 0; i < NODES; i++)
		world.view[i].lives = true;
	return (struct hp_want){ .whom = { .nodes = NODES,
					   .self = SELF,
					   .chunk = 7,
					   .first = first,
					   .last = last,
					   .before = HP_NO_NODE,
					   .patience = PATIENCE,
					   .look = look },
				 .coming = coming,
				 .starting = starting,
				 .other = other,
				 .hedges = &world.hedges,
				 .bytes = LARGE };
}

static struct hp_want_acts acts;

/* What was to be done is just this. */
static void only(enum hp_want_do what, unsigned ask)
{
	assert_int_equal(acts.n, 1);
	assert_int_equal(acts.of[0].what, what);
	assert_int_equal(acts.of[0].ask, ask);
}

static void nothing(void)
{
	assert_int_equal(acts.n, 0);
}

/* ---- One after the other ---------------------------------------------- */

static void the_first_whole_answer_is_it(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	hp_want_begin(&w, START, &acts);
	only(HP_WANT_ASK, 0);
	assert_int_equal(w.ask[0].node, 2);
	assert_false(w.ask[0].adopt);
	hp_want_sent(&w, 0, START);
	assert_true(hp_want_next(&w) == START + HP_SECOND);
	hp_want_byte(&w, 0, LARGE, START + 900 * MS);
	hp_want_time(&w, START + HP_SECOND, &acts);
	nothing();
	hp_want_said(&w, 0, HP_SAID_ALL, START + HP_SECOND, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_DONE);
	assert_int_equal(w.won, 0);
	assert_true(hp_want_next(&w) == UINT64_MAX);
}

static void who_fails_is_followed_by_another(void **state)
{
	struct hp_want w = want(2, 3);
	uint32_t first;

	(void)state;
	hp_want_begin(&w, START, &acts);
	first = w.ask[0].node;
	hp_want_said(&w, 0, HP_SAID_FAILED, START, &acts);
	only(HP_WANT_ASK, 1);
	assert_int_equal(w.ask[1].node, 5 - first);
	assert_false(w.ask[1].hedge);
	/* both holders failed: somebody adopts it */
	hp_want_said(&w, 1, HP_SAID_ABSENT, START, &acts);
	only(HP_WANT_ASK, 2);
	assert_true(w.ask[2].adopt);
	hp_want_said(&w, 2, HP_SAID_WRONG, START, &acts);
	only(HP_WANT_ASK, 3);
	assert_true(w.ask[3].adopt);
	assert_int_not_equal(w.ask[3].node, w.ask[2].node);
	hp_want_said(&w, 3, HP_SAID_UNPROVEN, START, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
	assert_int_equal(w.why, HP_WHY_ENOUGH);
}

static void what_we_lack_is_no_reason_to_ask_others(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_said(&w, 0, HP_SAID_SELF, START, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
}

/* ---- Late ------------------------------------------------------------- */

static void who_is_late_is_not_waited_for(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_time(&w, START + HP_SECOND, &acts);
	only(HP_WANT_ASK, 1);
	assert_true(w.ask[1].hedge);
	hp_want_sent(&w, 1, START + HP_SECOND);
	hp_want_said(&w, 1, HP_SAID_ALL, START + 1100 * MS, &acts);
	only(HP_WANT_CLOSE, 0);
	assert_int_equal(w.won, 1);
	/* it never answered: that was not in vain */
	assert_true(hp_hedges_may(&world.hedges, START + 2 * HP_SECOND));
}

static void a_loser_with_little_left_may_finish(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_byte(&w, 0, LARGE - HP_WANT_LITTLE + 1, START);
	hp_want_time(&w, START + HP_SECOND, &acts);
	only(HP_WANT_ASK, 1);
	hp_want_sent(&w, 1, START + HP_SECOND);
	hp_want_said(&w, 1, HP_SAID_ALL, START + HP_SECOND, &acts);
	only(HP_WANT_LEAVE, 0);
}

static void the_late_one_may_win(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_time(&w, START + HP_SECOND, &acts);
	only(HP_WANT_ASK, 1);
	hp_want_byte(&w, 0, 1, START + HP_SECOND);
	hp_want_said(&w, 0, HP_SAID_ALL, START + HP_SECOND, &acts);
	only(HP_WANT_CLOSE, 1);
	assert_int_equal(w.won, 0);
	/* in vain, and of one request: the next has to wait */
	assert_false(hp_hedges_may(&world.hedges, START + HP_SECOND));
}

static void where_it_was_in_vain_too_often_it_is_waited_for(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_hedges_vain(&world.hedges, START);
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_time(&w, START + HP_SECOND, &acts);
	nothing();
	assert_true(hp_want_next(&w) == START + HP_CLOSED_AFTER);
	/* but not for ever */
	hp_want_time(&w, START + HP_CLOSED_AFTER, &acts);
	assert_int_equal(acts.n, 2);
	assert_int_equal(acts.of[0].what, HP_WANT_CLOSE);
	assert_int_equal(acts.of[1].what, HP_WANT_ASK);
	assert_false(w.ask[1].hedge);
}

static void who_was_not_asked_yet_is_left_at_once(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_late(&w, 0, START, &acts);
	assert_int_equal(acts.n, 2);
	assert_int_equal(acts.of[0].what, HP_WANT_CLOSE);
	assert_int_equal(acts.of[1].what, HP_WANT_ASK);
}

static void nobody_is_left_but_the_late_one(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	for (int i = 0; i < NODES; i++)
		world.view[i].lives = i == 2;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_time(&w, START + HP_SECOND, &acts);
	/* two of six live: nobody adopts, the origin it is */
	only(HP_WANT_CLOSE, 0);
	assert_int_equal(w.is, HP_WANT_ORIGIN);
	assert_int_equal(w.why, HP_WHY_CUT_OFF);
}

static void our_own_absence_is_not_their_silence(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_away(&w, 3 * HP_SECOND);
	hp_want_time(&w, START + 3500 * MS, &acts);
	nothing();
	assert_true(hp_want_next(&w) == START + 4 * HP_SECOND);
}

/* ---- In a hurry ------------------------------------------------------- */

/* It did not answer before: whoever wants something does not feel the probe. */
static void a_probe_is_not_waited_for(void **state)
{
	(void)state;
	/* whether it has its turn yet or not */
	for (int sent = 0; sent < 2; sent++) {
		struct hp_want w = want(2, 2);

		world.view[2].doubted = true;
		/* nor is it a matter of how often others are asked as well */
		hp_hedges_vain(&world.hedges, START);
		hp_want_begin(&w, START, &acts);
		if (sent)
			hp_want_sent(&w, 0, START);
		assert_true(hp_want_next(&w) == START + 100 * MS);
		hp_want_time(&w, START + 99 * MS, &acts);
		nothing();
		hp_want_time(&w, START + 100 * MS, &acts);
		assert_int_equal(acts.n, 2 - sent);
		assert_int_equal(acts.of[1 - sent].what, HP_WANT_ASK);
		assert_true(w.ask[1].adopt);
		/* who was asked goes on, to show that he is there */
		hp_want_sent(&w, 1, START + 100 * MS);
		hp_want_said(&w, 1, HP_SAID_ALL, START + 150 * MS, &acts);
		if (sent)
			only(HP_WANT_LEAVE, 0);
	}
}

static void a_probe_that_is_answered_is_as_any(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	world.view[2].doubted = world.view[3].doubted = true;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_byte(&w, 0, 0, START + 50 * MS);
	assert_true(hp_want_next(&w) == START + 1050 * MS);
	hp_want_time(&w, START + 1049 * MS, &acts);
	nothing();
	/* one that comes a little late was not asked twice in vain */
	w = want(2, 3);
	world.view[2].doubted = world.view[3].doubted = true;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_time(&w, START + 100 * MS, &acts);
	only(HP_WANT_ASK, 1);
	hp_want_byte(&w, 0, LARGE, START + 120 * MS);
	hp_want_said(&w, 0, HP_SAID_ALL, START + 120 * MS, &acts);
	assert_true(hp_hedges_may(&world.hedges, START + 120 * MS));
}

/* Its turn does not come as it sends to others: it is there. */
static void who_sends_to_others_is_not_silent(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	world.view[2].doubted = true;
	hp_want_begin(&w, START, &acts);
	world.view[2].heard = START + 80 * MS;
	assert_true(hp_want_next(&w) == START + 180 * MS);
	hp_want_time(&w, START + 100 * MS, &acts);
	nothing();
	hp_want_time(&w, START + 180 * MS, &acts);
	assert_int_equal(acts.n, 2);
}

/* Not a second each. */
static void all_of_them_together_have_a_second(void **state)
{
	struct hp_want w = want(1, NODES - 1);
	uint64_t now = START;

	(void)state;
	hp_want_begin(&w, now, &acts);
	while (w.is == HP_WANT_OPEN) {
		for (unsigned i = 0; i < w.n; i++)
			hp_want_sent(&w, i, now);
		now = hp_want_next(&w);
		hp_want_time(&w, now, &acts);
	}
	assert_int_equal(w.n, HP_WANT_ASKS);
	assert_true(now <= START + HP_SECOND + (HP_WANT_ASKS - 1) * 100 * MS);
	/* what is ended and not late says nothing of the next */
	w = want(1, NODES - 1);
	hp_want_begin(&w, START, &acts);
	hp_want_said(&w, 0, HP_SAID_FAILED, START, &acts);
	hp_want_sent(&w, 1, START);
	assert_true(hp_want_next(&w) == START + HP_SECOND);
}

/* ---- Drips ------------------------------------------------------------ */

/* A byte now and then: never silent, and it would take for ever. */
static void who_drips_is_late_and_then_closed(void **state)
{
	struct hp_want w = want(2, 3);
	/* a second, and LARGE at 1 MB/s */
	const uint64_t due = START + HP_SECOND + LARGE * UINT64_C(1000);
	uint64_t now;

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	for (now = START; now + 900 * MS < due; now += 900 * MS) {
		hp_want_byte(&w, 0, 1, now);
		hp_want_time(&w, now, &acts);
		nothing();
	}
	hp_want_byte(&w, 0, 1, now);
	assert_true(hp_want_next(&w) == due);
	hp_want_time(&w, due, &acts);
	only(HP_WANT_ASK, 1);
	assert_true(w.ask[1].hedge);
	assert_int_equal(w.ask[1].node, 5 - w.ask[0].node);
	/* another byte makes it no better, and is no answer */
	hp_want_byte(&w, 0, 1, due + 500 * MS);
	assert_true(w.ask[0].late);
	assert_true(hp_hedges_may(&world.hedges, due + 500 * MS));
	hp_want_sent(&w, 1, due + 500 * MS);
	hp_want_said(&w, 1, HP_SAID_ALL, due + 600 * MS, &acts);
	only(HP_WANT_CLOSE, 0);
	assert_int_equal(w.won, 1);
}

static void nobody_else_is_left_who_drips_is_closed(void **state)
{
	struct hp_want w = want(2, 2);
	uint64_t now = START;

	(void)state;
	for (int i = 0; i < NODES; i++)
		world.view[i].lives = i <= 2;
	/* so nobody is asked twice */
	hp_hedges_vain(&world.hedges, START);
	hp_want_begin(&w, now, &acts);
	hp_want_sent(&w, 0, now);
	for (; acts.n == 0 || acts.of[0].what != HP_WANT_CLOSE;) {
		assert_true(now < START + PATIENCE);
		now += 200 * MS;
		hp_want_byte(&w, 0, 1, now);
		hp_want_time(&w, now, &acts);
	}
	/* twice of what it may take */
	assert_true(now >= START + 10 * HP_SECOND);
	assert_true(now <= START + 11 * HP_SECOND);
	assert_int_equal(w.ask[1].node != w.ask[0].node, 1);
	assert_true(w.ask[1].adopt);
}

/* All were asked at once, and one link is behind them. */
static void who_has_sent_most_of_it_may_end(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	hp_hedges_vain(&world.hedges, START);
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	for (int i = 1; i <= 190; i++) {
		hp_want_byte(&w, 0, LARGE / 200,
			     START + (uint64_t)i * 100 * MS);
		hp_want_time(&w, START + (uint64_t)i * 100 * MS, &acts);
		nothing();
	}
	hp_want_said(&w, 0, HP_SAID_ALL, START + 19500 * MS, &acts);
	assert_int_equal(w.is, HP_WANT_DONE);
}

static struct hp_rate rates[NODES];

static struct hp_rate *rate(void *arg, uint32_t node)
{
	(void)arg;
	return &rates[node];
}

/* By what others do: beside fast ones a second suffices, beside those who take
 * their time nobody is late for that. */
static void how_long_it_may_take_is_learned(void **state)
{
	static const uint64_t took[] = { 10 * MS, 15 * HP_SECOND };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hp_want w = want(2, 3);
		struct hp_rates all = { 0 };

		memset(rates, 0, sizeof rates);
		for (uint32_t n = 1; n < NODES; n++)
			hp_rates_came(&all, &rates[n], LARGE, took[i], START);
		w.rates = &all;
		w.rate = rate;
		w.whom.patience = 0;
		hp_want_begin(&w, START, &acts);
		hp_want_sent(&w, 0, START);
		hp_want_byte(&w, 0, 1, START + 600 * MS);
		assert_true(i ? w.ask[0].due > START + 100 * HP_SECOND :
				w.ask[0].due < START + 1200 * MS);
	}
}

/* But not of who adopts it: how fast the origin is others do not say. */
static void who_adopts_it_has_time(void **state)
{
	struct hp_want w = want(3, 2);
	struct hp_rates all = { 0 };

	(void)state;
	memset(rates, 0, sizeof rates);
	for (uint32_t n = 0; n < NODES; n++)
		hp_rates_came(&all, &rates[n], LARGE, 10 * MS, START);
	w.rates = &all;
	w.rate = rate;
	w.whom.patience = 0;
	hp_want_begin(&w, START, &acts);
	assert_true(w.ask[0].adopt);
	hp_want_sent(&w, 0, START);
	assert_true(w.ask[0].due > START + 30 * HP_SECOND);
	for (uint64_t now = START; now < w.ask[0].due; now += 900 * MS) {
		hp_want_byte(&w, 0, 1, now);
		hp_want_time(&w, now, &acts);
		nothing();
	}
	hp_want_time(&w, w.ask[0].due, &acts);
	only(HP_WANT_ASK, 1);
	/* nor does it say anything of him */
	assert_false(hp_rates_is_slow(&all, &rates[w.ask[0].node], true,
				      START + 40 * HP_SECOND));
}

/* He may have to wait for it himself, silently; that he lives is enough. */
static void who_adopts_it_only_has_to_live(void **state)
{
	struct hp_want w = want(3, 2);
	uint32_t node;

	(void)state;
	hp_want_begin(&w, START, &acts);
	node = w.ask[0].node;
	hp_want_sent(&w, 0, START);
	for (uint64_t t = START; t < START + 4 * HP_SECOND; t += 250 * MS) {
		world.view[node].heard = t;
		hp_want_time(&w, t + 240 * MS, &acts);
		nothing();
	}
	assert_true(hp_want_next(&w) == world.view[node].heard + HP_SECOND);
	hp_want_time(&w, hp_want_next(&w) - 1, &acts);
	nothing();
	hp_want_time(&w, hp_want_next(&w), &acts);
	only(HP_WANT_ASK, 1);
}

/* Whom it was asked of is known for it, and others are asked first. */
static void who_was_slow_is_known_for_it(void **state)
{
	struct hp_want w = want(2, 3);
	struct hp_rates all = { 0 };

	(void)state;
	memset(rates, 0, sizeof rates);
	for (uint32_t n = 1; n < NODES; n++)
		hp_rates_came(&all, &rates[n], LARGE, 10 * MS, START);
	w.rates = &all;
	w.rate = rate;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_byte(&w, 0, 1, w.ask[0].due - 1);
	assert_false(hp_rates_is_slow(&all, &rates[w.ask[0].node], true,
				      w.ask[0].due));
	hp_want_time(&w, w.ask[0].due, &acts);
	only(HP_WANT_ASK, 1);
	assert_true(hp_rates_is_slow(&all, &rates[w.ask[0].node], true,
				     w.ask[0].due));
	assert_false(hp_rates_is_slow(&all, &rates[w.ask[1].node], true,
				      w.ask[0].due));
}

/* One of two fails, and the other has begun to send: a third is not asked. */
static void who_is_at_it_is_waited_for(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	hp_want_begin(&w, START, &acts);
	hp_want_sent(&w, 0, START);
	hp_want_time(&w, START + HP_SECOND, &acts);
	only(HP_WANT_ASK, 1);
	hp_want_byte(&w, 0, 1, START + HP_SECOND);
	hp_want_said(&w, 1, HP_SAID_FAILED, START + HP_SECOND, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_OPEN);
	/* until it is late again */
	for (int i = 0; i < 60; i++)
		hp_hedges_asked(&world.hedges, START + 2 * HP_SECOND);
	hp_want_time(&w, START + 2 * HP_SECOND, &acts);
	only(HP_WANT_ASK, 2);
}

/* ---- Later ------------------------------------------------------------ */

static void who_is_busy_is_asked_again_and_nobody_adopts(void **state)
{
	struct hp_want w = want(2, 2);
	uint64_t now = START;

	(void)state;
	hp_want_begin(&w, now, &acts);
	for (unsigned i = 0; i + 1 < HP_WANT_ASKS; i++) {
		only(HP_WANT_ASK, i);
		assert_int_equal(w.ask[i].node, 2);
		assert_false(w.ask[i].adopt);
		hp_want_said(&w, i, HP_SAID_BUSY, now, &acts);
		nothing();
		assert_true(hp_want_next(&w) > now);
		now = hp_want_next(&w);
		hp_want_time(&w, now, &acts);
	}
	hp_want_said(&w, HP_WANT_ASKS - 1, HP_SAID_BUSY, now, &acts);
	assert_int_equal(w.is, HP_WANT_ORIGIN);
}

static void another_holder_goes_before_waiting(void **state)
{
	struct hp_want w = want(2, 3);
	uint32_t first;

	(void)state;
	hp_want_begin(&w, START, &acts);
	first = w.ask[0].node;
	hp_want_said(&w, 0, HP_SAID_BUSY, START, &acts);
	only(HP_WANT_ASK, 1);
	assert_int_equal(w.ask[1].node, 5 - first);
}

static void what_is_coming_is_waited_for(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	world.view[2].denies = true;
	world.coming[2] = true;
	hp_want_begin(&w, START, &acts);
	nothing();
	assert_true(hp_want_rests(&w));
	assert_true(hp_want_next(&w) == START + HP_SECOND);
	hp_want_time(&w, START + HP_SECOND, &acts);
	only(HP_WANT_ASK, 0);
	assert_false(hp_want_rests(&w));
	assert_true(w.ask[0].sure);
	hp_want_said(&w, 0, HP_SAID_ALL, START + HP_SECOND, &acts);
	assert_int_equal(w.is, HP_WANT_DONE);
}

/* Until it is up, or ought to be: nobody adopts what it has. */
static void who_is_not_up_yet_is_waited_for(void **state)
{
	struct hp_want w = want(2, 2);
	uint64_t now = START;

	(void)state;
	/* nor is it a reason to think that all are cut off */
	for (int i = 0; i < NODES; i++)
		world.view[i].lives = i == 2;
	world.starting[2] = true;
	hp_want_begin(&w, now, &acts);
	only(HP_WANT_ASK, 0);
	hp_want_said(&w, 0, HP_SAID_FAILED, now, &acts);
	nothing();
	world.view[2].lives = false;
	for (int i = 1; i <= 8; i++) {
		assert_true(hp_want_next(&w) == now + 250 * MS);
		now += 250 * MS;
		world.view[2].lives = i == 4;
		hp_want_time(&w, now, &acts);
		if (i == 4) {
			only(HP_WANT_ASK, 1);
			assert_int_equal(w.ask[1].node, 2);
			hp_want_said(&w, 1, HP_SAID_FAILED, now, &acts);
		}
		nothing();
	}
	world.starting[2] = false;
	for (int i = 0; i < NODES; i++)
		world.view[i].lives = i != 2;
	hp_want_time(&w, now + 250 * MS, &acts);
	only(HP_WANT_ASK, 2);
	assert_true(w.ask[2].adopt);
}

/* An adopter asks holders alone, and does not wait for those to come. */
static void who_adopts_asks_no_other_adopter(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	w.held = true;
	hp_want_begin(&w, START, &acts);
	only(HP_WANT_ASK, 0);
	assert_int_equal(w.ask[0].node, 2);
	assert_false(w.ask[0].adopt);
	world.coming[2] = true;
	hp_want_said(&w, 0, HP_SAID_ABSENT, START, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
	/* nobody lives who has it */
	w = want(2, 2);
	w.held = true;
	world.view[2].lives = false;
	world.starting[2] = true;
	hp_want_begin(&w, START, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
	/* he is the only one who was to have it */
	w = want(SELF, SELF);
	w.held = true;
	hp_want_begin(&w, START, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
	/* one who has no time now is asked again */
	w = want(2, 2);
	w.held = true;
	hp_want_begin(&w, START, &acts);
	hp_want_said(&w, 0, HP_SAID_BUSY, START, &acts);
	nothing();
	hp_want_time(&w, START + 250 * MS, &acts);
	only(HP_WANT_ASK, 1);
	assert_false(w.ask[1].adopt);
}

/* But not what a holder has in another form: that one is asked for then. */
static void what_is_there_in_another_form_is_not_adopted(void **state)
{
	struct hp_want w = want(2, 3);

	(void)state;
	world.view[2].denies = true;
	world.other[2] = true;
	world.view[3].lives = false;
	hp_want_begin(&w, START, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
	assert_true(w.is_other);
	/* unless that holder is lost */
	w = want(2, 3);
	world.view[2].lives = world.view[3].lives = false;
	world.other[2] = true;
	hp_want_begin(&w, START, &acts);
	only(HP_WANT_ASK, 0);
	assert_true(w.ask[0].adopt);
}

static void waiting_ends_with_patience(void **state)
{
	struct hp_want w = want(2, 2);

	(void)state;
	w.whom.patience = HP_SECOND / 2;
	world.view[2].denies = true;
	world.coming[2] = true;
	hp_want_begin(&w, START, &acts);
	assert_true(hp_want_next(&w) == START + HP_SECOND / 2);
	hp_want_time(&w, START + HP_SECOND / 2, &acts);
	nothing();
	assert_int_equal(w.is, HP_WANT_ORIGIN);
}

/* ---- Under any order of events ---------------------------------------- */

struct model {
	struct hp_want w;
	bool open[HP_WANT_ASKS];
	unsigned asked;
};

static void obey(struct model *m, bool was_over)
{
	assert_true(acts.n <= HP_WANT_ACTS);
	for (unsigned i = 0; i < acts.n; i++) {
		const unsigned a = acts.of[i].ask;

		if (acts.of[i].what == HP_WANT_ASK) {
			assert_false(was_over);
			assert_int_equal(a, m->asked);
			for (unsigned b = 0; b < m->asked; b++)
				assert_false(m->open[b] &&
					     m->w.ask[b].node ==
						     m->w.ask[a].node);
			m->asked++;
			m->open[a] = true;
		} else {
			assert_true(m->open[a]);
			m->open[a] = false;
		}
	}
	for (unsigned i = 0; m->w.is != HP_WANT_OPEN && i < m->asked; i++)
		assert_false(m->open[i]);
	assert_true(m->w.is != HP_WANT_OPEN ||
		    hp_want_next(&m->w) != UINT64_MAX);
}

static void shuffle_world(void)
{
	const uint32_t i = dice(NODES);

	world.view[i].lives = dice(4);
	world.view[i].denies = !dice(3);
	world.view[i].owed = dice(100);
	world.view[i].doubted = !dice(4);
	world.view[i].heard = START + dice(20000) * MS;
	world.coming[i] = !dice(4);
	world.starting[i] = !dice(8);
	world.other[i] = !dice(8);
}

static void one_event(struct model *m, uint64_t now)
{
	const bool over = m->w.is != HP_WANT_OPEN;
	const unsigned a = dice(HP_WANT_ASKS);

	acts.n = 0;
	switch (dice(6)) {
	case 0:
		hp_want_sent(&m->w, a, now);
		break;
	case 1:
		hp_want_byte(&m->w, a, dice(LARGE / 4), now);
		break;
	case 2:
		hp_want_late(&m->w, a, now, &acts);
		break;
	case 3:
		if (a >= m->asked || !m->open[a] || !dice(3))
			break;
		m->open[a] = false;
		hp_want_said(&m->w, a, 1 + dice(HP_SAID_SELF), now, &acts);
		break;
	default:
		hp_want_time(&m->w, now, &acts);
	}
	obey(m, over);
}

static void any_order_ends_in_time(void **state)
{
	uint32_t ends[3] = { 0 };

	(void)state;
	for (int round = 0; round < 30000; round++) {
		struct model m = { .w = want(1, 1 + dice(NODES - 1)) };
		uint64_t now = START;

		if (!dice(5))
			m.w.whom.first = 3, m.w.whom.last = 2;
		for (int i = 0; i < 10; i++)
			shuffle_world();
		hp_want_begin(&m.w, now, &acts);
		obey(&m, false);
		while (m.w.is == HP_WANT_OPEN) {
			const uint64_t next = hp_want_next(&m.w);
			const uint64_t step = dice(2000) * MS;

			assert_true(now < START + PATIENCE + HP_SECOND);
			/* no later than it asks for */
			now = now + step < next ? now + step : next;
			if (dice(2))
				shuffle_world();
			one_event(&m, now);
			if (now == next) {
				const bool over = m.w.is != HP_WANT_OPEN;

				hp_want_time(&m.w, now, &acts);
				obey(&m, over);
			}
		}
		assert_true(now <= START + PATIENCE);
		ends[m.w.is]++;
		for (int i = 0; i < 20; i++)
			one_event(&m, now + HP_SECOND);
	}
	/* both ends were seen, and often */
	assert_true(ends[HP_WANT_DONE] > 1000);
	assert_true(ends[HP_WANT_ORIGIN] > 1000);
}

/* Long before patience does: silent, or dripping, or sending what is no answer;
 * twice of what it may take, and once more where most of it came. */
static void no_ask_is_open_for_ever(void **state)
{
	const uint64_t due = HP_SECOND + LARGE * UINT64_C(1000);
	const uint64_t adopts =
		HP_CLOSED_AFTER + HP_SECOND + 8 * LARGE * UINT64_C(1000);
	uint64_t longest[2] = { 0 };

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct model m = { .w = want(1, 1 + dice(NODES - 1)) };
		const uint64_t drip = (50 + dice(900)) * MS;
		const uint32_t bytes = dice(3) ? 1 : dice(LARGE / 16);
		uint64_t now = START;

		m.w.whom.patience = 1000 * HP_SECOND;
		hp_want_begin(&m.w, now, &acts);
		obey(&m, false);
		while (m.w.is == HP_WANT_OPEN) {
			const uint64_t next = hp_want_next(&m.w);

			now = now + drip < next ? now + drip : next;
			for (unsigned i = 0; i < m.asked; i++) {
				const struct hp_want_ask *a = &m.w.ask[i];

				if (!a->open)
					continue;
				hp_want_sent(&m.w, i, now);
				hp_want_byte(&m.w, i, bytes, now);
				if (now - a->began > longest[a->adopt])
					longest[a->adopt] = now - a->began;
			}
			hp_want_time(&m.w, now, &acts);
			obey(&m, false);
		}
		assert_int_equal(m.w.is, HP_WANT_ORIGIN);
	}
	assert_true(longest[0] >= 2 * due);
	assert_true(longest[0] <= 4 * due + HP_SECOND);
	assert_true(longest[1] <= 4 * adopts + HP_SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_whole_answer_is_it),
		cmocka_unit_test(who_fails_is_followed_by_another),
		cmocka_unit_test(what_we_lack_is_no_reason_to_ask_others),
		cmocka_unit_test(who_is_late_is_not_waited_for),
		cmocka_unit_test(a_loser_with_little_left_may_finish),
		cmocka_unit_test(the_late_one_may_win),
		cmocka_unit_test(
			where_it_was_in_vain_too_often_it_is_waited_for),
		cmocka_unit_test(who_was_not_asked_yet_is_left_at_once),
		cmocka_unit_test(nobody_is_left_but_the_late_one),
		cmocka_unit_test(our_own_absence_is_not_their_silence),
		cmocka_unit_test(a_probe_is_not_waited_for),
		cmocka_unit_test(a_probe_that_is_answered_is_as_any),
		cmocka_unit_test(who_sends_to_others_is_not_silent),
		cmocka_unit_test(all_of_them_together_have_a_second),
		cmocka_unit_test(who_drips_is_late_and_then_closed),
		cmocka_unit_test(nobody_else_is_left_who_drips_is_closed),
		cmocka_unit_test(who_has_sent_most_of_it_may_end),
		cmocka_unit_test(how_long_it_may_take_is_learned),
		cmocka_unit_test(who_adopts_it_has_time),
		cmocka_unit_test(who_adopts_it_only_has_to_live),
		cmocka_unit_test(who_was_slow_is_known_for_it),
		cmocka_unit_test(who_is_at_it_is_waited_for),
		cmocka_unit_test(who_is_busy_is_asked_again_and_nobody_adopts),
		cmocka_unit_test(another_holder_goes_before_waiting),
		cmocka_unit_test(what_is_coming_is_waited_for),
		cmocka_unit_test(who_is_not_up_yet_is_waited_for),
		cmocka_unit_test(who_adopts_asks_no_other_adopter),
		cmocka_unit_test(what_is_there_in_another_form_is_not_adopted),
		cmocka_unit_test(waiting_ends_with_patience),
		cmocka_unit_test(any_order_ends_in_time),
		cmocka_unit_test(no_ask_is_open_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
