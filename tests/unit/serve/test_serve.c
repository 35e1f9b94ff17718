/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of a server over a real stage directory: what others ask for with
 * proof, what tools ask for by name, what comes and goes under it.
 */
#include "serving.h"

#include "base/hash.h"
#include "hpdsl/serve.h"
#include "peers/book_file.h"
#include "peers/table.h"
#include "peers/wire.h"
#include "serve/private.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Other nodes ------------------------------------------------------ */

static struct hpdsl_serve_answer ask(struct serving *c,
				     const struct hp_book_head *h,
				     const struct hp_ask *a)
{
	return serving_ask_with(c, h, a, NULL, false);
}

/* As the client sees it. */
static enum hp_answer_is is(const struct serving *c, const struct hp_ask *a,
			    const struct hp_expected *e,
			    const struct hpdsl_serve_answer *n)
{
	char length[24];
	struct hp_answer ret;
	struct hp_answered what = { .status = n->status, .length = length };

	snprintf(length, sizeof length, "%llu", (unsigned long long)n->length);
	what.range = n->range[0] ? n->range : NULL;
	what.tag = n->tag[0] ? n->tag : NULL;
	what.proof = n->proof[0] ? n->proof : NULL;
	return hp_answered(&c->head, a, e, &what, &ret);
}

static void test_nodes(void **state)
{
	(void)state;
	for (int zstd = 0; zstd <= 3; zstd += 3) {
		unsigned compressed = 0;
		struct serving c;

		serving_begin(&c, zstd, true, NULL);
		for (uint32_t i = 0; i <= STAGED_CHUNKS; i++) {
			struct hpdsl_chunk row;
			struct hp_expected e;
			struct hpdsl_serve_answer n;
			struct hp_ask a;

			/* Not each of them is worth to be compressed. */
			staged_chunk(&c.f, i < STAGED_CHUNKS ? i : 0, &row);
			a = serving_ask_for(i, !row.compressed, 3, 102);
			n = ask(&c, &c.head, &a);
			assert_true(n.proven);
			compressed += row.compressed;
			e = (struct hp_expected){ row.bytes, row.checksum };
			assert_int_equal(is(&c, &a, &e, &n),
					 i % 2 || i == STAGED_CHUNKS ?
						 HP_ANSWER_ABSENT :
						 HP_ANSWER_GOOD);
			if (n.status == 206)
				serving_compare(&c, &n, row.name);
			serving_done(&c, &n);
			/* The other form is not here. */
			a.kind ^= HP_ASK_PLAIN ^ HP_ASK_STORED;
			n = ask(&c, &c.head, &a);
			assert_int_equal(n.status, 404);
			serving_done(&c, &n);
		}
		assert_int_equal(compressed > 0, zstd > 0);
		serving_end(&c);
	}
}

static void test_have(void **state)
{
	struct hp_ask a = { .method = HP_ASK_GET,
			    .kind = HP_ASK_HAVE,
			    .chunk = HP_ASK_NO_CHUNK,
			    .last = HP_ASK_NO_LAST };
	const struct hp_expected e = { .size = hp_have_size(STAGED_CHUNKS) };
	struct hpdsl_serve_stats st;
	struct hpdsl_serve_answer n;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	hp_state_set(c.f.state, 1, HP_CHUNK_COMING);
	assert_int_equal(hpdsl_serve_look(c.s, NULL), 0);
	n = ask(&c, &c.head, &a);
	assert_int_equal(is(&c, &a, &e, &n), HP_ANSWER_GOOD);
	assert_true(hp_have_is_whole(n.body, STAGED_CHUNKS));
	for (uint32_t i = 0; i < STAGED_CHUNKS; i++)
		assert_int_equal(hp_have_get(n.body, i),
				 i == 1 ? HP_HAVE_COMING :
				 i % 2	? HP_HAVE_NOT :
					  HP_HAVE_PLAIN);
	hpdsl_serve_stats(c.s, &st);
	assert_int_equal(st.owes, n.length);
	assert_int_equal(st.here, STAGED_CHUNKS / 2);
	assert_int_equal(st.coming, 1);
	serving_done(&c, &n);
	hpdsl_serve_stats(c.s, &st);
	assert_int_equal(st.owes, 0);
	assert_int_equal(st.bytes, n.length);
	serving_end(&c);
}

/* A chunk that came, or went, since it was looked at. */
static void test_comes_and_goes(void **state)
{
	struct hp_ask a = serving_ask_for(1, true, 0, 9);
	struct hpdsl_serve_answer n;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 404);
	serving_done(&c, &n);
	staged_put(&c.f, 1);
	hp_state_set(c.f.state, 1, HP_CHUNK_READY);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	/* It says that it is here, and no file is. */
	hp_state_set(c.f.state, 3, HP_CHUNK_READY);
	a.chunk = 3;
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 404);
	serving_done(&c, &n);
	serving_end(&c);
}

static char first_byte(struct serving *c, const struct hp_ask *a)
{
	struct hpdsl_serve_answer n = ask(c, &c->head, a);
	char byte;

	assert_int_equal(n.status, 206);
	assert_int_equal(pread(n.fd, &byte, 1, 0), 1);
	serving_done(c, &n);
	return byte;
}

/* A file that took the place of one that was served, and one that is gone. */
static void test_replaced(void **state)
{
	struct hp_ask a = serving_ask_for(0, true, 0, 9);
	char name[64];
	struct hpdsl_serve_answer n;
	struct hpdsl_chunk row;
	struct serving c;
	int fd;
	char was;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	staged_chunk(&c.f, 0, &row);
	snprintf(name, sizeof name, "%s", row.name);
	was = first_byte(&c, &a);
	fd = openat(c.dir, "new", O_WRONLY | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)row.bytes), 0);
	was = (char)~was;
	assert_int_equal(pwrite(fd, &was, 1, 0), 1);
	close(fd);
	assert_int_equal(renameat(c.dir, "new", c.dir, name), 0);
	assert_int_equal(first_byte(&c, &a), was);
	assert_int_equal(unlinkat(c.dir, name, 0), 0);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 404);
	serving_done(&c, &n);
	serving_end(&c);
}

static void test_queue(void **state)
{
	const struct hpdsl_serve_options opt = { .queue = 100 };
	struct hp_ask a = serving_ask_for(0, true, 0, 99);
	struct hpdsl_serve_answer one, two;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	hpdsl_serve_close(c.s);
	assert_int_equal(hpdsl_serve_open(c.f.dir, &opt, &c.s, NULL), 0);
	one = ask(&c, &c.head, &a);
	assert_int_equal(one.status, 206);
	two = ask(&c, &c.head, &a);
	assert_int_equal(two.status, 503);
	assert_true(two.retry > 0);
	serving_done(&c, &two);
	serving_done(&c, &one);
	one = ask(&c, &c.head, &a);
	assert_int_equal(one.status, 206);
	serving_done(&c, &one);
	serving_end(&c);
}

/* At a rate answers stand in a line, and who would wait long is put off. */
static void test_rate(void **state)
{
	struct hp_ask a = serving_ask_for(0, true, 0, 999);
	struct hpdsl_serve_answer n = { .status = 206 };
	struct hpdsl_serve_stats s;
	struct serving c;
	uint64_t last = 0;
	unsigned given = 0, waits = 0;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	hpdsl_serve_rate(c.s, 4000); /* a quarter of a second each */
	for (; n.status == 206; given++) {
		n = ask(&c, &c.head, &a);
		serving_done(&c, &n);
		if (n.status != 206)
			break;
		assert_true(!n.after || n.after > last);
		waits += n.after > 0;
		last = n.after;
	}
	assert_int_equal(n.status, 503);
	assert_int_equal(n.fd, -1);
	assert_true(n.retry > 0);
	assert_in_range(given, 3, 10);
	hpdsl_serve_stats(c.s, &s);
	assert_int_equal(s.rate, 4000);
	assert_int_equal(s.paced, waits);
	assert_true(waits > 0 && s.paced_ns > 0);
	/* heads, lists and tools of the node are not concerned */
	a.method = HP_ASK_HEAD;
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	assert_int_equal(n.after, 0);
	serving_done(&c, &n);
	hpdsl_serve_rate(c.s, 0);
	a.method = HP_ASK_GET;
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	assert_int_equal(n.after, 0);
	serving_done(&c, &n);
	serving_end(&c);
}

static void test_leaving(void **state)
{
	struct hp_ask a = serving_ask_for(0, true, 0, 99);
	struct hpdsl_serve_answer n;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	assert_true(hp_table_since(&c.s->table, 0) > 0);
	/* Readers of the node find the server where it says that it is. */
	hpdsl_serve_listens(c.s, 4711);
	assert_int_equal(hp_table_get(&c.s->table, c.head.node, 0).port, 4711);
	hpdsl_serve_drain(c.s, true);
	/* No reader waits for servers that come up when it goes. */
	assert_int_equal(hp_table_since(&c.s->table, 0), 0);
	/* Nobody else was to have it. */
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	/* Both nodes hold everything. */
	c.head.parts = 1;
	c.head.id[0]++;
	assert_int_equal(hp_book_save(&hp_io_system, c.dir, c.f.dir, &c.head,
				      serving_nodes, NULL),
			 0);
	assert_int_equal(hpdsl_serve_look(c.s, NULL), 0);
	/* in the table of another book, too */
	assert_int_equal(hp_table_get(&c.s->table, c.head.node, 0).port, 4711);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 503);
	serving_done(&c, &n);
	/* But the other one has failed. */
	hp_table_suspect(&c.s->table, 1, 1, 2);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	serving_end(&c);
}

/* ---- Books ------------------------------------------------------------ */

static void test_books(void **state)
{
	static const uint8_t known[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	static const uint8_t stranger[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
	struct hp_ask a = serving_ask_for(0, true, 0, 9);
	struct hpdsl_serve_book b;
	struct hp_book_head old;
	struct hpdsl_error err;
	struct hpdsl_serve_answer n;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, false, NULL);
	hpdsl_serve_book(c.s, &b);
	assert_false(b.any);
	assert_false(hpdsl_serve_knows(c.s, known));
	serving_write_book(&c, 1);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 403);
	assert_false(n.proven);
	assert_string_equal(n.proof, "");
	serving_done(&c, &n);
	/* It appears, and so does the gate. */
	assert_int_equal(faccessat(c.dir, HP_TABLE_NAME, F_OK, 0), -1);
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_string_equal(err.msg, "");
	assert_int_equal(faccessat(c.dir, HP_TABLE_NAME, F_OK, 0), 0);
	hpdsl_serve_book(c.s, &b);
	assert_true(b.any && b.nodes == 2 && b.node == 0 && b.port == 23456);
	assert_true(hpdsl_serve_knows(c.s, known));
	assert_false(hpdsl_serve_knows(c.s, stranger));
	/* Two later: the last but one is served as well, and no other. */
	old = c.head;
	for (uint8_t id = 2; id < 4; id++) {
		n = ask(&c, &old, &a);
		assert_int_equal(n.status, 206);
		serving_done(&c, &n);
		serving_write_book(&c, id);
		assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
		n = ask(&c, &c.head, &a);
		assert_int_equal(n.status, 206);
		serving_done(&c, &n);
	}
	n = ask(&c, &old, &a);
	assert_int_equal(n.status, 403);
	serving_done(&c, &n);
	/* A bad one is told of once, and changes nothing. */
	assert_int_equal(fchmodat(c.dir, HP_BOOK_NAME, 0644, 0), 0);
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_non_null(strstr(err.msg, "others have rights to it"));
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_string_equal(err.msg, "");
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	serving_done(&c, &n);
	/* So is one of another dataset. */
	c.head.pack[3] ^= 1;
	assert_int_equal(hp_book_save(&hp_io_system, c.dir, c.f.dir, &c.head,
				      serving_nodes, NULL),
			 0);
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_non_null(strstr(err.msg, "of another dataset"));
	serving_end(&c);
}

/* Every number that a proof is over. */
static void test_unproven(void **state)
{
	struct hp_ask a = serving_ask_for(0, true, 0, 9);
	struct hpdsl_serve_stats st;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, true, NULL);
	for (int i = 0; i < 8; i++) {
		struct hp_book_head h = c.head;
		struct hp_ask other = a;
		struct hpdsl_serve_answer n;

		switch (i) {
		case 0:
			h.secret[31] ^= 1;
			break;
		case 1:
			h.id[15] ^= 1;
			break;
		case 2:
			h.pack[0] ^= 1;
			break;
		case 3:
			other.node = 1;
			break;
		case 4:
			memset(h.secret, 0, sizeof h.secret);
			break;
		default:
			continue;
		}
		n = ask(&c, &h, &other);
		assert_int_equal(n.status, 403);
		assert_false(n.proven);
		assert_int_equal(n.fd, -1);
		assert_string_equal(n.proof, "");
		assert_string_equal(n.tag, "");
		serving_done(&c, &n);
	}
	hpdsl_serve_stats(c.s, &st);
	assert_int_equal(st.unproven, 5);
	assert_int_equal(st.requests, 0);
	assert_int_equal(st.asked, 0);
	serving_end(&c);
}

/* ---- Tools of the node ------------------------------------------------ */

static struct hpdsl_serve_answer local(struct serving *c, const char *method,
				       const char *path, const char *range)
{
	const struct hpdsl_serve_request q = { .method = method,
					       .path = path,
					       .range = range };
	struct hpdsl_serve_answer n;

	hpdsl_serve_ask_local(c->s, &q, &n);
	assert_false(n.proven);
	return n;
}

/* Of bytes that are not the chunk's all but the last ones are given. */
static void held_back(struct serving *c, const char *path,
		      const struct hpdsl_chunk *row, char *buf)
{
	struct hpdsl_serve_answer n = local(c, "GET", path, NULL);
	const size_t size = (size_t)n.length;

	assert_non_null(n.sum);
	assert_int_equal(hpdsl_serve_read(c->s, &n, 0, buf, 100, NULL), 100);
	/* as if the byte before had been another one */
	((uint8_t *)n.sum)[0] ^= 1;
	assert_int_equal(hpdsl_serve_read(c->s, &n, 100, buf, size - 101, NULL),
			 size - 101);
	assert_int_equal(hpdsl_serve_read(c->s, &n, size - 1, buf, 1, NULL),
			 HPDSL_ECORRUPT);
	serving_done(c, &n);
	n = local(c, "GET", path, "bytes=5-9");
	assert_int_equal(n.status, 206);
	assert_null(n.sum);
	assert_true(n.length < row->bytes);
	serving_done(c, &n);
}

static void read_chunk(struct serving *c, const struct hpdsl_chunk *row)
{
	char path[HP_STAGE_NAME + 1], file[PACKED_PATH], *all, *got;
	struct hpdsl_serve_answer n;
	size_t size;

	snprintf(path, sizeof path, "/%s", row->name);
	n = local(c, "GET", path, NULL);
	assert_int_equal(n.status, 200);
	assert_int_equal(n.length, row->bytes);
	/* What is not here comes from the origin. */
	assert_int_equal(n.fd >= 0, row->number % 2 == 0);
	snprintf(file, sizeof file, "%s/%s", c->f.p.out, row->name);
	all = packed_get(file, &size);
	if (n.fd >= 0) {
		serving_compare(c, &n, row->name);
	} else {
		got = malloc(size);
		assert_int_equal(hpdsl_serve_read(c->s, &n, 0, got, size, NULL),
				 size);
		assert_memory_equal(got, all, size);
		assert_int_equal(hpdsl_serve_read(c->s, &n, 100, got, 7, NULL),
				 7);
		assert_memory_equal(got, all + 100, 7);
		serving_done(c, &n);
		held_back(c, path, row, got);
		free(got);
		n = local(c, "GET", path, NULL);
	}
	free(all);
	serving_done(c, &n);
	n = local(c, "HEAD", path, "bytes=-10");
	assert_int_equal(n.status, 206);
	assert_true(n.head);
	assert_int_equal(n.offset, row->bytes - 10);
	serving_done(c, &n);
	n = local(c, "GET", path, "bytes=99999999-");
	assert_int_equal(n.status, 416);
	assert_int_equal(n.length, 0);
	serving_done(c, &n);
}

static void test_tools(void **state)
{
	static const char *const no[] = { "/",
					  "/chunk-000006.tar",
					  "/chunk-00000.tar",
					  "/index.hpdsl",
					  "/peers.hpdsl",
					  "/../out/chunk-000000.tar",
					  "/.",
					  "chunk-000000.tar" };

	(void)state;
	for (int zstd = 0; zstd <= 3; zstd += 3) {
		struct hpdsl_serve_answer n;
		struct serving c;

		serving_begin(&c, zstd, false, NULL);
		for (uint32_t i = 0; i < STAGED_CHUNKS; i++) {
			struct hpdsl_chunk row;

			staged_chunk(&c.f, i, &row);
			read_chunk(&c, &row);
		}
		for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
			n = local(&c, "GET", no[i], NULL);
			assert_int_equal(n.status, 404);
			serving_done(&c, &n);
		}
		/* The other form is nowhere. */
		n = local(&c, "GET",
			  zstd ? "/chunk-000002.tar" : "/chunk-000002.tar.zst",
			  NULL);
		assert_int_equal(n.status, 404);
		serving_done(&c, &n);
		n = local(&c, "PUT", "/chunk-000000.tar", NULL);
		assert_int_equal(n.status, 405);
		serving_done(&c, &n);
		serving_end(&c);
	}
}

/* ---- The directory ---------------------------------------------------- */

static void test_directory(void **state)
{
	struct hpdsl_error err;
	struct hpdsl_serve *s;
	struct serving c;

	(void)state;
	serving_begin(&c, 0, false, NULL);
	assert_int_equal(chmod(c.f.dir, 0775), 0);
	assert_int_equal(hpdsl_serve_open(c.f.dir, NULL, &s, &err), -EPERM);
	assert_non_null(
		strstr(err.msg, "others may write into it (mode 0775)"));
	assert_int_equal(chmod(c.f.dir, 0700), 0);
	/* What is packed is not staged. */
	assert_int_equal(hpdsl_serve_open(c.f.p.out, NULL, &s, &err), -ENOENT);
	assert_int_equal(hpdsl_serve_open("no/such", NULL, &s, &err), -ENOENT);
	assert_int_equal(unlinkat(c.dir, HP_STATE_NAME, 0), 0);
	assert_int_equal(hpdsl_serve_look(c.s, &err), -ENOENT);
	serving_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_have),
		cmocka_unit_test(test_comes_and_goes),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_books),
		cmocka_unit_test(test_unproven),
		cmocka_unit_test(test_tools),
		cmocka_unit_test(test_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
