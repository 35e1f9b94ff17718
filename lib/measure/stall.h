/* SPDX-License-Identifier: Apache-2.0 */
/* What whoever measures a job knows of it. */
#ifndef HP_MEASURE_STALL_H
#define HP_MEASURE_STALL_H

#include "measure/crowd.h"

struct hpdsl_stall {
	const struct hp_io *io;
	struct hpdsl_stall_options opt;
	char folder[HPDSL_PATH_MAX];
	int dir;
	int64_t beat;
	double beat_at, looked_at;
	bool over, gave_up, decided;
	uint32_t late;
	unsigned run; /* of HP_STALL_RUNS, where the job is started for each */
	struct hp_measure_crowd crowd;
	struct hp_measure_crowd heard; /* in the end, of all runs */
	struct hp_stall_schedule schedule;
	double step; /* seconds, about */
};

#endif
