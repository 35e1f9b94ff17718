/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for paths of members: what is allowed, what key and suffix are. */
#ifndef HP_PATH_H
#define HP_PATH_H

#include "hpdsl/core.h"

/*
 * Writes path as a member's path to out (at least len + 1 bytes, may be path
 * itself): leading slashes, "." components, doubled and trailing slashes
 * dropped, NUL-terminated.  Returns the new length, or -EINVAL (a ".."
 * component, a NUL, or nothing left), -ENAMETOOLONG (over HPDSL_PATH_MAX).
 */
int hp_path_clean(const char *path, size_t len, char *out);

/*
 * Is it a path that a member may have?  1 to HPDSL_PATH_MAX bytes, no NUL, no
 * leading or trailing or doubled slash, no "." or ".." component.
 */
bool hp_path_valid(const char *path, size_t len);

/*
 * Copies len bytes of a path, which may be changed meanwhile as those of a
 * mapped file may, to buf with a NUL behind them.  Is the copy, which nobody
 * changes, a path that a member may have?
 */
bool hp_path_copy(const char *path, size_t len, char buf[HPDSL_PATH_MAX + 1]);

#endif
