/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that all times of a server's life are of. */
#include "life.h"

#include <time.h>

double serve_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
