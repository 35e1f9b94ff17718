/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bound on bytes a second: a token bucket, as a pure function of the times
 * that it is given.
 */
#ifndef HP_PACE_H
#define HP_PACE_H

#include <stdint.h>

struct hp_pace {
	double rate; /* bytes a second; 0: no bound */
	double next; /* seconds: when all that was taken is paid for */
};

/* What was not used for this long is lost: bursts are no larger. */
#define HP_PACE_BURST 0.1

/* Takes n bytes at the time now: how many seconds to wait before them. */
double hp_pace_take(struct hp_pace *p, double now, uint64_t n);

#endif
