/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.hpdsl, the book of a job's nodes, over memory: who they are, how each
 * is reached, how chunks are spread over them, and the secret by which they
 * know each other.  Written once for each node, read by any number of
 * processes.  hpdsl-format(5), "BOOK OF A JOB'S NODES".
 */
#ifndef HP_PEERS_BOOK_H
#define HP_PEERS_BOOK_H

#include "hpdsl/core.h"

#define HP_BOOK_NAME "peers.hpdsl"
#define HP_BOOK_MAGIC "\x89HPDSLB\n"
#define HP_BOOK_VERSION 1

enum {
	HP_BOOK_NODES = 1 << 20, /* at most */
	HP_BOOK_ADDRESSES = 8,	 /* of a node, at most */
	HP_BOOK_TEXT = 128,	 /* of the job, a NUL at least at the end */
	HP_BOOK_HOST = 256,	 /* of a node's name, with its NUL */
	HP_BOOK_SECRET = 32,
	HP_BOOK_FIXED = 256, /* bytes before the nodes' rows */
	HP_BOOK_PORTS = 16,  /* that a server tries, from the book's one on */
};

/* What is said once. */
struct hp_book_head {
	uint8_t id[16];	  /* drawn when it was made: of this book alone */
	uint8_t pack[16]; /* XXH3-128 of index.hpdsl */
	uint8_t secret[HP_BOOK_SECRET];
	int64_t made; /* seconds since 1970 */
	uint64_t
		rate; /* bytes a second from the origin, of this node; 0: any */
	uint32_t nodes, node; /* of how many this one is which */
	uint32_t parts;	      /* D: chunk c is in part c mod D */
	uint16_t port;	      /* the first of HP_BOOK_PORTS */
	char job[HP_BOOK_TEXT];
};

/* A way to a node.  IPv4 is there as IPv6's ::ffff:a.b.c.d. */
struct hp_book_address {
	uint8_t ip[16];
	uint32_t mbits; /* of the interface, a second; 0: not known */
};

/* A node, for the writer. */
struct hp_book_node {
	const char *host; /* not empty; shorter than HP_BOOK_HOST */
	uint32_t rack;	  /* the same number: the same switch; 0: not known */
	uint32_t addresses;
	struct hp_book_address address[HP_BOOK_ADDRESSES]; /* best first */
};

/* A book that was checked.  p is the caller's, and must stay. */
struct hp_book {
	struct hp_book_head head;
	const uint8_t *p;
	uint32_t addresses; /* of all nodes */
};

/*
 * Bytes of a whole file; 0: what the head says is out of its limits, or a
 * node's addresses or its host are.
 */
uint64_t hp_book_size(const struct hp_book_head *h,
		      const struct hp_book_node *nodes);
/* Writes a whole file, of that size, to p. */
void hp_book_format(const struct hp_book_head *h,
		    const struct hp_book_node *nodes, void *p);

/*
 * Checks all size bytes at p, which nobody else writes to.  name is for
 * messages.  HPDSL_ENOTOURS, HPDSL_ETOONEW, HPDSL_ECORRUPT.  What it takes is
 * to the byte what hp_book_format() makes of it.
 */
int hp_book_parse(const void *p, uint64_t size, const char *name,
		  struct hp_book *ret, struct hpdsl_error *err);

/* Of a node, which is less than head.nodes. */
const char *hp_book_host(const struct hp_book *b, uint32_t node);
uint32_t hp_book_rack(const struct hp_book *b, uint32_t node);
uint32_t hp_book_addresses(const struct hp_book *b, uint32_t node);
struct hp_book_address hp_book_address(const struct hp_book *b, uint32_t node,
				       uint32_t i);
/* Whose address is it?  The lowest node that has it; UINT32_MAX: nobody's. */
uint32_t hp_book_find(const struct hp_book *b, const uint8_t ip[16]);

/* May b keep a's secret: the same hosts with the same addresses, in order? */
bool hp_book_same_nodes(const struct hp_book *a, const struct hp_book *b);

/* The port for a secret: 20000 to 31999, below those that systems hand out. */
uint16_t hp_book_port(const uint8_t secret[HP_BOOK_SECRET]);

/* IPv4's four bytes, in the order of the wire, as they stand in a book. */
void hp_book_ipv4(const uint8_t four[4], uint8_t ret[16]);

#endif
