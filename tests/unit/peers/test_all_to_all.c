/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every node of a job asks all others for chunks without an end, in virtual
 * time: what part of the links' rates do the rules of whom.h leave?  Bytes flow
 * as a fluid, each link's rate divided max-min fair among its requests.  The
 * bounds are loose; what matters is that a second copy and more requests under
 * way bring what the design counts on, and that a lost node costs its share.
 */
#include "peers/whom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A chunk is 1 and a link carries 1 in a unit of time, each way. */
enum { NODES = 64, MOST = 8, WARM = 10 * NODES, COUNTED = 30 * NODES };

struct flow {
	uint32_t from, to;
	double left, rate;
	bool fixed;
};

struct job {
	uint32_t copies, under_way, lost; /* lost: HP_NO_NODE: nobody */
	bool told;			  /* do nodes tell what they owe? */
	struct flow flow[NODES * MOST];
	uint64_t adopted;
};

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- Whom the rules choose -------------------------------------------- */

static struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct job *j = arg;
	double owed = 0;

	for (uint32_t i = 0; j->told && i < NODES * j->under_way; i++)
		if (j->flow[i].from == node)
			owed += j->flow[i].left;
	return (struct hp_peer_view){ .lives = node != j->lost,
				      .owed = (uint64_t)(owed * 1e9) };
}

/* The next chunk that this node has not got; the chunk number draws. */
static void ask(struct job *j, struct flow *f)
{
	struct hp_whom c = { .nodes = NODES,
			     .self = f->to,
			     .before = HP_NO_NODE,
			     .look = look,
			     .arg = j };
	struct hp_whom_is is;

	do {
		c.chunk = dice(1U << 30);
		c.first = c.chunk % (NODES / j->copies) * j->copies;
		c.last = c.first + j->copies - 1;
		is = hp_whom(&c);
		/* one that it adopted itself is here from then on */
	} while ((c.self >= c.first && c.self <= c.last) || is.node == c.self);
	assert_int_not_equal(is.as, HP_WHOM_ORIGIN);
	j->adopted += is.as == HP_WHOM_ADOPTER;
	f->from = is.node;
	f->left = 1;
}

/* ---- What the links do ------------------------------------------------ */

/* Links 0 to NODES - 1 go out, the others in. */
static bool uses(const struct flow *f, uint32_t link)
{
	return link < NODES ? f->from == link : f->to == link - NODES;
}

static void divide(struct job *j)
{
	const uint32_t flows = NODES * j->under_way;
	double room[2 * NODES];
	uint32_t n[2 * NODES] = { 0 };

	for (uint32_t i = 0; i < 2 * NODES; i++)
		room[i] = 1;
	for (uint32_t i = 0; i < flows; i++) {
		j->flow[i].fixed = false;
		n[j->flow[i].from]++;
		n[NODES + j->flow[i].to]++;
	}
	for (;;) {
		uint32_t least = 2 * NODES;
		double rate;

		for (uint32_t i = 0; i < 2 * NODES; i++)
			if (n[i] && (least == 2 * NODES ||
				     room[i] / n[i] < room[least] / n[least]))
				least = i;
		if (least == 2 * NODES)
			return;
		rate = room[least] / n[least];
		for (uint32_t i = 0; i < flows; i++) {
			struct flow *f = &j->flow[i];

			if (f->fixed || !uses(f, least))
				continue;
			f->fixed = true;
			f->rate = rate;
			n[f->from]--;
			n[NODES + f->to]--;
			room[f->from] -= rate;
			room[NODES + f->to] -= rate;
		}
	}
}

/* Until the next one is there; the time that it took. */
static double until_next(struct job *j, struct flow **ret)
{
	double least = 0;

	*ret = NULL;
	divide(j);
	for (uint32_t i = 0; i < NODES * j->under_way; i++) {
		struct flow *f = &j->flow[i];

		if (!*ret || f->left / f->rate < least) {
			least = f->left / f->rate;
			*ret = f;
		}
	}
	for (uint32_t i = 0; i < NODES * j->under_way; i++)
		j->flow[i].left -= j->flow[i].rate * least;
	(*ret)->left = 0;
	return least;
}

/* The part of all links' rates that is used. */
static double part(struct job *j)
{
	double took = 0;
	struct flow *f;

	seed = 19;
	for (uint32_t i = 0; i < NODES * j->under_way; i++)
		j->flow[i].from = HP_NO_NODE;
	for (uint32_t i = 0; i < NODES * j->under_way; i++) {
		j->flow[i].to = i % NODES;
		ask(j, &j->flow[i]);
	}
	for (int i = 0; i < WARM + COUNTED; i++) {
		double t = until_next(j, &f);

		took += i < WARM ? 0 : t;
		ask(j, f);
	}
	return COUNTED / took / NODES;
}

/* ---- What is promised ------------------------------------------------- */

static double part_of(uint32_t copies, uint32_t under_way, bool told)
{
	struct job j = { .copies = copies,
			 .under_way = under_way,
			 .lost = HP_NO_NODE,
			 .told = told };
	double p = part(&j);

	assert_true(p <= 1);
	assert_true(j.adopted == 0);
	return p;
}

static void more_under_way_use_more_of_the_links(void **state)
{
	(void)state;
	assert_true(part_of(1, 1, true) >= 0.42);
	assert_true(part_of(1, 2, true) >= 0.56);
	assert_true(part_of(1, 4, true) >= 0.66);
	assert_true(part_of(1, 8, true) >= 0.70);
}

static void two_copies_use_more_than_one(void **state)
{
	(void)state;
	assert_true(part_of(2, 1, true) >= 0.56);
	assert_true(part_of(2, 2, true) >= 0.68);
	assert_true(part_of(2, 4, true) >= 0.80);
	assert_true(part_of(2, 8, true) >= 0.86);
}

/* Two copies are worth little to who does not know which of them is busy. */
static void loads_that_are_told_are_worth_it(void **state)
{
	double told = part_of(2, 4, true);

	(void)state;
	assert_true(told >= part_of(2, 4, false) + 0.03);
	assert_true(told >= part_of(1, 4, true) + 0.03);
}

/* What it held is asked for at all others, who have adopted it. */
static void a_lost_node_costs_its_share(void **state)
{
	struct job j = {
		.copies = 1, .under_way = 4, .lost = 17, .told = true
	};
	double p = part(&j), share = (double)(WARM + COUNTED) / NODES;

	(void)state;
	assert_true(p >= 0.66);
	assert_true((double)j.adopted >= share / 2);
	assert_true((double)j.adopted <= share * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_under_way_use_more_of_the_links),
		cmocka_unit_test(two_copies_use_more_than_one),
		cmocka_unit_test(loads_that_are_told_are_worth_it),
		cmocka_unit_test(a_lost_node_costs_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
