/* SPDX-License-Identifier: Apache-2.0 */
/* A node: what is thought of it, what it has, and who waits for it. */
#include "peers/private.h"

#include <stdlib.h>
#include <string.h>

/* ---- What it has ------------------------------------------------------ */

bool hp_peer_is_coming(struct hp_peers *p, uint32_t node, uint32_t chunk)
{
	return hp_have_is_coming(&p->peer[node].have, chunk, p->now);
}

bool hp_peer_is_starting(struct hp_peers *p, uint32_t node)
{
	return hp_table_is_starting(&p->table, node, p->now) &&
	       !hp_health_is_mute(&p->peer[node].health);
}

bool hp_peer_has_other(struct hp_peers *p, uint32_t node, uint32_t chunk,
		       enum hp_ask_kind kind)
{
	return hp_have_is_other(&p->peer[node].have, chunk, kind);
}

void hp_peer_denied(struct hp_peers *p, uint32_t node, uint32_t chunk,
		    enum hp_ask_kind kind)
{
	hp_have_denied(&p->peer[node].have, chunk, kind);
}

void hp_peer_in_vain(struct hp_peers *p, uint32_t node, uint32_t chunk)
{
	hp_have_in_vain(&p->peer[node].have, chunk, p->now);
}

/* ---- What is thought of it -------------------------------------------- */

bool hp_peer_is_slow(struct hp_peers *p, uint32_t node)
{
	const struct hp_peer *n = &p->peer[node];

	return hp_rates_is_slow(&p->rates, &n->rate, n->owed, p->now);
}

struct hp_peer_view hp_peer_look_at(struct hp_peers *p, uint32_t node,
				    uint32_t chunk, enum hp_ask_kind kind)
{
	struct hp_table *t = &p->table;
	const struct hp_peer *n = &p->peer[node];
	const struct hp_table_row row = hp_table_get(t, node, p->now);
	struct hp_peer_view v = {
		.lives = hp_health_may(&n->health, p->now) &&
			 hp_table_lives(t, node, p->now),
		.denies = hp_have_denies(&n->have, chunk, kind, p->now),
		.slow = hp_peer_is_slow(p, node),
		/* Others of this node may have seen it, too. */
		.doubted = hp_health_is_doubted(&n->health) || row.until,
		.heard = n->health.heard,
		.owed = n->owed,
		.rack = hp_book_rack(hp_peers_book(p), node),
	};

	if (row.told && p->now < row.told + HP_LOAD_AGE)
		v.owed += row.load;
	if (p->now < n->busy_until)
		v.owed += UINT32_MAX;
	return v;
}

struct hp_rate *hp_peer_rate(struct hp_peers *p, uint32_t node)
{
	return &p->peer[node].rate;
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

static void ask_have(struct hp_peers *p, uint32_t node)
{
	struct hp_peer *n = &p->peer[node];
	struct hp_client_ask *a = calloc(1, sizeof *a);
	const uint64_t size = hp_have_size(p->client->facts.chunks);

	n->have.at = p->now;
	n->have.old = false;
	if (a)
		a->list = hp_haves_new(&hp_peers_book(p)->head, node,
				       p->client->facts.chunks);
	if (!a || !a->list) {
		free(a);
		end_queue(p, n, HP_SAID_SELF);
		return;
	}
	n->have_asked = true;
	a->peers = p;
	a->node = node;
	a->n = a->form.size = size;
	a->what = (struct hp_ask){ .method = HP_ASK_GET,
				   .kind = HP_ASK_HAVE,
				   .node = node,
				   .chunk = HP_ASK_NO_CHUNK,
				   .last = HP_ASK_NO_LAST };
	n->owed += size;
	a->patience = hp_rates_due(&p->rates, &n->rate, size);
	hp_ask_open(p, a);
}

/* A node without a list, or without time for it, is asked for the bytes. */
void hp_peer_have(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];
	const enum hp_said said = a->said;

	n->have_asked = false;
	if (said == HP_SAID_ALL) {
		hp_haves_free(n->have.list);
		n->have.list = a->list;
		a->list = NULL;
	} else if (said != HP_SAID_ABSENT && said != HP_SAID_BUSY) {
		n->have.at = 0; /* it was not told */
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
	/* It is found by asking for its list: so only what has to fetch a chunk
	 * may be silent, and no stranger. */
	const bool known = hp_place_is_known(p, a->node);

	if (known && (a->what.adopt || a->sure))
		return 1;
	if (n->have_asked)
		return known && hp_have_is_form(&n->have, a->what.chunk,
						a->what.kind) ?
			       1 :
			       -1;
	if (!known ||
	    hp_have_wants(&n->have, a->what.chunk, a->what.kind, p->now)) {
		ask_have(p, a->node);
		return n->queue ? -1 : 0;
	}
	if (!hp_have_denies(&n->have, a->what.chunk, a->what.kind, p->now))
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

/* ---- Signs of life ---------------------------------------------------- */

static bool is_life(const struct hp_client_ask *a)
{
	return a->what.kind == HP_ASK_STATUS;
}

/* When who fetches something for us, and so may be silent, is to be asked
 * whether he lives; UINT64_MAX: he need not be. */
static uint64_t life_at(const struct hp_peer *n)
{
	const uint64_t at = n->health.heard + HP_LIFE_AFTER;
	bool adopts = false;

	for (const struct hp_client_ask *a = n->open; a; a = a->next) {
		if (is_life(a))
			return UINT64_MAX;
		adopts |= a->what.adopt;
	}
	if (!adopts)
		return UINT64_MAX;
	return at > n->life_at ? at : n->life_at;
}

static void ask_for_life(struct hp_peers *p, uint32_t node)
{
	struct hp_client_ask *a = calloc(1, sizeof *a);

	p->peer[node].life_at = p->now + HP_LIFE_AFTER;
	if (!a)
		return;
	a->peers = p;
	a->node = node;
	a->n = HP_PEOPLE;
	a->what = (struct hp_ask){ .method = HP_ASK_GET,
				   .kind = HP_ASK_STATUS,
				   .node = node,
				   .chunk = HP_ASK_NO_CHUNK,
				   .last = HP_ASK_NO_LAST };
	a->patience = HP_LATE_AFTER;
	p->peer[node].owed += a->n;
	hp_ask_open(p, a);
}

/* ---- What nobody waits for -------------------------------------------- */

static struct hp_client_ask *too_long(const struct hp_peers *p, uint32_t node)
{
	struct hp_client_ask *a = p->peer[node].open;

	while (a && (a->part || a->until > p->now))
		a = a->next;
	return a;
}

/* At a place that may be another program's. */
static struct hp_client_ask *mute_one(struct hp_peers *p, uint32_t node)
{
	struct hp_client_ask *a = p->peer[node].open;

	while (a && !hp_place_is_mute(p, a))
		a = a->next;
	return a;
}

/* A list that drips is no better than none. */
void hp_peer_time(struct hp_peers *p, uint32_t node)
{
	struct hp_client_ask *a;

	if (p->now >= life_at(&p->peer[node]))
		ask_for_life(p, node);
	while ((a = mute_one(p, node)))
		hp_ask_elsewhere(p, a);
	while ((a = too_long(p, node)))
		hp_ask_end(p, a, HP_SAID_LATE,
			   hp_is_have(a) ? HP_END_FAILED : HP_END_GIVEN_UP);
}

uint64_t hp_peer_next(const struct hp_peers *p, uint32_t node)
{
	uint64_t t = life_at(&p->peer[node]);

	for (const struct hp_client_ask *a = p->peer[node].open; a;
	     a = a->next) {
		if (!a->part && a->until < t)
			t = a->until;
		if (hp_place_is_sought(a) && a->sought_until < t)
			t = a->sought_until;
	}
	return t;
}

void hp_peer_close(struct hp_peers *p, uint32_t node)
{
	struct hp_peer *n = &p->peer[node];

	n->fresh = true;
	while (n->open)
		hp_ask_end(p, n->open, HP_SAID_LATE, HP_END_GIVEN_UP);
	end_queue(p, n, HP_SAID_LATE);
}
