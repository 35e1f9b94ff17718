/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is hpdsl-stall alive?  Where its process cannot be seen it is known by a
 * beat, a file of a count that it replaces all the time.  Over memory: the
 * times of looks at it are passed in.
 *
 * What counts is the reader's own time, and only as far as it could have seen
 * a beat: while the file system hangs for both of them, or the whole job is
 * stopped, nobody ends.  Also in cmd/stall/preload/guard, which has no library.
 */
#ifndef HP_MEASURE_ALIVE_H
#define HP_MEASURE_ALIVE_H

#include <stdbool.h>

/* Seconds between two beats, about. */
#define HP_MEASURE_BEAT_EVERY 1.0
/* A look that took longer says nothing; and of the time between two looks not
 * more than this is counted. */
#define HP_MEASURE_IN_TIME 2.0
/* It has ended, after so many that count. */
#define HP_MEASURE_DEAD 10.0

enum hp_measure_is {
	HP_MEASURE_ALIVE,
	HP_MEASURE_UNSURE, /* look again, at once: what counts takes looks */
	HP_MEASURE_ENDED,
};

/* Seconds, of a clock that only goes forward. */
struct hp_measure_alive {
	double seen;   /* a beat that was new */
	double looked; /* the last look was answered */
	double silent; /* since seen, as far as it counts */
};

/* A look that was begun at one time, answered at another, and found a beat that
 * it had not seen before, or not. */
enum hp_measure_is hp_measure_looked(struct hp_measure_alive *a, double begun,
				     double answered, bool is_new);

#endif
