/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks that this node fetches from the origin for the whole job, since those
 * who were to have them do not answer: so the origin gives each byte once, also
 * after a node is lost.
 *
 * What is waited for comes first, then the rest, as the book's rate lets it. It
 * is kept in nameless files in LOCALDIR, which no death leaves behind, as long
 * as the server lives; where there is no room, nothing is adopted, and who asks
 * goes to the origin himself.  A whole one is held against its checksum.
 *
 * Any number of threads may ask.
 */
#ifndef HP_SERVE_ADOPT_H
#define HP_SERVE_ADOPT_H

#include "hpdsl/dataset.h"
#include "hpdsl/serve.h"

struct hp_adoption;

enum hp_adopt_is {
	HP_ADOPT_NOT,  /* it is not to be had here: no room, no origin */
	HP_ADOPT_HERE, /* in *ret_fd, which the caller closes */
	HP_ADOPT_WAIT, /* wake() is called, once */
};

/* Of a stretch, as it is stored. */
struct hp_adopt_want {
	const struct hpdsl_chunk *row;
	uint64_t first, last; /* both inclusive, inside the chunk */
	bool begin;	      /* to adopt it, if it is not */
	/* NULL: WAIT is NOT. */
	void (*wake)(void *arg);
	void *arg;
};

enum hp_adopt_is hp_adopt_ask(struct hpdsl_serve *s,
			      const struct hp_adopt_want *w, int *ret_fd);
/* Into bits as of /v1/have: what is whole. */
void hp_adopt_have(struct hpdsl_serve *s, uint8_t *have);

/* Once a second: nobody waits for an origin that hangs. */
void hp_adopt_look(struct hpdsl_serve *s);

bool hp_adopt_new(struct hpdsl_serve *s);
/* Everybody is woken, and nothing is adopted any more. */
void hp_adopt_quit(struct hpdsl_serve *s);
/* False: one of its threads does not end, and nothing that it uses is freed. */
bool hp_adopt_free(struct hpdsl_serve *s);

#endif
