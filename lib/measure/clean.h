/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of measured jobs: their own, and those that somebody left who was
 * killed. */
#ifndef HP_MEASURE_CLEAN_H
#define HP_MEASURE_CLEAN_H

#include "sys/io.h"

/* Calls each() as hp_listdir() does, from the beginning. */
int hp_measure_list(const struct hp_io *io, int dir,
		    int (*each)(void *arg, const char *name), void *arg);
/* Removes a folder of files as well as can be: name, in in, of which dir is a
 * descriptor that is closed. */
void hp_measure_remove(const struct hp_io *io, int dir, int in,
		       const char *name);
/* Removes those in parent that are this user's and have had no beat for
 * HP_MEASURE_STALE seconds before that of the one that dir is. */
void hp_measure_remove_dead(const struct hp_io *io, const char *parent,
			    int dir);

#endif
