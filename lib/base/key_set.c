/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing; the hashes are good as they are. */
#include "base/key_set.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

uint64_t hp_key_hash(const char *key, size_t len)
{
	uint64_t h = hp_hash64(key, len);

	return h ? h : 1;
}

/* Where the hash is, or the free slot where it belongs. */
static uint64_t *slot_of(uint64_t *slots, size_t cap, uint64_t hash)
{
	size_t i = (size_t)hash & (cap - 1);

	while (slots[i] && slots[i] != hash)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

/* At most three quarters are taken. */
static int grow(struct hp_key_set *set)
{
	size_t cap = set->cap ? 2 * set->cap : 64;
	uint64_t *slots;

	if (set->n + 1 <= set->cap / 4 * 3)
		return 0;
	slots = calloc(cap, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->cap; i++)
		if (set->slots[i])
			*slot_of(slots, cap, set->slots[i]) = set->slots[i];
	free(set->slots);
	set->slots = slots;
	set->cap = cap;
	return 0;
}

int hp_key_set_add(struct hp_key_set *set, uint64_t hash)
{
	uint64_t *slot;
	int r = grow(set);

	if (r < 0)
		return r;
	slot = slot_of(set->slots, set->cap, hash);
	if (*slot)
		return 0;
	*slot = hash;
	set->n++;
	return 1;
}

bool hp_key_set_has(const struct hp_key_set *set, uint64_t hash)
{
	return set->n && *slot_of(set->slots, set->cap, hash);
}

void hp_key_set_release(struct hp_key_set *set)
{
	free(set->slots);
	*set = (struct hp_key_set){ .slots = NULL };
}
