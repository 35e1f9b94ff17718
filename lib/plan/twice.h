/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents that a list has under several names, since links lead to them.  Each
 * name becomes a member with all the data.
 */
#ifndef HP_TWICE_H
#define HP_TWICE_H

#include "plan/list.h"

/*
 * Of a sorted list before its contents are read.  8 to 24 bytes for each link
 * meanwhile.
 */
int hp_list_twice(const struct hp_list *list, struct hpdsl_twice *ret,
		  struct hpdsl_error *err);

#endif
