/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client against servers that go wrong, each in one way: the bytes are
 * those of the chunk, from somebody else if need be, or the origin is to be
 * asked.
 */
#include "clock.h"
#include "peer_read.h"
#include "until.h"

#include "peers/health.h"
#include "peers/places.h"
#include "peers/whom.h"

#include "peers/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct fault_nodes two, three, six, nine;

/* What a second takes where somebody has to be late, and others must not be. */
enum { SLOW = 5 };

static uint64_t seed = 1;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (seed >> 20) % n;
}

static struct hp_client_stats stats(struct hp_client *c)
{
	struct hp_client_stats s;

	hp_client_stats(c, &s);
	return s;
}

/* ---- When all is well ------------------------------------------------- */

static void bytes_are_those_of_the_chunk(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	uint64_t reads = 0;

	(void)state;
	for (int i = 0; i < 60; i++) {
		const uint32_t chunk = (uint32_t)dice(FN_CHUNKS);
		const uint64_t size = fault_nodes_size(chunk);
		const uint64_t at = dice(size + 10);
		const uint64_t n = 1 + dice(i % 4 ? 300000 : size);
		const struct hp_client_got got =
			peer_read(&three, c, chunk, at, n);

		assert_true(got.n >= 0);
		assert_true(got.n == 0 || got.node == 1 || got.node == 2 ||
			    n > HP_ASK_MOST);
		reads += got.n > 0;
	}
	assert_int_equal(stats(c).reads, reads);
	assert_int_equal(stats(c).to_origin, 0);
	fault_nodes_close(&three, c);
}

static void many_at_once(void **state)
{
	enum { MANY = 200 };
	struct hp_client *c = fault_nodes_client(&nine);
	static struct peer_read r[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		peer_read_begin(&r[i], c, i % FN_CHUNKS, i * 1000, 50000, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		peer_read_wait(&r[i]);
		assert_int_equal(r[i].got.n, 50000);
		assert_true(memcmp(r[i].buf,
				   nine.bytes[i % FN_CHUNKS] + i * 1000,
				   50000) == 0);
		peer_read_end(&r[i]);
	}
	fault_nodes_close(&nine, c);
}

static void what_is_not_there_is_not_asked_for(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	struct peer_read r;

	(void)state;
	/* behind the end, in no form, of no chunk */
	assert_int_equal(peer_read(&two, c, 1, FN_SMALL, 10).n, 0);
	assert_int_equal(peer_read(&two, c, 1, UINT64_MAX, 10).n, 0);
	peer_read_begin(&r, c, FN_CHUNKS, 0, 10, 0);
	assert_true(r.done);
	assert_int_equal(r.got.n, -EHOSTUNREACH);
	assert_int_equal(r.got.why, HP_CLIENT_NO_HOLDER);
	peer_read_end(&r);
	fault_nodes_close(&two, c);
}

/* ---- One goes wrong, the other is asked ------------------------------- */

static const char *const wrongs[] = {
	"cut",	    "reset", "close",  "mac",  "replay", "strange",
	"whole",    "other", "size",   "tag",  "twice",	 "short",
	"nolength", "gzip",  "absent", "busy", "error",	 "multipart",
};

static void another_holder_has_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		struct hp_client *c = fault_nodes_client(&three);
		unsigned asked = 0, adopt;

		print_message("# %s\n", wrongs[i]);
		fault_nodes_asked(&three, 1, &asked, &adopt);
		asked = 0;
		fault_nodes_tell(&three, "do 1 %s", wrongs[i]);
		for (uint32_t k = 1; k < FN_CHUNKS && !asked; k++) {
			const struct hp_client_got got =
				peer_read(&three, c, k, 77, 700000);

			assert_int_equal(got.n, 700000);
			/* of what was cut, too, nothing is taken over */
			assert_int_equal(got.node, 2);
			assert_false(got.adopted);
			fault_nodes_asked(&three, 1, &asked, &adopt);
		}
		assert_true(asked > 0);
		assert_int_equal(stats(c).to_origin, 0);
		fault_nodes_tell(&three, "do 1 well");
		fault_nodes_close(&three, c);
	}
}

static void who_is_busy_is_asked_last(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	unsigned asked, adopt;

	(void)state;
	fault_nodes_asked(&three, 1, &asked, &adopt);
	fault_nodes_tell(&three, "do 1 busy");
	for (uint32_t k = 0; k < 4 * FN_CHUNKS; k++)
		assert_int_equal(
			peer_read(&three, c, k % FN_CHUNKS, 0, 1000).node, 2);
	/* now and then, but not half of the time */
	fault_nodes_asked(&three, 1, &asked, &adopt);
	assert_true(asked > 0 && asked < FN_CHUNKS);
	fault_nodes_tell(&three, "do 1 well");
	fault_nodes_close(&three, c);
}

/* The same where there is no other. */
static void the_origin_is_to_be_asked(void **state)
{
	static const struct {
		const char *what;
		enum hp_client_why why;
	} cases[] = {
		{ "cut", HP_CLIENT_REFUSED }, { "absent", HP_CLIENT_NO_ROOM },
		{ "busy", HP_CLIENT_BUSY },   { "mac", HP_CLIENT_UNPROVEN },
		{ "other", HP_CLIENT_BAD },   { "gzip", HP_CLIENT_BAD },
	};
	char note[HP_CLIENT_NOTE];

	(void)state;
	fault_nodes_tell(&two, "gone 0");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct hp_client *c = fault_nodes_client(&two);
		struct hp_client_got got;
		bool told = false;

		print_message("# %s\n", cases[i].what);
		fault_nodes_tell(&two, "do 1 %s", cases[i].what);
		got = peer_read(&two, c, 1, 5, 100000);
		assert_int_equal(got.n, -EHOSTUNREACH);
		assert_int_equal(got.why, cases[i].why);
		assert_int_equal(got.node, HP_NO_NODE);
		assert_int_equal(stats(c).failed[cases[i].why], 1);
		while (hp_client_note(c, note))
			told |= strstr(note, "node 1 (") &&
				strstr(note, "origin") &&
				strstr(note, hp_client_why_text(cases[i].why));
		assert_true(told);
		fault_nodes_tell(&two, "do 1 well");
		fault_nodes_close(&two, c);
	}
	fault_nodes_tell(&two, "port 0 %u", two.head.port);
}

static void a_part_that_fails_fails_the_whole(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);

	(void)state;
	fault_nodes_tell(&two, "gone 0");
	assert_int_equal(peer_read(&two, c, 0, 0, 1000).n, 1000);
	fault_nodes_tell(&two, "do 1 cut");
	assert_int_equal(peer_read(&two, c, 0, 0, FN_LARGE).n, -EHOSTUNREACH);
	fault_nodes_tell(&two, "do 1 well");
	fault_nodes_tell(&two, "port 0 %u", two.head.port);
	fault_nodes_close(&two, c);
}

/* What is more than was told goes nowhere; the rest is right. */
static void more_than_was_asked_for_is_cut_off(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);

	(void)state;
	fault_nodes_tell(&two, "do 1 long");
	for (uint32_t k = 1; k < FN_CHUNKS; k++)
		assert_int_equal(peer_read(&two, c, k, 5, 100000).node, 1);
	fault_nodes_tell(&two, "do 1 well");
	fault_nodes_close(&two, c);
}

/* ---- Late ------------------------------------------------------------- */

static void who_is_late_is_passed_by(void **state)
{
	static const char *const ways[] = { "silent", "stall", "drip" };

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct hp_client *c = fault_nodes_client(&three);
		struct hp_client_stats s;

		fault_nodes_tell(&three, "do 1 %s", ways[i]);
		for (uint32_t k = 1; k < FN_CHUNKS; k++) {
			const struct hp_client_got got =
				peer_read(&three, c, k, 0, 90000);

			assert_int_equal(got.n, 90000);
			assert_int_equal(got.node, 2);
		}
		/* it was found out once, and then known */
		s = stats(c);
		assert_true(s.hedged <= 1);
		assert_int_equal(s.won, s.hedged);
		assert_int_equal(s.to_origin, 0);
		fault_nodes_tell(&three, "do 1 well");
		fault_nodes_close(&three, c);
	}
}

/* F8: what comes after the end goes nowhere. */
static void a_late_answer_does_not_touch_the_buffer(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	struct hp_client *other = fault_nodes_client(&three);
	struct peer_read r;

	(void)state;
	fault_nodes_tell(&two, "do 1 hold");
	peer_read_begin(&r, c, 1, 0, 1000000, 0.5);
	peer_read_wait(&r);
	assert_int_equal(r.got.n, -EHOSTUNREACH);
	assert_int_equal(r.got.why, HP_CLIENT_LATE);
	memset(r.buf, 0, r.n);
	fault_nodes_tell(&two, "do 1 well");
	/* The engine has seen all that came before this. */
	assert_int_equal(peer_read(&three, other, 1, 0, 1000).n, 1000);
	for (uint64_t i = 0; i < r.n; i++)
		assert_int_equal(r.buf[i], 0);
	peer_read_end(&r);
	fault_nodes_close(&three, other);
	fault_nodes_close(&two, c);
}

/* ---- Who has it ------------------------------------------------------- */

static void who_denies_it_is_not_asked_but_to_adopt(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	unsigned asked, adopt, all = 0, all_adopt = 0;
	struct hp_client_got got;

	(void)state;
	fault_nodes_tell(&three, "have 1 0000");
	fault_nodes_tell(&three, "have 2 0000");
	for (uint32_t i = 0; i < 3; i++)
		fault_nodes_asked(&three, i, &asked, &adopt);
	got = peer_read(&three, c, 3, 0, 1000);
	assert_int_equal(got.n, 1000);
	assert_true(got.adopted);
	for (uint32_t i = 0; i < 3; i++) {
		fault_nodes_asked(&three, i, &asked, &adopt);
		all += asked;
		all_adopt += adopt;
	}
	assert_int_equal(all, 1);
	assert_int_equal(all_adopt, 1);
	assert_int_equal(stats(c).adopted, 1);
	fault_nodes_tell(&three, "have 1 ff3f");
	fault_nodes_tell(&three, "have 2 ff3f");
	fault_nodes_close(&three, c);
}

static void what_is_coming_is_waited_for(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	struct hp_client_got got;

	(void)state;
	fault_nodes_tell(&two, "have 1 5515");
	got = peer_read(&two, c, 3, 0, 1000);
	assert_int_equal(got.n, 1000);
	assert_int_equal(got.node, 1);
	assert_false(got.adopted);
	fault_nodes_tell(&two, "have 1 ff3f");
	fault_nodes_close(&two, c);
}

/* As a stager brings it that hangs: that is learnt once, for all its chunks. */
static void what_is_waited_for_in_vain_is_not_again(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	unsigned asked, adopt;

	(void)state;
	fault_nodes_tell(&two, "have 1 5515");
	fault_nodes_tell(&two, "do 1 absent");
	fault_nodes_asked(&two, 1, &asked, &adopt);
	for (uint32_t chunk = 1; chunk < 6; chunk += 2) {
		peer_read(&two, c, chunk, 0, 1000);
		fault_nodes_asked(&two, 1, &asked, &adopt);
		assert_int_equal(asked - adopt, chunk == 1);
	}
	fault_nodes_tell(&two, "do 1 well");
	fault_nodes_tell(&two, "have 1 ff3f");
	fault_nodes_close(&two, c);
}

/* It has to fetch it first, says nothing meanwhile, and answers "do you live?":
 * so nobody else is to fetch it, too. */
static void who_fetches_it_may_be_silent(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	unsigned asked, adopt, all = 0;
	struct hp_client_got got;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		fault_nodes_tell(&three, "have %u 0000", i);
		fault_nodes_tell(&three, "do %u slow:%u 1", i, 6 * SLOW / 5u);
		fault_nodes_asked(&three, i, &asked, &adopt);
	}
	got = peer_read(&three, c, 3, 0, 1000);
	assert_int_equal(got.n, 1000);
	assert_true(got.adopted);
	for (uint32_t i = 0; i < 3; i++) {
		fault_nodes_asked(&three, i, &asked, &adopt);
		all += adopt;
		fault_nodes_tell(&three, "have %u ff3f", i);
		fault_nodes_tell(&three, "do %u well", i);
	}
	assert_int_equal(all, 1);
	assert_int_equal(stats(c).hedged, 0);
	fault_nodes_close(&three, c);
}

/* And nobody fetches it once more. */
static void the_other_form_is_told(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	unsigned asked, adopt;

	(void)state;
	fault_nodes_tell(&two, "have 1 aa2a");
	for (uint32_t i = 0; i < 2; i++)
		fault_nodes_asked(&two, i, &asked, &adopt);
	/* when that is found out, and when it is known */
	for (int i = 0; i < 2; i++) {
		const struct hp_client_got got = peer_read(&two, c, 3, 0, 1000);

		assert_int_equal(got.n, -EHOSTUNREACH);
		assert_int_equal(got.why, HP_CLIENT_DENIED);
		assert_true(got.other_form);
	}
	for (uint32_t i = 0; i < 2; i++) {
		fault_nodes_asked(&two, i, &asked, &adopt);
		assert_int_equal(asked, 0);
	}
	fault_nodes_tell(&two, "have 1 ff3f");
	fault_nodes_close(&two, c);
}

static void without_a_list_it_is_asked_all_the_same(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);

	(void)state;
	fault_nodes_tell(&two, "do 1 nothave");
	assert_int_equal(peer_read(&two, c, 2, 0, 1000).node, 1);
	fault_nodes_tell(&two, "do 1 well");
	fault_nodes_close(&two, c);
}

/* They rest, and their places are others' meanwhile. */
static void who_is_busy_holds_up_nobody_else(void **state)
{
	enum { MANY = HP_PLACES + 1 };
	struct hp_client *c = fault_nodes_client(&nine);
	static struct peer_read r[MANY], other;
	unsigned asked, adopt, all = 0;

	(void)state;
	fault_nodes_asked(&nine, 1, &asked, &adopt);
	fault_nodes_tell(&nine, "do 1 busy");
	for (int i = 0; i < MANY; i++)
		peer_read_begin(&r[i], c, 1, 0, 1000, 0);
	for (struct until u = { 0 }; all < HP_PLACES; until_next(&u)) {
		fault_nodes_asked(&nine, 1, &asked, &adopt);
		all += asked;
	}
	peer_read_begin(&other, c, 2, 0, 1000, 0);
	peer_read_wait(&other);
	assert_int_equal(other.got.n, 1000);
	for (int i = 0; i < MANY; i++)
		assert_false(peer_read_is_done(&r[i]));
	fault_nodes_tell(&nine, "do 1 well");
	for (int i = 0; i < MANY; i++) {
		peer_read_wait(&r[i]);
		assert_int_equal(r[i].got.n, 1000);
		peer_read_end(&r[i]);
	}
	peer_read_end(&other);
	fault_nodes_close(&nine, c);
}

/* Flipped bytes are for the reader to find. */
static void who_sends_wrong_bytes_is_left_alone(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	struct peer_read r;
	bool named = false;
	char note[HP_CLIENT_NOTE];

	(void)state;
	fault_nodes_tell(&two, "gone 0");
	fault_nodes_tell(&two, "do 1 flip");
	for (uint32_t k = 1; k <= HP_BAD_MOST; k++) {
		peer_read_begin(&r, c, k, 0, 1000, 0);
		peer_read_wait(&r);
		assert_int_equal(r.got.n, 1000);
		assert_int_equal(r.got.node, 1);
		assert_true(memcmp(r.buf, two.bytes[k], 1000) != 0);
		peer_read_end(&r);
		hp_client_bad(c, 1, k);
	}
	fault_nodes_tell(&two, "do 1 well");
	assert_int_equal(peer_read(&two, c, HP_BAD_MOST + 1, 0, 1000).n,
			 -EHOSTUNREACH);
	while (hp_client_note(c, note))
		named |= strstr(note, "node 1 (n1)") != NULL;
	assert_true(named);
	fault_nodes_tell(&two, "port 0 %u", two.head.port);
	fault_nodes_close(&two, c);
}

/* ---- What was seen ---------------------------------------------------- */

/* Of the stage directory's table, by anybody else. */
static void seen(uint32_t node, struct hp_table_tally *ret)
{
	int dir = open(two.stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hp_table_file f;
	struct hp_table t;
	struct hpdsl_error err;

	assert_true(dir >= 0);
	assert_int_equal(hp_table_find(&hp_io_system, dir, two.stage, &two.head,
				       &f, &err),
			 0);
	assert_int_equal(hp_table_open(&f, &t), 0);
	hp_table_tally(&t, node, ret);
	hp_table_close(&t);
	hp_table_leave(&f);
	close(dir);
}

static void what_was_seen_is_added_up(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	struct hp_table_tally is;
	uint64_t times = 0;

	(void)state;
	fault_nodes_tell(&two, "gone 0");
	for (uint32_t k = 1; k < 4; k++)
		assert_int_equal(peer_read(&two, c, k, 0, 1000).n, 1000);
	fault_nodes_tell(&two, "do 1 busy");
	assert_int_equal(peer_read(&two, c, 4, 0, 1000).why, HP_CLIENT_BUSY);
	fault_nodes_tell(&two, "do 1 well");
	hp_client_bad(c, 1, 1);
	/* At its end, if not before. */
	hp_client_close(c);
	seen(1, &is);
	assert_int_equal(is.reads, 3);
	assert_int_equal(is.bytes, 3000);
	assert_int_equal(is.bad, 1);
	assert_int_equal(is.origin[HP_CLIENT_BUSY], 1);
	for (int i = 0; i < HP_TABLE_TIMES; i++)
		times += is.latency[i];
	assert_int_equal(times, 3);
	seen(two.head.nodes, &is);
	assert_int_equal(is.origin[HP_CLIENT_BUSY], 0);
	fault_nodes_tell(&two, "port 0 %u", two.head.port);
	fault_nodes_close(&two, NULL);
}

/* Its file goes while it reads: that is said, and it reads on. */
static void without_a_table_it_reads_on(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	char note[HP_CLIENT_NOTE], name[TMP_NAME + 20];

	(void)state;
	snprintf(name, sizeof name, "%s/" HP_TABLE_NAME, two.stage);
	assert_int_equal(truncate(name, 100), 0);
	for (uint32_t k = 1; k < 4; k++)
		assert_int_equal(peer_read(&two, c, k, 0, 1000).node, 1);
	assert_true(hp_client_note(c, note));
	assert_non_null(strstr(note, HP_TABLE_NAME));
	assert_false(hp_client_note(c, note));
	fault_nodes_close(&two, c);
}

/* ---- Where it is ------------------------------------------------------ */

static void a_server_at_another_port_is_found(void **state)
{
	struct hp_client *c;

	(void)state;
	fault_nodes_tell(&nine, "port 1 %u", nine.head.port + 15u);
	fault_nodes_tell(&nine, "squat 1 %u banner", nine.head.port + 0u);
	fault_nodes_tell(&nine, "squat 1 %u html", nine.head.port + 1u);
	/* part 1 of 9 is on node 1 alone */
	c = fault_nodes_client(&nine);
	assert_int_equal(peer_read(&nine, c, 1, 0, 1000).node, 1);
	/* and when it comes back elsewhere, with connections open */
	fault_nodes_tell(&nine, "port 1 %u", nine.head.port + 7u);
	assert_int_equal(peer_read(&nine, c, 1, 0, 1000).node, 1);
	assert_int_equal(stats(c).to_origin, 0);
	fault_nodes_close(&nine, c);
}

/* Another program took all ports but the last two, and says nothing: no read
 * waits while the search goes on from port to port. */
static void a_server_behind_mute_ports_is_found(void **state)
{
	const uint64_t most = hp_monotonic() + 60 * HP_SECOND;
	struct hp_client *c;
	struct hp_client_got got;

	(void)state;
	fault_nodes_tell(&nine, "port 2 %u", nine.head.port + 14u);
	for (unsigned i = 0; i < 14; i++)
		fault_nodes_tell(&nine, "squat 2 %u mute", nine.head.port + i);
	/* part 2 of 9 is on node 2 alone */
	c = fault_nodes_client(&nine);
	do {
		got = peer_read(&nine, c, 2, 0, 1000);
		hp_sleep(10000000);
	} while (got.node != 2 && hp_monotonic() < most);
	assert_int_equal(got.node, 2);
	/* It was late once: after that it was not asked until it was found. */
	assert_true(stats(c).hedged <= 1);
	fault_nodes_close(&nine, c);
}

/* F26: it closes just as the next request comes. */
static void a_connection_that_ends_under_a_request(void **state)
{
	struct hp_client *c = fault_nodes_client(&two);
	char note[HP_CLIENT_NOTE];

	(void)state;
	fault_nodes_tell(&two, "do 1 race");
	for (int i = 0; i < 200; i++) {
		const struct hp_client_got got =
			peer_read(&two, c, 1 + (uint32_t)i % 3, 0, 20000);

		assert_int_equal(got.n, 20000);
		assert_int_equal(got.node, 1);
	}
	assert_false(hp_client_note(c, note));
	fault_nodes_tell(&two, "do 1 well");
	fault_nodes_close(&two, c);
}

/* ---- All of it at once ------------------------------------------------ */

static const char *any_fault(void)
{
	static const char *const faults[] = {
		"cut",	  "reset",  "close",	"mac",	     "whole",
		"tag",	  "absent", "busy",	"silent",    "stall",
		"race",	  "error",  "strange",	"pause:0.3", "slow:0.2",
		"replay", "gzip",   "nolength",
	};

	return faults[dice(sizeof faults / sizeof *faults)];
}

/* Some reads at once, while one more goes wrong; how many got bytes. */
static unsigned read_some(struct hp_client *c)
{
	enum { AT_ONCE = 12 };
	struct peer_read r[AT_ONCE];
	uint64_t at[AT_ONCE];
	unsigned came = 0;

	for (uint32_t k = 0; k < AT_ONCE; k++) {
		at[k] = dice(10000);
		peer_read_begin(&r[k], c, k % FN_CHUNKS, at[k],
				1 + dice(FN_SMALL - 10000), 1.3);
	}
	fault_nodes_tell(&six, "do %u %s", (unsigned)dice(6), any_fault());
	for (uint32_t k = 0; k < AT_ONCE; k++) {
		peer_read_wait(&r[k]);
		if (r[k].got.n >= 0) {
			assert_int_equal(r[k].got.n, r[k].n);
			assert_true(memcmp(r[k].buf,
					   six.bytes[k % FN_CHUNKS] + at[k],
					   r[k].n) == 0);
			came++;
		} else {
			assert_int_equal(r[k].got.n, -EHOSTUNREACH);
		}
		peer_read_end(&r[k]);
	}
	return came;
}

/* Of six nodes, of whom three were to hold each chunk. */
static void whatever_they_do(void **state)
{
	enum { ROUNDS = 12, OF_A_ROUND = 3 * 12 };
	unsigned came = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct hp_client *c = fault_nodes_client(&six);

		fault_nodes_tell(&six, "do %u %s", (unsigned)dice(6),
				 any_fault());
		for (int k = 0; k < 3; k++)
			came += read_some(c);
		for (unsigned k = 0; k < 6; k++)
			fault_nodes_tell(&six, "do %u well", k);
		fault_nodes_close(&six, c);
	}
	print_message("# %u of %d by others\n", came, ROUNDS * OF_A_ROUND);
}

/* ---------------------------------------------------------------------- */

static int begin(void **state)
{
	(void)state;
	fault_nodes_start(&two, 2, 1);
	fault_nodes_start(&three, 3, 1);
	fault_nodes_start(&six, 6, 2);
	fault_nodes_start(&nine, 9, 9);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fault_nodes_stop(&two);
	fault_nodes_stop(&three);
	fault_nodes_stop(&six);
	fault_nodes_stop(&nine);
	return 0;
}

/* Nobody is late meanwhile, however busy the machine is. */
static int time_stands(void **state)
{
	(void)state;
	clock_still(true);
	return 0;
}

static int time_goes_on(void **state)
{
	(void)state;
	clock_still(false);
	return 0;
}

/* Who has a tenth of a second to answer has half of one. */
static int time_is_slow(void **state)
{
	(void)state;
	clock_slow(SLOW);
	return 0;
}

static int time_is_real(void **state)
{
	(void)state;
	clock_slow(1);
	return 0;
}

#define SLOWLY(f) cmocka_unit_test_setup_teardown(f, time_is_slow, time_is_real)
#define AT_ANY_PACE(f) \
	cmocka_unit_test_setup_teardown(f, time_stands, time_goes_on)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_ANY_PACE(bytes_are_those_of_the_chunk),
		AT_ANY_PACE(many_at_once),
		AT_ANY_PACE(what_is_not_there_is_not_asked_for),
		AT_ANY_PACE(another_holder_has_it),
		AT_ANY_PACE(who_is_busy_is_asked_last),
		cmocka_unit_test(the_origin_is_to_be_asked),
		AT_ANY_PACE(a_part_that_fails_fails_the_whole),
		AT_ANY_PACE(more_than_was_asked_for_is_cut_off),
		SLOWLY(who_is_late_is_passed_by),
		cmocka_unit_test(a_late_answer_does_not_touch_the_buffer),
		AT_ANY_PACE(who_denies_it_is_not_asked_but_to_adopt),
		SLOWLY(who_fetches_it_may_be_silent),
		cmocka_unit_test(what_is_coming_is_waited_for),
		cmocka_unit_test(what_is_waited_for_in_vain_is_not_again),
		AT_ANY_PACE(the_other_form_is_told),
		AT_ANY_PACE(without_a_list_it_is_asked_all_the_same),
		cmocka_unit_test(who_is_busy_holds_up_nobody_else),
		SLOWLY(what_was_seen_is_added_up),
		cmocka_unit_test(without_a_table_it_reads_on),
		AT_ANY_PACE(who_sends_wrong_bytes_is_left_alone),
		AT_ANY_PACE(a_server_at_another_port_is_found),
		cmocka_unit_test(a_server_behind_mute_ports_is_found),
		AT_ANY_PACE(a_connection_that_ends_under_a_request),
		cmocka_unit_test(whatever_they_do),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
