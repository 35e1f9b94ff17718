/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names end in one of some suffixes, for walks over millions: eight bytes
 * are compared at once.  A to Z of a name are small letters.
 */
#ifndef HP_SUFFIX_H
#define HP_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes as a number, the last one lowest; fold has 0x20 for each letter,
 * which may be a capital one in a name.  mask 0: byte by byte. */
struct hp_suffix {
	const char *text;
	uint64_t is, fold, mask;
	size_t len;
};

/* text stays the caller's; with a capital letter no name ends in it. */
struct hp_suffix hp_suffix(const char *text);

/* Does the name, the last len bytes of a path of path_len, end in one of n? */
bool hp_has_suffix(const char *path, size_t path_len, size_t len,
		   const struct hp_suffix *suffix, size_t n);

#endif
