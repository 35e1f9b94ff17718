/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that only goes forward. */
#ifndef HP_CLOCK_H
#define HP_CLOCK_H

#include <stdint.h>

/* Seconds. */
double hp_now(void);
/* Nanoseconds, which processes of one boot can compare. */
uint64_t hp_monotonic(void);

#endif
