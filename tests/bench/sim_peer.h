/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peers of a whole job in virtual time, no byte moved: each node has a
 * reader, a server and a link each way.  Whom a reader asks, when it asks
 * another one too and when it gives up is lib/peers's (want.h, whom.h,
 * health.h); what carries that out is here, as the client does it: so many
 * requests under way, one at a time to a node, the rest of them queued.
 *
 * A server tells what it owes when its answer begins.  A lost chunk comes from
 * the origin in pieces, those that somebody waits for first; a server asks no
 * other holder for it, which is the worse case for the origin.  Disks and
 * processors are as fast as links.
 */
#ifndef BENCH_SIM_PEER_H
#define BENCH_SIM_PEER_H

#include "peers/places.h"
#include "peers/want.h"
#include "sim_links.h"

/* There and back, and how often a reader looks at what is late. */
#define LATENCY 20e-6
#define TICK 0.05
#define PATIENCE (120 * HP_SECOND)
#define LOAD_AGE (2 * HP_SECOND) /* as the client's */
enum { MOST_CONNECTIONS = 128, MOST_PIECES = 64, AHEAD = 64 };

/* What a reader knows of loads. */
enum loads { BLIND, TOLD, TRUE };

enum lost {
	IS_WELL,
	IS_DEAD,   /* its kernel refuses; its reader is gone, too */
	IS_SILENT, /* the same, but nothing comes back */
	IS_CUT,	   /* its reader goes on, and hears of nobody */
};

enum phase { UNUSED, QUEUED, ON_WIRE, WAITS, FLOWS, SILENT };
enum of_what { AN_ASK, AN_ADOPTION, A_READ };

/* One request on its way, or bytes from the origin; its number is a flow's. */
struct
try {
	uint8_t phase, what;
	bool left; /* nobody waits for it any more, but it may finish */
	uint32_t slot, ask, reader, node, chunk, piece;
	uint32_t next; /* unused ones; of a queue; who waits for a chunk */
	double bytes;
};

/* What a reader knows of a node that it has asked. */
struct peer {
	struct hp_health health;
	struct hp_rate rate;
	uint64_t owed, told, told_at, used;
	uint32_t node, queue, n_open;
	bool connected;
};

struct slot {
	struct sim *sim;
	bool busy, began;
	uint32_t reader, chunk, piece;
	uint32_t try[HP_WANT_ASKS];
	struct hp_want want;
};

struct reader {
	struct peer *peer;
	uint32_t *found, peers, room, connections;
	struct hp_hedges hedges;
	struct hp_rates rates;
	uint32_t at, left; /* of its pieces; still to come */
	bool gone;
	/* Those that wait, in their order. */
	struct hp_waiting wait[AHEAD], *waits[AHEAD];
	uint32_t piece[AHEAD], n_wait;
};

/* A chunk that a node took over. */
struct adopted {
	uint32_t node, chunk_1, waits; /* chunk_1: 0: unused */
	uint64_t pieces;
};

struct sim {
	/* What is played. */
	uint32_t nodes, copies, k, a_node; /* chunks that each node reads */
	uint32_t chunks, pieces;
	uint32_t at_once; /* requests to a node; 0: as the client */
	uint32_t wide;	  /* chunks that are read side by side; 0: one a slot */
	bool fifo;	  /* of these the first piece is always next */
	double chunk_bytes, link, origin, latency, have;
	enum loads loads;
	bool plain; /* as sim_links.h says */
	uint64_t seed;
	/* When that part of all is read, these are lost. */
	double when;
	enum lost how;
	uint32_t first, last;
	double slow; /* 0; or they are not lost but of this rate */

	/* How it stands. */
	double now;
	struct clocks clocks;
	struct links links;
	struct try *try;
	uint32_t tries, unused, used;
	struct slot *slot;
	struct reader *reader;
	uint32_t *list; /* chunks, the first a_node of them node 0's */
	uint8_t *lost;
	struct adopted *adopted; /* by a hash */
	uint32_t adopted_room;
	uint32_t *connections;

	/* What is counted. */
	uint64_t done, all, asks, twice, hedged, adoptions, cut_adoptions;
	uint64_t to_origin[HP_WHY_ALONE + 1];
	double moved, adopted_bytes, read_bytes, hottest;
	double from_time, from_bytes, to_time, to_bytes;
	/* Of the others, and of who was struck: the last piece, and the longest
	 * that one took. */
	double end[2], longest[2];
	uint32_t most_connections;
};

static inline void broken(const char *what)
{
	fprintf(stderr, "sim_peers: %s\n", what);
	exit(1);
}

static inline uint64_t ns(const struct sim *s)
{
	return (uint64_t)(s->now * 1e9) + HP_SECOND;
}

static inline bool is_struck(const struct sim *s, uint32_t node)
{
	return s->when > 0 && node >= s->first && node <= s->last;
}

static inline uint64_t dice64(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *seed >> 33;
}

static inline double piece_bytes(const struct sim *s)
{
	return s->chunk_bytes / s->pieces;
}

static inline void holders(const struct sim *s, uint32_t chunk,
			   uint32_t *ret_first, uint32_t *ret_last)
{
	*ret_first = chunk % (s->nodes / s->copies) * s->copies;
	*ret_last = *ret_first + s->copies - 1;
}

static inline bool holds(const struct sim *s, uint32_t node, uint32_t chunk)
{
	uint32_t first, last;

	holders(s, chunk, &first, &last);
	return node >= first && node <= last;
}

/* Links: out of each node, into each node, out of the origin. */
static inline uint32_t link_in(const struct sim *s, uint32_t node)
{
	return s->nodes + node;
}

/* ---- What is known of nodes ------------------------------------------- */

static inline uint32_t spot(uint32_t room, uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
	       (room - 1);
}

static inline struct peer *known(struct reader *r, uint32_t node)
{
	uint32_t i;

	if (!r->room)
		return NULL;
	for (i = spot(r->room, node); r->found[i]; i = (i + 1) & (r->room - 1))
		if (r->peer[r->found[i] - 1].node == node)
			return &r->peer[r->found[i] - 1];
	return NULL;
}

static inline void note(struct reader *r, uint32_t at)
{
	uint32_t i = spot(r->room, r->peer[at].node);

	while (r->found[i])
		i = (i + 1) & (r->room - 1);
	r->found[i] = at + 1;
}

static inline struct peer *peer_of(struct reader *r, uint32_t node)
{
	struct peer *p = known(r, node);

	if (p)
		return p;
	if (2 * (r->peers + 1) > r->room) {
		r->room = r->room ? 2 * r->room : 32;
		free(r->found);
		r->found = zeroed(r->room, sizeof *r->found);
		r->peer = larger(r->peer, r->room / 2, sizeof *r->peer);
		for (uint32_t i = 0; i < r->peers; i++)
			note(r, i);
	}
	r->peer[r->peers] = (struct peer){ .node = node, .queue = NOWHERE };
	note(r, r->peers++);
	return &r->peer[r->peers - 1];
}

/* Bytes that a server has still to send. */
static inline double load(const struct sim *s, uint32_t node)
{
	const struct link *k = &s->links.link[node];
	double sum = 0;

	for (uint32_t i = 0; i < k->n; i++)
		sum += flow_left(&s->links, k->flow[i]);
	return sum;
}

/* ---- A server --------------------------------------------------------- */

static inline uint32_t try_new(struct sim *s, struct try t)
{
	uint32_t id = s->unused;

	if (id != NOWHERE)
		s->unused = s->try[id].next;
	else if (s->used < s->tries)
		id = s->used++;
	else
		broken("too much is under way");
	t.next = NOWHERE;
	s->try[id] = t;
	return id;
}

static inline void try_free(struct sim *s, uint32_t id)
{
	s->try[id] = (struct try){ .next = s->unused };
	s->unused = id;
}

static inline struct adopted *adopted(const struct sim *s, uint32_t node,
				      uint32_t chunk)
{
	const uint64_t key = (uint64_t)node << 32 | chunk;
	uint32_t i = spot(s->adopted_room, key);

	for (; s->adopted[i].chunk_1; i = (i + 1) & (s->adopted_room - 1))
		if (s->adopted[i].node == node &&
		    s->adopted[i].chunk_1 == chunk + 1)
			break;
	return &s->adopted[i];
}

static inline bool has(const struct sim *s, const struct try *t)
{
	return holds(s, t->node, t->chunk) ||
	       adopted(s, t->node, t->chunk)->pieces >> t->piece & 1;
}

/* The bytes of the answer set off; they say what this server owes. */
static inline void answer(struct sim *s, uint32_t id)
{
	struct try *t = &s->try[id];
	struct peer *p = peer_of(&s->reader[t->reader], t->node);

	p->told = (uint64_t)load(s, t->node);
	p->told_at = ns(s);
	if ((double)p->told > s->hottest)
		s->hottest = (double)p->told;
	t->phase = FLOWS;
	hp_health_heard(&p->health, ns(s));
	if (!t->left)
		hp_want_byte(&s->slot[t->slot].want, t->ask, 0, ns(s));
	if (t->reader == t->node)
		clocks_set(&s->clocks, id, s->now);
	else
		flow_start(&s->links, id, t->node, link_in(s, t->reader),
			   t->bytes);
}

/* Of an adopted chunk: first what somebody waits for. */
static inline void fetch_next(struct sim *s, struct adopted *a)
{
	struct try t = { .phase = FLOWS,
			 .what = AN_ADOPTION,
			 .node = a->node,
			 .chunk = a->chunk_1 - 1,
			 .bytes = piece_bytes(s) };

	if (a->waits != NOWHERE)
		t.piece = s->try[a->waits].piece;
	else
		while (t.piece < s->pieces && a->pieces >> t.piece & 1)
			t.piece++;
	if (t.piece == s->pieces)
		return;
	s->adopted_bytes += t.bytes;
	flow_start(&s->links, try_new(s, t), 2 * s->nodes, link_in(s, t.node),
		   t.bytes);
}

static inline void has_come(struct sim *s, uint32_t id)
{
	const struct try t = s->try[id];
	struct adopted *a = adopted(s, t.node, t.chunk);
	uint32_t *at = &a->waits;

	flow_stop(&s->links, id);
	try_free(s, id);
	a->pieces |= UINT64_C(1) << t.piece;
	while (*at != NOWHERE) {
		const uint32_t i = *at;

		if (s->try[i].piece != t.piece) {
			at = &s->try[i].next;
			continue;
		}
		*at = s->try[i].next;
		answer(s, i);
	}
	fetch_next(s, a);
}

static inline void adopt(struct sim *s, uint32_t id)
{
	struct try *t = &s->try[id];
	struct adopted *a = adopted(s, t->node, t->chunk);
	const bool is_new = !a->chunk_1;
	uint32_t *end = &a->waits;

	if (is_new) {
		if (4 * ++s->adoptions > s->adopted_room)
			broken("too much is adopted");
		s->cut_adoptions += s->lost[t->node] == IS_CUT;
		*a = (struct adopted){ .node = t->node,
				       .chunk_1 = t->chunk + 1,
				       .waits = NOWHERE };
	}
	while (*end != NOWHERE)
		end = &s->try[*end].next;
	*end = id;
	t->next = NOWHERE;
	t->phase = WAITS;
	if (is_new)
		fetch_next(s, a);
}

static inline void wait_no_more(struct sim *s, uint32_t id)
{
	const struct try *t = &s->try[id];
	uint32_t *at = &adopted(s, t->node, t->chunk)->waits;

	while (*at != id)
		at = &s->try[*at].next;
	*at = t->next;
}

#endif
