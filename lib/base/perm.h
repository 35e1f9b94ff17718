/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyed permutation of 0 .. n - 1 that gives any single value without the
 * others: the swap-or-not shuffle (V. T. Hoang, B. Morris, P. Rogaway, "An
 * Enciphering Scheme Based on a Card Shuffle", CRYPTO 2012), sound for every
 * n, small ones too.  Not for secrecy.  hpdsl-format(5), "Permutation".
 */
#ifndef HP_PERM_H
#define HP_PERM_H

#include <stddef.h>
#include <stdint.h>

#define HP_PERM_ROUNDS 48

struct hp_perm {
	uint64_t n;
	uint64_t shift[HP_PERM_ROUNDS]; /* K of each round, below n */
	uint64_t salt[HP_PERM_ROUNDS];
};

/* Prepares the permutation of n > 0 values under a key. */
void hp_perm_init(struct hp_perm *p, uint64_t n, uint64_t key);

/* Where i (below n) goes, and what goes to i. */
uint64_t hp_perm_at(const struct hp_perm *p, uint64_t i);
uint64_t hp_perm_inverse(const struct hp_perm *p, uint64_t i);

/* hp_perm_at for first .. first + count - 1; faster than one by one. */
void hp_perm_range(const struct hp_perm *p, uint64_t first, size_t count,
		   uint64_t *ret);
/* The same without vectors, which not every processor has. */
void hp_perm_range_plain(const struct hp_perm *p, uint64_t first, size_t count,
			 uint64_t *ret);

/* H(seed, purpose, numbers): one key for each use of a seed. */
uint64_t hp_perm_key(uint64_t seed, const char *purpose,
		     const uint64_t *numbers, size_t n_numbers);

#endif
