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
	struct hpdsl_measured *m; /* NULL: others play above it */
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

/* ---- What it reads: play_source.c -------------------------------------- */

struct hp_load_at hp_load_play_advance(const struct hpdsl_loader *l,
				       struct hp_load_at at, uint64_t n);
/* Steps for which what a seek reads first lasts; some have been handed out. */
void hp_load_play_find_lead(struct hpdsl_loader *l);
/* From here on the loader itself has no end. */
void hp_load_play_endless(struct hpdsl_loader *l);
/* The loader's own next one. */
int hp_load_play_take(struct hpdsl_loader *l, bool hasty,
		      const struct hpdsl_batch **ret, struct hpdsl_error *err);
/* It was for nobody. */
void hp_load_play_drop(struct hpdsl_loader *l, const struct hpdsl_batch *pub);
void hp_load_play_pause(struct hpdsl_loader *l, bool paused);
/* Reads the warm stretch, if it has not been yet, as fast as that goes: 1 when
 * it was, else as hpdsl_loader_next(). */
int hp_load_play_stretch(struct hpdsl_loader *l, struct hpdsl_error *err);
/* What is next is of this phase; what the page cache had of it, afterwards. */
int hp_load_play_enter(struct hpdsl_loader *l, enum hpdsl_stall_phase phase,
		       uint64_t warm_steps, struct hpdsl_error *err);
void hp_load_play_leave(struct hpdsl_loader *l, struct hpdsl_stall_cache *ret);

#endif
