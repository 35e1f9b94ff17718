/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a measured job have said, as far as hpdsl-stall has read
 * it.  Over memory: files' names and bytes are passed in. */
#ifndef HP_MEASURE_CROWD_H
#define HP_MEASURE_CROWD_H

#include "measure/folder.h"
#include "stall/split.h"
#include "stall/start.h"

struct hp_measure_one {
	char name[HP_MEASURE_NAME]; /* of its file .. */
	char node[HP_MEASURE_NAME]; /* .. and what that says */
	int64_t pid;
	uint64_t read; /* bytes */
	bool seen;     /* it was still there at the last look */
	bool started;
	struct hp_stall_start start;
	double started_at; /* when that was read */
	uint32_t late;	   /* of this serial */
	bool done, gone;
	uint64_t gone_at; /* a step */
	struct hpdsl_stall_block *block;
	size_t n;
	struct hpdsl_stall_cache cache[HPDSL_STALL_PHASES];
	struct hpdsl_stall_asks asks[HPDSL_STALL_PHASES];
};

struct hp_measure_crowd {
	struct hp_measure_one *of;
	size_t n;
	uint32_t serial;  /* what is of others is not counted */
	uint32_t loaders; /* marks, at the last look */
};

/* The one whose file has this name, added if there is none; NULL: no memory.
 * A name that is none, "rank.NODE.PID", is HPDSL_ECORRUPT. */
int hp_measure_meet(struct hp_measure_crowd *c, const char *name,
		    struct hp_measure_one **ret, struct hpdsl_error *err);
/* What it has said since, read at this time.  HPDSL_ECORRUPT, -ENOMEM. */
int hp_measure_hear(struct hp_measure_crowd *c, struct hp_measure_one *o,
		    const char *text, size_t n, double now,
		    struct hpdsl_error *err);
/* Blocks of the schedule before are forgotten. */
void hp_measure_anew(struct hp_measure_crowd *c, uint32_t serial);
/* Those that are no longer there, and were not yet told anything. */
void hp_measure_forget_unseen(struct hp_measure_crowd *c);
/* By rank, and then by node and process. */
void hp_measure_sort(struct hp_measure_crowd *c);
/* What was heard of the same job's run before is of these, too: rank by rank,
 * in their order.  HPDSL_EUSAGE: they are other ranks; -ENOMEM.  from stays as
 * it is. */
int hp_measure_add_run(struct hp_measure_crowd *to,
		       const struct hp_measure_crowd *from,
		       struct hpdsl_error *err);
void hp_measure_crowd_release(struct hp_measure_crowd *c);

#endif
