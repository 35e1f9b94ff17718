/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of a server over a real stage directory: what others ask for with
 * proof, what tools ask for by name, what comes and goes under it.
 */
#include "staged.h"

#include "base/hash.h"
#include "hpdsl/serve.h"
#include "peers/book_file.h"
#include "peers/table.h"
#include "peers/wire.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A server of node 0 of two, with half of the chunks. */
struct scene {
	struct staged f;
	struct hpdsl_serve *s;
	struct hp_book_head head;
	int dir;
};

static const struct hp_book_node nodes[2] = {
	{ .host = "a",
	  .addresses = 1,
	  .address = { { .ip = { [10] = 0xff, 0xff, 10, 0, 0, 1 } } } },
	{ .host = "b" },
};

static void write_book(struct scene *c, uint8_t id)
{
	struct hpdsl_error err;

	c->head = (struct hp_book_head){
		.id = { id },
		.secret = { id, 2, 3 },
		.nodes = 2,
		.parts = 2,
		.port = 23456,
	};
	hpdsl_pack_id(c->f.origin, c->head.pack);
	if (hp_book_save(&hp_io_system, c->dir, c->f.dir, &c->head, nodes,
			 &err) < 0)
		fail_msg("%s", err.msg);
}

static void begin(struct scene *c, int zstd, bool book)
{
	struct hpdsl_error err;

	staged_begin(&c->f, zstd);
	staged_put_all(&c->f);
	for (uint32_t i = 1; i < STAGED_CHUNKS; i += 2) {
		staged_drop(&c->f, i);
		hp_state_set(c->f.state, i, HP_CHUNK_ABSENT);
	}
	c->dir = open(c->f.dir, O_RDONLY | O_DIRECTORY);
	assert_true(c->dir >= 0);
	if (book)
		write_book(c, 1);
	if (hpdsl_serve_open(c->f.dir, NULL, &c->s, &err) < 0)
		fail_msg("%s", err.msg);
}

static void end(struct scene *c)
{
	hpdsl_serve_close(c->s);
	unlinkat(c->dir, HP_BOOK_NAME, 0);
	unlinkat(c->dir, HP_TABLE_NAME, 0);
	close(c->dir);
	staged_end(&c->f);
}

/* ---- Other nodes ------------------------------------------------------ */

static void woken(void *arg);

static struct hpdsl_serve_answer ask_with(struct scene *c,
					  const struct hp_book_head *h,
					  const struct hp_ask *a, void *sleeper)
{
	char path[HP_ASK_PATH], range[HP_ASK_RANGE], proof[HP_ASK_PROOF];
	struct hpdsl_serve_request q = { .path = path, .proof = proof };
	struct hpdsl_serve_answer n;
	uint8_t mac[HP_MAC];

	hp_ask_path(a, path);
	hp_ask_range(a, range);
	assert_true(hp_ask_mac(h, a, mac));
	hp_ask_proof(h, a, mac, proof);
	q.method = a->method == HP_ASK_HEAD ? "HEAD" : "GET";
	q.range = range[0] ? range : NULL;
	q.wake = sleeper ? woken : NULL;
	q.arg = sleeper;
	hpdsl_serve_ask(c->s, &q, &n);
	return n;
}

static struct hpdsl_serve_answer ask(struct scene *c,
				     const struct hp_book_head *h,
				     const struct hp_ask *a)
{
	return ask_with(c, h, a, NULL);
}

/* As the client sees it. */
static enum hp_answer_is is(const struct scene *c, const struct hp_ask *a,
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

static void done(struct scene *c, const struct hpdsl_serve_answer *n)
{
	if (n->fd >= 0)
		close(n->fd);
	free(n->body);
	hpdsl_serve_done(c->s, n, n->length);
}

static struct hp_ask ask_for(uint32_t chunk, bool plain, uint64_t first,
			     uint64_t last)
{
	return (struct hp_ask){ .method = HP_ASK_GET,
				.kind = plain ? HP_ASK_PLAIN : HP_ASK_STORED,
				.chunk = chunk,
				.first = first,
				.last = last,
				.nonce = { 9 } };
}

static void compare(const struct scene *c, const struct hpdsl_serve_answer *n,
		    const char *name)
{
	char path[PACKED_PATH];
	char *all, *got = malloc(n->length);
	size_t size;

	snprintf(path, sizeof path, "%s/%s", c->f.p.out, name);
	all = packed_get(path, &size);
	assert_true(n->offset + n->length <= size);
	assert_int_equal(pread(n->fd, got, n->length, (off_t)n->offset),
			 n->length);
	assert_memory_equal(got, all + n->offset, n->length);
	free(got);
	free(all);
}

static void test_nodes(void **state)
{
	(void)state;
	for (int zstd = 0; zstd <= 3; zstd += 3) {
		unsigned compressed = 0;
		struct scene c;

		begin(&c, zstd, true);
		for (uint32_t i = 0; i <= STAGED_CHUNKS; i++) {
			struct hpdsl_chunk row;
			struct hp_expected e;
			struct hpdsl_serve_answer n;
			struct hp_ask a;

			/* Not each of them is worth to be compressed. */
			staged_chunk(&c.f, i < STAGED_CHUNKS ? i : 0, &row);
			a = ask_for(i, !row.compressed, 3, 102);
			n = ask(&c, &c.head, &a);
			assert_true(n.proven);
			compressed += row.compressed;
			e = (struct hp_expected){ row.bytes, row.checksum };
			assert_int_equal(is(&c, &a, &e, &n),
					 i % 2 || i == STAGED_CHUNKS ?
						 HP_ANSWER_ABSENT :
						 HP_ANSWER_GOOD);
			if (n.status == 206)
				compare(&c, &n, row.name);
			done(&c, &n);
			/* The other form is not here. */
			a.kind ^= HP_ASK_PLAIN ^ HP_ASK_STORED;
			n = ask(&c, &c.head, &a);
			assert_int_equal(n.status, 404);
			done(&c, &n);
		}
		assert_int_equal(compressed > 0, zstd > 0);
		end(&c);
	}
}

static struct hpdsl_serve_answer ask_have(struct scene *c)
{
	const struct hp_ask a = { .method = HP_ASK_GET,
				  .kind = HP_ASK_HAVE,
				  .chunk = HP_ASK_NO_CHUNK,
				  .last = HP_ASK_NO_LAST };

	assert_int_equal(hpdsl_serve_look(c->s, NULL), 0);
	return ask(c, &c->head, &a);
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
	struct scene c;

	(void)state;
	begin(&c, 0, true);
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
	done(&c, &n);
	hpdsl_serve_stats(c.s, &st);
	assert_int_equal(st.owes, 0);
	assert_int_equal(st.bytes, n.length);
	end(&c);
}

/* A chunk that came, or went, since it was looked at. */
static void test_comes_and_goes(void **state)
{
	struct hp_ask a = ask_for(1, true, 0, 9);
	struct hpdsl_serve_answer n;
	struct scene c;

	(void)state;
	begin(&c, 0, true);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 404);
	done(&c, &n);
	staged_put(&c.f, 1);
	hp_state_set(c.f.state, 1, HP_CHUNK_READY);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	done(&c, &n);
	/* It says that it is here, and no file is. */
	hp_state_set(c.f.state, 3, HP_CHUNK_READY);
	a.chunk = 3;
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 404);
	done(&c, &n);
	end(&c);
}

static void test_queue(void **state)
{
	const struct hpdsl_serve_options opt = { .queue = 100 };
	struct hp_ask a = ask_for(0, true, 0, 99);
	struct hpdsl_serve_answer one, two;
	struct scene c;

	(void)state;
	begin(&c, 0, true);
	hpdsl_serve_close(c.s);
	assert_int_equal(hpdsl_serve_open(c.f.dir, &opt, &c.s, NULL), 0);
	one = ask(&c, &c.head, &a);
	assert_int_equal(one.status, 206);
	two = ask(&c, &c.head, &a);
	assert_int_equal(two.status, 503);
	assert_true(two.retry > 0);
	done(&c, &two);
	done(&c, &one);
	one = ask(&c, &c.head, &a);
	assert_int_equal(one.status, 206);
	done(&c, &one);
	end(&c);
}

static void test_leaving(void **state)
{
	struct hp_ask a = ask_for(0, true, 0, 99);
	struct hpdsl_serve_answer n;
	struct scene c;

	(void)state;
	begin(&c, 0, true);
	hpdsl_serve_drain(c.s, true);
	/* Nobody else was to have it. */
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	done(&c, &n);
	/* Both nodes hold everything. */
	c.head.parts = 1;
	c.head.id[0]++;
	assert_int_equal(hp_book_save(&hp_io_system, c.dir, c.f.dir, &c.head,
				      nodes, NULL),
			 0);
	assert_int_equal(hpdsl_serve_look(c.s, NULL), 0);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 503);
	done(&c, &n);
	end(&c);
}

/* ---- Adopted ---------------------------------------------------------- */

struct sleeper {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned woken;
};

static void woken(void *arg)
{
	struct sleeper *z = arg;

	pthread_mutex_lock(&z->lock);
	z->woken++;
	pthread_cond_signal(&z->wake);
	pthread_mutex_unlock(&z->lock);
}

static void await(struct sleeper *z, unsigned n)
{
	pthread_mutex_lock(&z->lock);
	while (z->woken < n)
		pthread_cond_wait(&z->wake, &z->lock);
	pthread_mutex_unlock(&z->lock);
}

/* Until it is there, or is not to be had. */
static struct hpdsl_serve_answer ask_patiently(struct scene *c,
					       const struct hp_ask *a,
					       struct sleeper *z)
{
	struct hpdsl_serve_answer n;

	for (;;) {
		unsigned before = z->woken;

		n = ask_with(c, &c->head, a, z);
		if (n.status)
			return n;
		hpdsl_serve_done(c->s, &n, 0);
		await(z, before + 1);
	}
}

static struct hpdsl_serve_stats stats_of(struct scene *c)
{
	struct hpdsl_serve_stats st;

	hpdsl_serve_stats(c->s, &st);
	return st;
}

static void test_adopts(void **state)
{
	struct sleeper z = { PTHREAD_MUTEX_INITIALIZER,
			     PTHREAD_COND_INITIALIZER, 0 };
	struct hpdsl_serve_answer n;
	struct hpdsl_chunk row;
	struct scene c;

	(void)state;
	begin(&c, 0, true);
	for (uint32_t i = 1; i < STAGED_CHUNKS; i += 2) {
		struct hp_ask a;

		staged_chunk(&c.f, i, &row);
		a = ask_for(i, true, 100, row.bytes - 1);
		/* Nobody adopts what he is not told to. */
		n = ask_with(&c, &c.head, &a, &z);
		assert_int_equal(n.status, 404);
		done(&c, &n);
		a.adopt = true;
		n = ask(&c, &c.head, &a);
		assert_int_equal(n.status, 404);
		done(&c, &n);
		n = ask_patiently(&c, &a, &z);
		assert_int_equal(n.status, 206);
		compare(&c, &n, row.name);
		done(&c, &n);
		/* Now it is here for everybody. */
		a.adopt = false;
		n = ask(&c, &c.head, &a);
		assert_int_equal(n.status, 206);
		done(&c, &n);
	}
	while (stats_of(&c).adopted < STAGED_CHUNKS / 2)
		usleep(1000);
	/* Each byte once. */
	assert_true(stats_of(&c).adopted_bytes > 0);
	n = ask_have(&c);
	for (uint32_t i = 0; i < STAGED_CHUNKS; i++)
		assert_int_equal(hp_have_get(n.body, i), HP_HAVE_PLAIN);
	done(&c, &n);
	end(&c);
}

static void test_adopts_nothing(void **state)
{
	struct sleeper z = { PTHREAD_MUTEX_INITIALIZER,
			     PTHREAD_COND_INITIALIZER, 0 };
	struct hp_ask a = ask_for(1, true, 0, 99);
	struct hpdsl_serve_answer n;
	struct hpdsl_chunk row;
	struct scene c;

	(void)state;
	a.adopt = true;
	begin(&c, 0, true);
	/* The origin is gone, and comes back. */
	staged_hide_origin(&c.f);
	n = ask_patiently(&c, &a, &z);
	assert_int_equal(n.status, 404);
	done(&c, &n);
	staged_show_origin(&c.f);
	do {
		usleep(100000);
		n = ask_patiently(&c, &a, &z);
		done(&c, &n);
	} while (n.status == 404);
	assert_int_equal(n.status, 206);
	/* What the origin has is not what was packed: it is not kept. */
	staged_chunk(&c.f, 3, &row);
	packed_flip(packed_at(&c.f.p, "out/chunk-000003.tar"), 5, 0);
	a.chunk = 3;
	n = ask_patiently(&c, &a, &z);
	done(&c, &n);
	do {
		usleep(1000);
		a.adopt = false;
		n = ask(&c, &c.head, &a);
		done(&c, &n);
	} while (n.status != 404);
	assert_int_equal(stats_of(&c).adopted, 1);
	/* Who waits when it ends is woken. */
	a.adopt = true;
	hpdsl_serve_quit(c.s);
	n = ask_patiently(&c, &a, &z);
	assert_int_equal(n.status, 404);
	done(&c, &n);
	end(&c);
}

/* ---- Books ------------------------------------------------------------ */

static void test_books(void **state)
{
	static const uint8_t known[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	static const uint8_t stranger[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
	struct hp_ask a = ask_for(0, true, 0, 9);
	struct hpdsl_serve_book b;
	struct hp_book_head old;
	struct hpdsl_error err;
	struct hpdsl_serve_answer n;
	struct scene c;

	(void)state;
	begin(&c, 0, false);
	hpdsl_serve_book(c.s, &b);
	assert_false(b.any);
	assert_false(hpdsl_serve_knows(c.s, known));
	write_book(&c, 1);
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 403);
	assert_false(n.proven);
	assert_string_equal(n.proof, "");
	done(&c, &n);
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
		done(&c, &n);
		write_book(&c, id);
		assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
		n = ask(&c, &c.head, &a);
		assert_int_equal(n.status, 206);
		done(&c, &n);
	}
	n = ask(&c, &old, &a);
	assert_int_equal(n.status, 403);
	done(&c, &n);
	/* A bad one is told of once, and changes nothing. */
	assert_int_equal(fchmodat(c.dir, HP_BOOK_NAME, 0644, 0), 0);
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_non_null(strstr(err.msg, "others have rights to it"));
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_string_equal(err.msg, "");
	n = ask(&c, &c.head, &a);
	assert_int_equal(n.status, 206);
	done(&c, &n);
	/* So is one of another dataset. */
	c.head.pack[3] ^= 1;
	assert_int_equal(hp_book_save(&hp_io_system, c.dir, c.f.dir, &c.head,
				      nodes, NULL),
			 0);
	assert_int_equal(hpdsl_serve_look(c.s, &err), 0);
	assert_non_null(strstr(err.msg, "of another dataset"));
	end(&c);
}

/* Every number that a proof is over. */
static void test_unproven(void **state)
{
	struct hp_ask a = ask_for(0, true, 0, 9);
	struct hpdsl_serve_stats st;
	struct scene c;

	(void)state;
	begin(&c, 0, true);
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
		done(&c, &n);
	}
	hpdsl_serve_stats(c.s, &st);
	assert_int_equal(st.unproven, 5);
	assert_int_equal(st.requests, 0);
	assert_int_equal(st.asked, 0);
	end(&c);
}

/* ---- Tools of the node ------------------------------------------------ */

static struct hpdsl_serve_answer local(struct scene *c, const char *method,
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

static void read_chunk(struct scene *c, const struct hpdsl_chunk *row)
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
		compare(c, &n, row->name);
	} else {
		got = malloc(size);
		assert_int_equal(hpdsl_serve_read(c->s, &n, 0, got, size, NULL),
				 size);
		assert_memory_equal(got, all, size);
		assert_int_equal(hpdsl_serve_read(c->s, &n, 100, got, 7, NULL),
				 7);
		assert_memory_equal(got, all + 100, 7);
		free(got);
	}
	free(all);
	done(c, &n);
	n = local(c, "HEAD", path, "bytes=-10");
	assert_int_equal(n.status, 206);
	assert_true(n.head);
	assert_int_equal(n.offset, row->bytes - 10);
	done(c, &n);
	n = local(c, "GET", path, "bytes=99999999-");
	assert_int_equal(n.status, 416);
	assert_int_equal(n.length, 0);
	done(c, &n);
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
		struct scene c;

		begin(&c, zstd, false);
		for (uint32_t i = 0; i < STAGED_CHUNKS; i++) {
			struct hpdsl_chunk row;

			staged_chunk(&c.f, i, &row);
			read_chunk(&c, &row);
		}
		for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
			n = local(&c, "GET", no[i], NULL);
			assert_int_equal(n.status, 404);
			done(&c, &n);
		}
		/* The other form is nowhere. */
		n = local(&c, "GET",
			  zstd ? "/chunk-000002.tar" : "/chunk-000002.tar.zst",
			  NULL);
		assert_int_equal(n.status, 404);
		done(&c, &n);
		n = local(&c, "PUT", "/chunk-000000.tar", NULL);
		assert_int_equal(n.status, 405);
		done(&c, &n);
		end(&c);
	}
}

/* ---- The directory ---------------------------------------------------- */

static void test_directory(void **state)
{
	struct hpdsl_error err;
	struct hpdsl_serve *s;
	struct scene c;

	(void)state;
	begin(&c, 0, false);
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
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_have),
		cmocka_unit_test(test_comes_and_goes),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_adopts),
		cmocka_unit_test(test_adopts_nothing),
		cmocka_unit_test(test_books),
		cmocka_unit_test(test_unproven),
		cmocka_unit_test(test_tools),
		cmocka_unit_test(test_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
