/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What those who fetch chunks do next: which chunk, which piece of it, and
 * when; whether there is room for it, and when one that has failed is tried
 * again.  Over memory; times are nanoseconds that are passed in.
 */
#ifndef HP_SERVE_TURN_H
#define HP_SERVE_TURN_H

#include "serve/pieces.h"

#define HP_TURN_SECOND UINT64_C(1000000000)

/* ---- Which, and when -------------------------------------------------- */

/* A chunk that is on its way. */
struct hp_turn_chunk {
	struct hp_turn_chunk *next;
	bool open;     /* what it takes; else that is to be done first */
	bool unasked;  /* nobody has asked for it yet */
	bool held;     /* by other nodes: there is no rate for it */
	unsigned busy; /* how many are at it */
	struct hp_pieces pieces;
};

struct hp_turn_pace {
	uint64_t rate; /* bytes a second; 0: any */
	uint64_t slow; /* .. of what nobody has asked for; not 0 */
	uint64_t next; /* when the next piece may be fetched */
	uint64_t next_slow;
	uint64_t asked; /* when somebody last had to wait; 0: never */
};

struct hp_turn {
	struct hp_turn_chunk *of; /* NULL: nothing, until .. */
	uint64_t until;		  /* UINT64_MAX: something happens */
	uint32_t piece; /* is coming from then on; HP_NO_PIECE: open it */
};

/*
 * In the order of the list: what is to be opened, a piece that somebody waits
 * for, any other; and in the end, if nobody had to wait for a second, one that
 * nobody has asked for.
 */
struct hp_turn hp_turn_next(struct hp_turn_chunk *list,
			    struct hp_turn_pace *pace, uint64_t now);

/* May n bytes be fetched now?  Then they are counted. */
bool hp_turn_take(struct hp_turn_pace *pace, uint64_t n, uint64_t now);
/* They were, unexpectedly. */
void hp_turn_owe(struct hp_turn_pace *pace, uint64_t n, uint64_t now);

/* ---- Again ------------------------------------------------------------ */

/* Zero: it has not failed. */
struct hp_again {
	uint64_t at;
	uint32_t wrong; /* times, one after the other */
};
/* Wrong bytes: in 1, 2, 4 .. 600 s; anything else in 1 s. */
void hp_again_failed(struct hp_again *a, bool wrong, uint64_t now);
bool hp_again_may(const struct hp_again *a, uint64_t now);

/* ---- Room ------------------------------------------------------------- */

/*
 * As staging has it: 5 % of what is free stays free.  reserved: of that, what
 * others have been promised and not taken yet.
 */
bool hp_room_for(uint64_t bytes, uint64_t unused, uint64_t reserved);

#endif
