/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes sooner or later, on whatever machine: between two looks at it,
 *
 *	for (struct until u = { 0 }; !is_there();)
 *		until_next(&u);
 *
 * waits a moment, and fails the test after ten minutes.
 */
#ifndef UNTIL_H
#define UNTIL_H

#include <stdint.h>

enum { UNTIL_SECONDS = 600 };

struct until {
	uint64_t looks;
};

void until_next(struct until *u);

#endif
