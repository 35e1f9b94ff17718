/* SPDX-License-Identifier: Apache-2.0 */
/* The names in an open directory, one by one. */
#ifndef HP_LISTDIR_H
#define HP_LISTDIR_H

#include "io.h"

/*
 * Calls each(arg, name) for every name but "." and "..", from where the
 * directory's descriptor stands.  A non-zero result ends the listing and is
 * returned; else 0 or -errno.
 */
int hp_listdir(const struct hp_io *io, int dir,
	       int (*each)(void *arg, const char *name), void *arg);

#endif
