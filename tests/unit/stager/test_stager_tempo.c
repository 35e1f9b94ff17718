/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many reads at a time, against models of origins: nodes share what one
 * gives, and each read goes no faster than its stream.  In virtual time.
 */
#include "stager/tempo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NODES = 16, STREAMS = 8 };
static const double step = 0.001, segment = 4 << 20;

struct read {
	double left, began, speed; /* bytes, seconds, of the usual one */
};

struct origin {
	double cap, stream; /* bytes a second: of all, of one read */
	double noise;	    /* reads are up to that much slower or faster */
	uint32_t nodes;
	uint64_t random;
	struct node {
		struct hp_tempo tempo;
		struct read read[STREAMS];
		uint32_t reading;
		double streams; /* times seconds, in this run */
	} node[NODES];
};

static double below_one(struct origin *o)
{
	o->random = o->random * UINT64_C(6364136223846793005) + 1442695;
	return (double)(o->random >> 40) / (double)(1 << 24);
}

static void begin(struct origin *o, uint64_t seed)
{
	o->random = seed * 977 + 1;
	for (uint32_t i = 0; i < o->nodes; i++)
		hp_tempo_init(&o->node[i].tempo, STREAMS, below_one(o) * 0.01);
}

static void start_reads(struct origin *o, struct node *n, double now)
{
	uint32_t limit = hp_tempo_streams(&n->tempo, now);

	assert_in_range(limit, 1, STREAMS);
	while (n->reading < limit) {
		n->read[n->reading++] = (struct read){
			.left = segment,
			.began = now,
			.speed = 1 + o->noise * (2 * below_one(o) - 1),
		};
		hp_tempo_begins(&n->tempo, now);
	}
}

static void move(struct node *n, double now, double bytes)
{
	for (uint32_t i = 0; i < n->reading;) {
		struct read *r = &n->read[i];

		r->left -= bytes * r->speed;
		if (r->left > 0) {
			i++;
			continue;
		}
		hp_tempo_ends(&n->tempo, now, r->began, segment);
		*r = n->read[--n->reading];
	}
}

static void run(struct origin *o, double from, double to)
{
	for (uint32_t i = 0; i < o->nodes; i++)
		o->node[i].streams = 0;
	for (double now = from + 0.02; now < to; now += step) {
		uint32_t reading = 0;
		double each;

		for (uint32_t i = 0; i < o->nodes; i++) {
			start_reads(o, &o->node[i], now);
			reading += o->node[i].reading;
			o->node[i].streams += o->node[i].reading * step;
		}
		each = o->cap / reading;
		if (each > o->stream)
			each = o->stream;
		for (uint32_t i = 0; i < o->nodes; i++)
			move(&o->node[i], now + step, each * step);
	}
}

/* Of a node, on average. */
static double streams(const struct origin *o, double seconds)
{
	double sum = 0;

	for (uint32_t i = 0; i < o->nodes; i++)
		sum += o->node[i].streams;
	return sum / o->nodes / seconds;
}

static const double noises[] = { 0, 0.05, 0.3 };

/* ---- Origins ---------------------------------------------------------- */

/* How many a node uses, on average of that time, in all runs. */
static void check(const struct origin *model, double seconds, double least,
		  double most)
{
	for (int i = 0; i < 3; i++)
		for (uint64_t seed = 0; seed < 5; seed++) {
			struct origin o = *model;
			double n;

			o.noise = noises[i];
			begin(&o, seed);
			run(&o, 0, seconds);
			run(&o, seconds, seconds * 4);
			n = streams(&o, seconds * 3);
			if (n < least || n > most)
				fail_msg("noise %.2f, seed %u: %.2f streams",
					 noises[i], (unsigned)seed, n);
		}
}

static void test_capped(void **state)
{
	const struct origin o = { .cap = 64e6, .stream = 1e12, .nodes = 1 };

	(void)state;
	check(&o, 2, 0.9, 1.4);
	check(&o, 30, 0.9, 1.2);
}

/* Eight bring eight times as much, and soon. */
static void test_far_away(void **state)
{
	const struct origin o = { .cap = 1e12, .stream = 50e6, .nodes = 1 };

	(void)state;
	check(&o, 3, 7, 8);
}

/* The same, but it takes 16 reads to see it. */
static void test_slow_streams(void **state)
{
	const struct origin o = { .cap = 1e12, .stream = 5e6, .nodes = 4 };

	(void)state;
	check(&o, 30, 7, 8);
}

/* Three take all there is. */
static void test_some_streams(void **state)
{
	const struct origin o = { .cap = 150e6, .stream = 50e6, .nodes = 1 };

	(void)state;
	check(&o, 5, 2.5, 4);
}

/* Each node would get more with more streams, if the others had not more. */
static void test_shared(void **state)
{
	struct origin o = { .cap = 64e6, .stream = 1e12, .nodes = 8 };

	(void)state;
	check(&o, 8, 0.9, 3);
	o.cap = 1e9;
	o.nodes = 16;
	check(&o, 8, 0.9, 3);
}

/* It was fast, and is capped from then on: they go back. */
static void test_becomes_slow(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		struct origin o = { .cap = 1e12, .stream = 50e6, .nodes = 1 };

		o.noise = 0.05;
		begin(&o, seed);
		run(&o, 0, 10);
		assert_true(streams(&o, 10) > 5);
		o.cap = 64e6;
		run(&o, 10, 40);
		run(&o, 40, 60);
		assert_true(streams(&o, 20) < 3);
	}
}

/* What is to be read comes in drops: no reason for more streams. */
static void test_idle(void **state)
{
	struct hp_tempo t;
	double now = 0;

	(void)state;
	hp_tempo_init(&t, STREAMS, now);
	for (int i = 0; i < 1000; i++) {
		hp_tempo_begins(&t, now);
		hp_tempo_ends(&t, now + 0.01, now, i % 10 ? segment : 0);
		now += 0.1;
		assert_int_equal(hp_tempo_streams(&t, now), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capped),
		cmocka_unit_test(test_far_away),
		cmocka_unit_test(test_slow_streams),
		cmocka_unit_test(test_some_streams),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_becomes_slow),
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
