/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server of a node hands out of its stage directory, to the job's
 * other nodes and to other tools of this one: everything of hpdsl-serve(1) but
 * sockets and HTTP.  Who carries requests passes them on as they came, and does
 * what the answer says.
 */
#ifndef HPDSL_SERVE_H
#define HPDSL_SERVE_H

#include "peers.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_serve;

struct hpdsl_serve_options {
	const struct hp_io *io; /* NULL: the system's */
	/* Bytes owed, to all, from which on requests are put off; 0: 256 MiB.
	 */
	uint64_t queue;
	/* Bytes of adopted chunks in memory, where LOCALDIR has no room. */
	uint64_t memory;
};

/*
 * Opens LOCALDIR, which stays as it is but for peers.health, which is made once
 * there is a book.  *opt may be NULL.  -ENOENT: there is no stage.hpdsl yet;
 * -EPERM: the directory is not the caller's alone (any right for others to
 * write into it is too much); as hpdsl_open().
 */
HPDSL_API int hpdsl_serve_open(const char *dir,
			       const struct hpdsl_serve_options *opt,
			       struct hpdsl_serve **ret,
			       struct hpdsl_error *err);
/* Nobody may be asking any more.  NULL is harmless. */
HPDSL_API void hpdsl_serve_close(struct hpdsl_serve *s);

/*
 * To be called once a second, by one thread: a new book, chunks that came.
 * -ENOENT: LOCALDIR, or its stage.hpdsl, is gone.  HPDSL_ECHANGED: it is of
 * another pack by now; close it, and open it anew.  A book that cannot be
 * believed is no failure: the one before it stays, and *err, code 0, has a text
 * if that is new; "" otherwise.  So it is with a chunk of which the origin has
 * other bytes than were packed.
 */
HPDSL_API int hpdsl_serve_look(struct hpdsl_serve *s, struct hpdsl_error *err);

/* What others have as well is not served any more: the server is leaving. */
HPDSL_API void hpdsl_serve_drain(struct hpdsl_serve *s, bool on);

/*
 * Bytes a second that other nodes are given, at most; 0: any.  Answers say when
 * they are to be sent, and who would wait for too long is put off.
 */
HPDSL_API void hpdsl_serve_rate(struct hpdsl_serve *s, uint64_t bytes);

/* ---- The book --------------------------------------------------------- */

struct hpdsl_serve_book {
	bool any;	      /* there is one; else the rest is zero */
	uint8_t id[16];	      /* another one for each book */
	uint32_t nodes, node; /* of how many this one is which */
	uint16_t port;	      /* the first of ports that are tried .. */
	uint16_t ports;	      /* .. and how many of them */
	char job[128];
	uint8_t ip[HPDSL_PEER_ADDRESSES][16]; /* of this node, best first */
	uint32_t addresses;
	uint32_t mbits; /* of the first one's interface; 0: not known */
};
HPDSL_API void hpdsl_serve_book(struct hpdsl_serve *s,
				struct hpdsl_serve_book *ret);
/*
 * Writes the book of a job without MPI into LOCALDIR, for this one, node, of n:
 * all who are given the same nodes, secret and port write the same, but for
 * addresses.  Of *book secret, rate, port (0: one that follows from the secret)
 * and job count; its id and made are set.  The next look takes it.
 * HPDSL_EUSAGE: LOCALDIR was staged in parts, for other nodes.
 */
HPDSL_API int hpdsl_serve_put_book(struct hpdsl_serve *s,
				   struct hpdsl_peer_book *book,
				   const struct hpdsl_peer_node *nodes,
				   uint32_t n, uint32_t node,
				   struct hpdsl_error *err);
/*
 * It listens there, at every address of the node; 0: not known.  Readers of
 * this node find that in peers.health, and need not try the ports before it.
 */
HPDSL_API void hpdsl_serve_listens(struct hpdsl_serve *s, uint16_t port);
/*
 * Is it an address of the job's nodes?  16 bytes, IPv4 as ::ffff:a.b.c.d.  Of
 * anybody else no connection is to be taken.
 */
HPDSL_API bool hpdsl_serve_knows(struct hpdsl_serve *s, const uint8_t ip[16]);

/* ---- A request -------------------------------------------------------- */

/* As it came; a field that was not there, or twice, is NULL. */
struct hpdsl_serve_request {
	const char *method;
	const char *path;  /* as it stood in the request line, not decoded */
	const char *range; /* the value of Range */
	const char *proof; /* of HPDSL */
	/*
	 * What another node asks to be fetched from the origin for all is
	 * waited for, if there is such a function: status 0, and it is called
	 * once, by any thread, maybe before hpdsl_serve_ask() returns.  Then
	 * the same is to be asked again.  NULL: it is not fetched.
	 */
	void (*wake)(void *arg);
	void *arg;
	bool waited; /* it has, once: it is answered now, whatever is here */
};

struct hpdsl_serve_answer {
	unsigned status; /* 200, 206, 403, 404, 405, 416, 503; 0: wait */
	/*
	 * The body: length bytes from offset of fd, which the caller closes; or
	 * length bytes of body, which he frees, or, if that is not NULL, memory
	 * that it is in; or, with both absent and a
	 * chunk, what hpdsl_serve_read() gives; else there is none.  With HEAD
	 * only its length is told.
	 */
	int fd; /* -1: none */
	void *body, *memory;
	uint64_t offset, length;
	uint32_t chunk; /* UINT32_MAX: of none */
	bool plain;
	bool head;   /* no body is to be sent */
	bool proven; /* the request was; no more than that is known of others */
	unsigned retry; /* seconds; 0: no such field */
	/* Fields' values; "": no such field. */
	char proof[128]; /* of HPDSL */
	char tag[80];	 /* of ETag */
	char range[80];	 /* of Content-Range */
	uint64_t owes;	 /* to be given back: hpdsl_serve_done() */
	/* It is not to be sent before, ns of CLOCK_MONOTONIC; 0: at once. */
	uint64_t after;
	void *sum; /* of hpdsl_serve_read()'s bytes; freed by _serve_done() */
};

/*
 * What is said to a request of another node (over TCP), and of a tool of this
 * one (over the Unix socket, where the directory's rights decide).  Any number
 * of threads; opens a file at most, and reads none.
 */
HPDSL_API void hpdsl_serve_ask(struct hpdsl_serve *s,
			       const struct hpdsl_serve_request *q,
			       struct hpdsl_serve_answer *ret);
HPDSL_API void hpdsl_serve_ask_local(struct hpdsl_serve *s,
				     const struct hpdsl_serve_request *q,
				     struct hpdsl_serve_answer *ret);
/* Would who sends its body, of fd, have to wait for a disk? */
HPDSL_API bool hpdsl_serve_is_cold(struct hpdsl_serve *s,
				   const struct hpdsl_serve_answer *a);
/*
 * Then this waits, and a->body is in a->memory instead; fd is closed, -1, also
 * if there is none to be had: -EIO, also of a chunk that ends early; -ENOMEM.
 */
HPDSL_API int hpdsl_serve_read_cold(struct hpdsl_serve *s,
				    struct hpdsl_serve_answer *a,
				    struct hpdsl_error *err);
/*
 * Nothing is waited for any more, and who waits is woken: before those who
 * carry requests are ended.
 */
HPDSL_API void hpdsl_serve_quit(struct hpdsl_serve *s);
/* For each answer, once it was sent, or was not; sent: bytes of its body. */
HPDSL_API void hpdsl_serve_done(struct hpdsl_serve *s,
				const struct hpdsl_serve_answer *a,
				uint64_t sent);

/*
 * Bytes of a chunk that is not here, for an answer to a tool of this node: from
 * other nodes, or the origin.  n of them, fewer at its end; waits.  Of a whole
 * chunk, read from its beginning on, the last ones are given only if all of it
 * is what was packed: else HPDSL_ECORRUPT.  Those of a range are compared with
 * no checksum.
 */
HPDSL_API int64_t hpdsl_serve_read(struct hpdsl_serve *s,
				   const struct hpdsl_serve_answer *a,
				   uint64_t offset, void *buf, size_t n,
				   struct hpdsl_error *err);

/* ---- Seeing it -------------------------------------------------------- */

struct hpdsl_serve_stats {
	uint64_t chunks, here, coming; /* of the dataset; on this node */
	uint64_t requests, bytes;      /* of other nodes: answered, sent */
	uint64_t unproven, absent, busy, wrong; /* 403, 404, 503, others */
	uint64_t cold, cold_bytes; /* .. of these, read by _read_cold() */
	uint64_t local_requests, local_bytes; /* of tools of this node */
	/* Chunks fetched from the origin for all: whole ones, and bytes. */
	uint64_t adopted, adopted_bytes;
	uint64_t rehomed; /* of adopted, those that nobody had asked for */
	uint64_t adopted_peer_bytes; /* .. from nodes that hold them */
	uint64_t passed_bytes;	     /* of both, those that were not kept */
	uint64_t memory_bytes;	     /* of adopted chunks, in memory, now */
	uint64_t fetched_bytes; /* for these, from other nodes or the origin */
	uint64_t owes;		/* now */
	uint64_t rate;		/* bytes a second for other nodes; 0: any */
	uint64_t paced, paced_ns; /* answers that waited for it, how long */
	uint64_t asked; /* when the last proven or local request came, ns of
			   CLOCK_MONOTONIC; 0: none has */
	bool draining;
};
HPDSL_API void hpdsl_serve_stats(struct hpdsl_serve *s,
				 struct hpdsl_serve_stats *ret);

/*
 * What readers of this node saw of another one, all processes together, since
 * peers.health was made.  They add to it about once a second.
 */
#define HPDSL_SERVE_WHYS 16
#define HPDSL_SERVE_TIMES 32
struct hpdsl_serve_seen {
	uint32_t node;
	char host[HPDSL_PEER_HOST]; /* "": of no node */
	bool suspect, banned;	    /* now */
	uint64_t owes; /* bytes, as it said in the last seconds; else 0 */
	uint64_t reads, bytes; /* requests that it answered, and with what */
	uint64_t adopted;      /* of those: fetched from the origin for them */
	uint64_t suspected;    /* times */
	uint64_t bad;	       /* times that a checksum differed */
	uint64_t hedged, won;  /* asked since another was late; and first */
	uint64_t to_origin;    /* reads of the origin because of it */
	uint64_t origin[HPDSL_SERVE_WHYS]; /* those, by reason */
	/* Requests by time: [n] took 2^n microseconds or more, and less than
	 * twice that; [0] any less, the last one any more. */
	uint64_t latency[HPDSL_SERVE_TIMES];
};
/*
 * Of all nodes of the book, *ret_n of them, and one more, behind them, that is
 * of none.  The caller frees *ret; without a book it is NULL, *ret_n 0.
 * -ENOMEM.
 */
HPDSL_API int hpdsl_serve_seen(struct hpdsl_serve *s,
			       struct hpdsl_serve_seen **ret, uint32_t *ret_n);
/* A word for reason i of origin; NULL: there are not so many. */
HPDSL_API const char *hpdsl_serve_why(unsigned i);

#ifdef __cplusplus
}
#endif
#endif
