/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange's segments on their way to this node, from others or from the
 * origin: what came, what was written, and whose buffer is free again.
 */
#include "spread/private.h"

static uint32_t segment_of(const struct hp_exchange *x, uint64_t left)
{
	return left < x->c.segment ? (uint32_t)left : x->c.segment;
}

static void largest(uint32_t *max, uint32_t n)
{
	if (n > *max)
		*max = n;
}

/* ---- From other nodes ------------------------------------------------- */

static struct hp_xchunk *stream(const struct hp_exchange *x, uint32_t from,
				const struct hp_message *m)
{
	struct hp_xchunk *k = hp_xchunk_find(x, m->chunk);

	if (!k || k->place == HP_NOT_WANTED || k->state != HP_COMING_ASKED ||
	    x->c.from[k->place] != from || k->attempt != m->attempt ||
	    k->todo & HP_TODO_REQUEST)
		return NULL;
	return k;
}

static bool form_is_known(struct hp_exchange *x, struct hp_xchunk *k,
			  const struct hp_message *m)
{
	if (k->got)
		return k->plain == m->plain;
	k->plain = m->plain;
	k->size = x->c.bytes(x->c.arg, k->chunk, m->plain);
	return k->size != 0;
}

int hp_in_data(struct hp_exchange *x, uint32_t from, const struct hp_message *m)
{
	struct hp_xchunk *k = stream(x, from, m);

	if (!k || (k->end && !k->cancelled))
		return 0;
	if (!k->granted || m->offset != k->got || !form_is_known(x, k, m) ||
	    k->got >= k->size || m->length != segment_of(x, k->size - k->got))
		return HPDSL_ECORRUPT;
	k->granted--;
	k->got += m->length;
	if (k->got == k->size)
		k->granted = 0;
	if (k->cancelled)
		return 0;
	if (!m->offset)
		hp_in_first_bytes(x, k);
	k->held++;
	largest(&x->n.in_buffers, ++x->in_used);
	x->n.received_bytes += m->length;
	x->n.refetch_bytes += k->again ? m->length : 0;
	hp_out_changed(x, k);
	return 1;
}

/* SORRY, LOST or AGAIN. */
void hp_in_ended(struct hp_exchange *x, uint32_t from,
		 const struct hp_message *m)
{
	struct hp_xchunk *k = stream(x, from, m);

	if (!k || (k->size && k->got == k->size && !k->cancelled))
		return;
	if (k->cancelled) {
		k->cancelled = m->kind != HP_MSG_SORRY;
		k->granted = 0;
		hp_in_drained(x, k);
	} else if (!k->end && m->kind == HP_MSG_AGAIN) {
		hp_in_failed(x, k);
	} else if (!k->end) {
		hp_in_end(x, k,
			  m->kind == HP_MSG_LOST ? HP_END_LOST : HP_END_TURN);
	}
}

/* No more credits than there are segments to come. */
static uint32_t lacking(const struct hp_exchange *x, const struct hp_xchunk *k)
{
	uint64_t left = (k->size - k->got + x->c.segment - 1) / x->c.segment;

	if (k->state != HP_COMING_ASKED || k->end || left <= k->granted)
		return 0;
	left -= k->granted;
	return left < k->due ? (uint32_t)left : k->due;
}

bool hp_in_credit(struct hp_exchange *x, struct hp_xchunk *k,
		  struct hp_action *ret)
{
	uint32_t n = lacking(x, k);

	if (!n)
		return false;
	k->due -= (uint16_t)n;
	k->granted += (uint16_t)n;
	*ret = (struct hp_action){
		.kind = HP_ACT_SEND,
		.node = x->c.from[k->place],
		.msg = { .kind = HP_MSG_CREDIT,
			 .chunk = k->chunk,
			 .attempt = k->attempt,
			 .credits = (uint16_t)n },
	};
	return true;
}

/*
 * Credits go back by the half: if none is out and no buffer in use, all are
 * due, so they go.
 */
static void buffer_free(struct hp_exchange *x, struct hp_xchunk *k)
{
	k->held--;
	if (k->origin) {
		x->read_used--;
	} else {
		x->in_used--;
		k->due++;
		if (k->due >= (x->share + 1) / 2 && lacking(x, k))
			hp_exchange_todo(x, k, HP_TODO_CREDIT);
	}
	hp_in_drained(x, k);
}

/* ---- From the origin -------------------------------------------------- */

static struct hp_xchunk *next_to_read(const struct hp_exchange *x)
{
	struct hp_xchunk *best = NULL;
	uint32_t reading = 0;

	for (uint32_t i = 0; i < x->read_open; i++) {
		struct hp_xchunk *k = x->reads[i];

		reading += k->reading;
		if (hp_in_is_unread(k) && !k->reading &&
		    (!best || k->place < best->place))
			best = k;
	}
	return reading < x->read_streams ? best : NULL;
}

bool hp_in_read(struct hp_exchange *x, struct hp_action *ret)
{
	struct hp_xchunk *k;

	if (x->read_used >= x->c.origin_buffers || !(k = next_to_read(x)))
		return false;
	*ret = (struct hp_action){
		.kind = HP_ACT_READ,
		.msg = { .chunk = k->chunk,
			 .attempt = k->attempt,
			 .offset = k->got,
			 .length = segment_of(x, k->size - k->got) },
	};
	k->reading = true;
	k->held++;
	x->read_used++;
	return true;
}

static void was_read(struct hp_exchange *x, struct hp_xchunk *k, uint64_t end)
{
	uint64_t n = end - k->got;

	k->reading = false;
	k->got = end;
	x->n.read_bytes += n;
	x->n.refetch_bytes += k->again ? n : 0;
	if (!k->end)
		hp_out_changed(x, k);
}

static void read_failed(struct hp_exchange *x, struct hp_xchunk *k,
			bool for_ever)
{
	k->reading = false;
	if (!k->end && for_ever)
		hp_in_end(x, k, HP_END_GIVE_UP);
	else if (!k->end)
		hp_in_failed(x, k);
	buffer_free(x, k);
}

/* ---- Events ----------------------------------------------------------- */

static void was_written(struct hp_exchange *x, struct hp_xchunk *k,
			uint64_t end)
{
	k->written = end;
	if (k->end)
		return;
	if (k->written == k->size)
		hp_in_all_written(x, k);
	hp_out_changed(x, k);
}

/* What is neither in memory nor written cannot be passed on. */
static void was_freed(struct hp_exchange *x, struct hp_xchunk *k, uint64_t end)
{
	if (k->state < HP_COMING_CHECKED && end > k->written && !k->torn) {
		k->torn = true;
		hp_out_changed(x, k);
	}
	buffer_free(x, k);
}

static void verified(struct hp_exchange *x, struct hp_xchunk *k, bool plain)
{
	k->state = HP_COMING_READY;
	k->kept = plain;
	k->open = true;
	x->n.ready++;
	hp_out_verified(x, k);
	hp_exchange_todo(x, k, HP_TODO_CLOSE);
	hp_out_changed(x, k);
	hp_in_drained(x, k);
}

void hp_in_event(struct hp_exchange *x, struct hp_xchunk *k,
		 enum hp_event_kind kind, uint64_t end, bool plain)
{
	if (kind == HP_EV_READ && k->reading)
		was_read(x, k, end);
	else if (kind == HP_EV_READ_FAILED && k->reading)
		read_failed(x, k, false);
	else if (kind == HP_EV_UNREADABLE && k->reading)
		read_failed(x, k, true);
	else if (kind == HP_EV_WRITTEN && k->held)
		was_written(x, k, end);
	else if (kind == HP_EV_FREE && k->held)
		was_freed(x, k, end);
	else if (kind == HP_EV_VERIFIED && k->state == HP_COMING_CHECKED)
		verified(x, k, plain);
	else if (kind == HP_EV_DIFFERS && k->state == HP_COMING_CHECKED)
		hp_in_failed(x, k);
}
