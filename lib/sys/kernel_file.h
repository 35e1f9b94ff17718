/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel's, and what is written in them. */
#ifndef HP_KERNEL_FILE_H
#define HP_KERNEL_FILE_H

#include "sys/io.h"

/* All of it, a NUL behind it: how many bytes, or -errno. */
ssize_t hp_kernel_file(const struct hp_io *io, const char *path, char *buf,
		       size_t size);

/* The line after this one, or the end. */
const char *hp_kernel_line(const char *text);

/* A number alone; "max" and what is none: UINT64_MAX. */
uint64_t hp_kernel_number(const char *text);

#endif
