/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap. */
#include "load/queue.h"

#include <errno.h>
#include <stdlib.h>

static bool before(const struct hp_load_block *a, const struct hp_load_block *b)
{
	return a->first != b->first ? a->first < b->first :
				      a->serial < b->serial;
}

int hp_load_queue_reserve(struct hp_load_queue *q, uint64_t more)
{
	uint64_t want = q->n + more;
	struct hp_load_block **v;

	if (want <= q->room)
		return 0;
	v = reallocarray(q->v, 2 * want, sizeof(struct hp_load_block *));
	if (!v)
		return -ENOMEM;
	q->v = v;
	q->room = 2 * want;
	return 0;
}

void hp_load_queue_add(struct hp_load_queue *q, struct hp_load_block *b)
{
	size_t i = q->n++;

	for (; i && before(b, q->v[(i - 1) / 2]); i = (i - 1) / 2)
		q->v[i] = q->v[(i - 1) / 2];
	q->v[i] = b;
	q->bytes += b->b.room;
}

struct hp_load_block *hp_load_queue_first(const struct hp_load_queue *q)
{
	return q->n ? q->v[0] : NULL;
}

void hp_load_queue_take(struct hp_load_queue *q)
{
	struct hp_load_block *b = q->v[--q->n];
	size_t i = 0, child;

	q->bytes -= q->v[0]->b.room;
	while ((child = 2 * i + 1) < q->n) {
		if (child + 1 < q->n && before(q->v[child + 1], q->v[child]))
			child++;
		if (!before(q->v[child], b))
			break;
		q->v[i] = q->v[child];
		i = child;
	}
	q->v[i] = b;
}

void hp_load_queue_release(struct hp_load_queue *q)
{
	free(q->v);
	*q = (struct hp_load_queue){ 0 };
}
