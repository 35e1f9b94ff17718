/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the job's other servers, one for each book. */
#include "serve/held.h"

#include "peers/client.h"
#include "peers/holders.h"
#include "peers/whom.h"
#include "serve/private.h"
#include "sys/clock.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

/* For a stretch: one who does not answer is not waited for. */
#define PATIENCE UINT64_C(4000000000)

struct hp_held {
	struct hp_held *before; /* somebody may still be asking by it */
	struct hp_client *client;
};

/* ---- By a book -------------------------------------------------------- */

static bool form(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		 struct hp_client_form *ret)
{
	const struct hpdsl_serve *s = arg;
	struct hpdsl_chunk c;
	bool plain = kind == HP_ASK_PLAIN;

	if (hpdsl_chunk_get(s->ds, chunk, &c, NULL) < 0 ||
	    plain == c.compressed)
		return false;
	ret->size = c.bytes;
	memcpy(ret->digest, c.checksum, sizeof ret->digest);
	return true;
}

void hp_held_turn(struct hpdsl_serve *s)
{
	const struct hp_client_facts facts = {
		.pack = s->pack, .chunks = s->chunks, .form = form, .arg = s
	};
	struct hp_client *client = NULL;
	struct hp_held *h;

	/* What is wrong with the book was told. */
	if (hp_client_open(s->io, s->ds->dir, s->ds->path, &facts, &client,
			   NULL) < 0 ||
	    !client)
		return;
	h = malloc(sizeof *h);
	if (!h) {
		hp_client_close(client);
		return;
	}
	*h = (struct hp_held){ s->held, client };
	__atomic_store_n(&s->held, h, __ATOMIC_RELEASE);
}

void hp_held_free(struct hpdsl_serve *s)
{
	struct hp_held *h = s->held;

	while (h) {
		struct hp_held *before = h->before;

		hp_client_close(h->client);
		free(h);
		h = before;
	}
	s->held = NULL;
}

static struct hp_client *client_of(const struct hpdsl_serve *s)
{
	const struct hp_held *h = __atomic_load_n(&s->held, __ATOMIC_ACQUIRE);

	return h ? h->client : NULL;
}

/* ---- Who -------------------------------------------------------------- */

bool hp_held_by_others(const struct hpdsl_serve *s, uint32_t chunk)
{
	const struct hp_book_head *h;
	uint32_t first, last;

	if (!s->book || !s->table.file)
		return false;
	h = &s->book->book.head;
	hp_holders(h, chunk, &first, &last);
	for (uint32_t n = first; n <= last; n++)
		if (n != h->node && hp_table_is_well(&s->table, n))
			return true;
	return false;
}

/* ---- Bytes ------------------------------------------------------------ */

struct read {
	sem_t done;
	struct hp_client_got got;
};

static void done(void *arg, const struct hp_client_got *got)
{
	struct read *r = arg;

	r->got = *got;
	sem_post(&r->done);
}

ssize_t hp_held_read(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
		     uint64_t offset, void *buf, size_t n, uint32_t *ret_node)
{
	const struct hp_client_want want = {
		.chunk = row->number,
		.kind = row->compressed ? HP_ASK_STORED : HP_ASK_PLAIN,
		.offset = offset,
		.n = n,
		.buf = buf,
		.deadline = hp_monotonic() + PATIENCE,
		.held = true,
	};
	struct hp_client *client = client_of(s);
	struct read r;

	if (!client)
		return -EHOSTUNREACH;
	sem_init(&r.done, 0, 0);
	hp_client_submit(client, &want, done, &r);
	while (sem_wait(&r.done) < 0)
		; /* by a signal */
	sem_destroy(&r.done);
	*ret_node = r.got.node;
	return r.got.n;
}

void hp_held_bad(struct hpdsl_serve *s, uint32_t node, uint32_t chunk)
{
	struct hp_client *client = client_of(s);

	if (client && node != HP_NO_NODE)
		hp_client_bad(client, node, chunk);
}
