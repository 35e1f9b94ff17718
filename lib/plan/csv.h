/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comma- and tab-separated values as RFC 4180 has them: a field may be quoted,
 * and then hold commas, newlines and doubled quotes.  Blanks around a field
 * that are not in quotes are taken off, and lines end with or without a
 * carriage return.  Over memory.
 */
#ifndef HP_CSV_H
#define HP_CSV_H

#include "base/text.h"

struct hp_csv {
	const char *at, *end; /* what is left */
	char comma;	      /* or a tab */
	uint32_t line;	      /* of at, from 1 */
};

/*
 * The next field into *ret, which is emptied before.  1: more of the record
 * follow; 0: it was the last; HPDSL_EUSAGE, and in *why what is wrong, static.
 */
int hp_csv_field(struct hp_csv *c, struct hp_text *ret, const char **why);

#endif
