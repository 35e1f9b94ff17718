/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that every reader takes: --names=portable.  hpdsl-format(5), "Portable
 * names", is the definition.
 */
#ifndef HP_PORTABLE_H
#define HP_PORTABLE_H

#include "plan/list.h"

#define HP_PORTABLE_MAX 100   /* bytes of a name: those of ustar's field */
#define HP_PORTABLE_SUFFIX 20 /* bytes of a suffix */

/*
 * Sets list->stored, from the sorted and grouped list, its names in the list's
 * arena, NULL where a name is its path.  All members of a sample get the same
 * key, a key belongs to one sample, a name to one member; names have at most
 * HP_PORTABLE_MAX bytes, of [A-Za-z0-9/_+-] and in the suffix [a-z0-9_+-.].
 * Depends on nothing but the paths and the grouping.  8 bytes a file, and
 * meanwhile up to 32 a sample, and 64 a member of the sample with most.
 */
int hp_list_portable(struct hp_list *list, enum hpdsl_group group,
		     struct hpdsl_error *err);

/* Bytes of the key of a portable name: up to its only or first dot. */
size_t hp_portable_key(const char *name);

/* Members whose name in the chunk is not their path. */
uint64_t hp_list_renamed(const struct hp_list *list);

#endif
