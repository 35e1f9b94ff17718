/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which source is read, and which one next, in virtual time: every state that
 * a stage directory can be in, and everything that can be wrong with a chunk
 * here and at the origin.
 */
#include "dataset/where.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define NEVER UINT64_MAX
#define BEGIN (100 * SECOND) /* of virtual time */

/* ---- One chunk of a stage directory ----------------------------------- */

/* What it is at first, and what it becomes; times from BEGIN on. */
struct world {
	struct hp_stage_seen first;
	uint64_t ready;	 /* it is then */
	uint64_t newer;	 /* there is a newer state file, without it */
	uint64_t opened; /* so long before */
	uint64_t patience;
	uint8_t notes;
	bool compressed;
};

/* What came of looking for it. */
struct played {
	struct hp_where_step step;
	struct hp_stage_seen seen; /* at the last look */
	uint64_t took;
	unsigned renewals; /* that were asked for, but for a birth */
	bool coming;	   /* at any look */
};

static bool is_coming(const struct hp_stage_seen *s)
{
	return s->born && s->counts && s->state == HP_CHUNK_COMING;
}

static struct hp_stage_seen see(const struct world *w, uint64_t now, bool newer)
{
	struct hp_stage_seen s = w->first;

	if (newer && s.born)
		s = (struct hp_stage_seen){ .counts = true, .born = true };
	if (now >= w->ready)
		s = (struct hp_stage_seen){ HP_CHUNK_READY, true, false, true };
	return s;
}

/* What hp_stage_where() does, in virtual time. */
static struct played play(const struct world *w)
{
	struct hp_where_known k = {
		.opened = BEGIN - w->opened,
		.patience = w->patience,
		.compressed = w->compressed,
		.notes = w->notes,
		.now = BEGIN,
	};
	struct played p = { .took = 0 };
	struct hp_where where = { 0 };
	bool taken = false; /* the newer file */

	for (int steps = 0;; steps++) {
		assert_true(steps < 1000);
		k.now = BEGIN + p.took;
		if (!k.latest && !(w->notes & HP_NOTE_FAILED)) {
			k.seen = p.seen = see(w, p.took, taken);
			p.coming |= is_coming(&p.seen);
		}
		p.step = hp_where_next(&where, &k);
		if (p.step.what == HP_WHERE_READ)
			return p;
		assert_false(w->notes & HP_NOTE_FAILED);
		if (p.step.what == HP_WHERE_RENEW) {
			assert_false(k.latest);
			p.renewals += k.seen.born;
			k.latest = taken || p.took < w->newer;
			taken |= p.took >= w->newer;
			continue;
		}
		assert_true(p.step.ns > 0 && p.step.ns <= 50 * MS);
		assert_true(!k.seen.born ||
			    (is_coming(&k.seen) && k.seen.alive &&
			     !(w->notes & HP_NOTE_OVERTAKEN)));
		p.took += p.step.ns;
		k.latest = false;
	}
}

static void check_read(const struct world *w, const struct played *p)
{
	bool here = hp_where_here(&p->seen);

	if (w->notes & HP_NOTE_FAILED || (p->seen.born && !here)) {
		assert_int_equal(p->step.at, HP_AT_ORIGIN);
		assert_int_equal(p->step.note, w->notes & HP_NOTE_FAILED ? 0 :
					       p->coming ? HP_NOTE_OVERTAKEN :
							   HP_NOTE_ABSENT);
		assert_int_equal(p->renewals, !(w->notes & HP_NOTE_FAILED));
		return;
	}
	assert_int_equal(p->step.note, 0);
	assert_int_equal(p->step.at,
			 here && p->seen.state == HP_CHUNK_EXPANDED &&
					 w->compressed ?
				 HP_AT_EXPANDED :
				 HP_AT_HERE);
}

static void check_time(const struct world *w, const struct played *p)
{
	const uint64_t birth = HP_STATE_DEAD_SECONDS * SECOND;

	if (w->notes & HP_NOTE_FAILED)
		assert_int_equal(p->took, 0);
	else if (!w->first.born && !w->first.alive)
		assert_int_equal(p->took, 0);
	else if (!w->first.born)
		assert_true(
			p->took <=
			50 * MS + (w->opened < birth ? birth - w->opened : 0));
	else
		assert_true(p->took <= w->patience);
	/* Nobody goes away before it has come, if there is time. */
	if (is_coming(&w->first) && w->first.alive && !w->notes &&
	    w->ready < w->patience)
		assert_true(p->step.at != HP_AT_ORIGIN &&
			    p->took < w->ready + 50 * MS);
	if (!w->first.born && w->first.alive && w->ready < birth &&
	    w->opened == 0 && !w->notes)
		assert_true(p->seen.born);
}

/* Number i of all that there are; false: there are no more. */
static bool make_world(unsigned i, struct world *ret)
{
	static const uint64_t ready[] = { NEVER, 0, 3 * MS, 700 * MS,
					  10 * SECOND };
	static const uint64_t newer[] = { NEVER, 0, 20 * MS };
	static const uint64_t patience[] = { 0, 5 * MS, SECOND, 20 * SECOND };
	static const uint64_t opened[] = { 0, 14 * SECOND, 40 * SECOND };
#define TAKE(n) (at = i % (n), i /= (n), at)
	unsigned at;

	ret->first.state = (enum hp_chunk_state)TAKE(4);
	ret->first.counts = TAKE(2);
	ret->first.alive = TAKE(2);
	ret->first.born = TAKE(2);
	ret->compressed = TAKE(2);
	ret->notes = (uint8_t)TAKE(8);
	ret->ready = ready[TAKE(5)];
	ret->newer = newer[TAKE(3)];
	ret->patience = patience[TAKE(4)];
	ret->opened = opened[TAKE(3)];
#undef TAKE
	/* Without a state file nothing is known. */
	if (!ret->first.born)
		ret->first =
			(struct hp_stage_seen){ .alive = ret->first.alive };
	return i == 0;
}

static void test_every_state(void **state)
{
	struct world w;
	unsigned n = 0;

	(void)state;
	while (make_world(n, &w)) {
		struct played p = play(&w);

		check_read(&w, &p);
		check_time(&w, &p);
		n++;
	}
	assert_int_equal(n, 4 * 2 * 2 * 2 * 2 * 8 * 5 * 3 * 4 * 3);
}

/* Pauses grow, and the last one is no longer than what is left. */
static void test_pauses(void **state)
{
	const struct hp_stage_seen coming = { HP_CHUNK_COMING, true, true,
					      true };
	struct hp_where_known k = { .patience = 7 * MS,
				    .seen = coming,
				    .now = BEGIN };
	struct hp_where w = { 0 };
	struct hp_where_step s;

	(void)state;
	s = hp_where_next(&w, &k);
	assert_int_equal(s.what, HP_WHERE_WAIT);
	assert_int_equal(s.ns, 2 * MS);
	k.now += s.ns;
	s = hp_where_next(&w, &k);
	assert_int_equal(s.ns, 3 * MS);
	k.now += s.ns;
	s = hp_where_next(&w, &k);
	assert_int_equal(s.ns, 2 * MS);
	k.now += s.ns;
	s = hp_where_next(&w, &k);
	assert_int_equal(s.what, HP_WHERE_RENEW);
	assert_int_equal(s.ns, 0);
	k.latest = true;
	s = hp_where_next(&w, &k);
	assert_int_equal(s.what, HP_WHERE_READ);
	assert_int_equal(s.at, HP_AT_ORIGIN);
	assert_int_equal(s.note, HP_NOTE_OVERTAKEN);
	/* The next one that asks: not each of them goes to the disk. */
	w = (struct hp_where){ 0 };
	k.notes = HP_NOTE_OVERTAKEN;
	k.latest = false;
	s = hp_where_next(&w, &k);
	assert_int_equal(s.what, HP_WHERE_RENEW);
	assert_int_equal(s.ns, SECOND);
}

/* ---- Elsewhere -------------------------------------------------------- */

/* The form that peers were found to have, then the other one, then no more. */
static enum hp_chunk_at peer_of(bool compressed, bool plain, uint8_t asked)
{
	if (asked == HP_ASKED_ALL || (asked && !compressed))
		return HP_AT_ORIGIN;
	if (asked)
		plain = asked == HP_ASKED_STORED;
	return compressed && plain ? HP_AT_PEER_PLAIN : HP_AT_PEER;
}

static void test_peers(void **state)
{
	struct hp_where_known k = { .now = BEGIN,
				    .latest = true,
				    .seen = { .counts = true, .born = true } };

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		struct hp_where w = { .asked = i & 3, .renewed = true };
		bool plain = i & 16, failed = i & 32;
		enum hp_chunk_at want;
		struct hp_where_step s;

		k.compressed = i & 4;
		k.peers = i & 8;
		k.notes = (uint8_t)((plain ? HP_NOTE_PLAIN : 0) |
				    (failed ? HP_NOTE_FAILED : 0));
		want = k.peers ? peer_of(k.compressed, plain, w.asked) :
				 HP_AT_ORIGIN;
		s = hp_where_next(&w, &k);
		assert_int_equal(s.what, HP_WHERE_READ);
		assert_int_equal(s.at, want);
		assert_int_equal(s.note, want != HP_AT_ORIGIN ? HP_NOTE_PEERS :
					 failed		      ? 0 :
								HP_NOTE_ABSENT);
	}
	/* One that has been coming too long is told of, wherever it is. */
	k.peers = true;
	k.seen.state = HP_CHUNK_COMING;
	k.notes = 0;
	for (unsigned i = 0; i < 2; i++) {
		struct hp_where w = { .asked = i ? HP_ASKED_ALL : 0,
				      .renewed = true };

		assert_int_equal(hp_where_next(&w, &k).note,
				 HP_NOTE_OVERTAKEN | (i ? 0 : HP_NOTE_PEERS));
	}
	/* What is here is read here. */
	k.seen.state = HP_CHUNK_READY;
	k.notes = 0;
	assert_int_equal(hp_where_next(&(struct hp_where){ 0 }, &k).at,
			 HP_AT_HERE);
}

/* Not each read of what peers have looks for a newer state file. */
static void test_peers_renew(void **state)
{
	struct hp_where_known k = { .now = BEGIN,
				    .peers = true,
				    .seen = { .counts = true, .born = true } };
	struct hp_where_step s = hp_where_next(&(struct hp_where){ 0 }, &k);

	(void)state;
	assert_int_equal(s.what, HP_WHERE_RENEW);
	assert_int_equal(s.ns, 0);
	k.notes = HP_NOTE_PEERS;
	s = hp_where_next(&(struct hp_where){ 0 }, &k);
	assert_int_equal(s.what, HP_WHERE_RENEW);
	assert_int_equal(s.ns, SECOND);
}

/* ---- What is wrong with it -------------------------------------------- */

enum copy {
	GOOD,
	BAD,	/* the member that is read; others may be good */
	CUT,	/* of another size, behind the member */
	CLOSED, /* it cannot be opened, or read at all */
	SELF,	/* this process cannot */
	GONE,	/* taken away: it is not here any more */
	COPIES
};

/* A member's reader, as member_source.c and chunk_files.c are it together. */
struct reader {
	enum copy here, peer, origin;
	bool peers;  /* there are some */
	bool asked;  /* they were asked in vain by this read */
	bool failed; /* the chunk, of which another member was bad here */
	bool given;
	struct hp_where_read was;
	unsigned tried, bad; /* how often; and was bad here */
};

static unsigned blame_of(enum copy c)
{
	return c == SELF ? HP_BLAME_SELF : 0;
}

/* Is the member got of what is opened as a whole, or as what is left? */
static bool gets(enum copy c, bool rest)
{
	return c == GOOD || (c == CUT && rest);
}

static bool read_member(struct reader *r)
{
	for (;;) {
		enum copy c;

		assert_true(++r->tried <= 4);
		if (!r->was.rest)
			r->was.at = !r->failed && r->here != GONE ? HP_AT_HERE :
				    r->peers && !r->asked	  ? HP_AT_PEER :
								    HP_AT_ORIGIN;
		c = r->was.at == HP_AT_ORIGIN ? r->origin :
		    r->was.at == HP_AT_PEER   ? r->peer :
						r->here;
		if (gets(c, r->was.rest))
			return true;
		if (c == BAD && r->was.at == HP_AT_HERE)
			assert_true(++r->bad == 1);
		switch (hp_where_after(&r->was, blame_of(c))) {
		case HP_AFTER_END:
			return false;
		case HP_AFTER_OTHER:
			if (r->was.at == HP_AT_PEER) {
				assert_false(r->was.rest || r->asked);
				r->asked = true;
				break;
			}
			assert_int_equal(r->was.at, HP_AT_HERE);
			assert_false(r->was.rest || r->failed);
			r->was.looked = c == BAD;
			r->failed = true;
			break;
		case HP_AFTER_REST:
			assert_int_equal(r->was.at, HP_AT_ORIGIN);
			/* There is none of a chunk that has not failed. */
			if (!r->failed || r->here == GONE)
				return false;
			r->was.rest = true;
			r->was.at = HP_AT_HERE;
			break;
		}
	}
}

static void test_every_fault(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COPIES * COPIES * COPIES * 8; i++) {
		struct reader r = {
			.here = i % COPIES,
			.origin = i / COPIES % COPIES,
			.peer = i / COPIES / COPIES % COPIES,
			.failed = i / COPIES / COPIES / COPIES % 2,
			.given = i / COPIES / COPIES / COPIES / 2 % 2,
			.peers = i / COPIES / COPIES / COPIES / 4,
			.was.staged = true,
		};
		bool was_failed = r.failed, got;
		bool here = !was_failed && r.here != GONE;
		bool self =
			(here && r.here == SELF) || (r.peers && r.peer == SELF);
		bool left = (was_failed || r.here == CUT) && !r.given &&
			    gets(r.here, true);

		r.was.given = r.given;
		got = read_member(&r);
		if (here && r.here == SELF)
			assert_false(got);
		else if (here && r.here == GOOD)
			assert_true(got);
		else if (r.peers && gets(r.peer, false))
			assert_true(got && r.was.at == HP_AT_PEER);
		else
			assert_int_equal(got,
					 !self && (r.origin == GOOD || left));
	}
}

/* A dataset that is none of a stage directory has one source. */
static void test_one_source(void **state)
{
	const struct hp_where_read was = { .at = HP_AT_HERE };

	(void)state;
	assert_int_equal(hp_where_after(&was, 0), HP_AFTER_END);
	assert_int_equal(hp_where_after(&was, HP_BLAME_PASSES), HP_AFTER_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_state),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_peers_renew),
		cmocka_unit_test(test_every_fault),
		cmocka_unit_test(test_one_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
