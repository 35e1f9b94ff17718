/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files behind the links to folders that a walk has met and not
 * followed.  Decides nothing about them.
 */
#ifndef HP_VERIFY_LINKED_H
#define HP_VERIFY_LINKED_H

#include "plan/list.h"

struct hp_linked_file {
	const char *path; /* through the link, as a member's would be */
	size_t path_len;
	const char *real; /* absolute, without links */
	const struct stat *st;
};

struct hp_linked_walk {
	const struct hp_io *io;
	const struct hp_list *list;	      /* with linked; of one root */
	const struct hpdsl_pack_options *opt; /* patterns and watch */
	int apart; /* a directory that is not looked into, open */
	/* Called for each regular file that the patterns want. */
	int (*each)(void *arg, const struct hp_linked_file *f,
		    struct hpdsl_error *err);
	void *arg;
	/* Counted. */
	uint64_t excluded, excluded_dirs, litter, litter_dirs, specials;
};

/*
 * Each folder is listed once, by whatever links it is reached, and none that is
 * the root or below it: what is there was walked.  A link that dangles has
 * nothing behind it.  What cannot be read is an error that names it.
 */
int hp_linked_walk(struct hp_linked_walk *w, struct hpdsl_error *err);

#endif
