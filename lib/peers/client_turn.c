/* SPDX-License-Identifier: Apache-2.0 */
/* The client's turn in the engine's thread: what has come, what time does. */
#include "peers/private.h"

#include <errno.h>
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
		j->part[i].next = NULL;
		*p->waits_end = &j->part[i];
		p->waits_end = &j->part[i].next;
	}
}

static void take_bad(struct hp_peers *p, const struct hp_bad *b)
{
	struct hp_health *h = &p->peer[b->node].health;

	hp_table_bad(&p->client->table, b->node);
	hp_peer_denied(p, b->node, b->chunk, HP_ASK_PLAIN);
	hp_peer_denied(p, b->node, b->chunk, HP_ASK_STORED);
	hp_health_asked(h, p->now);
	hp_health_ended(h, p->now, HP_END_BAD);
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
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next)
		hp_health_away(&p->peer[i].health, gap);
	for (int i = 0; i < HP_UNDER_WAY; i++)
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
		hp_table_suspect(&p->client->table, node, p->now,
				 p->now + HP_SECOND);
		for (int i = 0; i < HP_UNDER_WAY; i++)
			if (p->active[i])
				hp_part_late(p, p->active[i], node);
		break;
	case HP_DO_CLOSE:
		hp_table_suspect(&p->client->table, node, p->now, h->probe_at);
		hp_peer_close(p, node);
		break;
	}
}

static void out_of_time(struct hp_peers *p)
{
	struct hp_client_part *part = p->waits;

	while (part) {
		if (part->job->deadline > p->now) {
			part = part->next;
			continue;
		}
		hp_job_fail(p, part->job, -EHOSTUNREACH, HP_CLIENT_LATE);
		part = p->waits;
	}
}

static void look_at_time(struct hp_peers *p)
{
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next)
		look_at_node(p, i);
	for (int i = 0; i < HP_UNDER_WAY; i++)
		if (p->active[i] && hp_want_next(&p->active[i]->want) <= p->now)
			hp_part_time(p, p->active[i]);
	out_of_time(p);
}

static uint64_t when(const struct hp_peers *p)
{
	uint64_t t = UINT64_MAX, at;

	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next) {
		at = hp_health_next(&p->peer[i].health);
		t = at < t ? at : t;
	}
	for (int i = 0; i < HP_UNDER_WAY; i++) {
		at = p->active[i] ? hp_want_next(&p->active[i]->want) : t;
		t = at < t ? at : t;
	}
	for (const struct hp_client_part *w = p->waits; w; w = w->next)
		t = w->job->deadline < t ? w->job->deadline : t;
	return t;
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

static void begin(struct hp_peers *p)
{
	/* One that ends at once leaves its place to the next. */
	for (int i = 0; i < HP_UNDER_WAY && p->waits;) {
		struct hp_client_part *part = p->waits;

		if (p->active[i]) {
			i++;
			continue;
		}
		p->waits = part->next;
		if (!p->waits)
			p->waits_end = &p->waits;
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

	pthread_mutex_lock(&p->lock);
	p->closed = true;
	pthread_mutex_unlock(&p->lock);
	take_inbox(p);
	while (p->jobs)
		hp_job_fail(p, p->jobs, -ECANCELED, HP_CLIENT_WELL);
	for (uint32_t i = p->listed; i != HP_NO_NODE; i = p->peer[i].next)
		hp_peer_close(p, i);
	free_ended(p);
}
