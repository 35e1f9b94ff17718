/* SPDX-License-Identifier: Apache-2.0 */
/* An operation, its record, and all that a crash may make of it. */
#ifndef CRASH_SCENE_H
#define CRASH_SCENE_H

#include "crash.h"
#include "hpdsl.h"

enum { SCENE_FILES = 9 }; /* .bin and .txt each */

struct scene {
	/* What is there before. */
	void (*put)(struct memio *m);
	/* again: after a crash. */
	int (*run)(const struct hp_io *io, bool again, struct hpdsl_error *err);
	/* What a crash left; done: after the end. */
	void (*check)(struct memio *m, const struct scene *s, bool done);
	/* Not compared. */
	bool (*passed_over)(const char *path);
	/* Set by scene_play: what an undisturbed run leaves. */
	struct memio *want;
	struct crash *record;
};

/* In check some of the states, in check-long all. */
void scene_play(struct scene *s);

/* Small files below "tree". */
void scene_put_tree(struct memio *m);
/* What hpdsl_verify says of a dataset there. */
int scene_verify(struct memio *m, const char *path);
/*
 * If a dataset can be opened there: what it gives of a member is an error, or
 * what the tree has.
 */
void scene_check_reads(struct memio *m, const char *path, const char *tree);

#endif
