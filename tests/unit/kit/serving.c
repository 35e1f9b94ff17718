/* SPDX-License-Identifier: Apache-2.0 */
#include "serving.h"

#include "until.h"

#include "peers/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const struct hp_book_node serving_nodes[2] = {
	{ .host = "a",
	  .addresses = 1,
	  .address = { { .ip = { [10] = 0xff, 0xff, 10, 0, 0, 1 } } } },
	{ .host = "b" },
};

void serving_write_book(struct serving *c, uint8_t id)
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
	if (hp_book_save(&hp_io_system, c->dir, c->f.dir, &c->head,
			 serving_nodes, &err) < 0)
		fail_msg("%s", err.msg);
}

void serving_begin(struct serving *c, int zstd, bool book,
		   const struct hpdsl_serve_options *opt)
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
		serving_write_book(c, 1);
	if (hpdsl_serve_open(c->f.dir, opt, &c->s, &err) < 0)
		fail_msg("%s", err.msg);
}

void serving_end(struct serving *c)
{
	hpdsl_serve_close(c->s);
	unlinkat(c->dir, HP_BOOK_NAME, 0);
	unlinkat(c->dir, HP_TABLE_NAME, 0);
	close(c->dir);
	staged_end(&c->f);
}

/* ---- Asked ------------------------------------------------------------ */

static void woken(void *arg)
{
	struct sleeper *z = arg;

	pthread_mutex_lock(&z->lock);
	z->woken++;
	pthread_cond_broadcast(&z->wake);
	pthread_mutex_unlock(&z->lock);
}

void serving_await(struct sleeper *z, unsigned n)
{
	struct until u = { 0 };
	bool late;

	do {
		pthread_mutex_lock(&z->lock);
		late = z->woken < n;
		pthread_mutex_unlock(&z->lock);
		if (late)
			until_next(&u);
	} while (late);
}

struct hp_ask serving_ask_for(uint32_t chunk, bool plain, uint64_t first,
			      uint64_t last)
{
	return (struct hp_ask){ .method = HP_ASK_GET,
				.kind = plain ? HP_ASK_PLAIN : HP_ASK_STORED,
				.chunk = chunk,
				.first = first,
				.last = last,
				.nonce = { 9 } };
}

struct hpdsl_serve_answer serving_ask_with(struct serving *c,
					   const struct hp_book_head *h,
					   const struct hp_ask *a,
					   struct sleeper *z, bool waited)
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
	q.wake = z ? woken : NULL;
	q.arg = z;
	q.waited = waited;
	hpdsl_serve_ask(c->s, &q, &n);
	return n;
}

struct hpdsl_serve_answer serving_ask(struct serving *c, const struct hp_ask *a,
				      struct sleeper *z)
{
	unsigned before = z->woken;
	struct hpdsl_serve_answer n =
		serving_ask_with(c, &c->head, a, z, false);

	if (n.status)
		return n;
	hpdsl_serve_done(c->s, &n, 0);
	serving_await(z, before + 1);
	return serving_ask_with(c, &c->head, a, z, true);
}

void serving_compare(const struct serving *c,
		     const struct hpdsl_serve_answer *n, const char *name)
{
	char path[PACKED_PATH];
	char *all, *got = malloc(n->length);
	size_t size;

	snprintf(path, sizeof path, "%s/%s", c->f.p.out, name);
	all = packed_get(path, &size);
	assert_true(n->offset + n->length <= size);
	if (n->body)
		memcpy(got, n->body, n->length);
	else
		assert_int_equal(pread(n->fd, got, n->length, (off_t)n->offset),
				 n->length);
	assert_memory_equal(got, all + n->offset, n->length);
	free(got);
	free(all);
}

void serving_done(struct serving *c, const struct hpdsl_serve_answer *n)
{
	if (n->fd >= 0)
		close(n->fd);
	free(n->body);
	hpdsl_serve_done(c->s, n, n->length);
}

struct hpdsl_serve_stats serving_stats(struct serving *c)
{
	struct hpdsl_serve_stats st;

	hpdsl_serve_stats(c->s, &st);
	return st;
}
