/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file's name, and what it says of who writes it: pure.
 *
 *	hpdsl-PART.NODE.PID.prom, hpdsl-PART.NODE.PID-N.prom
 *
 * NODE may have dots.
 */
#ifndef HP_METRICS_FILE_H
#define HP_METRICS_FILE_H

#include "metrics/labels.h"
#include "sys/outfile.h"

/* N is 0, which is not written, or more. */
void hp_metrics_name(const char *part, const struct hp_metrics_self *self,
		     unsigned n, char ret[HP_OUTFILE_NAME]);
/* Is it one of this node, of whatever part and process, or half of one? */
bool hp_metrics_is_name(const char *name, const struct hp_metrics_self *self);

#endif
