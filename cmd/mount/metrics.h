/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mount's worker shows to Prometheus: the counters of --status.  Where
 * that is wanted, and only there, a thread writes them; what is wrong is a
 * warning.
 */
#ifndef MOUNT_METRICS_H
#define MOUNT_METRICS_H

#include "slots.h"

#include "common/metrics.h"

#include <pthread.h>

struct mount_metrics {
	const struct mount_slots *slots;
	struct cmd_metrics c; /* the thread's, while there is one */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool ends;
};

void mount_metrics_begin(struct mount_metrics *m, const struct mount_slots *s);
void mount_metrics_end(struct mount_metrics *m);

#endif
