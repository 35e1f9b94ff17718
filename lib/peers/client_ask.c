/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to one node: where it listens is found by asking, and no byte is
 * taken of whom cannot prove that he is who was asked.
 */
#include "peers/private.h"

#include "sys/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- What it says ----------------------------------------------------- */

static void heard(struct hp_client_ask *a, uint64_t bytes)
{
	struct hp_peers *p = a->peers;
	struct hp_peer *n = &p->peer[a->node];
	const uint64_t now = hp_monotonic();

	if (n->health.is != HP_HEALTH_WELL)
		hp_table_well(&p->table, a->node, now);
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
		.digest = hp_is_of_chunk(a) ? a->form.digest : NULL,
	};
	static const enum hp_said says[] = {
		[HP_ANSWER_GOOD] = HP_SAID_ALL,
		[HP_ANSWER_ABSENT] = HP_SAID_ABSENT,
		[HP_ANSWER_BUSY] = HP_SAID_BUSY,
		[HP_ANSWER_UNPROVEN] = HP_SAID_UNPROVEN,
		[HP_ANSWER_WRONG] = HP_SAID_WRONG,
	};
	struct hp_answer answer = { 0 };

	a->said = says[hp_carry_answered(&hp_peers_book(p)->head, &a->what,
					 &expected, h, &answer)];
	if (a->said == HP_SAID_UNPROVEN) {
		a->unproven |= is_where_it_was(p, a);
		return false;
	}
	/* Before where it was found: that is written now, with this. */
	hp_table_told(&p->table, a->node, hp_monotonic(), answer.load);
	hp_place_found(p, a);
	heard(a, 0);
	/* The connection is worth a few words for people. */
	return a->said == HP_SAID_ALL ||
	       (a->said != HP_SAID_WRONG && answer.length <= HP_PEOPLE);
}

/* False: they cannot be what was asked for. */
static bool take(struct hp_client_ask *a, const void *p, size_t n)
{
	if (a->list)
		return hp_haves_take(a->list, a->got, p, n);
	if (a->to)
		memcpy(a->to + a->got, p, n);
	return true;
}

/* Only behind a good head are bytes those that were asked for. */
static bool on_body(struct hp_transfer *t, const void *p, size_t n)
{
	struct hp_client_ask *a = (struct hp_client_ask *)t;
	const bool good = a->said == HP_SAID_ALL;

	if (n > (good ? a->n : HP_PEOPLE) - a->got ||
	    (good && !take(a, p, n))) {
		if (good)
			a->said = HP_SAID_WRONG;
		return false;
	}
	a->got += n;
	heard(a, good ? n : 0);
	return true;
}

/* ---- Its way ---------------------------------------------------------- */

static void on_end(struct hp_transfer *t, enum hp_transfer_end how);

/* Each time with a nonce of its own. */
static bool sign(struct hp_peers *p, struct hp_client_ask *a)
{
	if (!hp_carry_sign(&hp_peers_book(p)->head, &a->what, a->proof,
			   a->range))
		return false;
	a->t.fields[0] = a->proof;
	a->t.fields[1] = *a->range ? a->range : NULL;
	return true;
}

static bool send_it(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];

	a->said = HP_SAID_NOTHING;
	a->proven = false;
	a->got = 0;
	a->until = hp_monotonic() + a->patience;
	hp_carry_url(&a->what,
		     hp_book_address(hp_peers_book(p), a->node, a->address).ip,
		     a->port, a->url);
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
	if (!hp_place_next(p, a))
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
	a->asked = hp_monotonic();
	if (a->part) {
		hp_want_sent(&a->part->want, a->i, p->now);
		if (a->part->want.ask[a->i].hedge)
			hp_peers_hedged(p, a->node, false);
	}
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
		if (a->said == HP_SAID_ALL && a->got != a->n &&
		    a->what.kind != HP_ASK_STATUS)
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

/* What a walk is worth that found nobody. */
static enum hp_said nowhere(const struct hp_client_ask *a)
{
	return a->said == HP_SAID_SELF ? HP_SAID_SELF :
	       a->unproven	       ? HP_SAID_UNPROVEN :
					 HP_SAID_FAILED;
}

void hp_ask_elsewhere(struct hp_peers *p, struct hp_client_ask *a)
{
	hp_transfer_stop(p->engine, &a->t);
	if (!try_next(p, a))
		ended_by_itself(p, a, nowhere(a));
}

void hp_ask_away(struct hp_client_ask *a, uint64_t gap)
{
	a->until += gap;
	if (a->sought_until)
		a->sought_until += gap;
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
		said = nowhere(a);
	} else if (how == HP_TRANSFER_SILENT) {
		hp_place_not_here(p, a, false);
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
	hp_haves_free(a->list);
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
		hp_table_suspect(&p->table, a->node, p->now, h->probe_at);
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
		hp_place_not_here(p, a, true);
	no_longer_there(p, a);
	if (a->at == HP_ASK_OPEN)
		tell_health(p, a, how);
	if (said == HP_SAID_ALL && hp_is_of_chunk(a))
		hp_peers_answered(p, a);
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
	a->patience = HP_LEFT_FOR;
	a->until = p->now + a->patience;
	if (a->at == HP_ASK_ENDED || (leave && a->at == HP_ASK_OPEN))
		return;
	hp_transfer_stop(p->engine, &a->t);
	if (a->at == HP_ASK_OPEN && !a->proven)
		hp_place_not_here(p, a, true);
	no_longer_there(p, a);
	if (a->at == HP_ASK_OPEN)
		tell_health(p, a, HP_END_GIVEN_UP);
	hp_ask_free(a);
}
