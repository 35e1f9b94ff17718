/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part is begun next: each rule by itself, and under random loads in
 * virtual time that all rules hold, that nobody is passed by for ever, and that
 * one slow node does not hold up the parts of others.
 */
#include "peers/places.h"

#include "peers/whom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- By itself -------------------------------------------------------- */

enum { SOME = 8 };
static struct hp_waiting part[SOME];
static struct hp_waiting *waits[SOME];

/* Chunks of that number's node. */
static void these(unsigned n, const uint32_t *chunk)
{
	for (unsigned i = 0; i < n; i++) {
		part[i] = (struct hp_waiting){ chunk[i], chunk[i] / 10,
					       chunk[i] / 10, 0 };
		waits[i] = &part[i];
	}
}

static void in_their_order(void **state)
{
	static const uint32_t chunks[] = { 30, 20, 10 };

	(void)state;
	these(3, chunks);
	assert_int_equal(hp_places_next(waits, 3, NULL, 0), 0);
	assert_int_equal(hp_places_next(waits, 0, NULL, 0), 0);
}

static void whose_node_has_nothing_to_do_is_first(void **state)
{
	static const uint32_t chunks[] = { 10, 11, 20, 30 };
	static const struct hp_under_way way[] = { { 10, 1 }, { 20, 5 } };

	(void)state;
	these(4, chunks);
	/* 20 is under way, though not there */
	assert_int_equal(hp_places_next(waits, 4, way, 2), 3);
	assert_int_equal(part[0].passed, 1);
	assert_int_equal(part[2].passed, 1);
	assert_int_equal(part[3].passed, 0);
	/* all are: then the first */
	assert_int_equal(hp_places_next(waits, 3, way, 2), 0);
	/* of two holders one is enough */
	part[1].last = 2;
	assert_int_equal(hp_places_next(waits, 4, way, 2), 1);
	/* and of more than are asked, too, or where there are none */
	part[1].first = 0;
	part[1].last = UINT32_MAX;
	assert_int_equal(hp_places_next(waits, 4, way, 2), 1);
	part[1].first = 1;
	part[1].last = 0;
	assert_int_equal(hp_places_next(waits, 4, way, 2), 1);
}

static void one_node_has_half_of_the_places(void **state)
{
	static const uint32_t chunks[] = { 11, 12, 21, 13 };
	static const struct hp_under_way way[] = {
		{ 14, 1 }, { 15, 1 }, { 16, 1 }, { 17, 1 },
		{ 22, 2 }, { 21, 2 }, { 18, 1 }, { 19, 1 },
	};

	(void)state;
	these(4, chunks);
	assert_int_equal(hp_places_next(waits, 4, way, 6), 2);
	/* however long they have waited */
	part[0].passed = part[1].passed = 10 * HP_PASSED_BY;
	assert_int_equal(hp_places_next(waits, 4, way, 6), 2);
	/* unless nobody else waits */
	waits[2] = waits[3];
	assert_int_equal(hp_places_next(waits, 3, way, 6), 0);
}

/* Those that rest for it have no place, but count. */
static void one_node_is_not_asked_by_all(void **state)
{
	static const uint32_t chunks[] = { 11, 12 };
	struct hp_under_way way[HP_PLACES + 1];

	(void)state;
	these(2, chunks);
	for (uint32_t i = 0; i <= HP_PLACES; i++)
		way[i] = (struct hp_under_way){ 13 + i, 1 };
	assert_int_equal(hp_places_next(waits, 2, way, HP_PLACES - 1), 0);
	assert_int_equal(hp_places_next(waits, 2, way, HP_PLACES), 2);
	assert_int_equal(hp_places_next(waits, 2, way, HP_PLACES + 1), 2);
	assert_int_equal(part[0].passed, 0);
}

static void who_was_passed_by_is_first_at_last(void **state)
{
	static const uint32_t chunks[] = { 11, 20, 30 };
	static const struct hp_under_way way[] = { { 10, 1 } };
	unsigned n = 0;

	(void)state;
	these(3, chunks);
	while (hp_places_next(waits, 3, way, 1) == 1)
		n++;
	assert_int_equal(n, HP_PASSED_BY);
	assert_int_equal(hp_places_next(waits, 3, way, 1), 0);
}

/* ---- Random loads ----------------------------------------------------- */

enum { NODES = 12, PARTS = 3000 };

static struct job {
	struct hp_waiting of[PARTS];
	unsigned behind[PARTS];	 /* begun before it though it could have been */
	uint32_t wait[PARTS], n; /* in order */
	struct {
		bool is;
		uint32_t part, node;
		uint64_t end;
	} place[HP_PLACES];
	struct hp_under_way way[HP_PLACES];
	uint64_t took[NODES], ended[NODES]; /* a request; the last of it */
	uint64_t now;
	uint32_t next, done;
} job;

static unsigned asked_of(const struct job *j, uint32_t node)
{
	unsigned n = 0;

	for (int i = 0; i < HP_PLACES; i++)
		n += j->place[i].is && j->place[i].node == node;
	return n;
}

static unsigned least(const struct job *j, uint32_t i)
{
	const unsigned a = asked_of(j, j->of[i].first),
		       b = asked_of(j, j->of[i].last);

	return a < b ? a : b;
}

/* What the rules say of a choice, in other words. */
static void check(struct job *j, unsigned n, unsigned at)
{
	const uint32_t is = j->wait[at];
	const bool many = least(j, is) >= HP_PLACES / 2;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t p = j->wait[i];
		const bool may = least(j, p) < HP_PLACES / 2;

		if (many)
			assert_false(may);
		if (i < at && may) {
			j->behind[p]++;
			/* those that waited as long are as many at most */
			assert_true(j->behind[p] <= HP_PASSED_BY);
		}
		/* nobody goes before one of the same kind */
		if (i < at && j->of[p].first == j->of[is].first &&
		    j->of[p].last == j->of[is].last &&
		    j->of[p].chunk == j->of[is].chunk)
			fail_msg("one of the same chunk was passed by");
	}
}

static void fill(struct job *j)
{
	for (int k = 0; k < HP_PLACES; k++) {
		struct hp_waiting *w[HP_PLACES_LOOK];
		unsigned n = 0, way = 0, at;
		uint32_t is, a, b;

		if (j->place[k].is)
			continue;
		for (; n < j->n && n < HP_PLACES_LOOK; n++)
			w[n] = &j->of[j->wait[n]];
		for (int i = 0; i < HP_PLACES; i++)
			if (j->place[i].is)
				j->way[way++] = (struct hp_under_way){
					j->of[j->place[i].part].chunk,
					j->place[i].node
				};
		at = hp_places_next(w, n, j->way, way);
		if (at == n)
			return;
		check(j, n, at);
		is = j->wait[at];
		memmove(j->wait + at, j->wait + at + 1,
			(--j->n - at) * sizeof *j->wait);
		a = j->of[is].first;
		b = j->of[is].last;
		j->place[k].is = true;
		j->place[k].part = is;
		j->place[k].node = asked_of(j, b) < asked_of(j, a) ? b : a;
		j->place[k].end =
			j->now + 1 + dice(5) + j->took[j->place[k].node];
	}
}

static void end_one(struct job *j)
{
	int at = -1;

	for (int i = 0; i < HP_PLACES; i++)
		if (j->place[i].is &&
		    (at < 0 || j->place[i].end < j->place[at].end))
			at = i;
	assert_true(at >= 0);
	j->now = j->place[at].end;
	j->ended[j->place[at].node] = j->now;
	j->place[at].is = false;
	j->done++;
}

/* Parts come while others are under way, many of a few nodes. */
static void under_any_load_each_has_its_turn(void **state)
{
	(void)state;
	for (int round = 0; round < 40; round++) {
		const uint32_t favour = dice(NODES), copies = 1 + dice(2);
		const unsigned most = 1 + dice(300);

		memset(&job, 0, sizeof job);
		for (uint32_t i = 0; i < NODES; i++)
			job.took[i] = dice(4) ? 10 : 10 + dice(500);
		while (job.done < PARTS) {
			while (job.next < PARTS && job.n < most && dice(5)) {
				const uint32_t node =
					dice(3) ? dice(NODES) : favour;

				job.of[job.next] = (struct hp_waiting){
					.chunk = node + NODES * dice(40),
					.first = node,
					.last = copies == 1	 ? node :
						node + 1 < NODES ? node + 1 :
								   node,
				};
				job.wait[job.n++] = job.next++;
			}
			fill(&job);
			if (job.n || job.next == PARTS || dice(2)) {
				bool any = false;

				for (int i = 0; i < HP_PLACES; i++)
					any |= job.place[i].is;
				if (any)
					end_one(&job);
			}
		}
	}
}

/* It is a hundred times slower, and its parts came first. */
static void a_slow_node_does_not_hold_up_others(void **state)
{
	enum { ALL = 300, SLOW = 60 };
	uint64_t others = 0;

	(void)state;
	memset(&job, 0, sizeof job);
	for (uint32_t i = 0; i < ALL; i++) {
		const uint32_t node = i < SLOW ? 0 : 1 + i % (NODES - 1);

		job.took[node] = node ? 10 : 1000;
		job.of[i] = (struct hp_waiting){ i, node, node, 0 };
		job.wait[job.n++] = i;
	}
	while (job.done < ALL) {
		fill(&job);
		end_one(&job);
	}
	for (uint32_t i = 1; i < NODES; i++)
		others = others < job.ended[i] ? job.ended[i] : others;
	print_message("# others end at %llu, it at %llu\n",
		      (unsigned long long)others,
		      (unsigned long long)job.ended[0]);
	/* four places of eight were theirs, for 240 requests of 10 to 15 */
	assert_true(others <= 1000);
	assert_true(job.ended[0] >= SLOW / HP_PLACES * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_their_order),
		cmocka_unit_test(whose_node_has_nothing_to_do_is_first),
		cmocka_unit_test(one_node_has_half_of_the_places),
		cmocka_unit_test(one_node_is_not_asked_by_all),
		cmocka_unit_test(who_was_passed_by_is_first_at_last),
		cmocka_unit_test(under_any_load_each_has_its_turn),
		cmocka_unit_test(a_slow_node_does_not_hold_up_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
