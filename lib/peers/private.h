/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's side of the client.  All but the inbox is the engine's thread's.
 *
 * A request of a caller is a job; it has parts, of at most 4 MiB, each with a
 * want (want.h) that decides; and what is asked of a node for a part is an ask,
 * one HTTP request or several, until one finds the port.  Files call downwards
 * only: client.c, client_turn.c, client_part.c, client_peer.c, client_ask.c,
 * client_place.c, client_tell.c.
 */
#ifndef HP_PEERS_PRIVATE_H
#define HP_PEERS_PRIVATE_H

#include "http/engine.h"
#include "peers/book_file.h"
#include "peers/carry.h"
#include "peers/client.h"
#include "peers/have.h"
#include "peers/places.h"
#include "peers/table.h"
#include "peers/ports.h"
#include "peers/want.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	HP_NOTES = 16,	  /* lines of a process, and one more */
	HP_PEOPLE = 4096, /* bytes of a body that is for people */
};
/* An idle connection of that age is not used again. */
#define HP_IDLE_AGE (30 * HP_SECOND)
/* What nobody waits for any more may take so long. */
#define HP_LEFT_FOR HP_SECOND
/* What a node told of its load is of interest for so long. */
#define HP_LOAD_AGE (2 * HP_SECOND)
/* Who fetches something for us, and says nothing, is asked whether he lives. */
#define HP_LIFE_AFTER (HP_SECOND / 4)
/* A place where nobody was found before may take so long to say a word. */
#define HP_PLACE_AFTER (HP_SECOND / 4)
/* Who has no time now is asked after others for so long. */
#define HP_BUSY_FOR HP_SECOND

struct hp_client {
	struct hp_client_facts facts;
	struct hp_book_file *book;
	struct hp_table_file table;
	_Atomic(struct hp_peers *) peers; /* of the process that used it last */
};

struct hp_client_ask {
	struct hp_transfer t; /* the first, so that one is the other */
	struct hp_peers *peers;
	uint32_t node;
	struct hp_client_part *part; /* NULL: nobody's, or what a node has */
	unsigned i;		     /* the want's number of it */
	enum { HP_ASK_QUEUED, HP_ASK_OPEN, HP_ASK_ENDED } at;
	bool sure, late;
	uint64_t until;		    /* of an open one without a part: its end */
	uint64_t patience;	    /* .. from when it was sent there */
	uint64_t asked;		    /* when it was opened */
	struct hp_client_ask *next; /* of the same, at the same */

	struct hp_ask what;
	struct hp_client_form form;
	uint64_t n, got;
	uint8_t *to;	       /* NULL: thrown away */
	uint8_t *own;	       /* to be freed */
	struct hp_haves *list; /* of what the node has; the same */
	enum hp_said said;

	/* Where: as it is known, and then by a walk. */
	bool known, proven, unproven, retried;
	uint64_t sought_until; /* then at the next place; 0: here it stays */
	struct hp_ports ports;
	uint8_t address;
	uint16_t port;
	char url[HP_CARRY_URL], range[HP_CARRY_RANGE];
	char proof[HP_ASK_PROOF + 16];
};

/* A node, as this process knows it. */
struct hp_peer {
	struct hp_health health;
	struct hp_rate rate;
	uint64_t owed; /* bytes */
	struct hp_client_ask *queue, *open;
	unsigned n_open;
	bool listed; /* among those with something to do */
	uint32_t next;

	struct hp_have_known have;
	bool have_asked; /* under way */

	bool found; /* where */
	uint8_t address;
	uint16_t port;
	uint32_t first_place; /* if it was not: where to begin */
	uint64_t used;
	bool fresh; /* connections that are open are not to be used */

	uint64_t busy_until; /* as it said */
	uint64_t life_at;    /* not to be asked for a sign of life before */

	uint32_t noted; /* reasons, as bits */
};

struct hp_client_part {
	struct hp_client_job *job;
	uint64_t first, n;
	uint8_t *buf;
	struct hp_want want;
	struct hp_client_ask *asks[HP_WANT_ASKS];
	struct hp_client_ask *direct; /* its bytes go to buf */
	enum { HP_PART_WAITS, HP_PART_ACTIVE, HP_PART_RESTS, HP_PART_OVER } at;
	struct hp_waiting waiting;
	bool began;		     /* it has had a place */
	struct hp_client_part *next; /* of those that wait */
};

struct hp_client_job {
	struct hp_peers *peers;
	struct hp_client_job *next, *before;
	struct hp_client_want want;
	struct hp_client_form form;
	hp_client_done *done;
	void *arg;
	uint64_t deadline;
	uint32_t first, last; /* holders */
	uint32_t blamed;      /* for the origin; HP_NO_NODE */
	struct hp_client_got got;
	uint32_t left, parts;
	struct hp_client_part part[];
};

struct hp_bad {
	struct hp_bad *next;
	uint32_t node, chunk;
};

struct hp_peers {
	struct hp_http_user user;
	struct hp_http *engine;
	struct hp_client *client;
	struct hp_peers *before; /* the process's that was forked */
	pid_t pid;
	uint32_t self, nodes;
	unsigned at_once; /* requests to a node */

	pthread_mutex_t lock; /* of these, to 'notes' */
	bool joined, dead, closed;
	_Atomic bool exits; /* closed, as the process ends */
	struct hp_client_job *inbox, **inbox_end;
	struct hp_bad *bads;
	char *notes[HP_NOTES + 1];
	unsigned n_notes, noted_all;

	uint64_t now; /* of the turn */
	struct hp_table table;
	struct hp_peer *peer;
	uint32_t listed; /* HP_NO_NODE: none */
	struct hp_hedges hedges;
	struct hp_rates rates;
	struct hp_quorum quorum;
	struct hp_client_job *jobs;
	struct hp_client_part *waits, **waits_end;
	struct hp_client_part *active[HP_PLACES];
	struct hp_client_part *rests[HP_RESTS];
	struct hp_client_ask *ended, **ended_end;
	uint32_t noted; /* reasons for the origin, as bits */

	_Atomic uint64_t bytes, reads, to_origin, hedged, won, adopted;
	_Atomic uint64_t failed[HP_CLIENT_WHYS];
	_Atomic unsigned mute; /* "no engine" was said */
};

static inline const struct hp_book *hp_peers_book(const struct hp_peers *p)
{
	return &p->client->book->book;
}

static inline bool hp_is_have(const struct hp_client_ask *a)
{
	return a->what.kind == HP_ASK_HAVE;
}

static inline bool hp_is_of_chunk(const struct hp_client_ask *a)
{
	return a->what.chunk != HP_ASK_NO_CHUNK;
}

/* ---- client_tell.c ---------------------------------------------------- */

enum hp_client_why hp_said_why(enum hp_said said);
/* Why the origin is asked, and of whom: HP_NO_NODE, of nobody. */
enum hp_client_why hp_peers_why(struct hp_peers *p, const struct hp_want *w,
				uint32_t *ret_node);
/* It sent all that it was asked for. */
void hp_peers_answered(struct hp_peers *p, const struct hp_client_ask *a);
void hp_peers_hedged(struct hp_peers *p, uint32_t node, bool won);
/* A request goes to the origin because of node, or of nobody: HP_NO_NODE. */
void hp_peers_to_origin(struct hp_peers *p, uint32_t node,
			enum hp_client_why why);
/* Others are asked.  Each only once. */
void hp_peers_note(struct hp_peers *p, uint32_t node, enum hp_client_why why);
void hp_peers_note_text(struct hp_peers *p, const char *text);

/* ---- client_place.c --------------------------------------------------- */

/* This process found it, or another of the node. */
bool hp_place_is_known(struct hp_peers *p, uint32_t node);
/* Sets address and port to the next place; false: there is none left. */
bool hp_place_next(struct hp_peers *p, struct hp_client_ask *a);
void hp_place_found(struct hp_peers *p, struct hp_client_ask *a);
/* Silent there: next time elsewhere; without a connection, another address. */
void hp_place_not_here(struct hp_peers *p, const struct hp_client_ask *a,
		       bool connected);
/* Is its server still looked for? */
bool hp_place_is_sought(const struct hp_client_ask *a);
/* .. and has it been silent for too long where it is looked for now? */
bool hp_place_is_mute(struct hp_peers *p, struct hp_client_ask *a);

/* ---- client_ask.c ----------------------------------------------------- */

/* Sends it; its end comes to p->ended, or is there already. */
void hp_ask_open(struct hp_peers *p, struct hp_client_ask *a);
/* Where it is it is not heard: at the next place, where there is one. */
void hp_ask_elsewhere(struct hp_peers *p, struct hp_client_ask *a);
/* This process was away for so long: that was not silence. */
void hp_ask_away(struct hp_client_ask *a, uint64_t gap);
/* It is over, as a->said says, and comes to p->ended. */
void hp_ask_end(struct hp_peers *p, struct hp_client_ask *a, enum hp_said said,
		enum hp_health_end how);
/* Nobody is to hear of it any more; leave: but it may finish. */
void hp_ask_drop(struct hp_peers *p, struct hp_client_ask *a, bool leave);
void hp_ask_free(struct hp_client_ask *a);

/* ---- client_peer.c ---------------------------------------------------- */

struct hp_peer_view hp_peer_look_at(struct hp_peers *p, uint32_t node,
				    uint32_t chunk, enum hp_ask_kind kind);
bool hp_peer_is_slow(struct hp_peers *p, uint32_t node);
struct hp_rate *hp_peer_rate(struct hp_peers *p, uint32_t node);
bool hp_peer_is_coming(struct hp_peers *p, uint32_t node, uint32_t chunk);
/* Nobody here has ever heard of its server, and that of this node is not up for
 * long. */
bool hp_peer_is_starting(struct hp_peers *p, uint32_t node);
bool hp_peer_has_other(struct hp_peers *p, uint32_t node, uint32_t chunk,
		       enum hp_ask_kind kind);
/* It has said that it has not got it, or sent wrong bytes of it. */
void hp_peer_denied(struct hp_peers *p, uint32_t node, uint32_t chunk,
		    enum hp_ask_kind kind);
/* .. and it was waited for there, as it was coming. */
void hp_peer_in_vain(struct hp_peers *p, uint32_t node, uint32_t chunk);
void hp_peer_queue(struct hp_peers *p, struct hp_client_ask *a);
/* Of what nobody waits for: the end of what takes too long, and signs of life;
 * and when that is to be; UINT64_MAX: never. */
void hp_peer_time(struct hp_peers *p, uint32_t node);
uint64_t hp_peer_next(const struct hp_peers *p, uint32_t node);
/* Sends what may be sent. */
void hp_peer_pump(struct hp_peers *p, uint32_t node);
/* An ask for what it has came to its end, and is freed. */
void hp_peer_have(struct hp_peers *p, struct hp_client_ask *a);
/* All asks of it end as late. */
void hp_peer_close(struct hp_peers *p, uint32_t node);

/* ---- client_part.c ---------------------------------------------------- */

void hp_part_waits_no_more(struct hp_peers *p, struct hp_client_part *part);
/* It has a place, and begins or goes on. */
void hp_part_begin(struct hp_peers *p, struct hp_client_part *part);
void hp_part_time(struct hp_peers *p, struct hp_client_part *part);
/* What is owed by that node is late. */
void hp_part_late(struct hp_peers *p, struct hp_client_part *part,
		  uint32_t node);
/* Its node is, and it was not sent yet: it is freed. */
void hp_part_slow(struct hp_peers *p, struct hp_client_ask *a);
void hp_part_said(struct hp_peers *p, struct hp_client_ask *a);
/* Its caller hears of it, and it is freed. */
void hp_job_fail(struct hp_peers *p, struct hp_client_job *j, ssize_t code,
		 enum hp_client_why why);

/* ---- client_turn.c ---------------------------------------------------- */

uint64_t hp_peers_turn(struct hp_http_user *u, uint64_t now, uint64_t away);
void hp_peers_leave(struct hp_http_user *u);

#endif
