/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many reads of the origin a node has under way at a time: as few as bring
 * what it can give.  Where a read takes long since it comes from afar, 8 at a
 * time are 8 times as fast; where the origin is shared and gives no more, they
 * only make each chunk late.  Pure: it is told of reads and of the time.
 *
 * It climbs: after a window with so many streams, one with more; they stay if
 * the bytes a second have grown enough.  Later, now and then, it tries one more
 * or fewer.  Windows begin and end, and streams are tried, at multiples of
 * their length since the beginning: that is about the same moment on all nodes,
 * and each sees what comes of it if all do.  A node alone would find that more
 * streams bring it more, which is only what the others lose.
 */
#ifndef HP_STAGER_TEMPO_H
#define HP_STAGER_TEMPO_H

#include <stdbool.h>
#include <stdint.h>

struct hp_tempo {
	uint32_t max;
	uint32_t streams; /* now; other than base: they are tried */
	uint32_t base;
	double rate;   /* bytes a second with base */
	bool rising;   /* nothing was tried in vain yet */
	bool up, down; /* was of use right now */

	/* Seconds: the beginning of all; this window, and how long it is. */
	double origin, begin, length, end;
	double last, busy; /* reads under way times seconds, up to then */
	uint32_t reading;
	/* Of reads that began in this window, and ended. */
	uint32_t reads;
	double bytes, seconds;
};

/* With one stream, max at most. */
void hp_tempo_init(struct hp_tempo *t, uint32_t max, double now);
void hp_tempo_begins(struct hp_tempo *t, double now);
/* bytes: 0 if it failed.  began: when that was said. */
void hp_tempo_ends(struct hp_tempo *t, double now, double began, double bytes);
/* How many there may be from now on. */
uint32_t hp_tempo_streams(struct hp_tempo *t, double now);

#endif
