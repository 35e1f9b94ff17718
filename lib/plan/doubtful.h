/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that people seldom mean to pack, and that may well be data: they are
 * told of with their bytes, never left out.
 */
#ifndef HP_DOUBTFUL_H
#define HP_DOUBTFUL_H

#include "plan/list.h"

/* The row of hp_doubtful that a path fits, or -1. */
int hp_doubtful_row(const char *path, size_t len);

/* Sets all rows; files of packed datasets do not count. */
void hp_list_doubtful(const struct hp_list *list,
		      struct hpdsl_doubtful ret[HPDSL_DOUBTFUL]);

#endif
