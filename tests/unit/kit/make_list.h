/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of files from plain strings, and small random numbers, for tests. */
#ifndef MAKE_LIST_H
#define MAKE_LIST_H

#include "plan/list.h"

#include <stdlib.h>
#include <string.h>

/* An empty list with room for n files and two roots, in1 and in2. */
static inline void list_begin(struct hp_list *list, uint64_t n)
{
	memset(list, 0, sizeof *list);
	list->roots = calloc(2, sizeof *list->roots);
	list->n_roots = 2;
	list->roots[0] = (struct hp_root){ .fd = -1, .name = "in1" };
	list->roots[1] = (struct hp_root){ .fd = -1, .name = "in2" };
	list->files = calloc(n + 1, sizeof *list->files);
	list->arena = hp_arena_new();
}

/* A file whose size is its number, to find it again once it has moved. */
static inline struct hp_file *list_add(struct hp_list *list, const char *path)
{
	struct hp_file *f = list->files + list->n_files;

	f->path_len = (uint16_t)strlen(path);
	f->path = hp_arena_add(list->arena, path, f->path_len);
	f->size = list->n_files++;
	return f;
}

#define LIST_OF(list, ...)                             \
	list_of(list, (const char *[]){ __VA_ARGS__ }, \
		sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))

static inline void list_of(struct hp_list *list, const char *const *paths,
			   size_t n)
{
	list_begin(list, n);
	for (size_t i = 0; i < n; i++)
		list_add(list, paths[i]);
}

/* xorshift64*; the same numbers everywhere. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Dull;
}

static inline void list_shuffle(struct hp_list *list, uint64_t *state)
{
	for (uint64_t i = list->n_files; i > 1; i--) {
		uint64_t j = next_random(state) % i;
		struct hp_file f = list->files[i - 1];

		list->files[i - 1] = list->files[j];
		list->files[j] = f;
	}
}

#endif
