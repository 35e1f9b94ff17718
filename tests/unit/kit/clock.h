/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the library in unit tests, in place of lib/sys/clock.c: it goes
 * as that one does until a test sets it.
 */
#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

#include "sys/clock.h"

#include <stdbool.h>

/* So much more has passed. */
void clock_pass(double seconds);
/* It stands: only clock_pass() and who waits, who is back at once, move it. */
void clock_still(bool still);
/*
 * From now on a second of it takes n, so that what a busy machine holds up is
 * not late; while no other thread looks at it.
 */
void clock_slow(unsigned n);
/* Until some thread begins to wait once more. */
void clock_await_waiter(void);

#endif
