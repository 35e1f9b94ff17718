/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange's streams to other nodes.  The oldest request that has bytes and
 * credits is served first: all nodes ask in order of use, so it is the one that
 * is wanted first; and as every stream ends, the others get their turn.
 *
 * A chunk that is still on its way here is sent as far as this attempt of it
 * has come, and a refetch (attempt > 0) once it is verified.  When the attempt
 * fails, nothing more of it is sent: who has got bytes of it is told AGAIN,
 * when the last of its segments has left, and only then does the chunk begin
 * anew here.  So no byte of one attempt is ever taken for one of another.
 */
#include "spread/private.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Those that can be served, oldest first --------------------------- */

static void heap_set(struct hp_exchange *x, uint32_t i, struct hp_out *o)
{
	x->heap[i] = o;
	o->heap = i;
}

static void heap_up(struct hp_exchange *x, uint32_t i, struct hp_out *o)
{
	for (; i && x->heap[(i - 1) / 2]->number > o->number; i = (i - 1) / 2)
		heap_set(x, i, x->heap[(i - 1) / 2]);
	heap_set(x, i, o);
}

static void heap_down(struct hp_exchange *x, uint32_t i, struct hp_out *o)
{
	for (;;) {
		uint32_t least = 2 * i + 1;

		if (least + 1 < x->heap_n &&
		    x->heap[least + 1]->number < x->heap[least]->number)
			least++;
		if (least >= x->heap_n || x->heap[least]->number > o->number)
			break;
		heap_set(x, i, x->heap[least]);
		i = least;
	}
	heap_set(x, i, o);
}

static void heap_remove(struct hp_exchange *x, struct hp_out *o)
{
	uint32_t i = o->heap;
	struct hp_out *last = x->heap[--x->heap_n];

	o->heap = HP_NOT_IN_HEAP;
	if (last == o)
		return;
	if (last->number < o->number)
		heap_up(x, i, last);
	else
		heap_down(x, i, last);
}

static bool heap_has_room(struct hp_exchange *x)
{
	uint32_t room = x->heap_room ? 2 * x->heap_room : 16;
	struct hp_out **p;

	if (x->outs < x->heap_room)
		return true;
	p = reallocarray(x->heap, room, sizeof *p);
	if (!p)
		return false;
	x->heap = p;
	x->heap_room = room;
	return true;
}

/* How much of the chunk can be sent to who asked so. */
static uint64_t there_is(const struct hp_exchange *x, const struct hp_out *o)
{
	const struct hp_xchunk *k = o->chunk;

	if (k->state == HP_COMING_READY)
		return k->size;
	if (k->end || o->attempt)
		return 0;
	return x->c.early && !k->torn ? k->got : k->written;
}

/* Bytes of the next segment of it, or 0 if it cannot be sent now. */
static uint32_t ready_for(const struct hp_exchange *x, const struct hp_out *o)
{
	uint64_t have = there_is(x, o), left = o->chunk->size - o->sent;
	uint32_t n = left < x->c.segment ? (uint32_t)left : x->c.segment;

	if (!o->credits || o->sent >= have || have - o->sent < n)
		return 0;
	return n;
}

static void changed(struct hp_exchange *x, struct hp_out *o)
{
	bool can = ready_for(x, o) != 0;

	if (can && o->heap == HP_NOT_IN_HEAP)
		heap_up(x, x->heap_n++, o);
	else if (!can && o->heap != HP_NOT_IN_HEAP)
		heap_remove(x, o);
}

void hp_out_changed(struct hp_exchange *x, struct hp_xchunk *k)
{
	for (struct hp_out *o = k->outs; o; o = o->next)
		changed(x, o);
}

/* ---- How streams end -------------------------------------------------- */

/* No more than one node asks for a chunk, by the plan: the list is short. */
static struct hp_out **find(struct hp_xchunk *k, uint32_t node)
{
	struct hp_out **p = &k->outs;

	while (*p && (*p)->node != node)
		p = &(*p)->next;
	return p;
}

static struct hp_out *take_out(struct hp_exchange *x, struct hp_out **p)
{
	struct hp_out *o = *p;

	*p = o->next;
	if (o->heap != HP_NOT_IN_HEAP)
		heap_remove(x, o);
	x->outs--;
	x->outs_begun -= o->sent != 0;
	return o;
}

/* Those who are told so, and the file, wait until nothing is under way. */
static void after_last(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (k->out)
		return;
	if (k->ended)
		hp_exchange_todo(x, k, HP_TODO_LAST);
	if (k->open && !k->outs && k->state == HP_COMING_READY)
		hp_exchange_todo(x, k, HP_TODO_CLOSE);
}

static void end(struct hp_exchange *x, struct hp_xchunk *k, struct hp_out *o,
		enum hp_message_kind last)
{
	o->last = (uint8_t)last;
	o->next = k->ended;
	k->ended = o;
	after_last(x, k);
}

void hp_out_end(struct hp_exchange *x, struct hp_xchunk *k,
		enum hp_message_kind last, bool all)
{
	struct hp_out **p = &k->outs;

	while (*p) {
		if (all || (*p)->sent) {
			end(x, k, take_out(x, p), last);
		} else {
			changed(x, *p);
			p = &(*p)->next;
		}
	}
}

bool hp_out_last(struct hp_exchange *x, struct hp_xchunk *k,
		 struct hp_action *ret)
{
	struct hp_out *o = k->ended;

	if (!o || k->out)
		return false;
	k->ended = o->next;
	*ret = (struct hp_action){
		.kind = HP_ACT_SEND,
		.node = o->node,
		.msg = { .kind = o->last,
			 .chunk = k->chunk,
			 .attempt = o->attempt },
	};
	free(o);
	after_last(x, k);
	return true;
}

/* Nobody asks for it any more, or too many are kept for those who do. */
static void not_asked(struct hp_exchange *x, struct hp_xchunk *k)
{
	x->kept -= k->asked && k->state == HP_COMING_READY;
	k->asked = false;
}

void hp_out_verified(struct hp_exchange *x, struct hp_xchunk *k)
{
	struct hp_xchunk *oldest;

	k->asked = k->asked && k->plain != k->kept;
	if (!k->asked)
		return;
	hp_chunks_push(x, HP_LIST_KEPT, k);
	x->kept++;
	while (x->kept > x->c.keep &&
	       (oldest = hp_chunks_pop(x, HP_LIST_KEPT))) {
		not_asked(x, oldest);
		hp_exchange_todo(x, oldest, HP_TODO_CLOSE);
	}
}

bool hp_out_close(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (!k->open || k->asked || k->outs || k->ended || k->out)
		return false;
	k->open = false;
	if (k->plain != k->kept) {
		k->plain = k->kept;
		k->size = x->c.bytes(x->c.arg, k->chunk, k->kept);
	}
	return true;
}

/* ---- What other nodes say --------------------------------------------- */

static struct hp_out *new_out(struct hp_exchange *x, struct hp_xchunk *k,
			      uint32_t from, const struct hp_message *m)
{
	struct hp_out *o = heap_has_room(x) ? calloc(1, sizeof *o) : NULL;

	if (!o)
		return NULL;
	o->chunk = k;
	o->number = x->arrivals++;
	o->node = from;
	o->attempt = m->attempt;
	o->credits = m->credits;
	o->heap = HP_NOT_IN_HEAP;
	return o;
}

static void now_waiting(struct hp_exchange *x)
{
	if (x->outs - x->outs_begun > x->n.waiting_requests)
		x->n.waiting_requests = x->outs - x->outs_begun;
}

static bool will_never_be(const struct hp_xchunk *k)
{
	return k->state == HP_COMING_GONE || k->end >= HP_END_DROP ||
	       (k->state == HP_COMING_READY && !k->size);
}

int hp_out_request(struct hp_exchange *x, uint32_t from,
		   const struct hp_message *m)
{
	struct hp_xchunk *k;
	struct hp_out *o;

	if (!m->credits)
		return HPDSL_ECORRUPT;
	k = hp_xchunk_get(x, m->chunk);
	if (!k)
		return -ENOMEM;
	if (*find(k, from))
		return HPDSL_ECORRUPT;
	o = new_out(x, k, from, m);
	if (!o) {
		hp_xchunk_put(x, k);
		return -ENOMEM;
	}
	if (will_never_be(k)) {
		end(x, k, o, k->lost ? HP_MSG_LOST : HP_MSG_SORRY);
		return 0;
	}
	o->next = k->outs;
	k->outs = o;
	x->outs++;
	now_waiting(x);
	changed(x, o);
	return 0;
}

int hp_out_credit(struct hp_exchange *x, uint32_t from,
		  const struct hp_message *m)
{
	struct hp_xchunk *k = hp_xchunk_find(x, m->chunk);
	struct hp_out *o = k ? *find(k, from) : NULL;

	if (!o || o->attempt != m->attempt)
		return 0;
	if (o->credits + m->credits > UINT16_MAX)
		return HPDSL_ECORRUPT;
	o->credits += m->credits;
	changed(x, o);
	return 0;
}

/* The answer is SORRY, also if all has been sent already. */
int hp_out_cancel(struct hp_exchange *x, uint32_t from,
		  const struct hp_message *m)
{
	struct hp_xchunk *k = hp_xchunk_get(x, m->chunk);
	struct hp_out **p, *o;

	if (!k)
		return -ENOMEM;
	not_asked(x, k);
	p = find(k, from);
	o = *p ? take_out(x, p) : new_out(x, k, from, m);
	if (!o) {
		hp_xchunk_put(x, k);
		return -ENOMEM;
	}
	o->attempt = m->attempt;
	end(x, k, o, HP_MSG_SORRY);
	return 0;
}

/* ---- Sending ---------------------------------------------------------- */

static void data(const struct hp_out *o, uint32_t n, struct hp_action *ret)
{
	*ret = (struct hp_action){
		.kind = HP_ACT_SEND,
		.node = o->node,
		.msg = { .kind = HP_MSG_DATA,
			 .plain = o->chunk->plain,
			 .chunk = o->chunk->chunk,
			 .attempt = o->attempt,
			 .offset = o->sent,
			 .length = n },
	};
}

bool hp_out_data(struct hp_exchange *x, struct hp_action *ret)
{
	struct hp_out *o;
	uint32_t n;

	if (!x->heap_n || x->out_used >= x->c.out_buffers)
		return false;
	o = x->heap[0];
	n = ready_for(x, o);
	data(o, n, ret);
	if (!o->sent && ++x->outs_begun > x->n.out_streams)
		x->n.out_streams = x->outs_begun;
	o->sent += n;
	o->credits--;
	o->chunk->open = true;
	o->chunk->out++;
	x->n.sent_bytes += n;
	if (++x->out_used > x->n.out_buffers)
		x->n.out_buffers = x->out_used;
	if (o->sent == o->chunk->size) {
		not_asked(x, o->chunk);
		free(take_out(x, find(o->chunk, o->node)));
	} else {
		changed(x, o);
	}
	return true;
}

bool hp_out_sent(struct hp_exchange *x, struct hp_xchunk *k)
{
	if (!k->out)
		return false;
	k->out--;
	x->out_used--;
	after_last(x, k);
	return true;
}

void hp_out_free(struct hp_exchange *x)
{
	for (uint64_t i = 0; i < x->buckets; i++)
		for (struct hp_xchunk *k = x->bucket[i], *next; k; k = next) {
			for (struct hp_out *o; (o = k->outs); free(o))
				k->outs = o->next;
			for (struct hp_out *o; (o = k->ended); free(o))
				k->ended = o->next;
			next = k->next;
			if (k->place == HP_NOT_WANTED)
				free(k);
		}
}
