/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system in memory behind struct hp_io, for tests that look at every
 * bit of small datasets or make single operations fail.  Folders, no links,
 * no permissions; one lock.  Names are relative to the root, whatever
 * AT_FDCWD is; "/" and "." mean the root too.
 */
#ifndef MEMIO_H
#define MEMIO_H

#include "sys/io.h"

struct memio;

struct memio *memio_new(void);
/* Fails an assertion if a descriptor or mapping was left open. */
void memio_free(struct memio *m);
/* The table to hand to the library; lives as long as m. */
const struct hp_io *memio_io(struct memio *m);

/* All that is in it, with the same inode numbers. */
struct memio *memio_copy(struct memio *m);

/* Each gets what the other holds; nothing of them is open. */
void memio_swap(struct memio *a, struct memio *b);
/* renameat2 knows no RENAME_EXCHANGE, as on some file systems. */
extern bool memio_no_exchange;

/* A file with these n bytes, new or replaced; its folders are made. */
void memio_add(struct memio *m, const char *path, const void *bytes, size_t n);
void memio_remove(struct memio *m, const char *path);
/*
 * The file's bytes and their number, or NULL.  They may be changed in place,
 * which open descriptors and mappings see; gone with the next write.
 */
uint8_t *memio_bytes(struct memio *m, const char *path, size_t *ret_n);
/* Bit 0 is the lowest of the first byte. */
void memio_flip(struct memio *m, const char *path, uint64_t bit);
/* Cuts the file, or adds zeros. */
void memio_resize(struct memio *m, const char *path, size_t n);
/* Names of all files (not folders), number of them; valid until a change. */
size_t memio_list(struct memio *m, const char **ret, size_t room);

/* Mapping fails with this code; 0: it works. */
void memio_set_map(struct memio *m, int code);
/* At most this many bytes in all files: -ENOSPC; 0: no limit. */
void memio_set_room(struct memio *m, uint64_t bytes);
/* Open descriptors. */
unsigned memio_open_count(struct memio *m);

#endif
