/* SPDX-License-Identifier: Apache-2.0 */
/* Large memory in large pages, where there are: few page faults, and few misses
 * of what is read at random. */
#ifndef HP_HUGE_H
#define HP_HUGE_H

#include <stddef.h>
#include <stdint.h>

/* As hp_array(): n objects of size bytes, not cleared, for free(); NULL on
 * overflow or no memory. */
void *hp_huge_array(uint64_t n, size_t size);

#endif
