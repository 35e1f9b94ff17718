/* SPDX-License-Identifier: Apache-2.0 */
/* What --exclude leaves out; glob.c says what a pattern means. */
#ifndef HP_GLOB_H
#define HP_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Is a path left out by one of n patterns, or a folder that it is in? */
bool hp_glob_excluded(const char *const *patterns, size_t n, const char *path,
		      bool is_folder);
/* The same for who has asked already for the folders that it is in. */
bool hp_glob_named(const char *const *patterns, size_t n, const char *path,
		   bool is_folder);

#endif
