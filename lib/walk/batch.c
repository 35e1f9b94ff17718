/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a folder in batches, each asked for as soon as it is full. */
#include "walk/private.h"

#include "base/mem.h"

#include <stdlib.h>

static struct hp_walk_batch *batch_new(struct hp_walk_worker *w,
				       struct hp_walk_dir *dir)
{
	struct hp_walk_batch *b = hp_take(w->spare);

	if (!b)
		b = malloc(sizeof *b);
	if (!b)
		return NULL;
	b->job.kind = HP_WALK_BATCHED;
	b->next = NULL;
	b->dir = dir;
	b->n = 0;
	if (dir->last)
		dir->last->next = b;
	else
		dir->first = b;
	dir->last = b;
	return b;
}

void hp_walk_batch_free(struct hp_walk_worker *w, struct hp_walk_batch *b)
{
	if (w->spare)
		free(b);
	else
		w->spare = b;
}

/* Somebody else's, if there is one who would wait. */
static void batch_flush(struct hp_walk_worker *w, struct hp_walk_dir *dir)
{
	__atomic_add_fetch(&dir->left, 1, __ATOMIC_RELAXED);
	if (hp_crew_offer(&w->s->crew, &dir->last->job))
		return;
	__atomic_sub_fetch(&dir->left, 1, __ATOMIC_RELAXED);
	hp_walk_ask(w, dir->last, false);
}

struct hp_node *hp_walk_add(struct hp_walk_worker *w, struct hp_walk_dir *dir,
			    const char *name, size_t n, mode_t mode)
{
	struct hp_walk_batch *b = dir->last;
	struct hp_node *node;

	if (b && b->n == HP_WALK_BATCH) {
		batch_flush(w, dir);
		b = NULL; /* it may have fewer names by now, but is done */
	}
	if (!b)
		b = batch_new(w, dir);
	if (!b) {
		hp_crew_no_memory(&w->s->crew);
		return NULL;
	}
	node = &b->nodes[b->n];
	*node = (struct hp_node){ .name = name,
				  .name_len = (uint16_t)n,
				  .mode = (uint16_t)mode };
	b->n++;
	return node;
}
