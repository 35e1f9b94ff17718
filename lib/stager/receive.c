/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of other nodes.  One that is lost would be waited for: if there is
 * no memory to do what it says, it is kept, with those that come behind it,
 * until there is.
 */
#include "stager/stager.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- Room ------------------------------------------------------------- */

static void give_back(struct hpdsl_stager *s, struct hp_word *w)
{
	w->next = s->own.spare_words;
	s->own.spare_words = w;
}

int hp_stager_words(struct hpdsl_stager *s, struct hpdsl_error *err)
{
	for (int i = 0; i < HPDSL_STAGER_WORDS; i++) {
		struct hp_word *w = malloc(sizeof *w);

		if (!w)
			return hp_fail_nomem(err);
		give_back(s, w);
	}
	return 0;
}

void hp_words_free(struct hp_word *w)
{
	while (w) {
		struct hp_word *next = w->next;

		free(w);
		w = next;
	}
}

static struct hp_word *word_room(struct hpdsl_stager *s)
{
	struct hp_word *w = s->own.spare_words;

	if (!w)
		return malloc(sizeof *w);
	s->own.spare_words = w->next;
	return w;
}

static struct hp_word *word_at(void *room)
{
	return (struct hp_word *)(void *)((char *)room -
					  offsetof(struct hp_word, bytes));
}

size_t hpdsl_stager_message_max(const struct hpdsl_stager *s)
{
	return HP_MESSAGE_HEADER + (size_t)s->own.buffers.segment;
}

void *hpdsl_stager_room(struct hpdsl_stager *s, size_t n)
{
	struct hp_buffer *b;
	struct hp_word *w;

	if (n < HP_MESSAGE_HEADER || n > hpdsl_stager_message_max(s))
		return NULL;
	if (n == HP_MESSAGE_HEADER) {
		w = word_room(s);
		return w ? w->bytes : NULL;
	}
	b = hp_buffers_get(&s->own.buffers);
	return b ? b->data - HP_MESSAGE_HEADER : NULL;
}

/* ---- Messages --------------------------------------------------------- */

static int fail_nonsense(uint32_t from, int code, struct hpdsl_error *err)
{
	return hp_fail(err, code, "a message of node %u makes no sense", from);
}

static int hear(struct hpdsl_stager *s, struct hp_word *w)
{
	struct hp_message m;
	int r = hp_message_get(w->bytes, HP_MESSAGE_HEADER, &m);

	return r < 0 ? r : hp_exchange_message(s->own.x, w->from, &m);
}

/* All that is told is told in order. */
static int receive_word(struct hpdsl_stager *s, struct hp_word *w)
{
	int r = s->own.unheard ? -ENOMEM : hear(s, w);

	if (r != -ENOMEM) {
		give_back(s, w);
		return r;
	}
	w->next = NULL;
	if (!s->own.unheard)
		s->own.unheard_last = &s->own.unheard;
	*s->own.unheard_last = w;
	s->own.unheard_last = &w->next;
	return 0;
}

void hp_stager_hear(struct hpdsl_stager *s)
{
	struct hp_word *w;

	while ((w = s->own.unheard)) {
		uint32_t from = w->from;
		struct hpdsl_error err;
		int r = hear(s, w);

		if (r == -ENOMEM)
			return;
		s->own.unheard = w->next;
		give_back(s, w);
		/* Not as if a chunk were damaged: that would go on. */
		if (r < 0)
			hp_stager_fail(s, fail_nonsense(from, -EPROTO, &err),
				       &err);
	}
}

/* A segment, which is kept or not. */
static int receive_data(struct hpdsl_stager *s, uint32_t from, size_t n,
			struct hp_buffer *b)
{
	struct hp_stager_chunk *c;
	struct hp_message m;
	int r = hp_message_get(b->data - HP_MESSAGE_HEADER, n, &m);

	if (r == 0)
		r = hp_exchange_message(s->own.x, from, &m);
	/* Before it is kept; the rest after that, since it may be sent on. */
	hp_stager_act_begin(s);
	if (r <= 0) {
		hp_buffers_put(&s->own.buffers, b);
		return r;
	}
	s->own.report.peer_bytes += m.length;
	b->id = (struct hp_segment_id){ m.chunk, m.offset, m.length, m.plain };
	c = hp_stager_chunk(s, m.chunk);
	if (c) {
		hp_stager_keep(s, c, b);
	} else {
		hp_stager_lost(s, HP_EV_FREE, &b->id);
		hp_buffers_put(&s->own.buffers, b);
	}
	return 0;
}

int hpdsl_stager_received(struct hpdsl_stager *s, uint32_t from, void *room,
			  size_t n, struct hpdsl_error *err)
{
	struct hp_word *w;
	int r;

	if (n > HP_MESSAGE_HEADER) {
		r = receive_data(s, from, n,
				 hp_buffers_at(&s->own.buffers, room));
	} else {
		w = word_at(room);
		w->from = from;
		r = receive_word(s, w);
	}
	return r < 0 ? fail_nonsense(from, r, err) : 0;
}
