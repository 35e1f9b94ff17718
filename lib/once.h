/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that somebody else may change while they are looked at, as those of a
 * mapped file: they are copied once, and from then on only the copy is used.
 */
#ifndef HP_ONCE_H
#define HP_ONCE_H

#include <string.h>

/*
 * memcpy, behind which the compiler cannot take the copy's bytes from where
 * they came from.
 */
static inline void hp_copy_once(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	__asm__ volatile("" : : "r"(to) : "memory");
}

#endif
