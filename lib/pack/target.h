/* SPDX-License-Identifier: Apache-2.0 */
/* Between target.c, target_files.c and target_swap.c. */
#ifndef HP_TARGET_H
#define HP_TARGET_H

#include "pack/pack.h"
#include "write/target_known.h"

/* What a directory holds. */
struct hp_target_contents {
	bool manifest, journal, ours, foreign;
	bool folder;	    /* of side files */
	char stranger[320]; /* the first name that is none of ours */
};

/* Looks into a directory. */
int hp_target_look(const struct hp_target *t, int dir,
		   struct hp_target_contents *ret, struct hpdsl_error *err);

enum hp_target_files {
	HP_PARTS,	  /* temporary files */
	HP_ALL_BUT_LOCK,  /* and chunks, index, manifest */
	HP_WHOLE_DATASET, /* and the journal */
};

/*
 * Removes files of ours from a directory in which there is a manifest, an index
 * or a journal; the first two last, so that the rest is known until it is gone.
 */
int hp_target_unlink(const struct hp_target *t, int dir,
		     enum hp_target_files files);
/* Is there something of this name beside OUTPUT?  1, 0 or -errno. */
int hp_target_has(const struct hp_target *t, const char *name);
/* Removes a dataset beside OUTPUT, which may be gone already. */
int hp_target_remove(const struct hp_target *t, const char *name,
		     struct hpdsl_error *err);
/* A run died between the two steps of a swap: undoes the first. */
int hp_target_restore(struct hp_target *t, struct hpdsl_error *err);

#endif
