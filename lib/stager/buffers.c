/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of one segment each, that remember what they held. */
#include "stager/buffers.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

enum { SEGMENT_MIN = 64 << 10, SEGMENT_MAX = 4 << 20, PARTS = 64 };

static size_t stride(const struct hp_buffers *b)
{
	return (size_t)b->segment + HP_BUFFER_ALIGN;
}

int hp_buffers_init(struct hp_buffers *b, uint64_t memory,
		    struct hpdsl_error *err)
{
	uint64_t n;

	*b = (struct hp_buffers){ .segment = SEGMENT_MIN };
	while (b->segment < SEGMENT_MAX && b->segment * 2 <= memory / PARTS)
		b->segment *= 2;
	n = memory / 4 * 3 / stride(b);
	b->max = n < 4096 ? (uint32_t)n : 4096;
	/* What is not touched takes no memory, however large this is. */
	b->memory = aligned_alloc(HP_BUFFER_ALIGN, b->max * stride(b));
	b->v = calloc(b->max, sizeof *b->v);
	if (!b->memory || !b->v) {
		hp_buffers_release(b);
		return hp_fail_nomem(err);
	}
	for (uint32_t i = 0; i < b->max; i++)
		b->v[i].data = b->memory + i * stride(b) + HP_BUFFER_ALIGN;
	return 0;
}

void hp_buffers_release(struct hp_buffers *b)
{
	free(b->memory);
	free(b->v);
	b->memory = NULL;
	b->v = NULL;
}

/* One that holds nothing of use, or else what was not used for longest. */
static struct hp_buffer *oldest(struct hp_buffers *b)
{
	struct hp_buffer *best = NULL;

	for (uint32_t i = 0; i < b->touched; i++) {
		struct hp_buffer *v = &b->v[i];

		if (v->users)
			continue;
		if (!v->known)
			return v;
		if (!best || v->freed < best->freed)
			best = v;
	}
	return best;
}

static struct hp_buffer *take(struct hp_buffers *b, struct hp_buffer *v)
{
	if (v->users++ == 0 && ++b->used > b->most_used)
		b->most_used = b->used;
	return v;
}

struct hp_buffer *hp_buffers_get(struct hp_buffers *b)
{
	struct hp_buffer *v = NULL;

	if (b->used == b->max)
		return NULL;
	if (b->touched == b->max)
		v = oldest(b);
	else
		v = &b->v[b->touched++];
	v->known = false;
	return take(b, v);
}

struct hp_buffer *hp_buffers_find(struct hp_buffers *b,
				  const struct hp_segment_id *id)
{
	for (uint32_t i = 0; i < b->touched; i++) {
		const struct hp_segment_id *is = &b->v[i].id;

		if (b->v[i].known && is->chunk == id->chunk &&
		    is->offset == id->offset && is->length == id->length &&
		    is->plain == id->plain)
			return take(b, &b->v[i]);
	}
	return NULL;
}

void hp_buffers_put(struct hp_buffers *b, struct hp_buffer *buf)
{
	if (--buf->users == 0) {
		buf->freed = ++b->clock;
		b->used--;
	}
}

struct hp_buffer *hp_buffers_at(const struct hp_buffers *b, const void *p)
{
	size_t at = (size_t)((const uint8_t *)p - b->memory);

	return &b->v[at / stride(b)];
}

void hp_buffers_forget(struct hp_buffers *b, uint64_t chunk)
{
	for (uint32_t i = 0; i < b->touched; i++)
		if (b->v[i].id.chunk == chunk)
			b->v[i].known = false;
}
