/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange's chunks on their way to this node: begun in order of use, and
 * attempt after attempt until they are verified, given up or dropped.
 *
 * A chunk that is begun takes a slot, of in_streams or of origin_streams, and
 * keeps it until it is settled and its last buffer is free.
 */
#include "spread/private.h"

/* ---- Beginning -------------------------------------------------------- */

/* The next place at or behind *at that nothing is done for, of that kind. */
static struct hp_xchunk *next_of(struct hp_exchange *x, uint32_t *at,
				 bool origin)
{
	uint64_t end = x->c.n_want;

	if (x->c.ahead && (uint64_t)x->first + x->c.ahead < end)
		end = x->first + x->c.ahead;
	for (; *at < end; ++*at) {
		struct hp_xchunk *k = &x->want[*at];

		if (k->state == HP_COMING_NOT && k->origin == origin)
			return k;
	}
	return NULL;
}

static void ask(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (!k->slot && ++x->in_open > x->n.in_streams)
		x->n.in_streams = x->in_open;
	k->slot = true;
	k->state = HP_COMING_ASKED;
	hp_exchange_todo(x, k, HP_TODO_REQUEST);
}

void hp_in_first_bytes(struct hp_exchange *x, struct hp_xchunk *k)
{
	k->begun = true;
	if (k->begin)
		return;
	k->begin = true;
	hp_chunks_push(x, HP_LIST_BEGIN, k);
}

void hp_in_all_written(struct hp_exchange *x, struct hp_xchunk *k)
{
	k->state = HP_COMING_CHECKED;
	hp_exchange_todo(x, k, HP_TODO_FINISH);
}

static void read_chunk(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (!k->slot)
		x->reads[x->read_open++] = k;
	k->slot = true;
	k->state = HP_COMING_READ;
	k->plain = false;
	k->size = x->c.bytes(x->c.arg, k->chunk, false);
	hp_in_first_bytes(x, k);
	if (!k->size)
		hp_in_all_written(x, k);
}

uint32_t hp_in_unread(const struct hp_exchange *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->read_open; i++)
		n += hp_in_is_unread(x->reads[i]) || x->reads[i]->reading;
	return n;
}

void hp_in_fill(struct hp_exchange *x)
{
	struct hp_xchunk *k;

	if (x->stopped)
		return;
	while (x->in_open < x->c.in_streams &&
	       (k = next_of(x, &x->ask_at, false)))
		ask(x, k);
	while (x->read_open < x->c.origin_streams &&
	       hp_in_unread(x) < x->read_streams &&
	       ((k = hp_chunks_pop(x, HP_LIST_TURNED)) ||
		(k = next_of(x, &x->read_at, true))))
		read_chunk(x, k);
}

/* ---- Ending ----------------------------------------------------------- */

static void leave_slot(struct hp_exchange *x, struct hp_xchunk *k)
{
	uint32_t i = 0;

	if (!k->slot)
		return;
	k->slot = false;
	if (!k->origin) {
		x->in_open--;
		return;
	}
	while (x->reads[i] != k)
		i++;
	x->reads[i] = x->reads[--x->read_open];
}

static void settle(struct hp_exchange *x, struct hp_xchunk *k)
{
	leave_slot(x, k);
	x->settled++;
	k->end = HP_END_NOT;
	while (x->first < x->c.n_want &&
	       x->want[x->first].state >= HP_COMING_READY)
		x->first++;
}

static enum hp_message_kind last_word(const struct hp_xchunk *k)
{
	return k->lost ? HP_MSG_LOST : HP_MSG_SORRY;
}

static void gone(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (k->end == HP_END_GIVE_UP)
		hp_exchange_todo(x, k, HP_TODO_GIVE_UP);
	else if (k->begun)
		hp_exchange_todo(x, k, HP_TODO_DROP);
	x->n.given_up += k->end >= HP_END_GIVE_UP;
	k->state = HP_COMING_GONE;
	hp_out_end(x, k, last_word(k), true);
	settle(x, k);
}

static void anew(struct hp_exchange *x, struct hp_xchunk *k)
{
	bool turn = k->end == HP_END_TURN;

	if (k->begun) {
		k->again = true;
		x->n.refetch_chunks++;
	}
	k->end = HP_END_NOT;
	k->begun = false;
	k->got = k->written = 0;
	k->torn = false;
	k->granted = k->due = 0;
	k->attempt++;
	if (turn) {
		leave_slot(x, k);
		k->tries = 0;
		k->origin = true;
		k->state = HP_COMING_TURNED;
		hp_chunks_push(x, HP_LIST_TURNED, k);
	} else if (k->origin) {
		read_chunk(x, k);
	} else {
		ask(x, k);
	}
}

void hp_in_drained(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (k->held || k->cancelled)
		return;
	if (k->state == HP_COMING_READY && k->slot)
		settle(x, k);
	else if (k->out)
		return;
	else if (k->end >= HP_END_DROP)
		gone(x, k);
	else if (k->end)
		anew(x, k);
}

/* The attempt has come to nothing: what was sent on of it is worth nothing. */
void hp_in_end(struct hp_exchange *x, struct hp_xchunk *k, enum hp_end end)
{
	k->end = (uint8_t)(x->stopped && end < HP_END_DROP ? HP_END_DROP : end);
	k->granted = 0;
	k->todo &= (uint8_t) ~(HP_TODO_CREDIT | HP_TODO_FINISH);
	/* Who was to get it from another node is the second that tried. */
	k->lost = k->end == HP_END_LOST || (k->end == HP_END_GIVE_UP &&
					    x->c.from[k->place] != x->c.node);
	if (k->end >= HP_END_DROP)
		hp_out_end(x, k, last_word(k), true);
	else
		hp_out_end(x, k, HP_MSG_AGAIN, false);
	hp_in_drained(x, k);
}

void hp_in_failed(struct hp_exchange *x, struct hp_xchunk *k)
{
	bool last = ++k->tries >= HP_ATTEMPTS;

	hp_in_end(x, k,
		  !last	    ? HP_END_RETRY :
		  k->origin ? HP_END_GIVE_UP :
			      HP_END_TURN);
}

/* ---- Stopping --------------------------------------------------------- */

static void cancel(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (k->todo & HP_TODO_REQUEST)
		k->todo &= (uint8_t)~HP_TODO_REQUEST;
	else {
		k->cancelled = true;
		hp_exchange_todo(x, k, HP_TODO_CANCEL);
	}
}

/* Is it to go on? */
static bool goes_on(const struct hp_xchunk *k, bool at_once)
{
	if (k->state >= HP_COMING_CHECKED)
		return !k->end;
	return !at_once && !k->end && k->begun && (k->got || k->reading);
}

void hp_in_stop(struct hp_exchange *x, struct hp_xchunk *k, bool at_once)
{
	uint16_t granted = k->granted;

	if (k->state >= HP_COMING_READY || k->cancelled || goes_on(k, at_once))
		return;
	if (k->state == HP_COMING_ASKED && !k->end &&
	    !(k->size && k->got == k->size))
		cancel(x, k);
	hp_in_end(x, k,
		  k->end > HP_END_DROP ? (enum hp_end)k->end : HP_END_DROP);
	k->granted = granted; /* what is under way still comes */
}
