/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is, in place of what somebody asked for and there is not: of any
 * number of names the few that are nearest to it, in memory that does not grow.
 */
#ifndef HP_NEAR_H
#define HP_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How many letters to add, drop, change or swap with their neighbour, capital
 * ones being small: "optimal string alignment".  Of names that differ in more
 * than HP_FAR letters in a row, just how many these are.
 */
enum { HP_FAR = 24 };
unsigned hp_distance(const char *a, size_t a_len, const char *b, size_t b_len);

enum {
	HP_NEAR_NAMES = 8,
	HP_NEAR_NAME = 96,  /* bytes of one, with a NUL; of longer ones the
			       first, and ".." */
	HP_NEAR_TEXT = 600, /* of all of them, about */
};

struct hp_near {
	const char *want; /* the caller's */
	size_t want_len, n;
	/* The nearest first, and of those that are as near by their bytes. */
	struct {
		char name[HP_NEAR_NAME];
		unsigned far;
	} v[HP_NEAR_NAMES];
	bool more; /* names were seen that are not kept */
};

void hp_near_begin(struct hp_near *near, const char *want, size_t len);
/* One that there is; given again it changes nothing. */
void hp_near_add(struct hp_near *near, const char *name, size_t len);
/*
 * "'a', 'b' and others", fit to print: all of them by their bytes, or if they
 * are not all the nearest first.  "" of none.  Returns buf.
 */
const char *hp_near_list(struct hp_near *near, char buf[HP_NEAR_TEXT]);

#endif
