/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose key, as other readers find it, is that of another one: they
 * know the first dot alone, and would mix the two.
 */
#ifndef HP_KEYS_AGAIN_H
#define HP_KEYS_AGAIN_H

#include "plan/list.h"

struct hp_keys_again {
	const struct hp_list *list;
	uint64_t *sorted; /* hashes of all such keys; NULL: not needed */
};

/* After hp_list_group.  8 bytes a sample, if keys end at the last dot. */
int hp_keys_again_begin(struct hp_keys_again *k, const struct hp_list *list,
			struct hpdsl_error *err);
bool hp_key_is_again(const struct hp_keys_again *k, uint64_t sample);
void hp_keys_again_end(struct hp_keys_again *k);

#endif
