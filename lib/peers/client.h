/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader's way to bytes of chunks that other nodes of its job have: from "I
 * want these bytes" to bytes in the caller's buffer, or "go to the origin".
 * One for each stage directory that is open; all of a process share one thread
 * and its connections (http/engine.h), which are made when first needed.
 *
 * There is one only behind the gate: a book, and a table of this boot and this
 * book that a server of this node has made.  Looking for these costs two opens
 * and no connection, and libcurl is not loaded.
 *
 * What it promises of each request: it ends, in bytes that came with the right
 * proof, or with -EHOSTUNREACH, in the time that was given to it; the buffer is
 * not touched after that.  That the bytes are right is for the caller to find
 * out, by the members' checksums, and to tell: hp_client_bad().
 *
 * Any number of threads.  After fork() a child goes on with the same one: it
 * gets a thread and connections of its own when first needed, and requests that
 * were under way are the parent's alone.
 */
#ifndef HP_PEERS_CLIENT_H
#define HP_PEERS_CLIENT_H

#include "peers/wire.h"
#include "sys/io.h"

#include <stdbool.h>

struct hp_client;

/* What the index says of a chunk in one form. */
struct hp_client_form {
	uint64_t size;
	uint8_t digest[16]; /* XXH3-128, canonical */
};

/* What the dataset is; copied, but for arg. */
struct hp_client_facts {
	const uint8_t *pack; /* XXH3-128 of index.hpdsl; another book's: shut */
	uint32_t chunks;
	/* False: it has no such form.  Any thread; must not wait. */
	bool (*form)(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		     struct hp_client_form *ret);
	void *arg;
};

/*
 * dir is open on the stage directory until it returns, path its name for
 * messages.  0 and *ret NULL: nobody is to be asked (no book, no table of this
 * boot and book, a book of one node or of another dataset, HPDSL_PEERS=off in
 * the environment).  What is there but cannot be believed, somebody else's
 * book for example, is the same, with a text in *err for a warning and
 * err->code set; otherwise that is 0.  -ENOMEM alone is returned.
 */
int hp_client_open(const struct hp_io *io, int dir, const char *path,
		   const struct hp_client_facts *facts, struct hp_client **ret,
		   struct hpdsl_error *err);

/*
 * What is under way is given up: done() is called for it, with -ECANCELED,
 * before this returns.  Not out of done().  NULL is harmless.
 */
void hp_client_close(struct hp_client *c);

/* ---- A request -------------------------------------------------------- */

/* Why the origin is to be asked, or somebody else than who was. */
enum hp_client_why {
	HP_CLIENT_WELL,
	HP_CLIENT_NO_HOLDER, /* nobody that lives was to have it, nor adopts it
			      */
	HP_CLIENT_DENIED,    /* "not here" */
	HP_CLIENT_BUSY,	     /* "later" */
	HP_CLIENT_LATE,	     /* nothing came in time */
	HP_CLIENT_REFUSED,   /* no connection, or it broke */
	HP_CLIENT_UNPROVEN,  /* what answered is not of this job */
	HP_CLIENT_BAD,	   /* other bytes than were asked for, or wrong ones */
	HP_CLIENT_CUT_OFF, /* half of the nodes do not answer: it may be us */
	HP_CLIENT_NO_ENGINE, /* no libcurl, descriptor or memory here */
	HP_CLIENT_NO_ROOM,   /* who was to adopt it did not */
	HP_CLIENT_NO_SERVER, /* nobody here has ever heard of its server */
	HP_CLIENT_WHYS
};
const char *hp_client_why_text(enum hp_client_why why);
/* One word, for programs. */
const char *hp_client_why_name(enum hp_client_why why);

struct hp_client_want {
	uint32_t chunk;
	enum hp_ask_kind kind; /* HP_ASK_PLAIN or HP_ASK_STORED */
	uint64_t offset, n;    /* any; cut at the chunk's end */
	void *buf;	       /* n bytes; the client's until done() */
	uint64_t deadline;     /* of hp_monotonic(); 0: HP_CLIENT_PATIENCE */
	/* Plus 1: a node whose bytes of it were wrong, not to be asked first;
	 * 0: none. */
	uint32_t but;
	bool held; /* by those who were to have it: nobody is to adopt it */
};
#define HP_CLIENT_PATIENCE UINT64_C(30000000000)

struct hp_client_got {
	/*
	 * Bytes: all, or as many as there are to the chunk's end.
	 * -EHOSTUNREACH: the origin is to be asked.  -ECANCELED: it was closed.
	 */
	ssize_t n;
	enum hp_client_why why; /* of -EHOSTUNREACH */
	/* Who sent it; HP_NO_NODE (UINT32_MAX): nobody, or several did. */
	uint32_t node;
	bool adopted;
	/* Who was to hold it does so in the other form: nobody adopted it. */
	bool other_form;
};

/*
 * Once for each request, by the thread of the engine, or in hp_client_submit()
 * itself where nothing can be asked.  It must not wait; it may submit.
 */
typedef void hp_client_done(void *arg, const struct hp_client_got *got);

/* *want is copied. */
void hp_client_submit(struct hp_client *c, const struct hp_client_want *want,
		      hp_client_done *done, void *arg);

/*
 * What node sent of the chunk failed a member's checksum: counted, here and
 * for the node's other processes; it is not asked for the chunk again, and not
 * for anything after three times.
 */
void hp_client_bad(struct hp_client *c, uint32_t node, uint32_t chunk);

/* ---- Seeing it -------------------------------------------------------- */

struct hp_client_stats {
	uint64_t bytes, reads; /* that came, and were delivered */
	uint64_t to_origin;    /* requests that nobody here answered */
	uint64_t failed[HP_CLIENT_WHYS]; /* those, by why */
	uint64_t hedged;  /* somebody else was asked, as one was late */
	uint64_t won;	  /* and was the first to answer */
	uint64_t adopted; /* reads, of those above, that an adopter served */
};
/* Of this process. */
void hp_client_stats(const struct hp_client *c, struct hp_client_stats *ret);

/*
 * What is worth a warning, a line at a time: the first time that a node could
 * not serve, and the first fallback to the origin, for each node and reason; of
 * a process 16 at most, and one that there are more.  True: buf has one, which
 * is not told again.  The caller adds whose dataset it is.
 */
#define HP_CLIENT_NOTE 512
bool hp_client_note(struct hp_client *c, char buf[HP_CLIENT_NOTE]);

/* For tests and reports: the book it goes by, as long as it is open. */
const struct hp_book *hp_client_book(const struct hp_client *c);

#endif
