/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to one node: where it listens is found by asking, and no byte is
 * taken of whom cannot prove that he is who was asked.
 */
#include "peers/private.h"

#include "sys/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { PEOPLE = 4096 }; /* bytes of a body that is for them */

/* ---- Where ------------------------------------------------------------ */

static uint32_t places(const struct hp_peers *p, uint32_t node)
{
	return hp_book_addresses(hp_peers_book(p), node) * HP_BOOK_PORTS;
}

/* Where it was found last, by this process or another of the node. */
static bool known_place(struct hp_peers *p, struct hp_client_ask *a)
{
	const struct hp_peer *n = &p->peer[a->node];
	const uint16_t port = hp_table_get(&p->client->table, a->node).port;

	if (!n->found && !port)
		return false;
	a->address = n->found ? n->address : 0;
	a->port = n->found ? n->port : port;
	return true;
}

/* Sets address and port to the next place; false: there is none left. */
static bool next_place(struct hp_peers *p, struct hp_client_ask *a)
{
	const uint32_t all = places(p, a->node);
	const struct hp_peer *n = &p->peer[a->node];

	if (!a->known) {
		a->known = true;
		a->place = n->first_place;
		if (all && known_place(p, a))
			return true;
	} else if (a->tried) {
		a->place++;
	}
	if (a->tried >= all)
		return false;
	a->tried++;
	a->place %= all;
	a->address = (uint8_t)(a->place / HP_BOOK_PORTS);
	a->port = (uint16_t)(hp_peers_book(p)->head.port +
			     a->place % HP_BOOK_PORTS);
	return true;
}

static void found(struct hp_peers *p, struct hp_client_ask *a)
{
	const struct hp_table *t = &p->client->table;
	struct hp_peer *n = &p->peer[a->node];

	a->proven = true;
	n->found = true;
	n->address = a->address;
	n->port = a->port;
	if (a->address == 0 && hp_table_get(t, a->node).port != a->port)
		hp_table_found(t, a->node, a->port);
}

/* Silent there: next time elsewhere; without a connection, another address. */
static void not_here(struct hp_peers *p, const struct hp_client_ask *a,
		     bool connected)
{
	const uint32_t all = places(p, a->node);
	struct hp_peer *n = &p->peer[a->node];
	const uint32_t at = (uint32_t)(a->port - hp_peers_book(p)->head.port);

	if (n->found || !all)
		return;
	if (!connected)
		n->first_place = (a->address + 1U) * HP_BOOK_PORTS % all;
	else
		n->first_place = (a->address * HP_BOOK_PORTS + at + 1U) % all;
}

static void url(const struct hp_peers *p, struct hp_client_ask *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct hp_book_address at =
		hp_book_address(hp_peers_book(p), a->node, a->address);
	const bool is_v4 = memcmp(at.ip, mapped, sizeof mapped) == 0;
	char ip[INET6_ADDRSTRLEN], path[HP_ASK_PATH];

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? at.ip + 12 : at.ip, ip,
		  sizeof ip);
	hp_ask_path(&a->what, path);
	snprintf(a->url, sizeof a->url,
		 is_v4 ? "http://%s:%u%s" : "http://[%s]:%u%s", ip, a->port,
		 path);
}

/* ---- What it says ----------------------------------------------------- */

static void heard(struct hp_client_ask *a, uint64_t bytes)
{
	struct hp_peers *p = a->peers;
	struct hp_peer *n = &p->peer[a->node];
	const uint64_t now = hp_monotonic();

	if (n->health.is != HP_HEALTH_WELL)
		hp_table_well(&p->client->table, a->node);
	hp_health_heard(&n->health, now);
	if (a->part)
		hp_want_byte(&a->part->want, a->i, bytes, now);
}

/* Others may have other ports of its address, and are not what is wrong. */
static bool is_where_it_was(const struct hp_peers *p,
			    const struct hp_client_ask *a)
{
	const struct hp_peer *n = &p->peer[a->node];

	return !n->found || (a->address == n->address && a->port == n->port);
}

static bool on_head(struct hp_transfer *t, const struct hp_head *h)
{
	struct hp_client_ask *a = (struct hp_client_ask *)t;
	struct hp_peers *p = a->peers;
	const struct hp_expected expected = {
		.size = a->form.size,
		.digest = hp_is_have(a) ? NULL : a->form.digest,
	};
	const struct hp_answered what = {
		.status = h->status,
		.length = hp_head_get(h, HP_HEAD_LENGTH),
		.range = hp_head_get(h, HP_HEAD_RANGE),
		.tag = hp_head_get(h, HP_HEAD_TAG),
		.proof = hp_head_get(h, HP_HEAD_OWN),
		.encoding = hp_head_get(h, HP_HEAD_ENCODING),
	};
	static const enum hp_said says[] = {
		[HP_ANSWER_GOOD] = HP_SAID_ALL,
		[HP_ANSWER_ABSENT] = HP_SAID_ABSENT,
		[HP_ANSWER_BUSY] = HP_SAID_BUSY,
		[HP_ANSWER_UNPROVEN] = HP_SAID_UNPROVEN,
		[HP_ANSWER_WRONG] = HP_SAID_WRONG,
	};
	struct hp_answer answer = { 0 };

	a->said = says[hp_answered(&hp_peers_book(p)->head, &a->what, &expected,
				   &what, &answer)];
	if (a->said == HP_SAID_UNPROVEN) {
		a->unproven |= is_where_it_was(p, a);
		return false;
	}
	found(p, a);
	heard(a, 0);
	hp_table_told(&p->client->table, a->node, hp_monotonic(), answer.load);
	/* The connection is worth a few words for people. */
	return a->said == HP_SAID_ALL ||
	       (a->said != HP_SAID_WRONG && answer.length <= PEOPLE);
}

/* Only behind a good head are bytes those that were asked for. */
static bool on_body(struct hp_transfer *t, const void *p, size_t n)
{
	struct hp_client_ask *a = (struct hp_client_ask *)t;
	const bool good = a->said == HP_SAID_ALL;

	if (n > (good ? a->n : PEOPLE) - a->got) {
		if (good)
			a->said = HP_SAID_WRONG;
		return false;
	}
	if (good && a->to)
		memcpy(a->to + a->got, p, n);
	a->got += n;
	heard(a, good ? n : 0);
	return true;
}

/* ---- Its way ---------------------------------------------------------- */

static void on_end(struct hp_transfer *t, enum hp_transfer_end how);

/* Each time with a nonce of its own. */
static bool sign(struct hp_peers *p, struct hp_client_ask *a)
{
	const struct hp_book_head *b = &hp_peers_book(p)->head;
	char range[HP_ASK_RANGE], proof[HP_ASK_PROOF];
	uint8_t mac[HP_MAC];

	if (getrandom(a->what.nonce, sizeof a->what.nonce, 0) !=
		    sizeof a->what.nonce ||
	    !hp_ask_mac(b, &a->what, mac))
		return false;
	hp_ask_proof(b, &a->what, mac, proof);
	hp_ask_range(&a->what, range);
	snprintf(a->proof, sizeof a->proof, "%s: %s", HP_WIRE_HEADER, proof);
	snprintf(a->range, sizeof a->range, "Range: %s", range);
	a->t.fields[0] = a->proof;
	a->t.fields[1] = *range ? a->range : NULL;
	return true;
}

static bool send_it(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];

	a->said = HP_SAID_NOTHING;
	a->proven = false;
	a->got = 0;
	url(p, a);
	a->t = (struct hp_transfer){
		.url = a->url,
		.most = a->n,
		.fresh = a->retried || n->fresh ||
			 (n->used && p->now > n->used + HP_IDLE_AGE),
		.head = on_head,
		.body = on_body,
		.ended = on_end,
	};
	return sign(p, a) && hp_transfer_start(p->engine, &a->t) == 0;
}

/* A place that may be somebody else's, or nobody's. */
static bool try_next(struct hp_peers *p, struct hp_client_ask *a)
{
	if (!next_place(p, a))
		return false;
	a->retried = false;
	if (!send_it(p, a))
		a->said = HP_SAID_SELF;
	return a->said != HP_SAID_SELF;
}

static void ended_by_itself(struct hp_peers *p, struct hp_client_ask *a,
			    enum hp_said said)
{
	const bool his = said != HP_SAID_SELF;
	const bool done = said == HP_SAID_ALL || said == HP_SAID_ABSENT ||
			  said == HP_SAID_BUSY;

	hp_ask_end(p, a, said,
		   done ? HP_END_DONE :
		   his	? HP_END_FAILED :
			  HP_END_GIVEN_UP);
}

void hp_ask_open(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];

	a->at = HP_ASK_OPEN;
	a->next = n->open;
	n->open = a;
	n->n_open++;
	hp_health_asked(&n->health, p->now);
	if (a->part)
		hp_want_sent(&a->part->want, a->i, p->now);
	if (!try_next(p, a))
		ended_by_itself(p, a,
				a->said == HP_SAID_SELF ? HP_SAID_SELF :
							  HP_SAID_FAILED);
}

/* What an end means, when nothing else is to be tried. */
static enum hp_said verdict(const struct hp_client_ask *a,
			    enum hp_transfer_end how)
{
	switch (how) {
	case HP_TRANSFER_ANSWERED:
		if (a->said == HP_SAID_ALL && a->got != a->n)
			return HP_SAID_FAILED;
		return a->said;
	case HP_TRANSFER_STOPPED:
		return a->said;
	case HP_TRANSFER_SILENT:
		return HP_SAID_LATE;
	case HP_TRANSFER_SELF:
		return HP_SAID_SELF;
	default:
		/* "Not here" is believed, however it ended. */
		if (a->said == HP_SAID_ABSENT || a->said == HP_SAID_BUSY)
			return a->said;
		return HP_SAID_FAILED;
	}
}

static void on_end(struct hp_transfer *t, enum hp_transfer_end how)
{
	struct hp_client_ask *a = (struct hp_client_ask *)t;
	struct hp_peers *p = a->peers;
	struct hp_peer *n = &p->peer[a->node];
	const bool waits = how != HP_TRANSFER_SILENT && how != HP_TRANSFER_SELF;
	enum hp_said said = verdict(a, how);

	if (how == HP_TRANSFER_STALE && !a->retried) {
		a->retried = true;
		if (send_it(p, a))
			return;
		said = HP_SAID_SELF;
	} else if (waits && !a->proven) {
		if (try_next(p, a))
			return;
		said = a->said == HP_SAID_SELF ? HP_SAID_SELF :
		       a->unproven	       ? HP_SAID_UNPROVEN :
						 HP_SAID_FAILED;
	} else if (how == HP_TRANSFER_SILENT) {
		not_here(p, a, false);
	}
	if (a->proven && how == HP_TRANSFER_ANSWERED) {
		n->used = p->now;
		n->fresh = false;
	}
	ended_by_itself(p, a, said);
}

/* ---- Its end ---------------------------------------------------------- */

void hp_ask_free(struct hp_client_ask *a)
{
	free(a->own);
	free(a);
}

static void take_out(struct hp_client_ask **list, struct hp_client_ask *a)
{
	while (*list != a)
		list = &(*list)->next;
	*list = a->next;
}

/* A late one that owes nothing any more would never be asked again. */
static void tell_health(struct hp_peers *p, struct hp_client_ask *a,
			enum hp_health_end how)
{
	struct hp_health *h = &p->peer[a->node].health;

	if (how == HP_END_GIVEN_UP && h->is == HP_HEALTH_LATE && h->owed == 1)
		how = HP_END_FAILED;
	hp_health_ended(h, p->now, how);
	if (h->is == HP_HEALTH_SUSPECT)
		hp_table_suspect(&p->client->table, a->node, p->now,
				 h->probe_at);
}

static void no_longer_there(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];

	take_out(a->at == HP_ASK_OPEN ? &n->open : &n->queue, a);
	if (a->at == HP_ASK_OPEN)
		n->n_open--;
	n->owed -= a->n;
}

void hp_ask_end(struct hp_peers *p, struct hp_client_ask *a, enum hp_said said,
		enum hp_health_end how)
{
	hp_transfer_stop(p->engine, &a->t);
	if (a->at == HP_ASK_OPEN && how == HP_END_GIVEN_UP && !a->proven)
		not_here(p, a, true);
	no_longer_there(p, a);
	if (a->at == HP_ASK_OPEN)
		tell_health(p, a, how);
	a->at = HP_ASK_ENDED;
	a->said = said;
	a->next = NULL;
	*p->ended_end = a;
	p->ended_end = &a->next;
}

void hp_ask_drop(struct hp_peers *p, struct hp_client_ask *a, bool leave)
{
	a->part = NULL;
	a->to = NULL;
	if (a->at == HP_ASK_ENDED || (leave && a->at == HP_ASK_OPEN))
		return;
	hp_transfer_stop(p->engine, &a->t);
	if (a->at == HP_ASK_OPEN && !a->proven)
		not_here(p, a, true);
	no_longer_there(p, a);
	if (a->at == HP_ASK_OPEN)
		tell_health(p, a, HP_END_GIVEN_UP);
	hp_ask_free(a);
}
