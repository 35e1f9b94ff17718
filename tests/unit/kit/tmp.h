/* SPDX-License-Identifier: Apache-2.0 */
/* Fresh places for what a test writes: in TMPDIR, as tests/run sets it. */
#ifndef TMP_H
#define TMP_H

#include <stddef.h>

/* Enough for any of them. */
enum { TMP_NAME = 80 };

/* A folder of its own; NULL if it cannot be made. */
char *tmp_folder(char *ret, size_t size, const char *what);

/* An empty file, open; negative if it cannot be made. */
int tmp_file(char *ret, size_t size, const char *what);

#endif
