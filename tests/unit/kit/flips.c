/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that changes bytes of memory while others look at them. */
#include "flips.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { AT_A_TIME = 8, STAY = 300 /* rounds of an empty loop */ };

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

static void change(uint8_t *at, uint8_t by)
{
	__atomic_store_n(at, __atomic_load_n(at, __ATOMIC_RELAXED) ^ by,
			 __ATOMIC_RELAXED);
}

static void *run(void *arg)
{
	struct flips *f = arg;
	uint64_t state = f->n;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		size_t at[AT_A_TIME];
		uint8_t by[AT_A_TIME];

		for (int i = 0; i < AT_A_TIME; i++) {
			at[i] = next(&state) % f->n;
			/* One bit, or anything. */
			by[i] = i % 2 ? (uint8_t)(1u << next(&state) % 8) :
					(uint8_t)next(&state);
			change(f->p + at[i], by[i]);
		}
		for (volatile int i = 0; i < STAY; i++)
			;
		for (int i = AT_A_TIME - 1; i >= 0; i--)
			change(f->p + at[i], by[i]);
	}
	return NULL;
}

void flips_begin(struct flips *f, void *p, size_t n)
{
	*f = (struct flips){ .p = p, .n = n };
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
}

void flips_end(struct flips *f)
{
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(f->thread, NULL), 0);
}
