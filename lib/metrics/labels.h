/* SPDX-License-Identifier: Apache-2.0 */
/* Who this process is, as labels say it: job, rank, node, pid. */
#ifndef HP_METRICS_LABELS_H
#define HP_METRICS_LABELS_H

#include "metrics/text.h"

struct hp_metrics_self {
	/* "": not known, which is as good as no such label. */
	char job[128], rank[16], node[65], pid[16];
};

/* get is secure_getenv, but for tests; node and pid stay empty. */
void hp_metrics_from_env(char *(*get)(const char *name),
			 struct hp_metrics_self *ret);
/* All of it, of this process. */
void hp_metrics_self(struct hp_metrics_self *ret);

#endif
