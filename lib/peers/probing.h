/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of a job, asked whether it is there and how fast: what is asked
 * next, given what came.  Pure: times are passed in.
 *
 * It is looked for at each port of each of its addresses, as readers do, until
 * one answers with proof; then it waits for its turn, in which it is measured
 * while no other node is.
 */
#ifndef HP_PEERS_PROBING_H
#define HP_PEERS_PROBING_H

#include "hpdsl/peers.h"
#include "peers/client.h"

enum {
	HP_PROBE_PINGS = 3,
	HP_PROBE_READS = 3,
	HP_PROBE_LOOKS = 4096, /* sizes of chunks that are looked at */
};

enum hp_probe_step {
	HP_PROBE_FIND,	/* what it has, at address and port */
	HP_PROBE_WAITS, /* found: for its turn */
	HP_PROBE_PING,	/* its status: how long that takes */
	HP_PROBE_READ,	/* bytes of a chunk that it has */
	HP_PROBE_OVER,
};

/* Of a request. */
enum hp_probe_came {
	HP_CAME_WELL,	/* with proof, what was asked for */
	HP_CAME_NOT,	/* with proof, but "not here", "later" or other bytes */
	HP_CAME_DENIED, /* 403, and no proof: of another job, or another book */
	HP_CAME_OTHER,	/* an answer of another program */
	HP_CAME_CLOSED, /* a connection, which was closed without a word */
	HP_CAME_MUTE,	/* a connection, and no whole answer in time */
	HP_CAME_SILENT, /* no connection, and no word why */
	HP_CAME_REFUSED, /* no connection, and a word */
	HP_CAME_SELF,	 /* no memory or descriptor here */
};

/* What it has, as far as it matters: the chunk to be read. */
struct hp_probe_pick {
	uint64_t chunks; /* that it has */
	uint32_t chunk, looks;
	enum hp_ask_kind kind;
	uint64_t size; /* 0: none */
};

struct hp_probing {
	uint32_t addresses;
	uint16_t first; /* of HP_BOOK_PORTS ports */
	enum hp_probe_step step;
	uint32_t address;
	uint16_t port;
	unsigned seen; /* bits of what came before it was found */
	bool found;
	bool lost; /* .. and then no whole answer came */
	bool self; /* it could not be asked */
	unsigned pings, reads;
	double ping;		       /* the shortest; seconds */
	double second[HP_PROBE_READS]; /* of each read */
	struct hp_probe_pick pick;
};

/* Zero but for addresses and first. */
void hp_probing_begin(struct hp_probing *p);
void hp_probing_turn(struct hp_probing *p);
/* seconds: from its request on. */
void hp_probing_came(struct hp_probing *p, enum hp_probe_came came,
		     double seconds);
/* There is no more time for this one. */
void hp_probing_stop(struct hp_probing *p);

/* When it is over. */
enum hpdsl_probe_is hp_probing_is(const struct hp_probing *p);
/* Bytes of a read, and a second (by the read in the middle; 0: there was
 * none). */
uint64_t hp_probing_bytes(const struct hp_probing *p);
double hp_probing_rate(const struct hp_probing *p);

/* Bytes of the wire's list from byte at on. */
void hp_probe_pick(struct hp_probe_pick *k, const struct hp_client_facts *facts,
		   uint64_t at, const uint8_t *p, size_t n);

#endif
