/* SPDX-License-Identifier: Apache-2.0 */
/* CLOCK_MONOTONIC, in two units. */
#include "sys/clock.h"

double hp_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint64_t hp_monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void hp_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

struct timespec hp_deadline(double seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	seconds += (double)t.tv_nsec * 1e-9;
	t.tv_sec += (time_t)seconds;
	t.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9);
	return t;
}

void hp_sleep(uint64_t ns)
{
	const struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
				    .tv_nsec = (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}
