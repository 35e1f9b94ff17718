/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of adoption share. */
#ifndef HP_SERVE_ADOPT_PRIVATE_H
#define HP_SERVE_ADOPT_PRIVATE_H

#include "serve/adopt.h"
#include "serve/private.h"
#include "serve/rehome.h"
#include "serve/turn.h"
#include "serve/waiters.h"
#include "sys/clock.h"

enum {
	HP_FETCHERS = 2,
	/* That hang, beside these: others take their place. */
	HP_FETCHERS_HUNG = 16,
};

enum hp_adopt_state {
	HP_ADOPT_FAILED,
	HP_ADOPT_COMING,
	HP_ADOPT_WHOLE,
	HP_ADOPT_PASSING, /* there is no room: stretches are passed on */
};

/* A chunk that somebody has asked for.  Under the lock. */
struct hp_adoptee {
	struct hp_turn_chunk coming; /* first: of the list */
	struct hpdsl_chunk row;
	enum hp_adopt_state state;
	bool failing; /* FAILED once nobody is at it any more */
	struct hp_again again;
	int fd;		   /* the copy; -1: none */
	int origin;	   /* -1: not open */
	bool doubted;	   /* what others gave of it was wrong */
	bool own;	   /* atomic: nobody else is to be asked */
	uint32_t sender;   /* atomic: who gave of it, plus 1; of several, 0 */
	bool sent;	   /* atomic: somebody did */
	uint64_t reserved; /* of the room, and not taken yet */
	bool in_memory;	   /* the copy */
	struct hp_waiter *waiters;
};

/* A stretch that is passed on, and not kept. */
struct hp_passed {
	struct hp_passed *next;
	struct hp_adoptee *of; /* NULL: nobody wants it any more */
	uint64_t first, last;
	enum { HP_PASS_WANTED, HP_PASS_COMING, HP_PASS_HERE } is;
	uint64_t came;
	unsigned takers; /* have been woken, and not come for it */
	struct hp_waiter *waiters;
	uint8_t *buf;
};

/* A thread that fetches. */
struct hp_fetcher {
	struct hpdsl_serve *s;
	pthread_t thread;
	enum {
		HP_FETCHER_NONE,
		HP_FETCHER_RUNS,
		HP_FETCHER_HANGS,
		HP_FETCHER_ENDED
	} is;
	struct hp_adoptee *at; /* NULL: at nothing */
	uint64_t moved;	       /* atomic: when it began, or bytes last came */
};

struct hp_adopting {
	pthread_mutex_t lock;
	pthread_cond_t work, woken;
	/* ns that bytes may take, and how others are asked: for tests to
	 * change */
	uint64_t patience;
	ssize_t (*ask_others)(struct hpdsl_serve *s,
			      const struct hpdsl_chunk *row, uint64_t offset,
			      void *buf, size_t n, uint32_t *ret_node);
	/* Under the lock. */
	struct hp_adoptee **of; /* by chunk; NULL: never asked for */
	struct hp_turn_chunk *coming;
	struct hp_turn_pace pace;
	uint64_t reserved; /* of all */
	uint64_t memory;   /* bytes of copies there */
	struct hp_passed *pass;
	unsigned passes;
	struct hp_rehome rehome; /* by who looks */
	uint8_t rehome_book[16]; /* whose nodes these are */
	uint64_t rehome_after;	 /* there was no room */
	bool quit;
	unsigned waking; /* threads that wake those who have waited */
	struct hp_fetcher fetcher[HP_FETCHERS + HP_FETCHERS_HUNG];
	char told[256]; /* what is worth a warning; "": nothing */
};

/* ---- adoptee.c: under the lock ---------------------------------------- */

/* It is over for now; its waiters are the caller's to be woken. */
struct hp_waiter *hp_adoptee_fail(struct hpdsl_serve *s, struct hp_adoptee *a,
				  bool wrong);
/* Once nobody is at it. */
void hp_adoptee_give_up(struct hpdsl_serve *s, struct hp_adoptee *a);
void hp_adoptee_unlist(struct hp_adopting *all, struct hp_adoptee *a);
/* Lets the lock go and takes it again.  Nothing ends while they are woken. */
void hp_adopting_wake(struct hp_adopting *all, struct hp_waiter *ready);

/* Has it not been begun, or may it be again? */
bool hp_adoptee_may_begin(const struct hp_adopting *all, uint32_t chunk);
/* The same of one that was asked for. */
bool hp_adoptee_is_to_begin(const struct hp_adoptee *a);
/* Threads open what it takes: the origin may take its time. */
int hp_adoptee_begin(struct hpdsl_serve *s, struct hp_adoptee *a, bool unasked);
/* There is no room for it; as hp_adoptee_fail(). */
struct hp_waiter *hp_adoptee_pass(struct hpdsl_serve *s, struct hp_adoptee *a);

/* ---- adopt_rehome.c: under the lock ----------------------------------- */

/* Once a second, by who looks: is there one to be begun? */
bool hp_adopt_rehome(struct hpdsl_serve *s, uint64_t now,
		     struct hpdsl_chunk *ret);

/* ---- adopt_pass.c: under the lock ------------------------------------- */

enum hp_adopt_is hp_pass_ask(struct hp_adopting *all, struct hp_adoptee *a,
			     const struct hp_adopt_want *w, void **ret_body);
/* Takes over who waits for stretches of it, but for those whom it returns. */
struct hp_waiter *hp_pass_move(struct hp_adopting *all, struct hp_adoptee *a,
			       struct hp_waiter *w);
/* One that is to be fetched; NULL: there is none. */
struct hp_passed *hp_pass_next(const struct hp_adopting *all);
uint64_t hp_pass_bytes(const struct hp_passed *p);
/* It is here; with code < 0 it is not to be had.  Who waited is to be woken. */
struct hp_waiter *hp_pass_came(struct hp_adopting *all, struct hp_passed *p,
			       int code);
/* Those of a chunk, or all, are nobody's any more. */
struct hp_waiter *hp_pass_drop(struct hp_adopting *all,
			       const struct hp_adoptee *a);
/* Away with what nobody came for; those who came before then go. */
struct hp_waiter *hp_pass_look(struct hp_adopting *all, uint64_t now,
			       uint64_t before);

/* ---- adopt_from.c: where bytes come from ------------------------------ */

/* Without the lock: nobody else opens it.  0 or -errno. */
int hp_adoptee_open(struct hpdsl_serve *s, struct hp_adoptee *a);
/* Without the lock; moved is set as bytes come. */
int hp_adoptee_fetch(struct hpdsl_serve *s, struct hp_adoptee *a,
		     uint32_t piece, uint8_t *buf, uint64_t *moved);
/* The same for a stretch: its buffer is made, and filled. */
int hp_adoptee_pass_on(struct hpdsl_serve *s, struct hp_adoptee *a,
		       struct hp_passed *p, uint64_t *moved);
/* ---- adopt_copy.c: the copy ------------------------------------------- */

/* Without the lock: a descriptor; -ENOSPC: there is no room. */
int hp_adoptee_make(struct hpdsl_serve *s, struct hp_adoptee *a);
/* The kept copy, read back: has it the chunk's checksum? */
bool hp_adoptee_is_right(struct hpdsl_serve *s, const struct hp_adoptee *a,
			 uint8_t *buf, uint64_t *moved);
/* Under the lock: so much of its room is taken, or not wanted any more. */
void hp_adoptee_unreserve(struct hp_adopting *all, struct hp_adoptee *a,
			  uint64_t bytes);
/* The same: there is no copy any more. */
void hp_adoptee_forget(struct hpdsl_serve *s, struct hp_adoptee *a);

/* ---- adopt_fetch.c: the threads --------------------------------------- */

/* Of what it is at bytes have come. */
static inline void hp_fetcher_moves(uint64_t *moved)
{
	__atomic_store_n(moved, hp_monotonic(), __ATOMIC_RELAXED);
}

/* Under the lock.  False: there is none that does not hang. */
bool hp_fetchers_start(struct hpdsl_serve *s);
/* The same, once a second: what hangs is replaced, what it was at fails.  Lets
 * the lock go and takes it again. */
void hp_fetchers_look(struct hpdsl_serve *s, uint64_t now);
/* Without it.  False: one of them does not end. */
bool hp_fetchers_join(struct hp_adopting *all);

#endif
