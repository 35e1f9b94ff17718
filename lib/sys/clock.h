/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that only goes forward. */
#ifndef HP_CLOCK_H
#define HP_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Seconds. */
double hp_now(void);
/* Nanoseconds, which processes of one boot can compare. */
uint64_t hp_monotonic(void);

/* For timed waits, of conditions made here only. */
void hp_cond_init(pthread_cond_t *cond);
/* In so many seconds. */
struct timespec hp_deadline(double seconds);

/* Nanoseconds. */
void hp_sleep(uint64_t ns);

#endif
