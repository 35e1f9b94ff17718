/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages, out and in.  Those with a segment keep their order among
 * themselves for each node, and so do those without.
 */
#include "stager.h"

#include <stdlib.h>

#include <string.h>

/* ---- Lists -------------------------------------------------------------- */

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

void hp_outgoings_free(struct hp_outgoings *q)
{
	while (q->first) {
		struct hp_outgoing *o = q->first;

		q->first = o->next;
		free(o);
	}
}

/* ---- Sending ------------------------------------------------------------ */

/* The segment is still in memory, and nobody sends it under another header. */
static bool share(struct hpdsl_stager *s, struct hp_outgoing *o)
{
	struct hp_buffer *b = hp_buffers_find(&s->buffers, &o->id);

	if (!b)
		return false;
	if (b->senders && memcmp(b->data - HP_MESSAGE_HEADER, o->header,
				 HP_MESSAGE_HEADER) != 0) {
		hp_buffers_put(&s->buffers, b);
		return false;
	}
	o->buffer = b;
	o->filled = true;
	return true;
}

static bool fill(struct hpdsl_stager *s, struct hp_outgoing *o)
{
	struct hp_job *j = hp_job_new(s, HP_JOB_FILL, o->chunk);

	o->buffer = hp_buffers_get(&s->buffers);
	if (!j || !o->buffer) {
		if (o->buffer)
			hp_buffers_put(&s->buffers, o->buffer);
		free(j);
		return false;
	}
	j->buffer = o->buffer;
	j->out = o;
	j->id = o->id;
	if (o->chunk->part && o->chunk->part_plain == o->id.plain)
		j->part = hp_part_hold(o->chunk->part);
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
	struct hp_outgoing *o = calloc(1, sizeof *o);
	bool data = a->msg.kind == HP_MSG_DATA;
	struct hpdsl_error err;

	if (o) {
		o->to = a->node;
		o->filled = !data;
		hp_message_put(&a->msg, o->header);
	}
	if (o && (!data || find_segment(s, o, &a->msg))) {
		add(data ? &s->data : &s->words, o);
		return;
	}
	hp_stager_fail(s, hp_fail_nomem(&err), &err);
	if (data)
		hp_stager_lost(
			s, HP_EV_SENT,
			&(struct hp_segment_id){ .chunk = a->msg.chunk });
	free(o);
}

/* The first that may go: none to the same node that was to go before waits. */
static struct hp_outgoing *find_ready(struct hp_outgoings *q)
{
	for (struct hp_outgoing *o = q->first; o; o = o->next) {
		const struct hp_outgoing *p = q->first;

		if (o->handed || !o->filled)
			continue;
		while (p != o && (p->handed || p->to != o->to))
			p = p->next;
		if (p == o)
			return o;
	}
	return NULL;
}

static int tell_failure(struct hpdsl_stager *s, struct hpdsl_error *err)
{
	pthread_mutex_lock(&s->lock);
	s->told = s->failing = s->failed;
	if (err)
		*err = s->err;
	pthread_mutex_unlock(&s->lock);
	return s->told;
}

int hpdsl_stager_next(struct hpdsl_stager *s, struct hpdsl_stager_message *ret,
		      struct hpdsl_error *err)
{
	struct hp_outgoing *o;

	hp_stager_tell(s);
	hp_stager_act(s);
	if (s->failing != s->told)
		return tell_failure(s, err);
	o = find_ready(&s->words);
	if (!o)
		o = find_ready(&s->data);
	if (!o)
		return 0;
	o->handed = true;
	*ret = (struct hpdsl_stager_message){
		.to = o->to,
		.p = o->buffer ? o->buffer->data - HP_MESSAGE_HEADER :
				 o->header,
		.n = HP_MESSAGE_HEADER + o->id.length,
		.token = o,
	};
	return 1;
}

void hpdsl_stager_sent(struct hpdsl_stager *s,
		       const struct hpdsl_stager_message *m)
{
	struct hp_outgoing *o = m->token;

	if (o->buffer) {
		take_out(&s->data, o);
		s->report.sent_bytes += o->id.length;
		o->buffer->senders--;
		hp_buffers_put(&s->buffers, o->buffer);
		hp_exchange_event(s->x, HP_EV_SENT, o->id.chunk, o->id.offset,
				  o->id.length, o->id.plain);
		o->chunk->sends--;
		hp_stager_chunk_done(s, o->chunk);
	} else {
		take_out(&s->words, o);
	}
	free(o);
}

/* ---- Receiving ---------------------------------------------------------- */

size_t hpdsl_stager_message_max(const struct hpdsl_stager *s)
{
	return HP_MESSAGE_HEADER + (size_t)s->buffers.segment;
}

void *hpdsl_stager_room(struct hpdsl_stager *s, size_t n)
{
	struct hp_buffer *b;

	if (n < HP_MESSAGE_HEADER || n > hpdsl_stager_message_max(s))
		return NULL;
	if (n == HP_MESSAGE_HEADER)
		return malloc(HP_MESSAGE_HEADER);
	b = hp_buffers_get(&s->buffers);
	return b ? b->data - HP_MESSAGE_HEADER : NULL;
}

static int fail_nonsense(uint32_t from, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT,
		       "a message of node %u makes no sense", from);
}

/* A word; or a segment, which is kept or not. */
static int receive(struct hpdsl_stager *s, uint32_t from,
		   const struct hp_message *m, struct hp_buffer *b)
{
	int r = hp_exchange_message(s->x, from, m);
	struct hp_stager_chunk *c;

	/* Before it is kept; the rest after that, since it may be sent on. */
	hp_stager_act_begin(s);
	if (r <= 0 || !b) {
		if (b)
			hp_buffers_put(&s->buffers, b);
		return r;
	}
	s->report.peer_bytes += m->length;
	b->id = (struct hp_segment_id){ m->chunk, m->offset, m->length,
					m->plain };
	c = hp_stager_chunk(s, m->chunk);
	if (c)
		hp_stager_keep(s, c, b);
	else {
		hp_stager_lost(s, HP_EV_FREE, &b->id);
		hp_buffers_put(&s->buffers, b);
	}
	return 0;
}

int hpdsl_stager_received(struct hpdsl_stager *s, uint32_t from, void *room,
			  size_t n, struct hpdsl_error *err)
{
	struct hp_buffer *b = NULL;
	struct hp_message m;
	int r;

	if (n > HP_MESSAGE_HEADER)
		b = hp_buffers_at(&s->buffers, room);
	r = hp_message_get(room, n, &m);
	if (!b)
		free(room);
	if (r == 0)
		r = receive(s, from, &m, b);
	else if (b)
		hp_buffers_put(&s->buffers, b);
	if (r == HPDSL_ECORRUPT)
		return fail_nonsense(from, err);
	return r < 0 ? hp_fail_nomem(err) : 0;
}
