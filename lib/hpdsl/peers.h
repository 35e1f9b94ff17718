/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a job to each other.  What staging has gathered of them it puts
 * into a book, peers.hpdsl, in each node's stage directory: who they are, how
 * each is reached, and a secret by which they know each other.
 * hpdsl-format(5), "BOOK OF A JOB'S NODES".
 */
#ifndef HPDSL_PEERS_H
#define HPDSL_PEERS_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_stage;

/*
 * Names in a stage directory that are those of the node's server: its lock,
 * which it holds with flock(2), and its socket.
 */
#define HPDSL_SERVE_LOCK ".serve.lock"
#define HPDSL_SERVE_SOCKET "serve.sock"

enum {
	HPDSL_PEER_ADDRESSES = 8, /* of a node, that go into a book */
	HPDSL_PEER_OFFERS = 16,	  /* among which they are chosen */
	HPDSL_PEER_HOST = 64,	  /* of a name, with its NUL */
};

/* An address of an interface. */
struct hpdsl_peer_address {
	uint8_t ip[16];	 /* IPv6's bytes; IPv4 as ::ffff:a.b.c.d */
	uint32_t mbits;	 /* of the interface, a second; 0: not known */
	uint32_t prefix; /* so many of the 128 bits are the subnet's */
	char interface[16];
};

/* A node.  Plain bytes: it may be sent as it is. */
struct hpdsl_peer_node {
	char host[HPDSL_PEER_HOST];
	uint32_t rack; /* the same number: the same switch; 0: not known */
	uint32_t offers;
	struct hpdsl_peer_address offer[HPDSL_PEER_OFFERS]; /* best first */
};

/*
 * Is it what only of hpdsl_peer_interfaces() may be: the first letters of
 * interfaces' names, "ib", or a subnet, "10.1.0.0/16"?
 */
HPDSL_API bool hpdsl_peer_only_check(const char *only);
/* Is it a subnet, and the address, IPv4 as ::ffff:a.b.c.d, in it? */
HPDSL_API bool hpdsl_peer_is_in(const char *only, const uint8_t ip[16]);

/*
 * Fills in the offers of this machine: addresses of interfaces that are up, of
 * none that is loopback, link-local or a bridge to containers; the fastest
 * first.  only: of those alone; who names them may name also loopback and
 * bridges; NULL: any.  -ENODEV: there is none, and ret has none.
 */
HPDSL_API int hpdsl_peer_interfaces(const char *only, const struct hp_io *io,
				    struct hpdsl_peer_node *ret,
				    struct hpdsl_error *err);

/*
 * Puts the offers of each of n nodes in order: those in a subnet that all nodes
 * are in come first, then the faster ones.  An address that two hosts have is
 * nobody's.  Gives how many such subnets there are, or -ENOMEM; with none of
 * them the order is each node's own.
 */
HPDSL_API int hpdsl_peer_choose(struct hpdsl_peer_node *nodes, uint32_t n);
/* Puts the offer with that address first; false: there is none. */
HPDSL_API bool hpdsl_peer_prefer(struct hpdsl_peer_node *node,
				 const uint8_t ip[16]);

/*
 * A node's rack by the text of its place in the network, its own name last:
 * "spine1.leaf4.nid7".  0: there is nothing before the name.
 */
HPDSL_API uint32_t hpdsl_peer_rack(const char *place);

/*
 * Which share of its link a node reaches when all nodes fetch from each other,
 * chunks in no order, with so many copies of each, eight fetches of a node
 * under way and the less loaded of two asked.  By simulation, between what was
 * simulated on a straight line; nodes is 2 or more.
 */
HPDSL_API double hpdsl_peer_efficiency(uint32_t nodes, uint32_t copies);

/* ---- Nodes that are listed by name ------------------------------------- */

/*
 * A list of hosts, size bytes at text: a line a node, with its name and, if
 * they are not to be looked up, its addresses in digits, 8 at most; from # on a
 * line is a comment.  A name that comes again is the same node.  name is the
 * list's, for messages.  *ret is to be freed.  HPDSL_EUSAGE: which line is
 * wrong.
 */
HPDSL_API int hpdsl_peer_hosts(const char *text, size_t size, const char *name,
			       struct hpdsl_peer_node **ret, uint32_t *ret_n,
			       struct hpdsl_error *err);
/*
 * Looks up those that have no address, one after the other, and leaves of all
 * addresses those in subnet, "10.1.0.0/16"; NULL: all.  -EHOSTUNREACH: a node
 * has none; -ETIMEDOUT: it takes more than a minute; HPDSL_EUSAGE.
 */
HPDSL_API int hpdsl_peer_resolve(struct hpdsl_peer_node *nodes, uint32_t n,
				 const char *subnet, struct hpdsl_error *err);
/*
 * Which of them is own: the one of its name, with the domain or without, or
 * else, if there is no such one, the one with an address of its.  UINT32_MAX:
 * none or several are.
 */
HPDSL_API uint32_t hpdsl_peer_hosts_own(const struct hpdsl_peer_node *nodes,
					uint32_t n,
					const struct hpdsl_peer_node *own);

/* What a book says once, and all nodes alike. */
struct hpdsl_peer_book {
	uint8_t id[16], secret[32];
	int64_t made;	/* seconds since 1970: when these were drawn */
	uint64_t rate;	/* bytes a second from the origin, a node; 0: any */
	uint32_t parts; /* of the plan */
	uint32_t port;	/* the first that a server tries */
	char job[128];	/* text for people */
};

/*
 * Id, secret, when they were drawn, and port, for a book of these n nodes. They
 * are those of the book that lies in the stage directory if that one is of the
 * same nodes and of the same pack, else drawn; other members of ret stay as
 * they are.  port: to begin with; 0: one that follows from the secret.  One
 * process does this for all, after hpdsl_stage_begin().
 */
HPDSL_API int hpdsl_stage_draw_book(struct hpdsl_stage *s,
				    const struct hpdsl_peer_node *nodes,
				    uint32_t n, uint32_t port,
				    struct hpdsl_peer_book *ret,
				    struct hpdsl_error *err);
/*
 * Writes the book, after hpdsl_stage_begin(); of as many nodes as the directory
 * was opened for.  One that cannot be written is taken away, so that none of
 * another job is left.
 */
HPDSL_API int hpdsl_stage_put_book(struct hpdsl_stage *s,
				   const struct hpdsl_peer_book *book,
				   const struct hpdsl_peer_node *nodes,
				   struct hpdsl_error *err);

/* What a book says to people. */
struct hpdsl_peer_about {
	uint8_t id[16];
	int64_t made;	      /* seconds since 1970 */
	uint32_t nodes, node; /* of how many this one is which */
	uint32_t port, ports; /* the first that a server tries, of how many */
	char job[128];	      /* text for people */
};
/*
 * Of the book in the stage directory at path.  -ENOENT: there is none.  -EPERM:
 * it is somebody else's, or others may read it, and is not believed;
 * HPDSL_ENOTOURS, HPDSL_ETOONEW, HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_peer_about(const char *path, const struct hp_io *io,
			       struct hpdsl_peer_about *ret,
			       struct hpdsl_error *err);

/* ---- Do they answer? -------------------------------------------------- */

enum hpdsl_probe_is {
	HPDSL_PROBE_WELL,    /* with the right proof, to all that was asked */
	HPDSL_PROBE_REFUSED, /* nothing listens on any of its ports */
	HPDSL_PROBE_SILENT,  /* no connection, and no word why */
	HPDSL_PROBE_MUTE,    /* takes connections, and says nothing */
	HPDSL_PROBE_CLOSED,  /* closes connections without a word */
	HPDSL_PROBE_DENIED,  /* a server, of another job or with another secret
			      */
	HPDSL_PROBE_OTHER,   /* another program has the port */
	HPDSL_PROBE_LOST,    /* it is the one, but answers stop on their way */
	HPDSL_PROBE_NOT_ASKED, /* no time, address, descriptor or memory for it
				*/
};
/* For people, what it is and what may be the reason. */
HPDSL_API const char *hpdsl_peer_probe_text(enum hpdsl_probe_is is);

/* Of a node. */
struct hpdsl_peer_probe {
	uint32_t node;
	enum hpdsl_probe_is is;
	char host[HPDSL_PEER_HOST];
	uint8_t ip[16]; /* where it answered, or was looked for last */
	uint16_t port;
	uint64_t chunks;   /* that it has */
	double round_trip; /* the shortest of three, in seconds; 0: none */
	uint64_t bytes;	   /* of each read; 0: none was made */
	double rate; /* of the read in the middle, bytes a second; 0: none */
};

/*
 * Asks all other nodes of the book in the stage directory dir, as readers do,
 * what they have; and then each, one after the other, three times for its
 * status, and for up to 4 MiB of a chunk that it has.  Ends in as many seconds
 * at most; 0: 120.  With a server of this node or without; tells no reader.
 * *ret, in the nodes' order and without the own one, is to be freed.  -ENOENT:
 * there is no book; as hpdsl_peer_about(); HPDSL_EDIFFERS: it is of another
 * dataset; -ENOSYS: there is no libcurl.
 */
HPDSL_API int hpdsl_peer_probe(const char *dir, double seconds,
			       const struct hp_io *io,
			       struct hpdsl_peer_probe **ret, uint32_t *ret_n,
			       struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
