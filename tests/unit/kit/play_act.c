/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of an exchange, held against what it promises. */
#include "play.h"

static void require(struct play_node *n, bool holds, const char *what)
{
	if (!holds)
		play_wrong(n->p, what);
}

static void data(struct play_node *n, const struct hp_action *a,
		 struct play_item *i)
{
	struct play_file *f = &n->file[a->msg.chunk];

	require(n, ++n->out_used <= n->p->c.out_buffers,
		"too many segments on their way out");
	require(n, f->ready || !a->msg.attempt,
		"sent again before it is verified");
	i->attempt = f->attempt;
	f->sending++;
	n->given_bytes += a->msg.length;
}

static void promise(struct play_node *n, struct play_file *f, uint16_t credits)
{
	f->promised = (uint16_t)(f->promised + credits);
	n->in_used += credits;
	require(n, n->in_used <= n->p->c.in_buffers,
		"more promised than there are buffers");
}

static void send(struct play_node *n, const struct hp_action *a)
{
	struct play_file *f = &n->file[a->msg.chunk];
	struct play_item i = { .kind = PLAY_POST,
			       .node = a->node,
			       .msg = a->msg };

	if (a->msg.kind == HP_MSG_REQUEST) {
		require(n, !f->promised && !f->held && !f->asked,
			"asked twice at a time");
		f->asked = true;
	}
	if (a->msg.kind == HP_MSG_REQUEST || a->msg.kind == HP_MSG_CREDIT)
		promise(n, f, a->msg.credits);
	else if (a->msg.kind == HP_MSG_DATA)
		data(n, a, &i);
	else
		require(n, !f->sending || a->msg.kind == HP_MSG_CANCEL,
			"the end of a stream before its segments");
	n->put++;
	play_push(n, &i);
}

static void read_origin(struct play_node *n, const struct hp_action *a)
{
	struct play_file *f = &n->file[a->msg.chunk];
	struct play_item i = { .kind = PLAY_READ,
			       .node = n->number,
			       .attempt = f->attempt,
			       .msg = a->msg };

	require(n, f->begun, "read before BEGIN");
	require(n, ++n->read_used <= n->p->c.origin_buffers,
		"too many segments read");
	if (!a->msg.offset)
		n->p->origin_reads[a->msg.chunk]++;
	f->held++;
	play_push(n, &i);
}

static void begin(struct play_node *n, const struct hp_action *a)
{
	struct play_file *f = &n->file[a->msg.chunk];

	require(n, !f->sending, "emptied while it is sent");
	/* the segment that begins it is here already */
	require(n, f->held <= 1, "emptied while it is written");
	require(n, !f->ready && !f->gone, "begun when it is settled");
	require(n, a->msg.attempt > f->attempt || !f->begun, "begun twice");
	f->begun = true;
	f->finished = false;
	f->attempt = a->msg.attempt;
	f->plain = a->msg.plain;
	f->have = f->bad = f->came = f->came_bad = 0;
}

static void finish(struct play_node *n, const struct hp_action *a)
{
	struct play_file *f = &n->file[a->msg.chunk];
	struct play_item i = { .kind = PLAY_CHECK, .msg = a->msg };

	require(n, f->begun && !f->finished && f->attempt == a->msg.attempt,
		"finished before it began");
	require(n, f->have == play_all(n->p, (uint32_t)a->msg.chunk, f->plain),
		"finished before all is written");
	f->finished = true;
	play_push(n, &i);
}

static void gone(struct play_node *n, const struct hp_action *a)
{
	struct play_file *f = &n->file[a->msg.chunk];

	require(n, !f->ready && !f->gone, "dropped what is settled");
	require(n, !f->held && !f->sending, "dropped while under way");
	require(n, a->kind == HP_ACT_GIVE_UP || n->stopped || f->lost,
		"dropped for no reason");
	f->gone = true;
}

static void close_file(struct play_node *n, const struct hp_action *a)
{
	struct play_file *f = &n->file[a->msg.chunk];

	require(n, f->ready, "closed before it is verified");
	require(n, !f->sending, "closed while it is sent");
	f->closed = true;
}

static void act(struct play_node *n, const struct hp_action *a)
{
	switch (a->kind) {
	case HP_ACT_SEND:
		send(n, a);
		break;
	case HP_ACT_READ:
		read_origin(n, a);
		break;
	case HP_ACT_BEGIN:
		begin(n, a);
		break;
	case HP_ACT_FINISH:
		finish(n, a);
		break;
	case HP_ACT_CLOSE:
		close_file(n, a);
		break;
	default:
		gone(n, a);
	}
}

bool play_act(struct play_node *n)
{
	struct hp_action a;

	if (!hp_exchange_next(n->x, &a))
		return false;
	act(n, &a);
	return true;
}

void play_act_begin(struct play_node *n)
{
	struct hp_action a;

	while (hp_exchange_next_begin(n->x, &a))
		act(n, &a);
}
