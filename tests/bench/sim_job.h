/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan and exchange of a whole job in virtual time, no byte moved: an origin
 * and, for each node, a link each way and an SSD, each a queue that serves one
 * segment after the other at its pace; messages take the latency.  What comes
 * from the origin comes over the node's link too.  A segment is passed on when
 * it is here, and then written.
 */
#ifndef BENCH_SIM_JOB_H
#define BENCH_SIM_JOB_H

#include "sim_events.h"
#include "spread/plan.h"
#include "spread/private.h"

#define GIB (UINT64_C(1) << 30)
#define TB UINT64_C(1000000000000)
#define SECOND UINT64_C(1000000000000) /* in picoseconds */

/* Picoseconds a byte: 200 GB/s, 12.5 GB/s and 2 GB/s. */
static const uint64_t origin_pace = 5, link_pace = 80, write_pace = 500;
static const uint64_t latency = SECOND / 100000, check_time = SECOND / 1000;
static const uint64_t capacity = 4 * TB;
/* What the stager makes of 256 MiB, in segments of 4 MiB. */
enum { IN_STREAMS = 8, ORIGIN_STREAMS = 8, AHEAD = 64, REAL_SEGMENT = 4 << 20 };
enum { IN_BUFFERS = 15, ORIGIN_BUFFERS = 15, OUT_BUFFERS = 15 };

struct node {
	struct hp_exchange *x;
	uint32_t *want, *from, n_want;
	uint64_t out_free, in_free, disk_free;
};

struct sim {
	/* What is played. */
	const char *name;
	enum hpdsl_stage_mode mode;
	uint32_t copies, nodes, chunks;
	uint64_t chunk_bytes;
	uint32_t segment;
	/* How it stands. */
	struct hpdsl_stage_plan *plan;
	uint32_t *order;
	uint64_t *weight;
	struct node *node;
	struct events next;
	uint64_t now, origin_free;
};

/* When a queue that is free at *free has served so many bytes. */
static uint64_t served(uint64_t now, uint64_t *is_free, uint64_t bytes,
		       uint64_t pace)
{
	if (*is_free < now)
		*is_free = now;
	*is_free += bytes * pace;
	return *is_free;
}

/* ---- What nodes do ---------------------------------------------------- */

static void send(struct sim *s, uint32_t from, const struct hp_action *a)
{
	struct event e = { .at = s->now + latency,
			   .node = a->node,
			   .peer = from,
			   .kind = MESSAGE,
			   .m = a->msg };
	struct node *n = &s->node[from];

	if (a->msg.kind == HP_MSG_DATA) {
		uint64_t end =
			served(s->now, &n->out_free, a->msg.length, link_pace);

		e.kind = HEAD;
		e.at = end - a->msg.length * link_pace + latency;
	}
	later(&s->next, &e);
}

static void act(struct sim *s, uint32_t number)
{
	struct event e = { .node = number, .peer = number };
	struct hp_action a;

	while (hp_exchange_next(s->node[number].x, &a)) {
		e.m = a.msg;
		switch (a.kind) {
		case HP_ACT_SEND:
			send(s, number, &a);
			break;
		case HP_ACT_READ:
			e.kind = ORIGIN;
			e.at = served(s->now, &s->origin_free, a.msg.length,
				      origin_pace);
			later(&s->next, &e);
			break;
		case HP_ACT_FINISH:
			e.kind = CHECKED;
			e.at = s->now + check_time;
			later(&s->next, &e);
			break;
		case HP_ACT_BEGIN:
		case HP_ACT_CLOSE:
			break;
		default:
			fprintf(stderr, "sim_stage: a chunk was given up\n");
			exit(1);
		}
	}
}

static void tell(struct sim *s, uint32_t node, enum hp_event_kind kind,
		 const struct hp_message *m)
{
	hp_exchange_event(s->node[node].x, kind, m->chunk, m->offset, m->length,
			  false);
}

static void receive(struct sim *s, struct event *e)
{
	struct node *n = &s->node[e->node];
	int rc = hp_exchange_message(n->x, e->peer, &e->m);

	if (rc < 0 || (rc == 0 && e->m.kind == HP_MSG_DATA)) {
		fprintf(stderr, "sim_stage: a message was refused\n");
		exit(1);
	}
	if (e->kind != DATA)
		return;
	tell(s, e->peer, HP_EV_SENT, &e->m);
	act(s, e->peer);
}

static void happen(struct sim *s, struct event e)
{
	struct node *n = &s->node[e.node];

	switch (e.kind) {
	case ORIGIN:
	case HEAD:
		e.at = served(s->now, &n->in_free, e.m.length, link_pace);
		e.kind = e.kind == HEAD ? DATA : READ;
		later(&s->next, &e);
		return;
	case READ:
		tell(s, e.node, HP_EV_READ, &e.m);
		break;
	case MESSAGE:
	case DATA:
		receive(s, &e);
		break;
	case WRITTEN:
		tell(s, e.node, HP_EV_WRITTEN, &e.m);
		tell(s, e.node, HP_EV_FREE, &e.m);
		break;
	default:
		tell(s, e.node, HP_EV_VERIFIED, &e.m);
	}
	if (e.kind == READ || e.kind == DATA) {
		e.kind = WRITTEN;
		e.at = served(s->now, &n->disk_free, e.m.length, write_pace);
		later(&s->next, &e);
	}
	act(s, e.node);
}

static void run(struct sim *s)
{
	for (uint32_t i = 0; i < s->nodes; i++)
		act(s, i);
	while (s->next.n) {
		struct event e = soonest(&s->next);

		s->now = e.at;
		happen(s, e);
	}
}

/* ---- Setting up ------------------------------------------------------- */

static uint64_t bytes(void *arg, uint64_t chunk, bool plain)
{
	(void)chunk;
	return plain ? 0 : ((struct sim *)arg)->chunk_bytes;
}

static bool held(void *arg, uint64_t chunk, bool *ret_plain)
{
	(void)arg, (void)chunk, (void)ret_plain;
	return false;
}

static bool lacks(void *arg, uint32_t node, uint64_t chunk)
{
	(void)arg, (void)node, (void)chunk;
	return true;
}

static bool make_plan(struct sim *s)
{
	uint64_t *room = cleared(s->nodes, sizeof *room);
	struct hpdsl_stage_wish w = {
		.mode = s->mode,
		.copies = s->copies,
		.nodes = s->nodes,
		.capacity = room,
		.chunks = s->chunks,
		.weight = s->weight,
		.order = s->order,
	};
	struct hpdsl_error err;
	int rc;

	for (uint32_t i = 0; i < s->nodes; i++)
		room[i] = capacity;
	rc = hpdsl_stage_plan_new(&w, &s->plan, &err);
	free(room);
	if (rc < 0)
		fprintf(stderr, "sim_stage: %s\n", err.msg);
	return rc == 0;
}

/* Any order will do that has nothing to do with the chunks' numbers. */
static void make_order(struct sim *s)
{
	uint64_t z = 1;

	s->order = cleared(s->chunks, sizeof *s->order);
	s->weight = cleared(s->chunks, sizeof *s->weight);
	for (uint32_t c = 0; c < s->chunks; c++) {
		uint32_t at;

		z = z * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = (uint32_t)((z >> 33) % (c + 1));
		s->order[c] = s->order[at];
		s->order[at] = c;
		s->weight[c] = s->chunk_bytes;
	}
}

static void wants(struct sim *s, uint32_t number)
{
	struct node *n = &s->node[number];

	struct hpdsl_stage_share share;

	hpdsl_stage_plan_share(s->plan, number, &share);
	n->want = cleared((size_t)share.chunks + 1, sizeof *n->want);
	n->from = cleared((size_t)share.chunks + 1, sizeof *n->from);
}

static void make_nodes(struct sim *s)
{
	s->node = cleared(s->nodes, sizeof *s->node);
	for (uint32_t i = 0; i < s->nodes; i++)
		wants(s, i);
	for (uint32_t k = 0; k < s->chunks; k++) {
		uint32_t c = s->order[k];
		struct hpdsl_stage_span g = hp_spread_group(s->plan, c);

		for (uint32_t i = g.first; i <= g.last; i++) {
			struct node *n = &s->node[i];
			uint32_t from = hp_spread_from(s->plan, i, c,
						       UINT32_MAX, lacks, NULL);

			if (from == UINT32_MAX)
				continue;
			n->want[n->n_want] = c;
			n->from[n->n_want++] = from;
		}
	}
	for (uint32_t i = 0; i < s->nodes; i++) {
		struct hp_exchange_config c = {
			.node = i,
			.chunks = s->chunks,
			.segment = s->segment,
			.in_streams = IN_STREAMS,
			.in_buffers = IN_BUFFERS,
			.origin_streams = ORIGIN_STREAMS,
			.origin_buffers = ORIGIN_BUFFERS,
			.out_buffers = OUT_BUFFERS,
			.early = true,
			.ahead = AHEAD,
			.want = s->node[i].want,
			.from = s->node[i].from,
			.n_want = s->node[i].n_want,
			.bytes = bytes,
			.held = held,
			.arg = s,
		};

		if (hp_exchange_new(&c, &s->node[i].x, NULL) < 0)
			exit(3);
	}
}

static void release(struct sim *s)
{
	for (uint32_t i = 0; i < s->nodes; i++) {
		hp_exchange_free(s->node[i].x);
		free(s->node[i].want);
		free(s->node[i].from);
	}
	events_free(&s->next);
	free(s->node);
	free(s->order);
	free(s->weight);
	hpdsl_stage_plan_free(s->plan);
}

#endif
