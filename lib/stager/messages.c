/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to other nodes.  Those with a segment keep their order among
 * themselves for each node, and so do those without.  One that is lost would be
 * waited for: there is a record for it before the exchange is asked.
 */
#include "stager/stager.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lists ------------------------------------------------------------ */

static void add(struct hp_outgoings *q, struct hp_outgoing *o)
{
	if (!q->first)
		q->last = &q->first;
	*q->last = o;
	q->last = &o->next;
}

static void take_out(struct hp_outgoings *q, struct hp_outgoing *o)
{
	struct hp_outgoing **p = &q->first;

	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
	if (!o->next)
		q->last = p;
}

void hp_outgoings_free(struct hp_outgoing *first)
{
	while (first) {
		struct hp_outgoing *o = first;

		first = o->next;
		free(o);
	}
}

static void give_back(struct hpdsl_stager *s, struct hp_outgoing *o)
{
	o->next = s->own.spare_outgoings;
	s->own.spare_outgoings = o;
}

bool hp_stager_can_send(struct hpdsl_stager *s)
{
	struct hp_outgoing *o;

	if (s->own.spare_outgoings)
		return true;
	o = malloc(sizeof *o);
	if (o)
		give_back(s, o);
	return o != NULL;
}

/* ---- Sending ---------------------------------------------------------- */

/* The segment is still in memory, and nobody sends it under another header. */
static bool share(struct hpdsl_stager *s, struct hp_outgoing *o)
{
	struct hp_buffer *b = hp_buffers_find(&s->own.buffers, &o->id);

	if (!b)
		return false;
	if (b->senders && memcmp(b->data - HP_MESSAGE_HEADER, o->header,
				 HP_MESSAGE_HEADER) != 0) {
		hp_buffers_put(&s->own.buffers, b);
		return false;
	}
	o->buffer = b;
	o->filled = true;
	return true;
}

static bool fill(struct hpdsl_stager *s, struct hp_outgoing *o)
{
	struct hp_job *j = hp_job_new(s, HP_JOB_FILL, o->chunk);

	o->buffer = hp_buffers_get(&s->own.buffers);
	if (!j || !o->buffer) {
		if (o->buffer)
			hp_buffers_put(&s->own.buffers, o->buffer);
		free(j);
		return false;
	}
	j->buffer = o->buffer;
	j->out = o;
	j->id = o->id;
	if (o->chunk->part && o->chunk->part_plain == o->id.plain)
		j->part = hp_coming_file_hold(o->chunk->part);
	hp_job_start(s, j);
	return true;
}

static bool find_segment(struct hpdsl_stager *s, struct hp_outgoing *o,
			 const struct hp_message *m)
{
	o->id = (struct hp_segment_id){ .chunk = m->chunk,
					.offset = m->offset,
					.length = m->length,
					.plain = m->plain };
	o->chunk = hp_stager_chunk(s, m->chunk);
	if (!o->chunk || (!share(s, o) && !fill(s, o)))
		return false;
	o->chunk->sends++;
	if (o->buffer->senders++ == 0)
		memcpy(o->buffer->data - HP_MESSAGE_HEADER, o->header,
		       HP_MESSAGE_HEADER);
	return true;
}

void hp_stager_send(struct hpdsl_stager *s, const struct hp_action *a)
{
	struct hp_outgoing *o = s->own.spare_outgoings;
	bool data = a->msg.kind == HP_MSG_DATA;
	struct hpdsl_error err;

	s->own.spare_outgoings = o->next;
	*o = (struct hp_outgoing){ .to = a->node, .filled = !data };
	hp_message_put(&a->msg, o->header);
	if (!data || find_segment(s, o, &a->msg)) {
		add(data ? &s->own.data : &s->own.words, o);
		return;
	}
	give_back(s, o);
	hp_stager_fail(s, hp_fail_nomem(&err), &err);
	hp_stager_lost(s, HP_EV_SENT,
		       &(struct hp_segment_id){ .chunk = a->msg.chunk });
}

void hpdsl_stager_sent(struct hpdsl_stager *s,
		       const struct hpdsl_stager_message *m)
{
	struct hp_outgoing *o = m->token;

	if (o->buffer) {
		take_out(&s->own.data, o);
		s->own.report.sent_bytes += o->id.length;
		o->buffer->senders--;
		hp_buffers_put(&s->own.buffers, o->buffer);
		hp_exchange_event(s->own.x, HP_EV_SENT, o->id.chunk,
				  o->id.offset, o->id.length, o->id.plain);
		o->chunk->sends--;
		hp_stager_chunk_done(s, o->chunk);
	} else {
		take_out(&s->own.words, o);
	}
	give_back(s, o);
}
