/* SPDX-License-Identifier: Apache-2.0 */
/* A job from its first piece to its last, with what befalls it between. */
#ifndef BENCH_SIM_PEERS_PLAY_H
#define BENCH_SIM_PEERS_PLAY_H

#include "sim_peers.h"

/* ---- Losses ----------------------------------------------------------- */

static inline bool is_lost(const struct sim *s, uint32_t node)
{
	return s->lost[node] == IS_DEAD || s->lost[node] == IS_SILENT;
}

/* What a node that is gone wanted, or fetched for others. */
static inline void vanish(struct sim *s, uint32_t id)
{
	const struct try *t = &s->try[id];

	if (t->what == AN_ASK) {
		take_away(s, id, HP_END_GIVEN_UP);
		return;
	}
	flow_stop(&s->links, id);
	try_free(s, id);
}

/* Nothing of it comes any more, and nobody says so. */
static inline void freeze(struct sim *s, uint32_t id)
{
	struct try *t = &s->try[id];

	heard(s, id);
	if (t->phase == WAITS)
		wait_no_more(s, id);
	if (t->phase == FLOWS)
		flow_stop(&s->links, id);
	clocks_stop(&s->clocks, id);
	t->phase = SILENT;
}

static inline void befall(struct sim *s, uint32_t id)
{
	const struct try t = s->try[id];

	if (t.phase == UNUSED)
		return;
	if (t.what == AN_ASK ? is_lost(s, t.reader) :
			       is_lost(s, t.what == A_READ ? t.reader : t.node))
		vanish(s, id);
	else if (t.what != AN_ASK || t.phase == QUEUED || hears(s, &t))
		return;
	else if (s->lost[t.node] == IS_DEAD)
		said(s, id, HP_SAID_FAILED, HP_END_FAILED);
	else
		freeze(s, id);
}

static inline void leave(struct sim *s, uint32_t node)
{
	struct reader *r = &s->reader[node];

	for (uint32_t k = 0; k < s->k; k++) {
		s->slot[node * s->k + k].busy = false;
		s->slot[node * s->k + k].piece = s->pieces;
	}
	s->all -= r->left;
	r->left = 0;
	r->at = s->a_node * s->pieces;
	clocks_stop(&s->clocks, s->tries + node);
}

static inline void lose(struct sim *s)
{
	for (uint32_t i = s->first; i <= s->last; i++) {
		if (s->slow > 0) {
			link_can(&s->links, i, s->link * s->slow);
			link_can(&s->links, link_in(s, i), s->link * s->slow);
			continue;
		}
		s->lost[i] = (uint8_t)s->how;
		if (is_lost(s, i))
			leave(s, i);
	}
	/* first those who are no more, who would be asked otherwise */
	for (int turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; i < s->used; i++)
			if (turn || (s->try[i].what == AN_ASK &&
				     is_lost(s, s->try[i].reader)))
				befall(s, i);
}

/* ---- Setting up ------------------------------------------------------- */

/* As many as it has, each once, in an order that has nothing to do with their
 * numbers; of more than are read any. */
static inline void make_list(struct sim *s)
{
	const uint32_t n = s->nodes * s->a_node;
	uint64_t seed = s->seed;

	s->list = zeroed(n, sizeof *s->list);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)(dice64(&seed) % (i + 1));

		s->list[i] = s->list[at];
		s->list[at] = s->chunks <= n ?
				      i % s->chunks :
				      (uint32_t)(dice64(&seed) % s->chunks);
	}
}

static inline void make_nodes(struct sim *s)
{
	s->slot = zeroed((uint64_t)s->nodes * s->k, sizeof *s->slot);
	s->reader = zeroed(s->nodes, sizeof *s->reader);
	s->lost = zeroed(s->nodes, 1);
	s->connections = zeroed(s->nodes, sizeof *s->connections);
	for (uint32_t i = 0; i < s->nodes * s->k; i++) {
		s->slot[i].sim = s;
		s->slot[i].reader = i / s->k;
	}
	for (uint32_t i = 0; i < s->nodes; i++) {
		s->reader[i].left = s->a_node * s->pieces;
		link_can(&s->links, i, s->link);
		link_can(&s->links, link_in(s, i), s->link);
		clocks_set(&s->clocks, s->tries + i,
			   TICK * (1 + (double)i / s->nodes));
	}
	link_can(&s->links, 2 * s->nodes, s->origin);
}

/* What the nodes that will be lost hold may be adopted at once. */
static inline void make(struct sim *s)
{
	const uint64_t share = (uint64_t)s->chunks * s->copies / s->nodes + 1;
	const uint64_t lost =
		s->when > 0 ? (s->last - s->first + 1) * share : 0;

	s->tries = (uint32_t)(s->nodes * s->k * (HP_WANT_ASKS + 2) + 4 * lost);
	for (s->adopted_room = 1024; s->adopted_room < 32 * lost;)
		s->adopted_room *= 2;
	if (s->how == IS_CUT)
		s->adopted_room *= 16;
	s->adopted = zeroed(s->adopted_room, sizeof *s->adopted);
	s->try = zeroed(s->tries, sizeof *s->try);
	s->unused = NOWHERE;
	clocks_new(&s->clocks, s->tries + s->nodes);
	s->links.plain = s->plain;
	links_new(&s->links, &s->clocks, 2 * s->nodes + 1, s->tries);
	make_list(s);
	make_nodes(s);
	s->all = (uint64_t)s->nodes * s->a_node * s->pieces;
}

static inline void release(struct sim *s)
{
	for (uint32_t i = 0; i < s->nodes; i++) {
		free(s->reader[i].peer);
		free(s->reader[i].found);
	}
	links_free(&s->links);
	clocks_free(&s->clocks);
	free(s->adopted);
	free(s->try);
	free(s->slot);
	free(s->reader);
	free(s->lost);
	free(s->connections);
	free(s->list);
}

/* ---- Time passes ------------------------------------------------------ */

static inline bool is_past(const struct sim *s, double part)
{
	return (double)s->done >= part * (double)s->all;
}

/* The middle of a job, where all links have something to do. */
static inline void take_times(struct sim *s)
{
	if (s->from_time <= 0 && is_past(s, 0.25)) {
		s->from_time = s->now;
		s->from_bytes = s->moved;
	}
	if (s->to_time <= 0 && is_past(s, 0.75)) {
		s->to_time = s->now;
		s->to_bytes = s->moved;
	}
}

static inline double part_of_links(const struct sim *s)
{
	return (s->to_bytes - s->from_bytes) / (s->to_time - s->from_time) /
	       s->link / s->nodes;
}

/* Of the chunks that no holder answers for any more. */
static inline double lost_bytes(const struct sim *s)
{
	double sum = 0;

	for (uint32_t c = 0; s->when > 0 && c < s->chunks; c++) {
		uint32_t i, last;

		for (holders(s, c, &i, &last);
		     i <= last && s->lost[i] != IS_WELL; i++)
			;
		sum += i > last ? s->chunk_bytes : 0;
	}
	return sum;
}

/* Those that readers themselves read there. */
static inline uint64_t origin_reads(const struct sim *s)
{
	uint64_t n = 0;

	for (int i = 0; i <= HP_WHY_ALONE; i++)
		n += s->to_origin[i];
	return n;
}

static inline void play(struct sim *s)
{
	bool lost = s->when <= 0;

	make(s);
	for (uint32_t k = 0; k < s->k; k++)
		for (uint32_t i = 0; i < s->nodes; i++)
			next_piece(s, &s->slot[i * s->k + k]);
	while (s->done < s->all) {
		uint32_t id;

		if (!s->clocks.n)
			broken("a request has no end");
		id = s->clocks.heap[0];
		s->now = s->links.now = s->clocks.at[id];
		if (id < s->tries)
			end_of(s, id);
		else
			tick(s, id - s->tries);
		if (!lost && is_past(s, s->when)) {
			lost = true;
			lose(s);
		}
		take_times(s);
	}
}

#endif
