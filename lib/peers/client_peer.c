/* SPDX-License-Identifier: Apache-2.0 */
/* A node: what is thought of it, what it has, and who waits for it. */
#include "peers/private.h"

#include <stdlib.h>
#include <string.h>

/* ---- What it has ------------------------------------------------------ */

static enum hp_have has(const struct hp_peer *n, uint32_t chunk)
{
	return hp_have_get(n->have, chunk);
}

static bool has_form(const struct hp_peer *n, uint32_t chunk,
		     enum hp_ask_kind kind)
{
	return has(n, chunk) ==
	       (kind == HP_ASK_PLAIN ? HP_HAVE_PLAIN : HP_HAVE_STORED);
}

static bool is_old(const struct hp_peers *p, const struct hp_peer *n)
{
	return p->now >= n->have_at + HP_HAVE_AGE;
}

/* What is known too long may have changed: it is asked again then. */
static bool denies(const struct hp_peers *p, const struct hp_peer *n,
		   uint32_t chunk, enum hp_ask_kind kind)
{
	return n->have && !is_old(p, n) && !has_form(n, chunk, kind);
}

bool hp_peer_is_coming(struct hp_peers *p, uint32_t node, uint32_t chunk)
{
	const struct hp_peer *n = &p->peer[node];

	return n->have && has(n, chunk) == HP_HAVE_COMING;
}

bool hp_peer_is_starting(struct hp_peers *p, uint32_t node)
{
	const struct hp_table *t = &p->client->table;
	const uint64_t up = hp_table_get(t, p->self).up;

	return up && up <= p->now && p->now - up < HP_STARTING_FOR &&
	       hp_table_get(t, node).told < up;
}

bool hp_peer_has_other(struct hp_peers *p, uint32_t node, uint32_t chunk,
		       enum hp_ask_kind kind)
{
	const struct hp_peer *n = &p->peer[node];

	return n->have && has(n, chunk) >= HP_HAVE_STORED &&
	       !has_form(n, chunk, kind);
}

void hp_peer_denied(struct hp_peers *p, uint32_t node, uint32_t chunk,
		    enum hp_ask_kind kind)
{
	struct hp_peer *n = &p->peer[node];

	n->have_old = true;
	if (n->have && has_form(n, chunk, kind))
		hp_have_set(n->have, chunk, HP_HAVE_NOT);
}

/* ---- What is thought of it -------------------------------------------- */

struct hp_peer_view hp_peer_look_at(struct hp_peers *p, uint32_t node,
				    uint32_t chunk, enum hp_ask_kind kind)
{
	const struct hp_table *t = &p->client->table;
	const struct hp_peer *n = &p->peer[node];
	const struct hp_table_row row = hp_table_get(t, node);
	struct hp_peer_view v = {
		.lives = hp_health_may(&n->health, p->now) &&
			 hp_table_lives(t, node, p->now),
		.denies = denies(p, n, chunk, kind),
		.owed = n->owed,
		.rack = hp_book_rack(hp_peers_book(p), node),
	};

	if (row.told && p->now < row.told + HP_LOAD_AGE)
		v.owed += row.load;
	if (p->now < n->busy_until)
		v.owed += UINT32_MAX;
	return v;
}

/* ---- Who waits for it ------------------------------------------------- */

static void list(struct hp_peers *p, uint32_t node)
{
	struct hp_peer *n = &p->peer[node];

	if (n->listed)
		return;
	n->listed = true;
	n->next = p->listed;
	p->listed = node;
}

void hp_peer_queue(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];
	struct hp_client_ask **end = &n->queue;

	while (*end)
		end = &(*end)->next;
	*end = a;
	a->at = HP_ASK_QUEUED;
	a->next = NULL;
	n->owed += a->n;
	list(p, a->node);
}

static void end_queue(struct hp_peers *p, struct hp_peer *n, enum hp_said said)
{
	while (n->queue)
		hp_ask_end(p, n->queue, said, HP_END_GIVEN_UP);
}

/* ---- Asking what it has ----------------------------------------------- */

/* Before its first chunk, and when what it said would be a no by now. */
static bool wants_have(const struct hp_peers *p, const struct hp_peer *n,
		       const struct hp_client_ask *a)
{
	if (!n->have_at)
		return true;
	return is_old(p, n) && (n->have_old || !n->have ||
				!has_form(n, a->what.chunk, a->what.kind));
}

static void ask_have(struct hp_peers *p, uint32_t node)
{
	struct hp_peer *n = &p->peer[node];
	struct hp_client_ask *a = calloc(1, sizeof *a);
	const uint64_t size = hp_have_size(p->client->facts.chunks);

	n->have_at = p->now;
	n->have_old = false;
	if (a)
		a->own = calloc(1, size + 1);
	if (!a || !a->own) {
		free(a);
		end_queue(p, n, HP_SAID_SELF);
		return;
	}
	n->have_asked = true;
	a->peers = p;
	a->node = node;
	a->to = a->own;
	a->n = a->form.size = size;
	a->what = (struct hp_ask){ .method = HP_ASK_GET,
				   .kind = HP_ASK_HAVE,
				   .node = node,
				   .chunk = HP_ASK_NO_CHUNK,
				   .last = HP_ASK_NO_LAST };
	n->owed += size;
	hp_ask_open(p, a);
}

/* A node without a list, or without time for it, is asked for the bytes. */
void hp_peer_have(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];
	enum hp_said said = a->said;

	n->have_asked = false;
	if (said == HP_SAID_ALL &&
	    !hp_have_is_whole(a->own, p->client->facts.chunks))
		said = HP_SAID_WRONG;
	if (said == HP_SAID_ALL) {
		free(n->have);
		n->have = a->own;
		a->own = NULL;
	} else if (said != HP_SAID_ABSENT && said != HP_SAID_BUSY) {
		n->have_at = 0; /* it was not told */
		hp_peers_note(p, a->node, hp_said_why(said));
		end_queue(p, n, said);
	}
	hp_ask_free(a);
}

/* ---- Sending ---------------------------------------------------------- */

/* 1: it may be sent; 0: it was ended; -1: it has to wait. */
static int may_send(struct hp_peers *p, struct hp_peer *n,
		    struct hp_client_ask *a)
{
	if (a->what.adopt || a->sure)
		return 1;
	if (n->have_asked)
		return -1;
	if (wants_have(p, n, a)) {
		ask_have(p, a->node);
		return n->queue ? -1 : 0;
	}
	if (!denies(p, n, a->what.chunk, a->what.kind))
		return 1;
	hp_ask_end(p, a, HP_SAID_ABSENT, HP_END_GIVEN_UP);
	return 0;
}

void hp_peer_pump(struct hp_peers *p, uint32_t node)
{
	struct hp_peer *n = &p->peer[node];
	struct hp_client_ask *a;

	while ((a = n->queue) && n->n_open < p->at_once) {
		const int may = may_send(p, n, a);

		if (may < 0)
			return;
		if (may > 0) {
			n->queue = a->next;
			hp_ask_open(p, a);
		}
	}
}

void hp_peer_close(struct hp_peers *p, uint32_t node)
{
	struct hp_peer *n = &p->peer[node];

	n->fresh = true;
	while (n->open)
		hp_ask_end(p, n->open, HP_SAID_LATE, HP_END_GIVEN_UP);
	end_queue(p, n, HP_SAID_LATE);
}
