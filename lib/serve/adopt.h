/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks that this node fetches for the whole job, from a node that holds them
 * or from the origin, since those who were to have them do not answer who asks:
 * so the origin gives each byte once, also after a node is lost.
 *
 * What is waited for comes first, then the rest, as the book's rate lets it. It
 * is kept in nameless files in LOCALDIR, which no death leaves behind, or in
 * memory, as long as the server lives; where there is no room, what is asked
 * for is passed on and not kept.  A whole one is held against its checksum.
 *
 * turn.h, waiters.h and rehome.h decide; adopt_private.h says who does what.
 *
 * Any number of threads may ask.
 */
#ifndef HP_SERVE_ADOPT_H
#define HP_SERVE_ADOPT_H

#include "hpdsl/dataset.h"
#include "hpdsl/serve.h"

struct hp_adopting;

enum hp_adopt_is {
	HP_ADOPT_NOT,	/* it is not to be had here */
	HP_ADOPT_HERE,	/* in *ret */
	HP_ADOPT_WAIT,	/* wake() is called, once */
	HP_ADOPT_LATER, /* it is on its way, but who asks is not to wait */
};

/* Of a stretch, as it is stored. */
struct hp_adopt_want {
	const struct hpdsl_chunk *row;
	uint64_t first, last; /* both inclusive, inside the chunk */
	bool begin;	      /* to adopt it, if it is not */
	/* NULL: WAIT is LATER, and nothing is begun. */
	void (*wake)(void *arg);
	void *arg;
};

/* The caller's. */
struct hp_adopt_got {
	int fd;	    /* of the chunk; -1: */
	void *body; /* the stretch alone, malloc'ed */
};

enum hp_adopt_is hp_adopt_ask(struct hpdsl_serve *s,
			      const struct hp_adopt_want *w,
			      struct hp_adopt_got *ret);
/* Into bits as of /v1/have: what is whole. */
void hp_adopt_have(struct hpdsl_serve *s, uint8_t *have);

/*
 * Once a second: nobody waits for an origin that hangs.  If told, of so much
 * room, is "", it gets what is worth a warning.
 */
void hp_adopt_look(struct hpdsl_serve *s, char *told, size_t room);

bool hp_adopt_new(struct hpdsl_serve *s);
/* Everybody is woken, and nothing is adopted any more. */
void hp_adopt_quit(struct hpdsl_serve *s);
/* False: one of its threads does not end, and nothing that it uses is freed. */
bool hp_adopt_free(struct hpdsl_serve *s);

#endif
