/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems and warnings that many threads find: collected, and told at the end
 * in the order of their text, the same for any number of threads.
 */
#ifndef HP_LINES_H
#define HP_LINES_H

#include "hpdsl/core.h"

#define HP_LINES_TOLD 20 /* are told one by one */

/* The first lines, whichever came when; n counts all.  Takes no lock. */
struct hp_lines {
	uint64_t n;
	struct hpdsl_error first[HP_LINES_TOLD];
};

void hp_lines_add(struct hp_lines *l, const struct hpdsl_error *line);
/* Warns of them; of those that are too many: "and 5 more links left out". */
void hp_lines_tell(const struct hp_lines *l, const struct hpdsl_watch *watch,
		   const char *more);
/*
 * The error that they are, or 0: a single one is its text; else they are told,
 * and it is "5 problems in PLACE, first: ...".
 */
int hp_lines_fail(const struct hp_lines *l, const struct hpdsl_watch *watch,
		  const char *place, struct hpdsl_error *err);

#endif
