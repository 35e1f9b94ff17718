/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange, played by many nodes in random order, with and without faults.
 */
#include "level.h"
#include "play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const enum hpdsl_stage_mode modes[] = {
	HPDSL_STAGE_AUTO,
	HPDSL_STAGE_REPLICATE,
	HPDSL_STAGE_PARTITION,
	HPDSL_STAGE_COPIES,
};

/* In check-long ten times as many. */
static uint64_t games(uint64_t n)
{
	return at_level("long") ? 10 * n : n;
}

static void fine(struct play *p, uint64_t seed)
{
	if (!p->wrong)
		return;
	fail_msg("game %llu, step %llu: %s", (unsigned long long)seed,
		 (unsigned long long)p->steps, p->wrong);
}

/* All that is bounded stayed so, and both ends of every message agree. */
static void check_node(struct play_node *n)
{
	struct hp_exchange_counts k;

	hp_exchange_count(n->x, &k);
	if (!k.idle)
		play_wrong(n->p, "it does not end");
	if (k.in_streams > n->p->c.in_streams ||
	    k.in_buffers > n->p->c.in_buffers ||
	    k.out_buffers > n->p->c.out_buffers)
		play_wrong(n->p, "a bound is exceeded");
	if (n->in_used || n->read_used || n->out_used)
		play_wrong(n->p, "a buffer is still in use");
	if (k.received_bytes != n->taken_bytes ||
	    k.sent_bytes != n->given_bytes || k.read_bytes != n->read_bytes ||
	    k.messages != n->put)
		play_wrong(n->p, "what is counted is not what was seen");
}

static void check_all(struct play *p)
{
	uint64_t put = 0, taken = 0, given = 0, got = 0;

	for (uint32_t i = 0; i < p->nodes; i++) {
		struct play_node *n = &p->node[i];

		check_node(n);
		put += n->put;
		taken += n->taken;
		given += n->given_bytes;
		got += n->taken_bytes + n->thrown_bytes;
	}
	if (put != taken || given != got)
		play_wrong(p, "a message was lost");
}

static void check_complete(struct play *p)
{
	for (uint32_t i = 0; i < p->nodes; i++) {
		struct play_node *n = &p->node[i];
		struct hp_exchange_counts k;

		hp_exchange_count(n->x, &k);
		for (uint32_t c = 0; c < n->n_want && !n->stopped; c++)
			if (!n->file[n->want[c]].ready)
				play_wrong(p, "a chunk is not there");
		if (!n->stopped && (k.ready != n->n_want || k.given_up))
			play_wrong(p, "a chunk is not counted");
	}
}

static void check_read_once(struct play *p)
{
	for (uint32_t c = 0; c < p->chunks; c++) {
		bool wanted = false;

		for (uint32_t i = 0; i < p->nodes; i++)
			wanted |= p->node[i].place[c] != UINT32_MAX;
		if (p->origin_reads[c] !=
		    (wanted && p->holder[c] == UINT32_MAX))
			play_wrong(p, "not read from the origin once");
	}
}

static void random_game(struct play *p, uint64_t seed, uint32_t most)
{
	struct play dice = { .seed = seed * 7919 };
	uint32_t nodes = 1 + play_below(&dice, most);
	uint32_t chunks = 1 + play_below(&dice, 40);

	play_init(p, seed, nodes, chunks, play_below(&dice, 4),
		  modes[play_below(&dice, 4)]);
}

static void test_nothing_fails(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= games(300); seed++) {
		struct play p;

		random_game(&p, seed, seed % 10 ? 12 : 64);
		play_begin(&p);
		play_run(&p);
		check_all(&p);
		check_complete(&p);
		check_read_once(&p);
		fine(&p, seed);
		play_release(&p);
	}
}

/* One stream and one credit: nothing can be put off. */
static void test_no_room(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= games(200); seed++) {
		struct play p;

		random_game(&p, seed, 20);
		p.c.in_streams = p.c.in_buffers = 1;
		p.c.origin_streams = p.c.origin_buffers = 1;
		p.c.out_buffers = 1;
		p.bad_read = p.bad_wire = seed % 2 ? 300 : 0;
		play_begin(&p);
		play_run(&p);
		check_all(&p);
		fine(&p, seed);
		play_release(&p);
	}
}

static void set_faults(struct play *p)
{
	p->bad_read = play_below(p, 2) ? 20 + play_below(p, 500) : 0;
	p->bad_wire = play_below(p, 2) ? 20 + play_below(p, 500) : 0;
	p->bad_write = play_below(p, 2) ? 20 + play_below(p, 500) : 0;
	p->fail_read = play_below(p, 2) ? 20 + play_below(p, 500) : 0;
	p->missing = play_below(p, 2) ? play_below(p, p->chunks) : UINT32_MAX;
}

/* All ends; what is not there was given up, and that only after many faults. */
static void test_faults(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= games(500); seed++) {
		struct play p;

		random_game(&p, seed, seed % 10 ? 12 : 64);
		set_faults(&p);
		play_begin(&p);
		play_run(&p);
		check_all(&p);
		if (p.faults < HP_ATTEMPTS)
			check_complete(&p);
		if (!p.faults)
			check_read_once(&p);
		fine(&p, seed);
		play_release(&p);
	}
}

/*
 * Those that want the chunk, which is damaged or missing, have all but that.
 * However many they are, two of them read it, as often as one does that is
 * alone: so many tries.
 */
static void check_all_but(struct play *p, uint32_t chunk, uint32_t tries)
{
	bool bad = p->holder[chunk] == UINT32_MAX;
	uint32_t wanting = 0;

	for (uint32_t i = 0; i < p->nodes; i++) {
		struct play_node *n = &p->node[i];
		struct hp_exchange_counts k;
		bool lacks = bad && n->place[chunk] != UINT32_MAX;

		hp_exchange_count(n->x, &k);
		if (k.given_up != lacks || k.ready + lacks != n->n_want)
			play_wrong(p, "given up what it should not");
		wanting += lacks;
	}
	if (bad &&
	    p->origin_reads[chunk] != tries * (wanting < 2 ? wanting : 2))
		play_wrong(p, "not tried often enough, or too often");
}

static void test_damaged(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= games(400); seed++) {
		uint32_t tries = seed % 2 ? HP_ATTEMPTS : 1, chunk;
		struct play p;

		random_game(&p, seed, 12);
		chunk = play_below(&p, p.chunks);
		*(seed % 2 ? &p.damaged : &p.missing) = chunk;
		play_begin(&p);
		play_run(&p);
		check_all(&p);
		check_all_but(&p, chunk, tries);
		fine(&p, seed);
		play_release(&p);
	}
}

static void stop_some(struct play *p)
{
	uint64_t at = play_random(p) % 3000;

	while (p->steps < at && play_step(p))
		;
	if (play_below(p, 2)) {
		play_stop(p, play_below(p, p->nodes), play_below(p, 2));
		return;
	}
	for (uint32_t i = 0; i < p->nodes; i++) {
		play_stop(p, i, play_below(p, 3) == 0);
		for (uint32_t k = play_below(p, 20); k; k--)
			play_step(p);
	}
}

static void test_stop(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= games(500); seed++) {
		struct play p;

		random_game(&p, seed, 12);
		if (seed % 2)
			set_faults(&p);
		play_begin(&p);
		stop_some(&p);
		if (play_below(&p, 2))
			stop_some(&p);
		play_run(&p);
		check_all(&p);
		if (!p.faults)
			check_complete(&p);
		fine(&p, seed);
		play_release(&p);
	}
}

static void test_many_nodes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct play p;

		play_init(&p, seed, 2000, 30, seed == 2 ? 1 : 0,
			  modes[seed % 4]);
		p.bad_wire = seed == 3 ? 10000 : 0;
		play_begin(&p);
		play_run(&p);
		check_all(&p);
		check_complete(&p);
		if (!p.faults)
			check_read_once(&p);
		fine(&p, seed);
		play_release(&p);
	}
}

static uint64_t two_segments(void *arg, uint64_t chunk, bool plain)
{
	(void)arg;
	(void)chunk;
	return plain ? 0 : 200;
}

static bool nothing_held(void *arg, uint64_t chunk, bool *ret_plain)
{
	(void)arg;
	(void)chunk;
	(void)ret_plain;
	return false;
}

/* How many reads are begun now, and of which chunk the last one is. */
static uint32_t reads_begun(struct hp_exchange *x, uint64_t *ret_chunk)
{
	struct hp_action a;
	uint32_t n = 0;

	while (hp_exchange_next(x, &a) > 0)
		if (a.kind == HP_ACT_READ) {
			*ret_chunk = a.msg.chunk;
			n++;
		}
	return n;
}

/* No more reads at a time than were asked for, and the first chunk first. */
static void test_fewer_reads(void **state)
{
	const uint32_t want[] = { 2, 0, 1 }, from[] = { 0, 0, 0 };
	const struct hp_exchange_config c = {
		.chunks = 3,
		.segment = 100,
		.in_streams = 1,
		.in_buffers = 1,
		.origin_streams = 3,
		.origin_buffers = 6,
		.out_buffers = 1,
		.want = want,
		.from = from,
		.n_want = 3,
		.bytes = two_segments,
		.held = nothing_held,
	};
	struct hp_exchange *x;
	uint64_t chunk = 9;

	(void)state;
	assert_int_equal(hp_exchange_new(&c, &x, NULL), 0);
	hp_exchange_read_streams(x, 1);
	for (int segment = 0; segment < 2; segment++) {
		assert_int_equal(reads_begun(x, &chunk), 1);
		assert_int_equal(chunk, 2);
		hp_exchange_event(x, HP_EV_READ, 2, 100 * segment, 100, false);
	}
	assert_int_equal(reads_begun(x, &chunk), 1);
	assert_int_equal(chunk, 0);
	hp_exchange_read_streams(x, 3);
	assert_int_equal(reads_begun(x, &chunk), 1);
	assert_int_equal(chunk, 1);
	hp_exchange_free(x);
}

static uint64_t no_bytes(void *arg, uint64_t chunk, bool plain)
{
	(void)arg;
	(void)chunk;
	(void)plain;
	return 0;
}

/* Of a file without bytes nothing is read: it is done when it begins. */
static void test_no_bytes(void **state)
{
	const uint32_t want[] = { 0 }, from[] = { 0 };
	const struct hp_exchange_config c = {
		.chunks = 1,
		.segment = 100,
		.in_streams = 1,
		.in_buffers = 1,
		.origin_streams = 1,
		.origin_buffers = 1,
		.out_buffers = 1,
		.want = want,
		.from = from,
		.n_want = 1,
		.bytes = no_bytes,
		.held = nothing_held,
	};
	struct hp_exchange_counts k;
	struct hp_exchange *x;
	struct hp_action a;

	(void)state;
	assert_int_equal(hp_exchange_new(&c, &x, NULL), 0);
	assert_int_equal(hp_exchange_next(x, &a), 1);
	assert_int_equal(a.kind, HP_ACT_BEGIN);
	assert_int_equal(hp_exchange_next(x, &a), 1);
	assert_int_equal(a.kind, HP_ACT_FINISH);
	assert_int_equal(hp_exchange_next(x, &a), 0);
	hp_exchange_event(x, HP_EV_VERIFIED, 0, 0, 0, false);
	hp_exchange_count(x, &k);
	assert_true(k.idle);
	hp_exchange_free(x);
}

static uint64_t two_forms(void *arg, uint64_t chunk, bool plain)
{
	(void)arg;
	(void)chunk;
	return plain ? 300 : 200;
}

/* How many actions of a kind there are now; of others none is looked at. */
static uint32_t acts(struct hp_exchange *x, enum hp_action_kind kind)
{
	struct hp_action a;
	uint32_t n = 0;

	while (hp_exchange_next(x, &a) > 0)
		n += a.kind == kind;
	return n;
}

/* What another node will ask for is open, as it came, until that has got it. */
static void test_kept_for_who_asks(void **state)
{
	const uint32_t want[] = { 0 }, from[] = { 0 };
	const bool asked[] = { true };
	const struct hp_exchange_config c = {
		.chunks = 1,
		.segment = 200,
		.in_streams = 1,
		.in_buffers = 1,
		.origin_streams = 1,
		.origin_buffers = 1,
		.out_buffers = 1,
		.want = want,
		.from = from,
		.n_want = 1,
		.asked = asked,
		.keep = 1,
		.bytes = two_forms,
		.held = nothing_held,
	};
	const struct hp_message ask = { .kind = HP_MSG_REQUEST, .credits = 1 };
	struct hp_exchange *x;

	(void)state;
	assert_int_equal(hp_exchange_new(&c, &x, NULL), 0);
	assert_int_equal(acts(x, HP_ACT_READ), 1);
	hp_exchange_event(x, HP_EV_READ, 0, 0, 200, false);
	hp_exchange_event(x, HP_EV_WRITTEN, 0, 0, 200, false);
	hp_exchange_event(x, HP_EV_FREE, 0, 0, 200, false);
	assert_int_equal(acts(x, HP_ACT_FINISH), 1);
	hp_exchange_event(x, HP_EV_VERIFIED, 0, 0, 0, true);
	assert_int_equal(acts(x, HP_ACT_CLOSE), 0);
	assert_int_equal(hp_exchange_message(x, 2, &ask), 0);
	assert_int_equal(acts(x, HP_ACT_SEND), 1);
	hp_exchange_event(x, HP_EV_SENT, 0, 0, 200, false);
	assert_int_equal(acts(x, HP_ACT_CLOSE), 1);
	hp_exchange_free(x);
}

/* Node 0, which wants chunk 0 of node 1 and has asked for it. */
static struct hp_exchange *who_asked(bool early)
{
	static const uint32_t want[] = { 0 }, from[] = { 1 };
	const struct hp_exchange_config c = {
		.chunks = 2,
		.segment = 100,
		.in_streams = 1,
		.in_buffers = 2,
		.origin_streams = 1,
		.origin_buffers = 1,
		.out_buffers = 2,
		.early = early,
		.want = want,
		.from = from,
		.n_want = 1,
		.bytes = two_segments,
		.held = nothing_held,
	};
	struct hp_exchange *x;
	struct hp_action a;

	assert_int_equal(hp_exchange_new(&c, &x, NULL), 0);
	assert_int_equal(hp_exchange_next(x, &a), 1);
	assert_int_equal(a.msg.kind, HP_MSG_REQUEST);
	return x;
}

/* What is of another stream is thrown away; what nobody sends is refused. */
static void test_whose_messages(void **state)
{
	struct hp_exchange *x = who_asked(false);
	struct hp_message data = { .kind = HP_MSG_DATA, .length = 100 };
	struct hp_message later = data, none = data;

	(void)state;
	later.attempt = 1;
	none.kind = HP_MSG_CANCEL;
	none.chunk = 2;
	assert_int_equal(hp_exchange_message(x, 2, &data), 0);
	assert_int_equal(hp_exchange_message(x, 1, &later), 0);
	assert_int_equal(hp_exchange_message(x, 0, &data), HPDSL_ECORRUPT);
	assert_int_equal(hp_exchange_message(x, 1, &none), HPDSL_ECORRUPT);
	none.chunk = 1;
	assert_int_equal(hp_exchange_message(x, 1, &none), 0);
	assert_int_equal(hp_exchange_message(x, 1, &data), 1);
	hp_exchange_free(x);
}

/* How many segments are sent now. */
static uint32_t sent_now(struct hp_exchange *x)
{
	struct hp_action a;
	uint32_t n = 0;

	while (hp_exchange_next(x, &a) > 0)
		n += a.kind == HP_ACT_SEND && a.msg.kind == HP_MSG_DATA;
	return n;
}

/*
 * A segment is passed on when it is written; early, as soon as it is here,
 * unless one will not be written at all.
 */
static void test_passed_on(void **state)
{
	(void)state;
	for (int way = 0; way < 3; way++) {
		bool early = way > 0, torn = way > 1;
		struct hp_exchange *x = who_asked(early);
		struct hp_message m = { .kind = HP_MSG_DATA, .length = 100 };
		struct hp_message ask = { .kind = HP_MSG_REQUEST,
					  .credits = 2 };

		assert_int_equal(hp_exchange_message(x, 1, &m), 1);
		if (torn)
			hp_exchange_event(x, HP_EV_FREE, 0, 0, 100, false);
		assert_int_equal(hp_exchange_message(x, 2, &ask), 0);
		assert_int_equal(sent_now(x), early && !torn);
		if (!torn)
			hp_exchange_event(x, HP_EV_WRITTEN, 0, 0, 100, false);
		assert_int_equal(sent_now(x), !early);
		hp_exchange_free(x);
	}
}

/* A kind has what it is for, and nothing that it has no use for. */
static void test_what_a_message_must_be(void **state)
{
	enum { CREDITS = 1, OFFSET = 2, LENGTH = 4, PLAIN = 8, ALL = 16 };
	static const struct {
		uint8_t kind, must, may;
	} rules[] = {
		{ HP_MSG_REQUEST, CREDITS, CREDITS },
		{ HP_MSG_CREDIT, CREDITS, CREDITS },
		{ HP_MSG_DATA, LENGTH, OFFSET | LENGTH | PLAIN },
		{ HP_MSG_SORRY, 0, 0 },
		{ HP_MSG_CANCEL, 0, 0 },
		{ HP_MSG_AGAIN, 0, 0 },
		{ HP_MSG_LOST, 0, 0 },
		{ 0, ALL, 0 },
		{ HP_MSG_LOST + 1, ALL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		for (unsigned has = 0; has < ALL; has++) {
			bool fine = !(rules[i].must & ~has) &&
				    !(has & ~(unsigned)rules[i].may);
			struct hp_message got, m = {
				.kind = rules[i].kind,
				.plain = has & PLAIN,
				.credits = has & CREDITS ? 3 : 0,
				.offset = has & OFFSET ? 512 : 0,
				.length = has & LENGTH ? 7 : 0,
			};
			uint8_t b[HP_MESSAGE_HEADER];
			size_t n = sizeof(b) + m.length;

			hp_message_put(&m, b);
			assert_int_equal(hp_message_get(b, n, &got),
					 fine ? 0 : HPDSL_ECORRUPT);
			assert_int_equal(hp_message_get(b, n + 1, &got),
					 HPDSL_ECORRUPT);
			assert_int_equal(hp_message_get(b, n - 1, &got),
					 HPDSL_ECORRUPT);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_message_must_be),
		cmocka_unit_test(test_whose_messages),
		cmocka_unit_test(test_passed_on),
		cmocka_unit_test(test_no_bytes),
		cmocka_unit_test(test_kept_for_who_asks),
		cmocka_unit_test(test_nothing_fails),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_many_nodes),
		cmocka_unit_test(test_fewer_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
