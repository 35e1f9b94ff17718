/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader knows of nodes, its connections, and what it asks of them: one
 * request at a time to a node, the others wait for their turn, as the client's.
 */
#ifndef BENCH_SIM_ASK_H
#define BENCH_SIM_ASK_H

#include "sim_peer.h"

/* ---- What a reader knows ---------------------------------------------- */

static inline struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct slot *t = arg;
	struct sim *s = t->sim;
	const struct peer *p = known(&s->reader[t->reader], node);
	struct hp_peer_view v = {
		.lives = !p || hp_health_may(&p->health, ns(s)),
		.doubted = p && hp_health_is_doubted(&p->health),
		.heard = p ? p->health.heard : 0,
		.slow = p && hp_rates_is_slow(&s->reader[t->reader].rates,
					      &p->rate, p->owed, ns(s)),
	};

	if (s->loads == TRUE)
		v.owed = (uint64_t)load(s, node);
	if (s->loads == TOLD && p) {
		v.owed = p->owed;
		if (p->told_at && ns(s) < p->told_at + LOAD_AGE)
			v.owed += p->told;
	}
	return v;
}

/* None comes just now, or is there in another form. */
static inline bool never(void *arg, uint32_t node)
{
	(void)arg;
	(void)node;
	return false;
}

static inline struct hp_rate *rate(void *arg, uint32_t node)
{
	const struct slot *t = arg;

	return &peer_of(&t->sim->reader[t->reader], node)->rate;
}

/* ---- Connections ------------------------------------------------------ */

static inline void disconnect(struct sim *s, uint32_t reader, struct peer *p)
{
	if (!p->connected)
		return;
	p->connected = false;
	s->reader[reader].connections--;
	s->connections[p->node]--;
}

/* The one that was not used for longest makes room. */
static inline void connect_to(struct sim *s, uint32_t reader, struct peer *p)
{
	struct reader *r = &s->reader[reader];
	struct peer *old = NULL;

	p->used = ns(s);
	if (p->connected)
		return;
	for (uint32_t i = 0; r->connections >= MOST_CONNECTIONS && i < r->peers;
	     i++) {
		struct peer *q = &r->peer[i];

		if (q->connected && !q->n_open && (!old || q->used < old->used))
			old = q;
	}
	if (old)
		disconnect(s, reader, old);
	p->connected = true;
	r->connections++;
	if (++s->connections[p->node] > s->most_connections)
		s->most_connections = s->connections[p->node];
}

/* ---- Asks ------------------------------------------------------------- */

static inline uint32_t at_once(const struct sim *s)
{
	return s->at_once   ? s->at_once :
	       s->nodes < 8 ? 4 :
			      1; /* as the client */
}

static inline void pump(struct sim *s, uint32_t reader, uint32_t node)
{
	struct peer *p = peer_of(&s->reader[reader], node);

	while (p->queue != NOWHERE && p->n_open < at_once(s)) {
		const uint32_t id = p->queue;
		struct try *t = &s->try[id];

		p->queue = t->next;
		p->n_open++;
		if (!p->used)
			t->bytes += s->have;
		connect_to(s, reader, p);
		hp_health_asked(&p->health, ns(s));
		hp_want_sent(&s->slot[t->slot].want, t->ask, ns(s));
		t->phase = ON_WIRE;
		clocks_set(&s->clocks, id, s->now + s->latency);
	}
}

static inline void ask(struct sim *s, struct slot *t, unsigned i)
{
	const struct hp_want_ask *a = &t->want.ask[i];
	struct peer *p = peer_of(&s->reader[t->reader], a->node);
	uint32_t *end = &p->queue;

	s->asks++;
	s->hedged += a->hedge;
	s->twice += i && !a->sure && a->node == a[-1].node;
	t->try[i] = try_new(s, (struct try){
				       .phase = QUEUED,
				       .what = AN_ASK,
				       .slot = (uint32_t)(t - s->slot),
				       .ask = i,
				       .reader = t->reader,
				       .node = a->node,
				       .chunk = t->chunk,
				       .piece = t->piece,
				       .bytes = piece_bytes(s),
			       });
	p->owed += (uint64_t)piece_bytes(s);
	while (*end != NOWHERE)
		end = &s->try[*end].next;
	*end = t->try[i];
	pump(s, t->reader, a->node);
}

/* What has come of it by now. */
static inline void heard(struct sim *s, uint32_t id)
{
	const struct try *t = &s->try[id];
	struct hp_want *w = &s->slot[t->slot].want;
	double n = t->bytes - flow_left(&s->links, id);
	uint64_t got;

	if (t->phase != FLOWS || t->left || t->reader == t->node)
		return;
	got = w->ask[t->ask].got;
	if ((uint64_t)n <= got)
		return;
	hp_health_heard(&peer_of(&s->reader[t->reader], t->node)->health,
			ns(s));
	hp_want_byte(w, t->ask, (uint64_t)n - got, ns(s));
}

/* As the client: a late one that owes nothing would never be asked again. */
static inline void tell_health(struct sim *s, struct hp_health *h,
			       enum hp_health_end how)
{
	if (how == HP_END_GIVEN_UP && h->is == HP_HEALTH_LATE && h->owed == 1)
		how = HP_END_FAILED;
	hp_health_ended(h, ns(s), how);
}

/* Nothing of it is anywhere any more, but in its slot. */
static inline void take_away(struct sim *s, uint32_t id, enum hp_health_end how)
{
	const struct try t = s->try[id];
	struct peer *p = peer_of(&s->reader[t.reader], t.node);
	uint32_t *at = &p->queue;

	p->owed -= (uint64_t)piece_bytes(s);
	if (t.phase == QUEUED) {
		while (*at != id)
			at = &s->try[*at].next;
		*at = t.next;
	} else {
		p->n_open--;
		tell_health(s, &p->health, how);
		if (how != HP_END_DONE)
			disconnect(s, t.reader, p);
	}
	if (t.phase == WAITS)
		wait_no_more(s, id);
	if (t.phase == FLOWS && t.reader != t.node)
		flow_stop(&s->links, id);
	clocks_stop(&s->clocks, id);
	try_free(s, id);
}

static inline void drop(struct sim *s, uint32_t id, bool leave)
{
	const struct try t = s->try[id];

	if (leave && t.phase != QUEUED) {
		s->try[id].left = true;
		return;
	}
	take_away(s, id, HP_END_GIVEN_UP);
	pump(s, t.reader, t.node);
}

#endif
