/* SPDX-License-Identifier: Apache-2.0 */
/* What a mount's worker shows to Prometheus: the counters of --status. */
#ifndef MOUNT_METRICS_H
#define MOUNT_METRICS_H

#include "slots.h"

#include "common/metrics.h"

void mount_metrics_begin(struct cmd_metrics *m, const struct mount_slots *s);
/* To be called every few seconds. */
void mount_metrics_look(const struct cmd_metrics *m,
			const struct mount_slots *s);
void mount_metrics_end(struct cmd_metrics *m, const struct mount_slots *s);

#endif
