/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of a job's nodes as a stager makes it: what is in it, when it is the
 * one that was there, and that none is left where it cannot be written.
 */
#include "each_fault.h"
#include "shell.h"
#include "stage_work.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hpdsl/peers.h"
#include "peers/book_file.h"

static struct hpdsl_peer_node nodes[3];

/* Of three machines in one network; what of the first one's is 10.0.0.at. */
static void set_nodes(uint8_t at)
{
	memset(nodes, 0, sizeof nodes);
	for (uint8_t i = 0; i < 3; i++) {
		const uint8_t four[4] = { 10, 0, 0, (uint8_t)(at + i) };

		snprintf(nodes[i].host, sizeof nodes[i].host, "nid%u", i);
		nodes[i].rack = 7 + i;
		nodes[i].offers = HPDSL_PEER_OFFERS;
		for (uint8_t o = 0; o < HPDSL_PEER_OFFERS; o++) {
			nodes[i].offer[o].mbits = 100 - o;
			hp_book_ipv4(four, nodes[i].offer[o].ip);
			nodes[i].offer[o].ip[13] = o;
		}
	}
}

/* Begins to stage to work_dir, which is that of one of the nodes. */
static void begin_on(struct work *w, const char *from, uint32_t node,
		     uint32_t n, const struct hp_io *io)
{
	struct hpdsl_error err;

	*w = (struct work){ .threads = 0 };
	if (work_begin(w, from, work_dir, io, &err) < 0)
		fail_msg("%s", err.msg);
	w->s->node = node;
	w->s->nodes = n;
}

static struct hpdsl_peer_book draw(struct work *w, uint32_t n, uint32_t port)
{
	struct hpdsl_peer_book b = { .rate = 1000,
				     .parts = 2,
				     .job = "job\n7" };
	struct hpdsl_error err;

	if (hpdsl_stage_draw_book(w->s, nodes, n, port, &b, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(b.rate, 1000);
	return b;
}

static void put(struct work *w, const struct hpdsl_peer_book *b)
{
	struct hpdsl_error err;

	if (hpdsl_stage_put_book(w->s, b, nodes, &err))
		fail_msg("%s", err.msg);
}

static void end(struct work *w)
{
	struct hpdsl_error err;

	assert_int_equal(hpdsl_stage_end(w->s, HPDSL_ESTOPPED, &err), 0);
	work_release(w);
}

static struct hp_book_file *load(const struct work *w)
{
	struct hp_book_file *f;
	struct hpdsl_error err;

	if (hp_book_load(w->s->io, w->s->dir, w->s->path, &f, &err))
		fail_msg("%s", err.msg);
	return f;
}

/* Id and secret: the same in both? */
static bool is_same(const struct hpdsl_peer_book *a,
		    const struct hpdsl_peer_book *b)
{
	bool same = memcmp(a->id, b->id, 16) == 0;

	assert_int_equal(memcmp(a->secret, b->secret, 32) == 0, same);
	return same;
}

static void test_what_is_in_it(void **unused)
{
	struct hpdsl_peer_book b;
	struct hp_book_file *f;
	struct work w;

	(void)unused;
	work_fresh();
	set_nodes(1);
	begin_on(&w, work_plain, 1, 3, NULL);
	b = draw(&w, 3, 0);
	put(&w, &b);
	run("[ \"$(stat -c %%a:%%h %s)\" = 600:1 ]", work_at(HP_BOOK_NAME));
	f = load(&w);
	assert_memory_equal(f->book.head.id, b.id, 16);
	assert_memory_equal(f->book.head.secret, b.secret, 32);
	assert_memory_equal(f->book.head.pack, w.pack.pack, 16);
	assert_int_equal(f->book.head.node, 1);
	assert_int_equal(f->book.head.nodes, 3);
	assert_int_equal(f->book.head.parts, 2);
	assert_int_equal(f->book.head.rate, 1000);
	assert_int_equal(f->book.head.port, hp_book_port(b.secret));
	assert_string_equal(f->book.head.job, "job 7");
	assert_true(f->book.head.made > 1700000000);
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(hp_book_host(&f->book, i), nodes[i].host);
		assert_int_equal(hp_book_rack(&f->book, i), 7 + i);
		assert_int_equal(hp_book_addresses(&f->book, i),
				 HPDSL_PEER_ADDRESSES);
		for (uint32_t o = 0; o < HPDSL_PEER_ADDRESSES; o++) {
			struct hp_book_address a =
				hp_book_address(&f->book, i, o);

			assert_int_equal(a.mbits, 100 - o);
			assert_memory_equal(a.ip, nodes[i].offer[o].ip, 16);
		}
	}
	hp_book_unload(f);
	end(&w);
}

static void test_kept(void **unused)
{
	struct hpdsl_peer_book first, b;
	struct work w;

	(void)unused;
	work_fresh();
	set_nodes(1);
	begin_on(&w, work_plain, 0, 3, NULL);
	first = draw(&w, 3, 0);
	/* None is there yet: another one. */
	b = draw(&w, 3, 0);
	assert_false(is_same(&first, &b));
	first.made = 1800000000;
	put(&w, &first);
	b = draw(&w, 3, 30000);
	assert_true(is_same(&first, &b));
	assert_true(b.made == 1800000000);
	assert_int_equal(b.port, 30000);
	/* A faster network, another switch: the same nodes. */
	nodes[1].offer[0].mbits = 7;
	nodes[1].rack = 1;
	b = draw(&w, 3, 0);
	assert_true(is_same(&first, &b));
	/* Another number of them, another address, another name. */
	b = draw(&w, 2, 0);
	assert_false(is_same(&first, &b));
	assert_true(b.made > 1700000000 && b.made != 1800000000);
	nodes[2].offer[7].ip[15]++;
	b = draw(&w, 3, 0);
	assert_false(is_same(&first, &b));
	set_nodes(1);
	nodes[2].host[0] = 'm';
	b = draw(&w, 3, 0);
	assert_false(is_same(&first, &b));
	set_nodes(1);
	b = draw(&w, 3, 0);
	assert_true(is_same(&first, &b));
	/* One that others could have read is none. */
	run("chmod 640 %s", work_at(HP_BOOK_NAME));
	b = draw(&w, 3, 0);
	assert_false(is_same(&first, &b));
	put(&w, &first);
	run("printf x >> %s", work_at(HP_BOOK_NAME));
	b = draw(&w, 3, 0);
	assert_false(is_same(&first, &b));
	end(&w);
}

/* Of another pack: what knows the old secret has the old chunks. */
static void test_other_pack(void **unused)
{
	struct hpdsl_peer_book first, b;
	struct work w;

	(void)unused;
	work_fresh();
	set_nodes(1);
	begin_on(&w, work_plain, 0, 3, NULL);
	first = draw(&w, 3, 0);
	put(&w, &first);
	end(&w);
	run("cp %s %s/book", work_at(HP_BOOK_NAME), work_fix.top);
	begin_on(&w, work_plain, 0, 3, NULL);
	b = draw(&w, 3, 0);
	assert_true(is_same(&first, &b));
	end(&w);
	work_fresh();
	begin_on(&w, work_other, 0, 3, NULL);
	run("cp %s/book %s", work_fix.top, work_at(HP_BOOK_NAME));
	b = draw(&w, 3, 0);
	assert_false(is_same(&first, &b));
	end(&w);
}

/* Nodes that nothing can be told of have a place all the same. */
static void test_bare_nodes(void **unused)
{
	struct hpdsl_peer_book b;
	struct hp_book_file *f;
	struct work w;

	(void)unused;
	work_fresh();
	memset(nodes, 0, sizeof nodes);
	begin_on(&w, work_plain, 0, 1, NULL);
	b = draw(&w, 1, 0);
	put(&w, &b);
	f = load(&w);
	assert_string_equal(hp_book_host(&f->book, 0), "?");
	assert_int_equal(hp_book_addresses(&f->book, 0), 0);
	hp_book_unload(f);
	end(&w);
}

static int no_rename(const struct hp_io *io, int old_dir, const char *old_name,
		     int new_dir, const char *new_name, unsigned flags)
{
	(void)io;
	if (strcmp(new_name, HP_BOOK_NAME) == 0)
		return -ENOSPC;
	return hp_io_system.rename(&hp_io_system, old_dir, old_name, new_dir,
				   new_name, flags);
}

/* The last job's would lead to nodes that are not this one's. */
static void test_failed(void **unused)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_peer_book b;
	struct hpdsl_error err;
	struct work w;

	(void)unused;
	work_fresh();
	set_nodes(1);
	begin_on(&w, work_plain, 0, 3, NULL);
	b = draw(&w, 3, 0);
	put(&w, &b);
	end(&w);
	assert_true(work_has(HP_BOOK_NAME));
	io.rename = no_rename;
	begin_on(&w, work_plain, 0, 3, &io);
	assert_int_equal(hpdsl_stage_put_book(w.s, &b, nodes, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, HP_BOOK_NAME));
	assert_false(work_has(HP_BOOK_NAME));
	assert_false(work_has("." HP_BOOK_NAME ".part"));
	end(&w);
}

/* Whatever fails: a whole book or none, and nothing under another name. */
static void test_each_fault(void **unused)
{
	struct hpdsl_peer_book b;
	struct work w;

	(void)unused;
	work_fresh();
	set_nodes(1);
	begin_on(&w, work_plain, 0, 3, NULL);
	b = draw(&w, 3, 0);
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		const struct hp_io *was = w.s->io;
		struct hp_book_file *f;
		struct hpdsl_error err;
		int fds = count_fds(), r;

		w.s->io = &e.f.io;
		r = hpdsl_stage_put_book(w.s, &b, nodes, &err);
		w.s->io = was;
		assert_int_equal(count_fds(), fds);
		assert_true(r == 0 ? !e.f.failed || work_has(HP_BOOK_NAME) :
				     err.code == r && e.f.failed);
		assert_true(r == 0 || !work_has(HP_BOOK_NAME));
		if (r < 0)
			continue;
		f = load(&w);
		hp_book_unload(f);
	}
	for (struct each_alloc a = { 0 }; each_alloc(&a);) {
		struct hpdsl_error err;
		int r;

		each_alloc_begin(&a);
		r = hpdsl_stage_put_book(w.s, &b, nodes, &err);
		each_alloc_end(&a);
		assert_int_equal(r, a.last ? 0 : -ENOMEM);
	}
	run("[ ! -e %s ]", work_at("." HP_BOOK_NAME ".part"));
	end(&w);
}

/* Before there is an index nobody knows what it is a book of. */
static void test_too_early(void **unused)
{
	const struct hpdsl_stage_at at = { .nodes = 3 };
	struct hpdsl_peer_book b = { .parts = 1, .port = 1 };
	struct hpdsl_stage *s;
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	set_nodes(1);
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &s, &err), 0);
	assert_int_equal(hpdsl_stage_draw_book(s, nodes, 3, 0, &b, &err),
			 HPDSL_EUSAGE);
	assert_int_equal(hpdsl_stage_put_book(s, &b, nodes, &err),
			 HPDSL_EUSAGE);
	assert_false(work_has(HP_BOOK_NAME));
	hpdsl_stage_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_in_it),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_other_pack),
		cmocka_unit_test(test_bare_nodes),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_each_fault),
		cmocka_unit_test(test_too_early),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
