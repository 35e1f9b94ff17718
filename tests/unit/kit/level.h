/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a test does of what it only repeats: HPDSL_LEVEL is check (also
 * when it is not set), more or long.
 */
#ifndef LEVEL_H
#define LEVEL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Is this run of that level ("more", "long"), or of one that does more? */
static inline bool at_level(const char *level)
{
	const char *is = getenv("HPDSL_LEVEL");

	return is && (!strcmp(is, "long") || !strcmp(is, level));
}
#endif
