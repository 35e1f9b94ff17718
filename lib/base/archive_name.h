/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What archives are called: the one list, for those who pack them, who adopt
 * tars, and who say what is in a folder.
 */
#ifndef HP_ARCHIVE_NAME_H
#define HP_ARCHIVE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The suffix that says that a file is an archive, such as ".tar.gz": its
 * length, in letters of either case, or 0. */
size_t hp_archive_suffix(const char *name, size_t len);

/* Is it one of those that are more than a plain tar? */
bool hp_archive_is_packed(const char *name, size_t len);

/* Does it end, in small letters, as the tars do that other readers' rules are
 * held against (lib/compat)? */
bool hp_archive_is_read(const char *name, size_t len);

#endif
