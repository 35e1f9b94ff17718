/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank of a measured job hears of hpdsl-stall, by its beat. */
#ifndef HP_MEASURE_EAR_H
#define HP_MEASURE_EAR_H

#include "measure/alive.h"
#include "stall/split.h"
#include "stall/start.h"
#include "sys/io.h"

struct hp_measure_ear {
	const struct hp_io *io;
	int dir; /* the run's folder */
	/* Of the guard of this process, or NULL: does the kernel kill it with
	 * hpdsl-stall, which need not be watched then?  A step begins; what is
	 * heard. */
	unsigned (*bond)(void);
	void (*step)(void);
	void (*tell)(double begun, int64_t beat);
	int64_t beat; /* the last */
	struct hp_measure_alive alive;
	/* Said since: */
	bool over;
	uint32_t serial; /* of the schedule, from 1 on */
	struct hp_stall_schedule schedule;
};

void hp_measure_ear_begin(struct hp_measure_ear *e, const struct hp_io *io,
			  int dir);
/* Looks, and again until it is known: 0; 1: hpdsl-stall has ended, or has taken
 * the folder away; -errno: its beat cannot be read. */
int hp_measure_listen(struct hp_measure_ear *e);

#endif
