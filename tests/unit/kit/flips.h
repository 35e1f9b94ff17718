/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that changes bytes of memory while others look at them, as whoever
 * may write to a mapped file can: a few at a time, put right again after a
 * while, so that much of it makes sense at any moment.
 */
#ifndef FLIPS_H
#define FLIPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A race on purpose is nothing for a thread sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define FLIPS_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FLIPS_UNDER_TSAN 1
#endif
#endif

struct flips {
	uint8_t *p;
	size_t n;
	bool stop;
	pthread_t thread;
};

void flips_begin(struct flips *f, void *p, size_t n);
/* All is as it was. */
void flips_end(struct flips *f);

#endif
