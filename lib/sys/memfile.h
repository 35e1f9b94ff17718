/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that lie in memory alone and have no name: what processes that share
 * memory map.
 */
#ifndef HP_MEMFILE_H
#define HP_MEMFILE_H

#include <stdint.h>

/* Of no bytes; name is for /proc.  A descriptor, or -errno. */
int hp_memfile_new(const char *name);
/* Its size; what is new takes no memory until it is used.  -errno. */
int hp_memfile_resize(int fd, uint64_t bytes);
/* From now on nobody changes it: 0 or -errno. */
int hp_memfile_seal(int fd);
void hp_memfile_close(int fd);

#endif
