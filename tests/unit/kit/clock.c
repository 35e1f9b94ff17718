/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include "until.h"

/* Nanoseconds; when it stands, stood is when it was stopped. */
static uint64_t ahead, stood, slow_from;
static unsigned waits, slow = 1;

static uint64_t really(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t real(void)
{
	return slow_from + (really() - slow_from) / slow;
}

static uint64_t stands(void)
{
	return __atomic_load_n(&stood, __ATOMIC_RELAXED);
}

static void pass(uint64_t ns)
{
	__atomic_add_fetch(&ahead, ns, __ATOMIC_RELAXED);
}

void clock_pass(double seconds)
{
	pass((uint64_t)(seconds * 1e9));
}

void clock_still(bool still)
{
	__atomic_store_n(&stood, still ? real() : 0, __ATOMIC_RELAXED);
}

void clock_slow(unsigned n)
{
	slow_from = really();
	slow = n;
}

void clock_await_waiter(void)
{
	const unsigned was = __atomic_load_n(&waits, __ATOMIC_RELAXED);

	for (struct until u = { 0 };
	     __atomic_load_n(&waits, __ATOMIC_RELAXED) == was;)
		until_next(&u);
}

uint64_t hp_monotonic(void)
{
	const uint64_t at = stands();

	return (at ? at : real()) + __atomic_load_n(&ahead, __ATOMIC_RELAXED);
}

double hp_now(void)
{
	return (double)hp_monotonic() * 1e-9;
}

void hp_sleep(uint64_t ns)
{
	const uint64_t takes = ns * slow;
	const struct timespec t = { .tv_sec = (time_t)(takes / 1000000000),
				    .tv_nsec = (long)(takes % 1000000000) };

	__atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
	if (stands())
		pass(ns);
	else
		nanosleep(&t, NULL);
}

void hp_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* Of the real clock, which a condition waits by; or one that is over. */
struct timespec hp_deadline(double seconds)
{
	uint64_t at;

	__atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
	if (stands()) {
		/* And a little, as it may be asked for in seconds. */
		pass((uint64_t)((seconds > 0 ? seconds : 0) * 1e9) + 100);
		return (struct timespec){ .tv_sec = 0 };
	}
	at = really() + (uint64_t)((seconds > 0 ? seconds : 0) * slow * 1e9);
	return (struct timespec){ .tv_sec = (time_t)(at / 1000000000),
				  .tv_nsec = (long)(at % 1000000000) };
}
