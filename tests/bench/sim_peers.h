/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's readers, and what happens to them: pieces are wanted one after the
 * other, lib/peers says what is to be done for each, and time passes.
 */
#ifndef BENCH_SIM_PEERS_H
#define BENCH_SIM_PEERS_H

#include "sim_ask.h"

/* ---- A piece ---------------------------------------------------------- */

static inline void next_piece(struct sim *s, struct slot *t);

static inline void is_there(struct sim *s, struct slot *t)
{
	const double took = s->now - (double)(t->want.began - HP_SECOND) / 1e9;
	const bool own = is_struck(s, t->reader);

	if (took > s->longest[own])
		s->longest[own] = took;
	s->end[own] = s->now;
	s->done++;
	s->reader[t->reader].left--;
	t->busy = false;
}

static inline void from_origin(struct sim *s, struct slot *t)
{
	struct try r = { .phase = FLOWS,
			 .what = A_READ,
			 .slot = (uint32_t)(t - s->slot),
			 .reader = t->reader,
			 .bytes = piece_bytes(s) };

	s->to_origin[t->want.why]++;
	s->read_bytes += r.bytes;
	flow_start(&s->links, try_new(s, r), 2 * s->nodes,
		   link_in(s, t->reader), r.bytes);
}

/* What lib/peers says is done. */
static inline void apply(struct sim *s, struct slot *t,
			 const struct hp_want_acts *acts)
{
	const enum hp_want_is is = t->want.is;

	for (unsigned i = 0; i < acts->n; i++) {
		const unsigned k = acts->of[i].ask;

		if (acts->of[i].what == HP_WANT_ASK)
			ask(s, t, k);
		else
			drop(s, t->try[k], acts->of[i].what == HP_WANT_LEAVE);
	}
	if (is == HP_WANT_ORIGIN) {
		from_origin(s, t);
	} else if (is == HP_WANT_DONE) {
		is_there(s, t);
		next_piece(s, t);
	}
}

/* Its next piece: of its own chunk; or of wide that are read side by side a
 * piece of each in turn, whichever slot is free. */
static inline void place_of(struct sim *s, struct slot *t, uint32_t i)
{
	const uint32_t all = s->wide * s->pieces, block = i / all * s->wide;
	const uint32_t w =
		s->a_node - block < s->wide ? s->a_node - block : s->wide;

	t->chunk =
		s->list[(uint64_t)t->reader * s->a_node + block + i % all % w];
	t->piece = i % all / w;
}

static inline unsigned under_way(const struct sim *s, uint32_t reader,
				 struct hp_under_way *ret)
{
	const struct slot *t = &s->slot[reader * s->k];
	unsigned n = 0;

	for (uint32_t k = 0; k < s->k; k++)
		for (unsigned i = 0; t[k].busy && i < t[k].want.n; i++)
			if (t[k].want.ask[i].open)
				ret[n++] = (struct hp_under_way){
					t[k].chunk, t[k].want.ask[i].node
				};
	return n;
}

/* As the client: of those that wait the one that has a place next. */
static inline bool take_waiting(struct sim *s, struct slot *t)
{
	struct reader *r = &s->reader[t->reader];
	struct hp_under_way way[64 * HP_WANT_ASKS];
	unsigned n;

	for (; r->n_wait < AHEAD && r->at < s->a_node * s->pieces; r->at++) {
		struct hp_waiting w = { 0 };

		place_of(s, t, r->at);
		w.chunk = t->chunk;
		holders(s, w.chunk, &w.first, &w.last);
		r->piece[r->n_wait] = r->at;
		r->wait[r->n_wait++] = w;
	}
	for (n = 0; n < r->n_wait; n++)
		r->waits[n] = &r->wait[n];
	n = s->fifo || !n ? 0 :
			    hp_places_next(r->waits, n, way,
					   under_way(s, t->reader, way));
	if (n >= r->n_wait)
		return false;
	place_of(s, t, r->piece[n]);
	r->n_wait--;
	memmove(r->wait + n, r->wait + n + 1,
		(r->n_wait - n) * sizeof *r->wait);
	memmove(r->piece + n, r->piece + n + 1,
		(r->n_wait - n) * sizeof *r->piece);
	return true;
}

static inline bool take_piece(struct sim *s, struct slot *t)
{
	struct reader *r = &s->reader[t->reader];

	if (s->wide) {
		return take_waiting(s, t);
	} else if (t->began && t->piece + 1 < s->pieces) {
		t->piece++;
	} else if (r->at < s->a_node) {
		t->began = true;
		t->chunk = s->list[(uint64_t)t->reader * s->a_node + r->at++];
		t->piece = 0;
	} else {
		return false;
	}
	return true;
}

static inline void want(struct sim *s, struct slot *t)
{
	struct hp_want_acts acts;

	t->busy = true;
	t->want = (struct hp_want){
		.whom = { .nodes = s->nodes,
			  .self = t->reader,
			  .chunk = t->chunk,
			  .before = HP_NO_NODE,
			  .patience = PATIENCE,
			  .look = look,
			  .arg = t },
		.coming = never,
		.other = never,
		.hedges = &s->reader[t->reader].hedges,
		.rates = &s->reader[t->reader].rates,
		.rate = rate,
		.bytes = (uint64_t)piece_bytes(s),
	};
	holders(s, t->chunk, &t->want.whom.first, &t->want.whom.last);
	hp_want_begin(&t->want, ns(s), &acts);
	apply(s, t, &acts);
}

/* Those that are here cost nothing. */
static inline void next_piece(struct sim *s, struct slot *t)
{
	while (!t->busy && take_piece(s, t)) {
		if (!holds(s, t->reader, t->chunk)) {
			want(s, t);
			return;
		}
		s->done++;
		s->reader[t->reader].left--;
	}
}

/* ---- What happens ----------------------------------------------------- */

static inline void said(struct sim *s, uint32_t id, enum hp_said what,
			enum hp_health_end how)
{
	const struct try t = s->try[id];
	struct slot *slot = &s->slot[t.slot];
	struct hp_want_acts acts;

	for (unsigned i = 0; !t.left && i < slot->want.n; i++)
		if (slot->want.ask[i].open)
			heard(s, slot->try[i]);
	take_away(s, id, how);
	if (what == HP_SAID_ALL && !t.left && t.reader != t.node)
		s->moved += piece_bytes(s);
	if (!t.left) {
		hp_want_said(&slot->want, t.ask, what, ns(s), &acts);
		apply(s, slot, &acts);
	}
	pump(s, t.reader, t.node);
}

static inline bool hears(const struct sim *s, const struct try *t)
{
	return t->reader == t->node ||
	       (s->lost[t->node] == IS_WELL && s->lost[t->reader] != IS_CUT);
}

static inline void arrive(struct sim *s, uint32_t id)
{
	struct try *t = &s->try[id];

	if (t->reader != t->node && s->lost[t->node] == IS_DEAD)
		said(s, id, HP_SAID_FAILED, HP_END_FAILED);
	else if (!hears(s, t))
		t->phase = SILENT;
	else if (has(s, t))
		answer(s, id);
	else
		adopt(s, id);
}

static inline void was_read(struct sim *s, uint32_t id)
{
	struct slot *t = &s->slot[s->try[id].slot];

	flow_stop(&s->links, id);
	try_free(s, id);
	is_there(s, t);
	next_piece(s, t);
}

static inline void end_of(struct sim *s, uint32_t id)
{
	const struct try *t = &s->try[id];

	clocks_stop(&s->clocks, id);
	if (t->phase == ON_WIRE)
		arrive(s, id);
	else if (t->what == AN_ADOPTION)
		has_come(s, id);
	else if (t->what == A_READ)
		was_read(s, id);
	else
		said(s, id, HP_SAID_ALL, HP_END_DONE);
}

static inline void late(struct sim *s, struct slot *t, uint32_t node)
{
	struct hp_want_acts acts;

	for (unsigned i = 0; t->busy && i < t->want.n; i++) {
		if (!t->want.ask[i].open || t->want.ask[i].node != node)
			continue;
		hp_want_late(&t->want, i, ns(s), &acts);
		apply(s, t, &acts);
		return;
	}
}

/* What waits for a node that is slow goes elsewhere. */
static inline void look_at_queue(struct sim *s, uint32_t reader, uint32_t i)
{
	struct reader *r = &s->reader[reader];
	struct hp_want_acts acts;

	while (r->peer[i].queue != NOWHERE &&
	       hp_rates_is_slow(&r->rates, &r->peer[i].rate, r->peer[i].owed,
				ns(s))) {
		const struct try *t = &s->try[r->peer[i].queue];
		struct slot *slot = &s->slot[t->slot];

		hp_want_slow(&slot->want, t->ask, ns(s), &acts);
		apply(s, slot, &acts);
	}
}

/* All that this reader asked of the node. */
static inline void close_all(struct sim *s, uint32_t reader, uint32_t node)
{
	for (uint32_t i = 0; i < s->used; i++) {
		const struct try *t = &s->try[i];

		if (t->phase != UNUSED && t->what == AN_ASK &&
		    t->reader == reader && t->node == node)
			said(s, i, HP_SAID_LATE, HP_END_GIVEN_UP);
	}
}

static inline void look_at_node(struct sim *s, uint32_t reader, uint32_t i)
{
	struct peer *p = &s->reader[reader].peer[i];
	const uint32_t node = p->node;

	switch (p->n_open ? hp_health_look(&p->health, ns(s)) : HP_DO_NOTHING) {
	case HP_DO_NOTHING:
		break;
	case HP_DO_ELSEWHERE:
		for (uint32_t k = 0; k < s->k; k++)
			late(s, &s->slot[reader * s->k + k], node);
		break;
	case HP_DO_CLOSE:
		close_all(s, reader, node);
		break;
	}
}

/* A reader looks at its clock. */
static inline void tick(struct sim *s, uint32_t reader)
{
	struct slot *t = &s->slot[reader * s->k];
	struct hp_want_acts acts;

	for (uint32_t k = 0; k < s->k; k++)
		for (unsigned i = 0; t[k].busy && i < t[k].want.n; i++)
			if (t[k].want.ask[i].open)
				heard(s, t[k].try[i]);
	for (uint32_t i = 0; i < s->reader[reader].peers; i++)
		look_at_node(s, reader, i);
	for (uint32_t k = 0; k < s->k; k++) {
		if (!t[k].busy || hp_want_next(&t[k].want) > ns(s))
			continue;
		hp_want_time(&t[k].want, ns(s), &acts);
		apply(s, &t[k], &acts);
	}
	for (uint32_t i = 0; i < s->reader[reader].peers; i++)
		look_at_queue(s, reader, i);
	if (s->reader[reader].left)
		clocks_set(&s->clocks, s->tries + reader, s->now + TICK);
	else
		clocks_stop(&s->clocks, s->tries + reader);
}

#endif
