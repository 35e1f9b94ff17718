/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stager of one node that needs no messages, and what it stages: the same
 * tree packed plain, compressed, and otherwise, four chunks each.
 */
#ifndef STAGE_WORK_H
#define STAGE_WORK_H

#include "packed.h"
#include "stage/private.h"

extern struct packed work_fix;
/* The datasets, and the stage directory, which is not made. */
extern char work_plain[200], work_zst[200], work_other[200], work_dir[200];

/* For cmocka: makes the datasets, removes all. */
int work_setup(void **unused);
int work_teardown(void **unused);

struct work {
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	struct hpdsl_stage *s;
	bool recheck, keep_compressed;
	uint32_t threads; /* 0: serial */
	const char *job;
	uint64_t most;	/* chunks to copy; 0: all */
	uint64_t limit; /* bytes of capacity; 0: no limit */
	uint64_t held, copied;
	size_t piece;	      /* of streams of side files; 0: some bytes */
	uint32_t sides, lost; /* side files that came, and that did not */
	uint64_t hashed;      /* bytes of what was found */
	char warned[4096];
};

/* Its steps, each of which may fail. */
int work_begin(struct work *w, const char *from, const char *to,
	       const struct hp_io *io, struct hpdsl_error *err);
int work_put_index(struct work *w, struct hpdsl_error *err);
int work_publish(struct work *w, struct hpdsl_error *err);
/* The middle of that: with the plan, before it is published. */
int work_sides(struct work *w, const struct hpdsl_stage_plan *plan,
	       struct hpdsl_error *err);
/* HPDSL_ESTOPPED after w->most chunks. */
int work_copy(struct work *w, const char *from, struct hpdsl_error *err);
void work_release(struct work *w);
/* All of them. */
int work_stage(struct work *w, const char *from, const char *to,
	       const struct hp_io *io, struct hpdsl_error *err);
/* The same to work_dir, which must not fail. */
void work_must(struct work *w, const char *from);

/* Of work_dir. */
struct hpdsl_stage_status work_status(void);
/* A name in it, in a buffer that the fourth call after this one uses again. */
const char *work_at(const char *name);
bool work_has(const char *name);
void work_fresh(void); /* removes it */

#endif
