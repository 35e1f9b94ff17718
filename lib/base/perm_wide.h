/* SPDX-License-Identifier: Apache-2.0 */
/* hp_perm_range() in vectors of 64-bit numbers, on processors that have them.
 */
#ifndef HP_PERM_WIDE_H
#define HP_PERM_WIDE_H

#include "base/perm.h"

#include <stdbool.h>

/*
 * As hp_perm_range(), to the bit.  False: this processor cannot multiply such
 * vectors, or p has too many values, and nothing was done.
 */
bool hp_perm_wide(const struct hp_perm *p, uint64_t first, size_t count,
		  uint64_t *ret);

#endif
