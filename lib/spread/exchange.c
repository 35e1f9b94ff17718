/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange: its life, and what is to be done next. */
#include "spread/private.h"

#include "base/error.h"

#include <stdlib.h>

static bool sound(const struct hp_exchange_config *c)
{
	return c->segment && c->in_streams && c->in_buffers &&
	       c->origin_streams && c->origin_buffers && c->out_buffers &&
	       c->chunks <= UINT32_MAX && c->n_want <= c->chunks;
}

static void init(struct hp_exchange *x, const struct hp_exchange_config *c)
{
	x->c = *c;
	if (x->c.in_streams > c->in_buffers)
		x->c.in_streams = c->in_buffers;
	x->read_streams = c->origin_streams;
	x->share = c->in_buffers / x->c.in_streams;
	if (x->share > UINT16_MAX)
		x->share = UINT16_MAX;
}

int hp_exchange_new(const struct hp_exchange_config *c,
		    struct hp_exchange **ret, struct hpdsl_error *err)
{
	struct hp_exchange *x;

	if (!sound(c))
		return hp_fail(err, HPDSL_EUSAGE,
			       "the exchange: no room for a single segment");
	x = calloc(1, sizeof *x);
	if (!x)
		return hp_fail_nomem(err);
	init(x, c);
	for (x->buckets = 16; x->buckets < c->n_want; x->buckets *= 2)
		;
	x->bucket = calloc(x->buckets, sizeof *x->bucket);
	x->want = calloc(c->n_want ? c->n_want : 1, sizeof *x->want);
	x->reads = calloc(c->origin_streams, sizeof(struct hp_xchunk *));
	if (!x->bucket || !x->want || !x->reads) {
		hp_exchange_free(x);
		return hp_fail_nomem(err);
	}
	for (uint32_t i = 0; i < c->n_want; i++) {
		x->want[i].chunk = c->want[i];
		x->want[i].place = i;
		x->want[i].asked = c->asked && c->asked[i];
		x->want[i].origin = c->from[i] == c->node ||
				    !c->bytes(c->arg, c->want[i], false);
		hp_xchunk_insert(x, &x->want[i]);
	}
	*ret = x;
	return 0;
}

void hp_exchange_free(struct hp_exchange *x)
{
	if (!x)
		return;
	if (x->bucket && x->want)
		hp_out_free(x);
	free(x->bucket);
	free(x->want);
	free(x->reads);
	free(x->heap);
	free(x);
}

static bool action(struct hp_action *ret, enum hp_action_kind kind,
		   const struct hp_xchunk *k)
{
	*ret = (struct hp_action){
		.kind = kind,
		.msg = { .chunk = k->chunk,
			 .attempt = k->attempt,
			 .plain = k->plain },
	};
	return true;
}

static bool begin(struct hp_exchange *x, struct hp_action *ret)
{
	struct hp_xchunk *k = hp_chunks_pop(x, HP_LIST_BEGIN);

	if (!k)
		return false;
	k->begin = false;
	return action(ret, HP_ACT_BEGIN, k);
}

static bool send(struct hp_exchange *x, const struct hp_xchunk *k,
		 enum hp_message_kind kind, struct hp_action *ret)
{
	*ret = (struct hp_action){
		.kind = HP_ACT_SEND,
		.node = x->c.from[k->place],
		.msg = { .kind = kind,
			 .chunk = k->chunk,
			 .attempt = k->attempt },
	};
	return true;
}

/* One thing of those to be done for a chunk, if there still is a need. */
static bool one_of(struct hp_exchange *x, struct hp_xchunk *k, int what,
		   struct hp_action *ret)
{
	switch (what) {
	case HP_TODO_CANCEL:
		return send(x, k, HP_MSG_CANCEL, ret);
	case HP_TODO_REQUEST:
		send(x, k, HP_MSG_REQUEST, ret);
		ret->msg.credits = k->granted = (uint16_t)x->share;
		x->n.requests++;
		return true;
	case HP_TODO_CREDIT:
		return hp_in_credit(x, k, ret);
	case HP_TODO_FINISH:
		return action(ret, HP_ACT_FINISH, k);
	case HP_TODO_GIVE_UP:
		return action(ret, HP_ACT_GIVE_UP, k);
	case HP_TODO_DROP:
		return action(ret, HP_ACT_DROP, k);
	case HP_TODO_LAST:
		return hp_out_last(x, k, ret);
	default:
		return hp_out_close(x, k) && action(ret, HP_ACT_CLOSE, k);
	}
}

static bool todo(struct hp_exchange *x, struct hp_action *ret)
{
	struct hp_xchunk *k;
	bool found = false;

	while (!found && (k = x->list[HP_LIST_TODO].first)) {
		if (k->todo) {
			int what = k->todo & -k->todo;

			k->todo &= (uint8_t)~what;
			found = one_of(x, k, what, ret);
		}
		if (!k->todo) {
			hp_chunks_pop(x, HP_LIST_TODO);
			k->queued = false;
			hp_xchunk_put(x, k);
		}
	}
	return found;
}

int hp_exchange_next(struct hp_exchange *x, struct hp_action *ret)
{
	hp_in_fill(x);
	if (!begin(x, ret) && !todo(x, ret) && !hp_in_read(x, ret) &&
	    !hp_out_data(x, ret))
		return 0;
	if (ret->kind == HP_ACT_SEND)
		x->n.messages++;
	return 1;
}

int hp_exchange_next_begin(struct hp_exchange *x, struct hp_action *ret)
{
	return begin(x, ret);
}

int hp_exchange_message(struct hp_exchange *x, uint32_t from,
			const struct hp_message *m)
{
	if (m->chunk >= x->c.chunks || from == x->c.node)
		return HPDSL_ECORRUPT;
	switch (m->kind) {
	case HP_MSG_REQUEST:
		return hp_out_request(x, from, m);
	case HP_MSG_CREDIT:
		return hp_out_credit(x, from, m);
	case HP_MSG_CANCEL:
		return hp_out_cancel(x, from, m);
	case HP_MSG_DATA:
		return hp_in_data(x, from, m);
	case HP_MSG_SORRY:
	case HP_MSG_AGAIN:
	case HP_MSG_LOST:
		hp_in_ended(x, from, m);
		return 0;
	default:
		return HPDSL_ECORRUPT;
	}
}

void hp_exchange_event(struct hp_exchange *x, enum hp_event_kind kind,
		       uint64_t chunk, uint64_t offset, uint32_t length,
		       bool plain)
{
	struct hp_xchunk *k = hp_xchunk_find(x, chunk);

	if (!k)
		return;
	if (kind != HP_EV_SENT) {
		hp_in_event(x, k, kind, offset + length, plain);
	} else if (hp_out_sent(x, k)) {
		hp_in_drained(x, k);
		hp_xchunk_put(x, k);
	}
}

void hp_exchange_stop(struct hp_exchange *x, bool at_once)
{
	x->stopped = true;
	x->list[HP_LIST_TURNED].first = NULL;
	for (uint32_t i = x->first; i < x->c.n_want; i++)
		hp_in_stop(x, &x->want[i], at_once);
}

void hp_exchange_read_streams(struct hp_exchange *x, uint32_t n)
{
	x->read_streams = n < 1			  ? 1 :
			  n < x->c.origin_streams ? n :
						    x->c.origin_streams;
}

void hp_exchange_count(const struct hp_exchange *x,
		       struct hp_exchange_counts *ret)
{
	*ret = x->n;
	ret->idle = x->settled == x->c.n_want;
}
