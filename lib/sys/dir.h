/* SPDX-License-Identifier: Apache-2.0 */
/* The names in an open directory, one by one, from getdents64 records. */
#ifndef HP_DIR_H
#define HP_DIR_H

#include "sys/io.h"

/* A raw record that listing a folder gives. */
struct hp_dent {
	const char *name; /* in the record */
	size_t len;	  /* of it; never 0 */
	unsigned char type;
	bool is_dots; /* "." or ".." */
};

/* The first record of n bytes: its length, or 0 if it makes no sense. */
size_t hp_dent_take(const char *p, size_t n, struct hp_dent *ret);

/*
 * Calls each(arg, name) for every name but "." and "..", from where the
 * directory's descriptor stands.  A non-zero result ends the listing and is
 * returned; else 0 or -errno.
 */
int hp_listdir(const struct hp_io *io, int dir,
	       int (*each)(void *arg, const char *name), void *arg);

#endif
