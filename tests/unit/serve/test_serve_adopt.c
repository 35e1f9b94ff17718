/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adoption over a real stage directory and an origin that hangs, fails, lies
 * or is gone: who waits is told in time, and the others go on.
 */
#include "clock.h"
#include "gateio.h"
#include "serving.h"
#include "until.h"

#include "peers/table.h"
#include "serve/adopt_private.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What the threads have, as they have it: under their lock. */
#define LOCKED(c, what)                                        \
	({                                                     \
		pthread_mutex_lock(&(c)->s->adoption->lock);   \
		__typeof__(what) is_now = (what);              \
		pthread_mutex_unlock(&(c)->s->adoption->lock); \
		is_now;                                        \
	})

static const uint64_t ms = 1000000;

static struct hp_ask adopt(uint32_t chunk, uint64_t first, uint64_t last)
{
	struct hp_ask a = serving_ask_for(chunk, true, first, last);

	a.adopt = true;
	return a;
}

/* Begins to wait. */
static void begin_to_wait(struct serving *c, const struct hp_ask *a,
			  struct sleeper *z)
{
	struct hpdsl_serve_answer n =
		serving_ask_with(c, &c->head, a, z, false);

	assert_int_equal(n.status, 0);
	hpdsl_serve_done(c->s, &n, 0);
}

/* What is said once who waits has been woken. */
static unsigned status_then(struct serving *c, const struct hp_ask *a,
			    struct sleeper *z, unsigned woken)
{
	struct hpdsl_serve_answer n;

	serving_await(z, woken);
	n = serving_ask_with(c, &c->head, a, z, true);
	serving_done(c, &n);
	return n.status;
}

static unsigned status_of(struct serving *c, const struct hp_ask *a)
{
	struct hpdsl_serve_answer n =
		serving_ask_with(c, &c->head, a, NULL, false);

	serving_done(c, &n);
	return n.status;
}

static unsigned status_asked(struct serving *c, const struct hp_ask *a,
			     struct sleeper *z)
{
	struct hpdsl_serve_answer n = serving_ask(c, a, z);

	serving_done(c, &n);
	return n.status;
}

static void await_adopted(struct serving *c, uint64_t n)
{
	for (struct until u = { 0 }; serving_stats(c).adopted < n;)
		until_next(&u);
}

static void await_failed(struct serving *c, const struct hp_adoptee *a)
{
	for (struct until u = { 0 }; LOCKED(c, a->state) != HP_ADOPT_FAILED;)
		until_next(&u);
}

static void await_open(struct serving *c, uint32_t chunk)
{
	const struct hp_turn_chunk *is = &c->s->adoption->of[chunk]->coming;
	struct until u = { 0 };
	bool open = false;

	while (!open) {
		pthread_mutex_lock(&c->s->adoption->lock);
		open = is->open && !is->busy;
		pthread_mutex_unlock(&c->s->adoption->lock);
		until_next(&u);
	}
}

/* Looks, as if so long had passed since all that has happened. */
static void look_after(struct serving *c, struct hpdsl_error *err)
{
	clock_pass(.002);
	c->s->adoption->patience = ms;
	assert_int_equal(hpdsl_serve_look(c->s, err), 0);
	c->s->adoption->patience = 30000 * ms;
}

/* ---- As it should be -------------------------------------------------- */

static void test_adopts(void **state)
{
	struct sleeper z = SLEEPER;
	struct hpdsl_serve_answer n;
	struct hpdsl_chunk row;
	struct serving c;
	uint64_t bytes = 0;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	for (uint32_t i = 1; i < STAGED_CHUNKS; i += 2) {
		struct hp_ask a;

		staged_chunk(&c.f, i, &row);
		bytes += row.bytes;
		a = adopt(i, 100, row.bytes - 1);
		/* Nobody adopts what he is not told to. */
		a.adopt = false;
		n = serving_ask_with(&c, &c.head, &a, &z, false);
		assert_int_equal(n.status, 404);
		serving_done(&c, &n);
		/* .. nor what nobody waits for. */
		a.adopt = true;
		assert_int_equal(status_of(&c, &a), 404);
		n = serving_ask(&c, &a, &z);
		assert_int_equal(n.status, 206);
		serving_compare(&c, &n, row.name);
		serving_done(&c, &n);
		/* Now it is here for everybody. */
		a.adopt = false;
		assert_int_equal(status_of(&c, &a), 206);
	}
	await_adopted(&c, STAGED_CHUNKS / 2);
	/* Each byte once. */
	assert_int_equal(serving_stats(&c).adopted_bytes, bytes);
	assert_int_equal(hpdsl_serve_look(c.s, NULL), 0);
	for (uint32_t i = 0; i < STAGED_CHUNKS; i++)
		assert_int_equal(hp_have_get(c.s->have, i), HP_HAVE_PLAIN);
	serving_end(&c);
}

/* ---- The origin ------------------------------------------------------- */

static void test_origin_is_gone(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(1, 0, 99);
	struct hpdsl_serve_answer n;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	staged_hide_origin(&c.f);
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 404);
	serving_done(&c, &n);
	/* Not asked again at once. */
	assert_int_equal(status_asked(&c, &a, &z), 404);
	staged_show_origin(&c.f);
	LOCKED(&c, c.s->adoption->of[1]->again.at = 0);
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	/* Who waits when it ends is woken. */
	a = adopt(3, 0, 99);
	hpdsl_serve_quit(c.s);
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 404);
	serving_done(&c, &n);
	serving_end(&c);
}

/* What it has is not what was packed: fetched less and less often. */
static void test_origin_lies(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(3, 0, 99), no = a;
	struct hpdsl_error err;
	struct hp_adoptee *is;
	struct serving c;

	(void)state;
	no.adopt = false;
	serving_begin(&c, 0, true, NULL);
	packed_flip(packed_at(&c.f.p, "out/chunk-000003.tar"), 5, 0);
	for (unsigned times = 1; times <= 3; times++) {
		uint64_t now = hp_monotonic();
		struct hpdsl_serve_answer n = serving_ask(&c, &a, &z);

		/* A checksum of his own tells him. */
		assert_true(n.status == 206 || n.status == 404);
		serving_done(&c, &n);
		for (struct until u = { 0 }; status_of(&c, &no) != 404;)
			until_next(&u);
		is = c.s->adoption->of[3];
		assert_int_equal(LOCKED(&c, is->again.wrong), times);
		assert_true(LOCKED(&c, is->again.at) >=
			    now + (1000 << (times - 1)) * ms);
		/* Not before that, which is later on a busy machine. */
		LOCKED(&c, is->again.at += 3600 * 1000 * ms);
		assert_int_equal(status_asked(&c, &a, &z), 404);
		LOCKED(&c, is->again.at = 0);
		assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
		if (times == 1)
			assert_non_null(strstr(err.msg, "chunk-000003.tar"));
		else
			assert_string_equal(err.msg, "");
	}
	assert_int_equal(serving_stats(&c).adopted, 0);
	serving_end(&c);
}

/*
 * F9: its reads hang, more of them than there are threads.  Who waits is told,
 * what does not hang is fetched all the same, and all is well when it wakes up.
 */
static void test_origin_hangs(void **state)
{
	struct sleeper z = SLEEPER, other = SLEEPER;
	struct hp_ask a[2] = { adopt(1, 0, 99), adopt(3, 0, 99) };
	struct hp_ask good = adopt(5, 0, 99);
	struct hpdsl_serve_options opt = { 0 };
	struct hpdsl_serve_answer n;
	struct gateio g;
	struct serving c;

	(void)state;
	gateio_init(&g);
	g.name[0] = "/chunk-000001", g.name[1] = "/chunk-000003";
	opt.io = &g.io;
	serving_begin(&c, 0, true, &opt);
	gateio_shut(&g, true);
	begin_to_wait(&c, &a[0], &z);
	begin_to_wait(&c, &a[1], &z);
	gateio_await(&g, 2);
	begin_to_wait(&c, &good, &other);
	assert_int_equal(other.woken, 0);
	look_after(&c, NULL);
	serving_await(&z, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(status_then(&c, &a[i], &z, 2), 404);
	/* It may have been let go alone: it has not waited for long. */
	n = serving_ask(&c, &good, &other);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	gateio_shut(&g, false);
	for (int i = 0; i < 2; i++) {
		struct hp_adoptee *is = c.s->adoption->of[2 * i + 1];

		await_failed(&c, is);
		is->again.at = 0;
		n = serving_ask(&c, &a[i], &z);
		assert_int_equal(n.status, 206);
		serving_done(&c, &n);
	}
	await_adopted(&c, 3);
	serving_end(&c);
}

/* No more than so many are replaced: then nothing is begun. */
static void test_all_hang(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(1, 0, 99);
	struct hp_fetcher *f;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	f = c.s->adoption->fetcher;
	for (int i = 0; i < HP_FETCHERS + HP_FETCHERS_HUNG; i++)
		f[i].is = HP_FETCHER_HANGS;
	assert_int_equal(status_asked(&c, &a, &z), 404);
	f[4].is = HP_FETCHER_NONE;
	assert_int_equal(status_asked(&c, &a, &z), 206);
	serving_end(&c);
}

/* ---- Other nodes ------------------------------------------------------ */

static struct {
	char path[PACKED_PATH];
	int fails; /* instead; 0: it gives what the origin has */
	bool flips;
	unsigned asked;
} others;

static ssize_t ask_others(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
			  uint64_t offset, void *buf, size_t n,
			  uint32_t *ret_node)
{
	char name[PACKED_PATH + HP_STAGE_NAME];
	ssize_t got;
	int fd;

	(void)s;
	__atomic_fetch_add(&others.asked, 1, __ATOMIC_RELAXED);
	*ret_node = 1;
	if (others.fails)
		return others.fails;
	snprintf(name, sizeof name, "%s/%s", others.path, row->name);
	fd = open(name, O_RDONLY);
	got = pread(fd, buf, n, (off_t)offset);
	close(fd);
	if (others.flips)
		((uint8_t *)buf)[got / 2] ^= 1;
	return got;
}

static void begin_with_others(struct serving *c)
{
	serving_begin(c, 0, true, NULL);
	memset(&others, 0, sizeof others);
	snprintf(others.path, sizeof others.path, "%s", c->f.p.out);
	c->s->adoption->ask_others = ask_others;
}

/* What they give is not the rate's. */
static void test_from_others(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(1, 0, 99), b = adopt(3, 0, 99);
	struct hpdsl_chunk row;
	struct serving c;

	(void)state;
	begin_with_others(&c);
	c.s->rate = 1;
	for (uint32_t i = 1; i < STAGED_CHUNKS; i += 2) {
		a.chunk = i;
		assert_int_equal(status_asked(&c, &a, &z), 206);
	}
	await_adopted(&c, STAGED_CHUNKS / 2);
	assert_int_equal(serving_stats(&c).adopted_bytes, 0);
	assert_true(serving_stats(&c).adopted_peer_bytes > 0);
	serving_end(&c);
	/* They do not give it: they are not asked again for this chunk. */
	begin_with_others(&c);
	others.fails = -EHOSTUNREACH;
	staged_chunk(&c.f, 1, &row);
	a.chunk = 1;
	assert_int_equal(status_asked(&c, &a, &z), 206);
	await_adopted(&c, 1);
	assert_int_equal(others.asked, 1);
	assert_int_equal(serving_stats(&c).adopted_bytes, row.bytes);
	/* They are known to have failed: nobody is asked. */
	hp_table_suspect(&c.s->table, 1, 1, 2);
	assert_int_equal(status_asked(&c, &b, &z), 206);
	assert_int_equal(others.asked, 1);
	serving_end(&c);
}

/* Then the origin is asked, and is not to blame. */
static void test_others_lie(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(1, 0, 99);
	struct hp_adoptee *is;
	struct hpdsl_error err;
	struct serving c;

	(void)state;
	begin_with_others(&c);
	others.flips = true;
	status_asked(&c, &a, &z);
	is = c.s->adoption->of[1];
	await_failed(&c, is);
	assert_int_equal(LOCKED(&c, is->again.wrong), 0);
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_string_equal(err.msg, "");
	is->again.at = 0;
	assert_int_equal(status_asked(&c, &a, &z), 206);
	await_adopted(&c, 1);
	assert_int_equal(others.asked, 1);
	serving_end(&c);
}

/* Where there is no room, too. */
static void test_passed_from_others(void **state)
{
	struct sleeper z = SLEEPER;
	struct hpdsl_serve_options opt = { 0 };
	struct hp_ask a = adopt(1, 5, 99);
	struct hpdsl_serve_answer n;
	struct gateio g;
	struct serving c;

	(void)state;
	gateio_init(&g);
	g.unused = 1;
	opt.io = &g.io;
	serving_begin(&c, 0, true, &opt);
	memset(&others, 0, sizeof others);
	snprintf(others.path, sizeof others.path, "%s", c.f.p.out);
	c.s->adoption->ask_others = ask_others;
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 206);
	serving_compare(&c, &n, "chunk-000001.tar");
	serving_done(&c, &n);
	assert_int_equal(serving_stats(&c).adopted_bytes, 0);
	assert_int_equal(serving_stats(&c).adopted_peer_bytes, 95);
	assert_int_equal(serving_stats(&c).passed_bytes, 95);
	serving_end(&c);
}

/* F15: two adopters, which know nothing of each other. */
static void test_two_adopt(void **state)
{
	struct sleeper z = SLEEPER;
	struct hpdsl_serve *s[2];
	struct hpdsl_chunk row;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	s[0] = c.s;
	assert_int_equal(hpdsl_serve_open(c.f.dir, NULL, &s[1], NULL), 0);
	staged_chunk(&c.f, 1, &row);
	for (int i = 0; i < 2; i++) {
		struct hp_ask a = adopt(1, 0, row.bytes - 1);
		struct hpdsl_serve_answer n;

		c.s = s[i];
		n = serving_ask(&c, &a, &z);
		assert_int_equal(n.status, 206);
		serving_compare(&c, &n, row.name);
		serving_done(&c, &n);
	}
	for (int i = 0; i < 2; i++) {
		c.s = s[i];
		await_adopted(&c, 1);
		assert_int_equal(serving_stats(&c).adopted_bytes, row.bytes);
	}
	hpdsl_serve_close(s[1]);
	c.s = s[0];
	serving_end(&c);
}

/* ---- Unasked ---------------------------------------------------------- */

static void look_again(struct serving *c)
{
	assert_int_equal(hpdsl_serve_look(c->s, NULL), 0);
}

/* What a node had that nobody has heard of for 30 seconds. */
static void test_rehomes(void **state)
{
	struct hp_adopting *all;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	all = c.s->adoption;
	look_again(&c);
	hp_table_suspect(&c.s->table, 1, 1, 2);
	look_again(&c);
	assert_null(all->coming);
	all->rehome.since[1] -= 30000 * ms;
	/* Not while somebody has to wait, nor while it leaves. */
	all->pace.asked = hp_monotonic() + 3600 * 1000 * ms;
	look_again(&c);
	assert_null(all->coming);
	all->pace.asked = 0;
	hpdsl_serve_drain(c.s, true);
	look_again(&c);
	assert_null(all->coming);
	hpdsl_serve_drain(c.s, false);
	for (struct until u = { 0 };
	     serving_stats(&c).rehomed < STAGED_CHUNKS / 2; until_next(&u)) {
		unsigned n = 0;

		look_again(&c);
		/* One after the other. */
		pthread_mutex_lock(&all->lock);
		for (struct hp_turn_chunk *k = all->coming; k; k = k->next)
			n += k->unasked;
		pthread_mutex_unlock(&all->lock);
		assert_true(n <= 1);
		/* It goes on at a tenth of the link. */
		assert_int_equal(all->pace.slow, 12500000);
	}
	assert_int_equal(serving_stats(&c).adopted, STAGED_CHUNKS / 2);
	look_again(&c);
	assert_null(all->coming);
	serving_end(&c);
}

/* ---- Who waits -------------------------------------------------------- */

/* The rate makes one wait too long: he goes alone, and the chunk comes. */
static void test_slow_rate(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(1, 0, 99), b = adopt(3, 0, 99);
	struct hpdsl_serve_answer n;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	/* Nobody else has it, for whom there is no rate. */
	hp_table_suspect(&c.s->table, 1, 1, 2);
	c.s->rate = 1;
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	begin_to_wait(&c, &b, &z);
	/* Nobody is at anything, but for want of a turn. */
	await_adopted(&c, 1);
	await_open(&c, 3);
	look_after(&c, NULL);
	/* Later, which is not "not here". */
	assert_int_equal(status_then(&c, &b, &z, 2), 503);
	assert_int_equal(LOCKED(&c, c.s->adoption->of[3]->state),
			 HP_ADOPT_COMING);
	c.s->rate = 0;
	n = serving_ask(&c, &b, &z);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	serving_end(&c);
}

/* The last piece is here, and the whole is still being compared. */
static void test_woken_before_checksum(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a = adopt(1, 0, 99);
	struct hpdsl_serve_options opt = { 0 };
	struct gateio g;
	struct serving c;

	(void)state;
	gateio_init(&g);
	g.name[0] = "";
	opt.io = &g.io;
	serving_begin(&c, 0, true, &opt);
	gateio_shut(&g, true);
	begin_to_wait(&c, &a, &z);
	assert_int_equal(status_then(&c, &a, &z, 1), 206);
	assert_int_equal(serving_stats(&c).adopted, 0);
	gateio_shut(&g, false);
	await_adopted(&c, 1);
	serving_end(&c);
}

/* ---- Room ------------------------------------------------------------- */

/* For one of two who look at once. */
static void test_room_for_one(void **state)
{
	struct sleeper z = SLEEPER;
	struct hp_ask a[2] = { adopt(1, 0, 99), adopt(3, 0, 99) };
	struct hpdsl_serve_options opt = { 0 };
	struct hpdsl_chunk row[2];
	struct gateio g;
	struct serving c;
	unsigned here = 0;

	(void)state;
	gateio_init(&g);
	g.name[0] = "/chunk-00000";
	g.no_blocks = true;
	opt.io = &g.io;
	serving_begin(&c, 0, true, &opt);
	staged_chunk(&c.f, 1, &row[0]);
	staged_chunk(&c.f, 3, &row[1]);
	g.unused = row[0].bytes > row[1].bytes ? row[0].bytes : row[1].bytes;
	g.unused += g.unused / 10;
	gateio_shut(&g, true);
	begin_to_wait(&c, &a[0], &z);
	begin_to_wait(&c, &a[1], &z);
	/* Both are at their first read: for a copy, and to pass it on. */
	gateio_await(&g, 2);
	gateio_shut(&g, false);
	for (int i = 0; i < 2; i++)
		here += status_then(&c, &a[i], &z, 2) == 206;
	/* The other one is passed on. */
	assert_int_equal(here, 2);
	await_adopted(&c, 1);
	assert_int_equal(serving_stats(&c).passed_bytes, 100);
	assert_int_equal(LOCKED(&c, c.s->adoption->reserved), 0);
	serving_end(&c);
}

/* F10: there is none: memory, as far as that goes, then nothing is kept. */
static void test_no_room(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	struct sleeper z = SLEEPER;
	struct hpdsl_serve_options opt = { 0 };
	struct hp_ask a = adopt(1, 5, 99), b = adopt(3, 5, 99);
	struct hpdsl_serve_answer n;
	struct hpdsl_chunk row;
	struct gateio g;
	struct serving c;

	(void)state;
	gateio_init(&g);
	g.unused = 1;
	opt.io = &g.io;
	opt.memory = 1;
	serving_begin(&c, 0, true, &opt);
	staged_chunk(&c.f, 1, &row);
	c.s->memory = row.bytes;
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 206);
	assert_true(n.fd >= 0);
	serving_compare(&c, &n, row.name);
	serving_done(&c, &n);
	await_adopted(&c, 1);
	assert_int_equal(serving_stats(&c).memory_bytes, row.bytes);
	assert_int_equal(serving_stats(&c).passed_bytes, 0);
	a.adopt = false;
	n = serving_ask_with(&c, &c.head, &a, NULL, false);
	assert_int_equal(n.status, 206);
	assert_int_equal(fcntl(n.fd, F_GET_SEALS) & seals, seals);
	serving_done(&c, &n);
	/* The next one only passes. */
	staged_chunk(&c.f, 3, &row);
	for (uint64_t i = 1; i <= 2; i++) {
		n = serving_ask(&c, &b, &z);
		assert_int_equal(n.status, 206);
		assert_int_equal(n.fd, -1);
		serving_compare(&c, &n, row.name);
		serving_done(&c, &n);
		assert_int_equal(serving_stats(&c).passed_bytes, 95 * i);
	}
	b.adopt = false;
	assert_int_equal(status_of(&c, &b), 404);
	assert_int_equal(LOCKED(&c, c.s->adoption->passes), 0);
	assert_int_equal(serving_stats(&c).adopted, 1);
	/* Room is looked for again, later. */
	g.unused = 0;
	b.adopt = true;
	LOCKED(&c, c.s->adoption->of[3]->again.at = 0);
	assert_int_equal(status_asked(&c, &b, &z), 206);
	await_adopted(&c, 2);
	serving_end(&c);
}

/* Once for all who wait for it; so many at a time; nobody waits for ever. */
static void test_passed_on(void **state)
{
	struct sleeper z = SLEEPER;
	struct hpdsl_serve_options opt = { 0 };
	struct hp_ask a = adopt(1, 5, 99);
	struct gateio g;
	struct serving c;

	(void)state;
	gateio_init(&g);
	g.name[0] = "/chunk-00000";
	g.unused = 1;
	opt.io = &g.io;
	serving_begin(&c, 0, true, &opt);
	gateio_shut(&g, true);
	for (int i = 0; i < 3; i++)
		begin_to_wait(&c, &a, &z);
	gateio_await(&g, 1);
	for (uint64_t i = 1; i < 16; i++) {
		struct hp_ask other = adopt(1, i, i);

		begin_to_wait(&c, &other, &z);
	}
	a.last = 17;
	assert_int_equal(status_asked(&c, &a, &z), 503);
	gateio_shut(&g, false);
	a.last = 99;
	serving_await(&z, 18);
	for (int i = 0; i < 3; i++) {
		struct hpdsl_serve_answer n =
			serving_ask_with(&c, &c.head, &a, &z, true);

		assert_int_equal(n.status, 206);
		serving_compare(&c, &n, "chunk-000001.tar");
		serving_done(&c, &n);
	}
	assert_int_equal(serving_stats(&c).passed_bytes, 95 + 15);
	/* What nobody comes for does not stay. */
	assert_int_equal(LOCKED(&c, c.s->adoption->passes), 15);
	pthread_mutex_lock(&c.s->adoption->lock);
	for (struct hp_passed *p = c.s->adoption->pass; p; p = p->next)
		p->came -= 2000 * ms;
	pthread_mutex_unlock(&c.s->adoption->lock);
	assert_int_equal(hpdsl_serve_look(c.s, NULL), 0);
	assert_int_equal(LOCKED(&c, c.s->adoption->passes), 0);
	/* F9. */
	gateio_shut(&g, true);
	begin_to_wait(&c, &a, &z);
	gateio_await(&g, 1);
	look_after(&c, NULL);
	assert_int_equal(status_then(&c, &a, &z, 19), 404);
	gateio_shut(&g, false);
	for (struct until u = { 0 }; LOCKED(&c, c.s->adoption->of[1]->failing);)
		until_next(&u);
	g.fails = -EIO;
	LOCKED(&c, c.s->adoption->of[1]->again.at = 0);
	assert_int_equal(status_asked(&c, &a, &z), 404);
	serving_end(&c);
}

/* F10: the disk is full in the middle of it. */
static void test_disk_full(void **state)
{
	struct sleeper z = SLEEPER;
	struct hpdsl_serve_options opt = { 0 };
	struct hp_ask a = adopt(1, 5, 99);
	struct hpdsl_serve_answer n;
	struct gateio g;
	struct serving c;

	(void)state;
	gateio_init(&g);
	g.no_blocks = true;
	g.write_fails = -ENOSPC;
	opt.io = &g.io;
	serving_begin(&c, 0, true, &opt);
	n = serving_ask(&c, &a, &z);
	assert_int_equal(n.status, 206);
	assert_int_equal(n.fd, -1);
	serving_compare(&c, &n, "chunk-000001.tar");
	serving_done(&c, &n);
	assert_int_equal(LOCKED(&c, c.s->adoption->reserved), 0);
	g.write_fails = 0;
	LOCKED(&c, c.s->adoption->of[1]->again.at = 0);
	assert_int_equal(status_asked(&c, &a, &z), 206);
	await_adopted(&c, 1);
	serving_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopts),
		cmocka_unit_test(test_origin_is_gone),
		cmocka_unit_test(test_origin_lies),
		cmocka_unit_test(test_origin_hangs),
		cmocka_unit_test(test_all_hang),
		cmocka_unit_test(test_from_others),
		cmocka_unit_test(test_others_lie),
		cmocka_unit_test(test_passed_from_others),
		cmocka_unit_test(test_two_adopt),
		cmocka_unit_test(test_rehomes),
		cmocka_unit_test(test_slow_rate),
		cmocka_unit_test(test_woken_before_checksum),
		cmocka_unit_test(test_room_for_one),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_passed_on),
		cmocka_unit_test(test_disk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
