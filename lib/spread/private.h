/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the exchange's files share: a chunk as the exchange sees it, whether it
 * is to come here, is served from here, or both; and who asked for it.
 */
#ifndef HP_EXCHANGE_PRIVATE_H
#define HP_EXCHANGE_PRIVATE_H

#include "spread/exchange.h"

/* How far a chunk has come here. */
enum hp_coming {
	HP_COMING_NOT,	   /* nothing is done for it yet */
	HP_COMING_ASKED,   /* a stream from another node */
	HP_COMING_TURNED,  /* was asked for in vain, waits to be read */
	HP_COMING_READ,	   /* being read from the origin */
	HP_COMING_CHECKED, /* all is written: FINISH was said or will be */
	HP_COMING_READY,
	HP_COMING_GONE, /* and will not be here */
};

/* What happens to an attempt that failed, once nothing is under way. */
enum hp_end {
	HP_END_NOT, /* it goes on */
	HP_END_RETRY,
	HP_END_TURN, /* to the origin */
	HP_END_DROP,
	HP_END_GIVE_UP,
	HP_END_LOST, /* others have given it up */
};

/* Actions that are to be taken for a chunk, lowest first. */
enum {
	HP_TODO_CANCEL = 1,
	HP_TODO_REQUEST = 2,
	HP_TODO_CREDIT = 4,
	HP_TODO_FINISH = 8,
	HP_TODO_GIVE_UP = 16,
	HP_TODO_DROP = 32,
	HP_TODO_LAST = 64, /* of streams out that have ended */
	HP_TODO_CLOSE = 128,
};

/* Lists that a chunk may be in. */
enum { HP_LIST_BEGIN, HP_LIST_TODO, HP_LIST_TURNED, HP_LIST_KEPT, HP_LISTS };

#define HP_NOT_WANTED UINT32_MAX
#define HP_NOT_IN_HEAP UINT32_MAX

/* A request of another node, as small as it can be. */
struct hp_out {
	struct hp_out *next; /* of the same chunk */
	struct hp_xchunk *chunk;
	uint64_t number; /* in order of arrival */
	uint64_t sent;	 /* bytes */
	uint32_t node, attempt, credits;
	uint32_t heap; /* its place there */
	uint8_t last;  /* ended: the message that says so */
};

struct hp_xchunk {
	struct hp_xchunk *next; /* same hash */
	struct hp_xchunk *link[HP_LISTS];
	struct hp_out *outs;   /* not ended */
	struct hp_out *ended;  /* to be told so */
	uint64_t size;	       /* in the form that it has or comes in */
	uint64_t got, written; /* bytes of this attempt */
	uint32_t chunk;
	uint32_t place;	       /* in want[] */
	uint32_t held;	       /* buffers in use: came, or being read */
	uint32_t out;	       /* segments under way from here */
	uint16_t granted, due; /* credits: with the sender, to be given back */
	uint8_t state, end, todo;
	uint8_t attempt, tries;		      /* tries: at the present source */
	bool origin : 1, plain : 1, kept : 1; /* kept: in the plain form */
	bool begun : 1, begin : 1;	      /* begin: BEGIN is to be said */
	bool reading : 1, cancelled : 1, queued : 1;
	bool slot : 1;	/* takes a stream in or one from the origin */
	bool open : 1;	/* CLOSE is to be said once nobody reads it */
	bool asked : 1; /* another node will ask for it */
	bool again : 1; /* bytes of it have come before, in vain */
	bool torn : 1;	/* a segment came, but will not be written */
	bool lost : 1;	/* given up, and nobody behind us need try */
};

struct hp_chunks {
	struct hp_xchunk *first, *last;
};

struct hp_exchange {
	struct hp_exchange_config c;
	uint32_t share;		/* credits of a stream */
	struct hp_xchunk *want; /* n_want of them */
	struct hp_xchunk **bucket;
	uint64_t buckets, chunks; /* power of two; chunks in them */
	struct hp_xchunk **reads; /* origin_streams */
	uint32_t read_streams;	  /* at a time, of these */
	struct hp_chunks list[HP_LISTS];
	struct hp_out **heap; /* that can be served, oldest first */
	uint32_t heap_n, heap_room;
	uint32_t outs;	     /* not ended, */
	uint32_t outs_begun; /* .. of which so many have got something */
	uint64_t arrivals;
	/* First place that is not settled; next to ask for, and to read. */
	uint32_t first, ask_at, read_at;
	uint32_t in_open, in_used, read_open, read_used, out_used;
	uint32_t settled;
	uint32_t kept; /* in HP_LIST_KEPT, and still asked */
	bool stopped;
	struct hp_exchange_counts n;
};

/* Is there more of it to be read from the origin? */
static inline bool hp_in_is_unread(const struct hp_xchunk *k)
{
	return k->state == HP_COMING_READ && !k->end && k->got < k->size;
}

/* xchunk.c */
struct hp_xchunk *hp_xchunk_find(const struct hp_exchange *x, uint64_t chunk);
void hp_xchunk_insert(struct hp_exchange *x, struct hp_xchunk *k);
/* Finds, or makes one for a chunk that is not wanted; NULL: no memory. */
struct hp_xchunk *hp_xchunk_get(struct hp_exchange *x, uint64_t chunk);
/* Frees one that is not wanted, if there is nothing about it any more. */
void hp_xchunk_put(struct hp_exchange *x, struct hp_xchunk *k);
void hp_exchange_todo(struct hp_exchange *x, struct hp_xchunk *k, int what);
void hp_chunks_push(struct hp_exchange *x, int list, struct hp_xchunk *k);
struct hp_xchunk *hp_chunks_pop(struct hp_exchange *x, int list);

/* attempt.c */
/* Chunks being read from the origin, of which there is more to be read. */
uint32_t hp_in_unread(const struct hp_exchange *x);
void hp_in_fill(struct hp_exchange *x);
/* The first segment of an attempt is here or will be read. */
void hp_in_first_bytes(struct hp_exchange *x, struct hp_xchunk *k);
void hp_in_all_written(struct hp_exchange *x, struct hp_xchunk *k);
/* The attempt has come to nothing, as this source will have it. */
void hp_in_failed(struct hp_exchange *x, struct hp_xchunk *k);
void hp_in_end(struct hp_exchange *x, struct hp_xchunk *k, enum hp_end end);
/* Goes on with a chunk whose attempt has ended, if nothing is under way. */
void hp_in_drained(struct hp_exchange *x, struct hp_xchunk *k);
void hp_in_stop(struct hp_exchange *x, struct hp_xchunk *k, bool at_once);

/* in.c */
bool hp_in_read(struct hp_exchange *x, struct hp_action *ret);
bool hp_in_credit(struct hp_exchange *x, struct hp_xchunk *k,
		  struct hp_action *ret);
int hp_in_data(struct hp_exchange *x, uint32_t from,
	       const struct hp_message *m);
void hp_in_ended(struct hp_exchange *x, uint32_t from,
		 const struct hp_message *m);
void hp_in_event(struct hp_exchange *x, struct hp_xchunk *k,
		 enum hp_event_kind kind, uint64_t end, bool plain);

/* out.c */
int hp_out_request(struct hp_exchange *x, uint32_t from,
		   const struct hp_message *m);
int hp_out_credit(struct hp_exchange *x, uint32_t from,
		  const struct hp_message *m);
int hp_out_cancel(struct hp_exchange *x, uint32_t from,
		  const struct hp_message *m);
/* Something about the chunk has changed: whom of those who ask can be served?
 */
void hp_out_changed(struct hp_exchange *x, struct hp_xchunk *k);
/* Ends all streams of the chunk, or those that have got bytes of it. */
void hp_out_end(struct hp_exchange *x, struct hp_xchunk *k,
		enum hp_message_kind last, bool all);
/* False: nothing of it was under way. */
bool hp_out_sent(struct hp_exchange *x, struct hp_xchunk *k);
bool hp_out_data(struct hp_exchange *x, struct hp_action *ret);
bool hp_out_last(struct hp_exchange *x, struct hp_xchunk *k,
		 struct hp_action *ret);
/* It is verified: it stays open for who will ask, or somebody else's is not. */
void hp_out_verified(struct hp_exchange *x, struct hp_xchunk *k);
/* Is it to be closed now?  Then it is served as it is kept from here on. */
bool hp_out_close(struct hp_exchange *x, struct hp_xchunk *k);
void hp_out_free(struct hp_exchange *x);

#endif
