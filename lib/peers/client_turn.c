/* SPDX-License-Identifier: Apache-2.0 */
/* The client's turn in the engine's thread: what has come, what time does. */
#include "peers/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The inbox -------------------------------------------------------- */

static void take_job(struct hp_peers *p, struct hp_client_job *j)
{
	j->before = NULL;
	j->next = p->jobs;
	if (j->next)
		j->next->before = j;
	p->jobs = j;
	for (uint32_t i = 0; i < j->parts; i++) {
		j->part[i].at = HP_PART_WAITS;
		j->part[i].waiting = (struct hp_waiting){
			.chunk = j->want.chunk,
			.first = j->first,
			.last = j->last,
		};
		j->part[i].next = NULL;
		*p->waits_end = &j->part[i];
		p->waits_end = &j->part[i].next;
	}
}

static void take_bad(struct hp_peers *p, const struct hp_bad *b)
{
	struct hp_health *h = &p->peer[b->node].health;

	hp_table_bad(&p->table, b->node);
	hp_peer_denied(p, b->node, b->chunk, HP_ASK_PLAIN);
	hp_peer_denied(p, b->node, b->chunk, HP_ASK_STORED);
	hp_health_bad(h, p->now);
	hp_peers_note(p, b->node, HP_CLIENT_BAD);
}

static void take_inbox(struct hp_peers *p)
{
	struct hp_client_job *j;
	struct hp_bad *b;

	pthread_mutex_lock(&p->lock);
	j = p->inbox;
	b = p->bads;
	p->inbox = NULL;
	p->inbox_end = &p->inbox;
	p->bads = NULL;
	pthread_mutex_unlock(&p->lock);
	while (j) {
		struct hp_client_job *next = j->next;

		take_job(p, j);
		j = next;
	}
	while (b) {
		struct hp_bad *next = b->next;

		take_bad(p, b);
		free(b);
		b = next;
	}
}

/* ---- What time does --------------------------------------------------- */

static void was_away(struct hp_peers *p, uint64_t gap)
{
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next) {
		hp_health_away(&p->peer[i].health, gap);
		for (struct hp_client_ask *a = p->peer[i].open; a; a = a->next)
			hp_ask_away(a, gap);
	}
	for (int i = 0; i < HP_PLACES; i++)
		if (p->active[i])
			hp_want_away(&p->active[i]->want, gap);
}

static void look_at_node(struct hp_peers *p, uint32_t node)
{
	struct hp_health *h = &p->peer[node].health;

	switch (hp_health_look(h, p->now)) {
	case HP_DO_NOTHING:
		break;
	case HP_DO_ELSEWHERE:
		hp_table_suspect(&p->table, node, p->now, p->now + HP_SECOND);
		for (int i = 0; i < HP_PLACES; i++)
			if (p->active[i])
				hp_part_late(p, p->active[i], node);
		break;
	case HP_DO_CLOSE:
		hp_table_suspect(&p->table, node, p->now, h->probe_at);
		hp_peer_close(p, node);
		break;
	}
}

/* What waits for it goes elsewhere; a part may end, and others of its job. */
static void look_at_queue(struct hp_peers *p, uint32_t node)
{
	while (p->peer[node].queue && hp_peer_is_slow(p, node))
		hp_part_slow(p, p->peer[node].queue);
}

/* It is the next to have a place. */
static void wake(struct hp_peers *p, struct hp_client_part *part)
{
	part->at = HP_PART_WAITS;
	part->waiting.passed = HP_PASSED_BY;
	part->next = p->waits;
	p->waits = part;
	if (!part->next)
		p->waits_end = &part->next;
}

static void look_at_rests(struct hp_peers *p)
{
	for (int i = 0; i < HP_RESTS; i++) {
		struct hp_client_part *part = p->rests[i];

		if (!part || hp_want_next(&part->want) > p->now)
			continue;
		p->rests[i] = NULL;
		wake(p, part);
	}
}

static enum hp_client_why why_not(struct hp_peers *p,
				  struct hp_client_part *part)
{
	return part->began ? hp_peers_why(p, &part->want, &part->job->blamed) :
			     HP_CLIENT_LATE;
}

static void out_of_time(struct hp_peers *p)
{
	struct hp_client_part *part = p->waits;

	while (part) {
		if (part->job->deadline > p->now) {
			part = part->next;
			continue;
		}
		hp_job_fail(p, part->job, -EHOSTUNREACH, why_not(p, part));
		part = p->waits;
	}
}

static void look_at_time(struct hp_peers *p)
{
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next) {
		look_at_node(p, i);
		hp_peer_time(p, i);
	}
	for (int i = 0; i < HP_PLACES; i++)
		if (p->active[i] && hp_want_next(&p->active[i]->want) <= p->now)
			hp_part_time(p, p->active[i]);
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next)
		look_at_queue(p, i);
	look_at_rests(p);
	out_of_time(p);
}

static uint64_t when(const struct hp_peers *p)
{
	uint64_t t = UINT64_MAX, at;

	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next) {
		at = hp_health_next(&p->peer[i].health);
		t = at < t ? at : t;
		at = hp_peer_next(p, i);
		t = at < t ? at : t;
	}
	for (int i = 0; i < HP_PLACES; i++) {
		at = p->active[i] ? hp_want_next(&p->active[i]->want) : t;
		t = at < t ? at : t;
	}
	for (int i = 0; i < HP_RESTS; i++) {
		at = p->rests[i] ? hp_want_next(&p->rests[i]->want) : t;
		t = at < t ? at : t;
	}
	for (const struct hp_client_part *w = p->waits; w; w = w->next)
		t = w->job->deadline < t ? w->job->deadline : t;
	at = hp_table_owes(&p->table) ? p->table.looked + HP_SECOND : t;
	return at < t ? at : t;
}

/* ---- What the node's processes share ---------------------------------- */

static void look_at_table(struct hp_peers *p)
{
	struct hpdsl_error err;
	char text[HP_CLIENT_NOTE];

	if (p->now < p->table.looked + HP_SECOND ||
	    hp_table_look(&p->table, p->now, &err))
		return;
	/* Of another book: the server has a new one, and nothing is wrong. */
	if (err.code == 0 || err.code == -ESTALE)
		return;
	snprintf(text, sizeof text,
		 "%.400s; goes on without what others of this node see",
		 err.msg);
	hp_peers_note_text(p, text);
}

/* ---- A turn ----------------------------------------------------------- */

static void take_ended(struct hp_peers *p)
{
	struct hp_client_ask *a;

	while ((a = p->ended)) {
		p->ended = a->next;
		if (!p->ended)
			p->ended_end = &p->ended;
		if (hp_is_have(a)) {
			hp_peer_have(p, a);
		} else if (a->part) {
			hp_part_said(p, a);
		} else {
			/* It was given up, and answered after all. */
			if (a->said == HP_SAID_ALL && a->late)
				hp_hedges_vain(&p->hedges, p->now);
			hp_ask_free(a);
		}
	}
}

/* ---- Who has a place -------------------------------------------------- */

static unsigned note_asked(const struct hp_client_part *part,
			   struct hp_under_way *ret)
{
	const uint32_t chunk = part->job->want.chunk;
	const struct hp_want *w = &part->want;
	unsigned n = 0;

	if (hp_want_rests(w))
		ret[n++] = (struct hp_under_way){ chunk, w->rest_node };
	for (unsigned i = 0; i < w->n; i++)
		if (w->ask[i].open)
			ret[n++] =
				(struct hp_under_way){ chunk, w->ask[i].node };
	return n;
}

/* Of those that wait; NULL: none is to be begun. */
static struct hp_client_part *next_one(struct hp_peers *p)
{
	struct hp_under_way way[HP_PLACES * HP_WANT_ASKS + HP_RESTS];
	struct hp_waiting *waits[HP_PLACES_LOOK];
	struct hp_client_part *part = p->waits;
	unsigned n_way = 0, n = 0, at;

	for (int i = 0; i < HP_PLACES; i++)
		if (p->active[i])
			n_way += note_asked(p->active[i], way + n_way);
	for (int i = 0; i < HP_RESTS; i++)
		if (p->rests[i])
			n_way += note_asked(p->rests[i], way + n_way);
	for (struct hp_client_part *w = p->waits; w && n < HP_PLACES_LOOK;
	     w = w->next)
		waits[n++] = &w->waiting;
	at = hp_places_next(waits, n, way, n_way);
	if (at == n)
		return NULL;
	while (at--)
		part = part->next;
	return part;
}

/* One that ends or rests at once leaves its place to the next. */
static void begin(struct hp_peers *p)
{
	for (int i = 0; i < HP_PLACES && p->waits;) {
		struct hp_client_part *part;

		if (p->active[i]) {
			i++;
			continue;
		}
		part = next_one(p);
		if (!part)
			return;
		hp_part_waits_no_more(p, part);
		p->active[i] = part;
		hp_part_begin(p, part);
	}
}

static void pump(struct hp_peers *p)
{
	uint32_t *at = &p->listed;

	while (*at != HP_NO_NODE) {
		struct hp_peer *n = &p->peer[*at];

		hp_peer_pump(p, *at);
		if (n->queue || n->open) {
			at = &n->next;
			continue;
		}
		n->listed = false;
		*at = n->next;
	}
}

uint64_t hp_peers_turn(struct hp_http_user *u, uint64_t now, uint64_t away)
{
	struct hp_peers *p = (struct hp_peers *)u;

	p->now = now;
	if (away)
		was_away(p, away);
	take_inbox(p);
	look_at_table(p);
	take_ended(p);
	look_at_time(p);
	do {
		take_ended(p);
		begin(p);
		pump(p);
	} while (p->ended);
	return when(p);
}

/* ---- Its end ---------------------------------------------------------- */

static void free_ended(struct hp_peers *p)
{
	while (p->ended) {
		struct hp_client_ask *a = p->ended;

		p->ended = a->next;
		hp_ask_free(a);
	}
	p->ended_end = &p->ended;
}

void hp_peers_leave(struct hp_http_user *u)
{
	struct hp_peers *p = (struct hp_peers *)u;
	/* Who still reads while his process ends has other sources. */
	const int code = u->leaving ? -ECANCELED : -EHOSTUNREACH;

	pthread_mutex_lock(&p->lock);
	p->closed = true;
	p->exits = !u->leaving;
	pthread_mutex_unlock(&p->lock);
	take_inbox(p);
	while (p->jobs)
		hp_job_fail(p, p->jobs, code, HP_CLIENT_WELL);
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next)
		hp_peer_close(p, i);
	free_ended(p);
	hp_table_look(&p->table, p->now, NULL);
	hp_table_add(&p->table, true);
}
