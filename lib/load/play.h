/* SPDX-License-Identifier: Apache-2.0 */
/* A loader of a job that is measured: what it keeps of that. */
#ifndef HP_LOAD_PLAY_H
#define HP_LOAD_PLAY_H

#include "load/kept.h"
#include "measure/rank.h"

#define HP_LOAD_KEPT 4 /* batches */

struct hp_load_at {
	uint64_t epoch, step;
};

struct hp_load_play {
	struct hp_measure *m;
	uint32_t lead;
	/* What the caller has come to; once it is shown something else. */
	bool shows;
	struct hp_load_at shown;
	uint64_t steps; /* of that epoch */
	uint64_t until; /* as the loader's was */
	struct hp_load_at next, fresh,
		warm; /* the loader's, and the two places */
	bool has_warm;
	uint64_t to_read; /* of the warm stretch, for the first time */
	/* What is being played. */
	bool in, begun;
	enum hpdsl_stall_phase phase;
	struct hp_fetch_cached before;
	struct hp_load_kept kept[HP_LOAD_KEPT];
	uint32_t n_kept;
	uint64_t handed; /* of these */
};

#endif
