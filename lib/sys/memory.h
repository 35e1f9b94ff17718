/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a process may still take, as the kernel's files say. */
#ifndef HP_MEMORY_H
#define HP_MEMORY_H

#include "sys/io.h"

/* Bytes of a "NAME:   123 kB" line of /proc/meminfo; UINT64_MAX: no such. */
uint64_t hp_meminfo(const char *text, const char *name);

/* The value of a "name 123" line of memory.stat; 0: no such. */
uint64_t hp_memory_stat(const char *text, const char *name);

/* All of it together: bytes; UINT64_MAX if nobody tells. */
uint64_t hp_memory_left(const struct hp_io *io);

#endif
