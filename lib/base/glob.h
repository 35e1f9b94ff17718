/* SPDX-License-Identifier: Apache-2.0 */
/* What --include and --exclude leave out; glob.c says what a pattern means. */
#ifndef HP_GLOB_H
#define HP_GLOB_H

#include "hpdsl/pack.h"

/*
 * Should a file with this member path be packed?  See hpdsl-pack(1),
 * --include: a pattern with a slash is matched against the whole path,
 * another one against the base name.
 */
bool hp_glob_wanted(const struct hpdsl_pack_options *opt, const char *path);
/* Is a folder left out as a whole by an exclude pattern? */
bool hp_glob_pruned(const struct hpdsl_pack_options *opt, const char *path);

/* Is a path left out by one of n patterns, or a folder that it is in? */
bool hp_glob_excluded(const char *const *patterns, size_t n, const char *path,
		      bool is_folder);
/* The same for who has asked already for the folders that it is in. */
bool hp_glob_named(const char *const *patterns, size_t n, const char *path,
		   bool is_folder);

#endif
