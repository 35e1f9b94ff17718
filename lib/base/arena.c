/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings that live and die together, one behind the other in large blocks:
 * no header and no rounding for each, so a path costs its bytes and a NUL.
 */
#include "base/arena.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20 };

struct block {
	struct block *next;
	size_t used, size;
	char data[];
};

struct hp_arena {
	struct block *head; /* the one that is being filled */
	struct block *tail;
};

struct hp_arena *hp_arena_new(void)
{
	return calloc(1, sizeof(struct hp_arena));
}

void hp_arena_free(struct hp_arena *a)
{
	if (!a)
		return;
	while (a->head) {
		struct block *b = a->head;

		a->head = b->next;
		free(b);
	}
	free(a);
}

static size_t room(const struct block *b)
{
	return b ? b->size - b->used : 0;
}

/* Blocks double up to BLOCK_MAX, so a small arena stays small. */
static size_t next_size(const struct block *last)
{
	if (!last)
		return BLOCK_MIN - sizeof *last;
	if (last->size >= BLOCK_MAX / 2)
		return BLOCK_MAX - sizeof *last;
	return (last->size + sizeof *last) * 2 - sizeof *last;
}

static struct block *add_block(struct hp_arena *a, size_t need)
{
	size_t size = next_size(a->head), bytes;
	struct block *b;

	if (size < need)
		size = need;
	if (__builtin_add_overflow(size, sizeof *b, &bytes))
		return NULL;
	b = malloc(bytes);
	if (!b)
		return NULL;
	b->next = a->head;
	b->used = 0;
	b->size = size;
	a->head = b;
	if (!a->tail)
		a->tail = b;
	return b;
}

char *hp_arena_add(struct hp_arena *a, const char *s, size_t len)
{
	struct block *b = a->head;
	size_t need;
	char *p;

	if (__builtin_add_overflow(len, 1, &need))
		return NULL;
	if (room(b) < need)
		b = add_block(a, need);
	if (!b)
		return NULL;
	p = b->data + b->used;
	if (len)
		memcpy(p, s, len);
	p[len] = '\0';
	b->used += need;
	return p;
}

void hp_arena_join(struct hp_arena *a, struct hp_arena *from)
{
	if (!from)
		return;
	if (!a->head) {
		*a = *from;
	} else if (from->head) {
		/* Go on filling the block with more room. */
		bool theirs = room(from->head) > room(a->head);
		struct hp_arena first = theirs ? *from : *a;
		struct hp_arena last = theirs ? *a : *from;

		first.tail->next = last.head;
		a->head = first.head;
		a->tail = last.tail;
	}
	free(from);
}
