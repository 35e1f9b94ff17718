/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader and a few nodes that do anything, in virtual time: by whom.h and
 * health.h together each request ends within its patience, nobody is asked
 * twice in a row or too often, and nobody owes anything for ever.
 */
#include "peers/health.h"
#include "peers/whom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS (HP_SECOND / 1000)
#define PATIENCE (20 * HP_SECOND)

enum { NODES = 6, ROUNDS = 40000 };

/* What a node makes of a request. */
enum deed {
	ANSWERS,
	DENIES,
	IS_BUSY,
	REFUSES,
	IS_BAD,
	IS_SILENT,
	DRIPS,
	DEEDS
};

struct game {
	struct hp_health h[NODES];
	bool denies[NODES];
	uint64_t now;
	uint32_t ends[HP_WHY_ALONE + 1];
};

static uint64_t seed = 3;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

static struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct game *g = arg;

	return (struct hp_peer_view){ .lives = hp_health_may(&g->h[node],
							     g->now),
				      .denies = g->denies[node],
				      .owed = g->h[node].owed };
}

/* What is due by then is done when it is due. */
static void pass_time(struct game *g, uint64_t to)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct hp_health *h = &g->h[i];
		uint64_t at;

		while ((at = hp_health_next(h)) <= to) {
			if (hp_health_look(h, at) != HP_DO_CLOSE)
				continue;
			while (h->owed)
				hp_health_ended(h, at, HP_END_GIVEN_UP);
		}
		assert_true(!h->owed || to - h->heard < HP_CLOSED_AFTER);
	}
	g->now = to;
}

static void end(struct game *g, uint32_t node, enum hp_health_end how)
{
	pass_time(g, g->now + (1 + dice(900)) * MS);
	if (g->h[node].owed) /* it may have been closed meanwhile */
		hp_health_ended(&g->h[node], g->now, how);
}

/* Until its bytes are there, or somebody else is to be asked. */
static bool comes(struct game *g, uint32_t node, uint64_t until)
{
	const enum deed deed = (enum deed)dice(DEEDS);

	hp_health_asked(&g->h[node], g->now);
	switch (deed) {
	case ANSWERS:
		end(g, node, HP_END_DONE);
		return true;
	case DENIES:
		g->denies[node] = true;
		/* fall through */
	case IS_BUSY:
		end(g, node, HP_END_DONE);
		return false;
	case REFUSES:
		end(g, node, HP_END_FAILED);
		return false;
	case IS_BAD:
		if (!dice(50))
			hp_health_bad(&g->h[node], g->now);
		end(g, node, HP_END_FAILED);
		return false;
	case DRIPS:
		while (g->now + 900 * MS < until) {
			pass_time(g, g->now + 900 * MS);
			hp_health_heard(&g->h[node], g->now);
		}
		pass_time(g, until);
		hp_health_ended(&g->h[node], g->now, HP_END_GIVEN_UP);
		return false;
	default: /* what it owes is the probe */
		pass_time(g, g->now + HP_LATE_AFTER);
		return false;
	}
}

static void request(struct game *g)
{
	const uint64_t start = g->now;
	struct hp_whom c = { .nodes = NODES,
			     .self = dice(NODES),
			     .chunk = dice(1000),
			     .first = dice(NODES),
			     .before = HP_NO_NODE,
			     .patience = PATIENCE,
			     .look = look,
			     .arg = g };

	c.last = c.first + dice(NODES - c.first);
	memset(g->denies, 0, sizeof g->denies);
	for (;;) {
		struct hp_whom_is is;

		c.waited = g->now - start;
		is = hp_whom(&c);
		g->ends[is.why] += is.as == HP_WHOM_ORIGIN;
		if (is.as == HP_WHOM_ORIGIN || is.node == c.self)
			break;
		assert_true(is.node != c.before);
		assert_true(c.asked < HP_WHOM_MOST);
		c.before = is.node;
		c.asked++;
		if (comes(g, is.node, start + PATIENCE))
			break;
	}
	assert_true(g->now - start <= PATIENCE);
}

static void each_request_ends(void **state)
{
	struct game g = { .now = HP_SECOND };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 200 == 0) /* another job: nobody is banned */
			memset(g.h, 0, sizeof g.h);
		request(&g);
		pass_time(&g, g.now + dice(3000) * MS);
	}
	/* and each way to the origin was gone */
	assert_true(g.ends[HP_WHY_ENOUGH] > 0);
	assert_true(g.ends[HP_WHY_CUT_OFF] > 0);
}

/* All are well, and say one after the other that they have not got it. */
static void who_is_sent_from_one_to_the_next_comes_to_an_end(void **state)
{
	struct game g = { .now = HP_SECOND };
	struct hp_whom c = { .nodes = NODES,
			     .first = 1,
			     .last = NODES - 1,
			     .before = HP_NO_NODE,
			     .look = look,
			     .arg = &g };

	(void)state;
	for (; c.asked < HP_WHOM_MOST; c.asked++) {
		struct hp_whom_is is = hp_whom(&c);

		assert_int_equal(is.as, HP_WHOM_HOLDER);
		c.before = is.node;
	}
	assert_int_equal(hp_whom(&c).why, HP_WHY_ENOUGH);
	c.asked = 1;
	c.patience = PATIENCE;
	c.waited = PATIENCE - 1;
	assert_int_equal(hp_whom(&c).why, HP_WHY_HOLDS);
	c.waited = PATIENCE;
	assert_int_equal(hp_whom(&c).why, HP_WHY_ENOUGH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_ends),
		cmocka_unit_test(
			who_is_sent_from_one_to_the_next_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
