/* SPDX-License-Identifier: Apache-2.0 */
/* The book of a job that has no MPI: each server writes its own. */
#include "serve/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "peers/hosts.h"

#include <string.h>
#include <time.h>

/* Chunks are where the plan has put them: by the numbers that nodes had then.
 */
static int check_place(const struct hpdsl_serve *s,
		       const struct hp_book_head *h, struct hpdsl_error *err)
{
	const struct hp_state_header *is = &s->ds->stage->watch.header;

	if (is->parts <= 1 || (is->nodes == h->nodes && is->node == h->node))
		return 0;
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: was staged in parts, as node %u of %u, and is node "
		       "%u of %u in the list of hosts",
		       s->ds->path, (unsigned)is->node, (unsigned)is->nodes,
		       (unsigned)h->node, (unsigned)h->nodes);
}

static void fill(const struct hpdsl_serve *s, struct hpdsl_peer_book *book,
		 struct hp_book_head *h)
{
	const uint32_t parts = s->ds->stage->watch.header.parts;

	book->made = (int64_t)time(NULL);
	book->parts = parts ? parts : 1;
	if (!book->port)
		book->port = hp_book_port(book->secret);
	h->made = book->made;
	h->rate = book->rate;
	h->parts = book->parts;
	h->port = (uint16_t)book->port;
	memcpy(h->pack, s->pack, sizeof h->pack);
	memcpy(h->secret, book->secret, sizeof h->secret);
	memcpy(h->job, book->job, strnlen(book->job, sizeof h->job - 1));
}

int hpdsl_serve_put_book(struct hpdsl_serve *s, struct hpdsl_peer_book *book,
			 const struct hpdsl_peer_node *nodes, uint32_t n,
			 uint32_t node, struct hpdsl_error *err)
{
	struct hp_book_head h = { .nodes = n, .node = node };
	hp_auto_free struct hp_book_node *all = hp_book_nodes(nodes, n);
	int r;

	if (!all)
		return hp_fail_nomem(err);
	fill(s, book, &h);
	r = check_place(s, &h, err);
	if (r == 0 && !hp_hosts_id(&h, nodes, h.id))
		r = hp_fail_nomem(err);
	if (r == 0)
		r = hp_book_save(s->io, s->ds->dir, s->ds->path, &h, all, err);
	if (r == 0)
		memcpy(book->id, h.id, sizeof book->id);
	explicit_bzero(h.secret, sizeof h.secret);
	return r;
}
