/* SPDX-License-Identifier: Apache-2.0 */
/* Which sample has a file of this base name, whatever its folder? */
#ifndef HP_BASE_NAMES_H
#define HP_BASE_NAMES_H

#include "plan/list.h"
#include "plan/name_risk.h"

/* Names in the order of their bytes. */
struct hp_base_order {
	struct hp_name *names; /* n of them */
	uint64_t *order, n;
};

/* Zero before the first question, which costs 24 bytes a file and sample. */
struct hp_base_names {
	bool made;
	struct hp_base_order files;   /* base names of all files */
	struct hp_base_order samples; /* of the first's key, of each sample */
};

/*
 * 1 and the sample: some of its files have this base name, else its key has it,
 * and no other sample does.  0: none; 2: several.  -ENOMEM.
 */
int hp_base_names_find(struct hp_base_names *b, const struct hp_list *list,
		       const struct hp_name *name, uint64_t *ret_sample,
		       struct hpdsl_error *err);
void hp_base_names_release(struct hp_base_names *b);

#endif
