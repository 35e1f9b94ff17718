/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request, from "who has it" to its end: who is asked, who else when that
 * one is late, and when it is enough.  Pure: times are passed in, what is to be
 * done comes out, and what happens is told.  whom.h says whom, health.h what is
 * thought of them; this holds what whom.h wants to know of the request so far.
 *
 * An ask is late when nothing came of it for a second, and when it takes longer
 * than rates.h says: who sends a byte now and then is not waited for either.
 * One second is enough for all of them: once somebody was silent for so long,
 * those who are asked next have a moment to begin, and so has at any time who
 * did not answer when he last was asked.  Who adopts it may have to wait for it
 * himself: he is late when his node was silent for a second, whatever it was
 * asked.
 *
 * The first whole answer counts.  In any order of events it ends by its
 * patience at the latest, and after its end nobody is asked.
 */
#ifndef HP_PEERS_WANT_H
#define HP_PEERS_WANT_H

#include "peers/health.h"
#include "peers/rates.h"
#include "peers/whom.h"

enum {
	HP_WANT_ASKS = HP_WHOM_MOST,
	HP_WANT_ACTS = 2 * HP_WANT_ASKS,
	/* Of a loser that has less than this to send the rest is taken. */
	HP_WANT_LITTLE = 512 << 10,
};

/* How an ask came to its end. */
enum hp_said {
	HP_SAID_NOTHING, /* it is open, or was closed by us */
	HP_SAID_ALL,	 /* every byte, with a good answer before them */
	HP_SAID_ABSENT,
	HP_SAID_BUSY,
	HP_SAID_UNPROVEN, /* on no port is one who can prove who he is */
	HP_SAID_WRONG,	  /* something else than was asked for */
	HP_SAID_FAILED,	  /* refused, reset, cut short */
	HP_SAID_LATE,	  /* no connection in time, or silent for too long */
	HP_SAID_SELF,	  /* no descriptor or memory here: not his fault */
};

struct hp_want_ask {
	uint32_t node;
	bool adopt;
	bool sure;  /* whatever it was last heard to have */
	bool hedge; /* another ask is open, and late */
	bool open, sent, late;
	bool slow;    /* late, whatever still comes of it */
	bool probe;   /* it did not answer when it last was asked */
	bool hurried; /* it has a moment, and has not begun yet */
	bool spared;  /* most of it had come when it was to be closed */
	bool hedged;  /* somebody else was asked because of it */
	enum hp_said said;
	uint64_t heard; /* the last byte, or when it was sent */
	uint64_t began; /* when it was sent */
	uint64_t due;	/* when it has to be there; then it is slow */
	uint64_t got;
};

enum hp_want_is {
	HP_WANT_OPEN,
	HP_WANT_DONE,	/* ask[won] has all bytes */
	HP_WANT_ORIGIN, /* why */
};

enum hp_want_do {
	HP_WANT_ASK,   /* as ask[i] says */
	HP_WANT_CLOSE, /* its connection; nothing is to be told of it any more
			*/
	HP_WANT_LEAVE, /* it may finish, for nobody; the same */
};

struct hp_want_acts {
	unsigned n;
	struct {
		enum hp_want_do what;
		unsigned ask;
	} of[HP_WANT_ACTS];
};

struct hp_want {
	/* Who begins it says: the question, with its look. */
	struct hp_whom whom;
	/* Does the chunk come to that node just now?  By whom.arg. */
	bool (*coming)(void *arg, uint32_t node);
	/* May its server just not be up yet?  NULL: they all are. */
	bool (*starting)(void *arg, uint32_t node);
	/* Has that node the chunk in its other form? */
	bool (*other)(void *arg, uint32_t node);
	struct hp_hedges *hedges;
	/* How fast they are, and the one.  NULL: nobody has measured it. */
	struct hp_rates *rates;
	struct hp_rate *(*rate)(void *arg, uint32_t node);
	uint64_t bytes;
	/* For who adopts it himself: nobody else is to, and he has waited for
	 * holders that are not there yet. */
	bool held;

	enum hp_want_is is;
	enum hp_whom_why why;
	bool is_other; /* a holder has it in its other form */
	uint64_t began;
	unsigned n, won;
	struct hp_want_ask ask[HP_WANT_ASKS];
	/* A node that is asked again after a rest; 0: none is. */
	uint64_t rest_until;
	uint32_t rest_node;
	bool rest_adopt;
	unsigned rests;
};

/*
 * Each of these sets *ret: what is to be done.  An event of an ask that is not
 * open is none.
 */
void hp_want_begin(struct hp_want *w, uint64_t now, struct hp_want_acts *ret);
void hp_want_said(struct hp_want *w, unsigned ask, enum hp_said said,
		  uint64_t now, struct hp_want_acts *ret);
/* Its node is late by what others see: it owes them answers. */
void hp_want_late(struct hp_want *w, unsigned ask, uint64_t now,
		  struct hp_want_acts *ret);
/* Its node is slow by what others see: who was not asked yet need not be. */
void hp_want_slow(struct hp_want *w, unsigned ask, uint64_t now,
		  struct hp_want_acts *ret);
/* At hp_want_next() or later. */
void hp_want_time(struct hp_want *w, uint64_t now, struct hp_want_acts *ret);

/* Nobody wants it any more. */
void hp_want_stop(struct hp_want *w, struct hp_want_acts *ret);

/* The request is on its way: from now on it can be late. */
void hp_want_sent(struct hp_want *w, unsigned ask, uint64_t now);
void hp_want_byte(struct hp_want *w, unsigned ask, uint64_t n, uint64_t now);
/* This process was away for so long: silence of that time is not counted. */
void hp_want_away(struct hp_want *w, uint64_t gap);

/* Nobody is asked just now: it waits for the time when somebody will be. */
bool hp_want_rests(const struct hp_want *w);

/* UINT64_MAX: never. */
uint64_t hp_want_next(const struct hp_want *w);

#endif
