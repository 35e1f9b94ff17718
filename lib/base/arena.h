/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings that live and die together: pointers stay valid until the arena is
 * freed.
 */
#ifndef HP_ARENA_H
#define HP_ARENA_H

#include <stddef.h>

struct hp_arena;

/* NULL: no memory, as of a string. */
struct hp_arena *hp_arena_new(void);
void hp_arena_free(struct hp_arena *a);
char *hp_arena_add(struct hp_arena *a, const char *s, size_t len); /* + NUL */
/* Moves the strings of from into a and frees from. */
void hp_arena_join(struct hp_arena *a, struct hp_arena *from);

#endif
