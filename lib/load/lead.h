/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far ahead it is worth to read.  By the time that a read takes a loop
 * takes so many bytes: these have to be there, or on their way.  More shortens
 * no wait, unless the loop takes faster for a while than can be read; such a
 * wait is seen, and twice as much is read ahead from then on.  Bytes are always
 * of memory, which small samples take more of than they have.  Pure arithmetic:
 * times are seconds that the caller measured.
 */
#ifndef HP_LOAD_LEAD_H
#define HP_LOAD_LEAD_H

#include <stdint.h>

/* So much is read ahead at least, where memory allows, in bytes. */
#define HP_LEAD_LEAST (UINT64_C(128) << 20)

/* All zero: nothing is known. */
struct hp_lead {
	double read; /* what a read takes: the longest, slowly forgotten */
	/* Bytes a second that the loop takes while it does not wait: of blocks
	 * of turns the largest, slowly forgotten, as a loop that pauses goes on
	 * as before. */
	double rate;
	uint64_t bytes; /* of the block that is begun */
	double busy;
	uint32_t turns; /* of it */
	uint32_t waits; /* that more would have shortened */
	/* Since the last one of these, what this turn needs and all later ones
	 * was read later than it could have been; 0: nothing was. */
	uint64_t held_from;
};

/* A read is over, which took so long. */
void hp_lead_read(struct hp_lead *p, double seconds);
/* The loop took so many bytes, and had been busy for so long before. */
void hp_lead_took(struct hp_lead *p, uint64_t bytes, double busy);
/* What this turn needs, which is none of the first, is not read yet although it
 * could be. */
void hp_lead_holds(struct hp_lead *p, uint64_t turn);
/*
 * The loop has to wait for this turn.  It may say so again: a turn counts once,
 * as what is held back from then on is of later ones.
 */
void hp_lead_waits(struct hp_lead *p, uint64_t turn);
/* Turns begin anew, with nothing there: what was held back is of none of them.
 */
void hp_lead_seek(struct hp_lead *p);
/*
 * Bytes that are to be read ahead, at most memory; busy: since when the loop
 * is, with what it has taken last.  What it takes is not known before it has
 * come for something: memory.
 */
uint64_t hp_lead_far(const struct hp_lead *p, double busy, uint64_t memory);

#endif
