/* SPDX-License-Identifier: Apache-2.0 */
/* The raw records that listing a folder gives, checked one by one. */
#ifndef HP_DENTS_H
#define HP_DENTS_H

#include <stdbool.h>
#include <stddef.h>

struct hp_dent {
	const char *name; /* in the record */
	size_t len;	  /* of it; never 0 */
	unsigned char type;
	bool is_dots; /* "." or ".." */
};

/* The first record of n bytes: its length, or 0 if it makes no sense. */
size_t hp_dent_take(const char *p, size_t n, struct hp_dent *ret);

#endif
