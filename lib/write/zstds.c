/* SPDX-License-Identifier: Apache-2.0 */
/* What chunks that are compressed take and give back: contexts of zstd. */
#include "write/engine.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>

static int make_zstds(const struct hp_engine *e, struct hp_zstds *z, uint32_t n)
{
	z->v = calloc(n, sizeof(struct hp_zstd *));
	if (!z->v)
		return -ENOMEM;
	for (; z->n < n; z->n++) {
		z->v[z->n] = hp_zstd_new(e->w->opt->zstd);
		if (!z->v[z->n])
			return -ENOMEM;
	}
	z->idle = n;
	return 0;
}

int hp_squeeze_init(struct hp_engine *e, uint32_t threads,
		    struct hpdsl_error *err)
{
	/* No more segments than there are can be worked at. */
	uint32_t n = threads < e->n_segments ? threads : e->n_segments;

	if (make_zstds(e, &e->zstds, n) < 0 ||
	    make_zstds(e, &e->streams, n + 1) < 0)
		return hp_fail_nomem(err);
	return 0;
}

static void free_zstds(struct hp_zstds *z)
{
	for (uint32_t i = 0; i < z->n; i++)
		hp_zstd_free(z->v[i]);
	free(z->v);
}

/* All that were lent out have come back: chunks are gone first. */
void hp_squeeze_release(struct hp_engine *e)
{
	free_zstds(&e->zstds);
	free_zstds(&e->streams);
}

struct hp_zstd *hp_zstds_borrow(struct hp_zstds *z)
{
	return z->v[--z->idle];
}

void hp_zstds_give_back(struct hp_zstds *z, struct hp_zstd *zstd)
{
	z->v[z->idle++] = zstd;
}

int hp_squeeze_begin(struct hp_open_chunk *c, const struct hp_plan *plan)
{
	struct hp_squeeze *q = hp_aligned(sizeof *q);

	if (!q)
		return -ENOMEM;
	q->tail = &q->head;
	hp_frames_begin(&q->frames, plan, c->number);
	c->zst = q;
	return 0;
}

void hp_squeeze_end(struct hp_engine *e, struct hp_open_chunk *c)
{
	struct hp_squeeze *q = c->zst;

	if (!q)
		return;
	/* After a failure it may still be there. */
	if (q->frames.stream)
		hp_zstds_give_back(&e->streams, q->frames.stream);
	hp_zst_release(&q->file);
	hp_frames_release(&q->frames);
	free(q);
}
