/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting the plan into pieces, in order: chunk by chunk, segment by segment,
 * member by member.  All of it under the engine's lock, so it only counts; it
 * opens nothing and reads nothing.
 */
#include "write/engine.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Enough bytes for one claim: more would leave other readers idle. */
enum { RUN_BYTES = 256 * 1024 };

static struct hp_open_chunk *new_chunk(struct hp_engine *e)
{
	const struct hp_plan *plan = &e->w->plan;
	struct hp_open_chunk *c = hp_aligned(sizeof *c);
	struct hpdsl_error err;

	if (c) {
		c->number = e->cut.next_chunk;
		c->bytes = c->unwritten = hp_plan_chunk_bytes(plan, c->number);
		c->tail = &c->head;
		c->out.fd = -1;
		if (!e->w->opt->zstd || hp_squeeze_begin(c, plan) == 0)
			return c;
	}
	free(c);
	hp_fail_nomem(&err);
	hp_engine_fail(e, -ENOMEM, &err);
	return NULL;
}

static bool begin_chunk(struct hp_engine *e)
{
	const struct hp_plan *plan = &e->w->plan;
	struct hp_open_chunk *c;

	while (e->cut.next_chunk < plan->n_chunks &&
	       e->w->done[e->cut.next_chunk].done)
		e->cut.next_chunk++;
	if (e->cut.next_chunk == plan->n_chunks) {
		e->cut.all = true;
		return false;
	}
	if (hp_stopped(&e->w->opt->watch)) {
		e->stopped = e->cut.all = true;
		return false;
	}
	c = new_chunk(e);
	if (!c)
		return false;
	e->cut.next_chunk++;
	*e->chunks_tail = c;
	e->chunks_tail = &c->next;
	e->cut.chunk = c;
	e->cut.at = 0;
	hp_plan_walk_chunk(&e->cut.walk, plan, c->number);
	e->cut.have_place = hp_plan_walk_next(&e->cut.walk, &e->cut.place);
	return true;
}

static void begin_segment(struct hp_engine *e)
{
	struct hp_open_chunk *c = e->cut.chunk;
	struct hp_segment *s = e->free;
	uint64_t left = c->bytes - e->cut.at;

	e->free = s->next;
	s->next = NULL;
	s->chunk = c;
	s->offset = e->cut.at;
	s->len = left < e->segment_size ? (uint32_t)left : e->segment_size;
	s->pending = 1;
	s->front.file = s->back.file = NULL;
	*c->tail = s;
	c->tail = &s->next;
	e->cut.filling = s;
}

static void piece_done(struct hp_engine *e, struct hp_segment *s)
{
	if (--s->pending == 0)
		pthread_cond_signal(&e->ready);
}

/* Notes the part of a content that lies in s, if it is not all of it. */
static void note_part(struct hp_engine *e, struct hp_segment *s,
		      const struct hp_plan_place *p)
{
	struct hp_file *f = &e->w->list.files[p->file];
	uint64_t from = p->data > s->offset ? p->data : s->offset;
	uint64_t end = p->data + f->size, seg_end = s->offset + s->len;
	uint64_t to = end < seg_end ? end : seg_end;
	struct hp_segment_part part = { .file = f };

	if (from >= to || (from == p->data && to == end))
		return;
	part.start = (uint32_t)(from - s->offset);
	part.len = (uint32_t)(to - from);
	part.first = from == p->data;
	part.last = to == end;
	if (part.first)
		s->back = part;
	else
		s->front = part;
}

/* The current member's part in the current segment. */
static void cut_piece(struct hp_engine *e, struct hp_run *run)
{
	struct hp_segment *s = e->cut.filling;
	uint64_t seg_end = s->offset + s->len;
	uint64_t to = e->cut.place.next < seg_end ? e->cut.place.next : seg_end;

	run->piece[run->n].segment = s;
	run->piece[run->n].place = e->cut.place;
	run->n++;
	run->bytes += to - e->cut.at;
	s->pending++;
	note_part(e, s, &e->cut.place);
	e->cut.at = to;
	if (to == e->cut.place.next)
		e->cut.have_place =
			hp_plan_walk_next(&e->cut.walk, &e->cut.place);
}

/* Behind the last member: zeros. */
static void cut_trailer(struct hp_engine *e)
{
	struct hp_segment *s = e->cut.filling;
	uint32_t from = (uint32_t)(e->cut.at - s->offset);

	memset(s->buf + from, 0, s->len - from);
	e->cut.at = s->offset + s->len;
	e->bytes_done += s->len - from;
}

/* Is there a segment to fill, begun or free?  May wait for one. */
static bool get_segment(struct hp_engine *e, const struct hp_run *run,
			bool wait)
{
	while (wait && run->n == 0 && !e->cut.filling && !e->free &&
	       !e->cut.all && !e->failed)
		pthread_cond_wait(&e->freed, &e->lock);
	return (e->cut.filling || e->free) && !e->failed;
}

void hp_claim(struct hp_engine *e, struct hp_run *run, bool wait)
{
	run->n = 0;
	run->bytes = 0;
	while (run->n < HP_RUN && run->bytes < RUN_BYTES) {
		if (!get_segment(e, run, wait))
			break;
		if (!e->cut.chunk && (e->cut.all || !begin_chunk(e)))
			break;
		if (!e->cut.filling)
			begin_segment(e);
		if (e->cut.have_place)
			cut_piece(e, run);
		else
			cut_trailer(e);
		if (e->cut.at == e->cut.filling->offset + e->cut.filling->len) {
			piece_done(e, e->cut.filling);
			e->cut.filling = NULL;
		}
		if (e->cut.at == e->cut.chunk->bytes)
			e->cut.chunk = NULL;
	}
}

void hp_claim_done(struct hp_engine *e, const struct hp_run *run)
{
	for (unsigned i = 0; i < run->n; i++)
		piece_done(e, run->piece[i].segment);
	e->bytes_done += run->bytes;
}
