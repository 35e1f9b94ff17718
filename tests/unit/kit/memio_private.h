/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of memio share: its tree of nodes. */
#ifndef MEMIO_PRIVATE_H
#define MEMIO_PRIVATE_H

#include "memio.h"

#include <pthread.h>

enum { FDS = 1024, FIRST_FD = 1000, PATH_ROOM = 8192 };

/* Bytes, shared by a node and its mappings. */
struct bytes {
	unsigned refs;
	size_t room;
	uint8_t p[];
};

struct node {
	struct node *next;
	char *path;    /* "" is the root; NULL: unlinked */
	unsigned refs; /* its name and descriptors */
	bool dir, locked;
	mode_t mode;
	ino_t ino;
	struct timespec mtime;
	struct bytes *b;
	size_t size;
};

struct file {
	struct node *node;
	uint64_t at; /* of read, write; in a folder: names told so far */
	bool append, lock;
};

struct map {
	struct map *next;
	struct bytes *b;
};

struct memio {
	struct hp_io io; /* first: the table leads back to us */
	pthread_mutex_t lock;
	struct node *nodes;
	struct file files[FDS];
	struct map *maps;
	ino_t last_ino;
	unsigned open;
	int map_code;
	uint64_t room;
};

struct memio *memio_enter(const struct hp_io *io);
/* Unlocks; returns r. */
int memio_leave(struct memio *m, int r);

/*
 * Cleared memory, or the end: not from malloc, which tests make fail to see
 * what the library does, not us.
 */
void *memio_alloc(size_t n);
char *memio_strdup(const char *s);

/* All locked. */
struct node *memio_find(struct memio *m, const char *path);
struct node *memio_node_new(struct memio *m, const char *path, bool dir,
			    mode_t mode);
/* Gives up one of its refs. */
void memio_node_put(struct memio *m, struct node *n);
void memio_unlink_node(struct memio *m, struct node *n);
bool memio_is_empty(struct memio *m, const struct node *dir);
/* Does path lie below dir ("" is the root)?  Returns the rest, or NULL. */
const char *memio_below(const char *path, const char *dir);
/* The file behind a descriptor, or NULL. */
struct file *memio_get(struct memio *m, int fd);
/* The path that name means at dir, without dots and doubled slashes. */
int memio_resolve(struct memio *m, int dir, const char *name,
		  char out[PATH_ROOM]);
/* 0 if the folder that path lies in is there. */
int memio_check_parent(struct memio *m, const char *path);
/* Bytes in all files. */
uint64_t memio_used(struct memio *m);
int memio_set_size(struct memio *m, struct node *n, size_t size);
void memio_bytes_put(struct bytes *b);
/* Gives a node and all below it another path. */
void memio_move(struct memio *m, const char *from, const char *to);

extern const struct hp_io memio_table;

#endif
