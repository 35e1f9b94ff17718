/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a long operation tell its caller: one at a time, and the
 * sum of what they did.
 */
#ifndef HP_METER_H
#define HP_METER_H

#include "hpdsl/core.h"

#include <pthread.h>

/* Threads add in steps of about this many bytes. */
#define HP_METER_STEP (4 << 20)

struct hp_meter {
	const struct hpdsl_watch *watch;
	pthread_mutex_t lock; /* held while the caller is told */
	struct hpdsl_progress at;
	uint64_t warned;
	char last[1024]; /* the warning before */
};

void hp_meter_init(struct hp_meter *m, const struct hpdsl_watch *watch);
void hp_meter_release(struct hp_meter *m);

/* Starts a phase that counts bytes, or files. */
void hp_meter_phase(struct hp_meter *m, const char *phase, uint64_t total,
		    bool bytes);
void hp_meter_add(struct hp_meter *m, uint64_t n);

/* A warning, unless it is the one before.  Only the first 20 are passed on. */
void hp_meter_warn(struct hp_meter *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Says how many more there were than were passed on; counts afresh. */
void hp_meter_warn_end(struct hp_meter *m, const char *what);

static inline bool hp_stopped(const struct hpdsl_watch *w)
{
	return w->stop && __atomic_load_n(w->stop, __ATOMIC_RELAXED);
}

#endif
