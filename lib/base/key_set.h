/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of keys by their 64-bit hashes, 8 to 24 bytes each: among a thousand
 * million keys two different ones have the same hash with odds of 1 in 37.
 */
#ifndef HP_KEY_SET_H
#define HP_KEY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_key_set {
	uint64_t *slots; /* 0: free */
	size_t n, cap;	 /* cap: 0 or a power of two */
};

/* The hash of a key; never 0. */
uint64_t hp_key_hash(const char *key, size_t len);
/* 1 if it is new, 0 if it was there, -ENOMEM. */
int hp_key_set_add(struct hp_key_set *set, uint64_t hash);
bool hp_key_set_has(const struct hp_key_set *set, uint64_t hash);
void hp_key_set_release(struct hp_key_set *set);

#endif
