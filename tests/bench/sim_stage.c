/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan and exchange of a whole job in virtual time, no byte moved: an origin
 * and, for each node, a link each way and an SSD, each a queue that serves one
 * segment after the other at its rate; messages take the latency.  What comes
 * from the origin comes over the node's link too.  A segment is passed on when
 * it is here, and then written.  Prints a table; see hpdsl-stage(1), SCALE.
 * Petabytes are played in longer segments than 4 MiB, for time; only the
 * messages are then counted as if they were not.
 */
#include "exchange_private.h"
#include "stage_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GIB (UINT64_C(1) << 30)
#define TB UINT64_C(1000000000000)

static const double origin_rate = 200e9, link_rate = 12.5e9, write_rate = 2e9;
static const double latency = 10e-6, check_time = 1e-3;
static const uint64_t capacity = 4 * TB;
/* What the stager makes of 256 MiB, in segments of 4 MiB. */
enum { IN_STREAMS = 8, ORIGIN_STREAMS = 8, AHEAD = 64, REAL_SEGMENT = 4 << 20 };
enum { IN_BUFFERS = 15, ORIGIN_BUFFERS = 15, OUT_BUFFERS = 15 };

enum kind { ORIGIN, READ, HEAD, DATA, MESSAGE, WRITTEN, CHECKED };

struct event {
	double at;
	uint64_t number;
	uint32_t node, peer;
	uint8_t kind;
	struct hp_message m;
};

struct node {
	struct hp_exchange *x;
	uint32_t *want, *from, n_want;
	double out_free, in_free, disk_free;
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
	struct event **heap;
	struct event *unused;
	uint64_t n, room, events;
	double now, origin_free;
};

static void *cleared(uint64_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "sim_stage: out of memory\n");
		exit(3);
	}
	return p;
}

/* ---- Events in order of time ---- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void later(struct sim *s, struct event e)
{
	struct event *p = s->unused;
	uint64_t i = s->n++;

	if (p)
		memcpy(&s->unused, p, sizeof s->unused);
	else
		p = cleared(1, sizeof *p);
	e.number = s->events++;
	*p = e;
	if (i == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->heap = realloc(s->heap, s->room * sizeof(struct event *));
		if (!s->heap)
			exit(3);
	}
	for (; i && before(p, s->heap[(i - 1) / 4]); i = (i - 1) / 4)
		s->heap[i] = s->heap[(i - 1) / 4];
	s->heap[i] = p;
}

static struct event soonest(struct sim *s)
{
	struct event ret = *s->heap[0], *last = s->heap[--s->n];

	memcpy(s->heap[0], &s->unused, sizeof s->unused);
	s->unused = s->heap[0];
	for (uint64_t i = 0, least; s->n; i = least) {
		least = 4 * i + 1;
		for (uint64_t k = least + 1; k < 4 * i + 5 && k < s->n; k++)
			if (before(s->heap[k], s->heap[least]))
				least = k;
		if (least >= s->n || before(last, s->heap[least])) {
			s->heap[i] = last;
			break;
		}
		s->heap[i] = s->heap[least];
	}
	return ret;
}

/* When a queue that is free at *free has served so many bytes. */
static double served(double now, double *is_free, uint64_t bytes, double rate)
{
	if (*is_free < now)
		*is_free = now;
	*is_free += (double)bytes / rate;
	return *is_free;
}

/* ---- What nodes do ---- */

static void send(struct sim *s, uint32_t from, const struct hp_action *a)
{
	struct event e = { .at = s->now + latency,
			   .node = a->node,
			   .peer = from,
			   .kind = MESSAGE,
			   .m = a->msg };
	struct node *n = &s->node[from];

	if (a->msg.kind == HP_MSG_DATA) {
		double end =
			served(s->now, &n->out_free, a->msg.length, link_rate);

		e.kind = HEAD;
		e.at = end - a->msg.length / link_rate + latency;
	}
	later(s, e);
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
				      origin_rate);
			later(s, e);
			break;
		case HP_ACT_FINISH:
			e.kind = CHECKED;
			e.at = s->now + check_time;
			later(s, e);
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
		e.at = served(s->now, &n->in_free, e.m.length, link_rate);
		e.kind = e.kind == HEAD ? DATA : READ;
		later(s, e);
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
		e.at = served(s->now, &n->disk_free, e.m.length, write_rate);
		later(s, e);
	}
	act(s, e.node);
}

static void run(struct sim *s)
{
	for (uint32_t i = 0; i < s->nodes; i++)
		act(s, i);
	while (s->n) {
		struct event e = soonest(s);

		s->now = e.at;
		happen(s, e);
	}
}

/* ---- Setting up ---- */

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

	n->want = cleared(s->chunks / s->plan->parts + 1, sizeof *n->want);
	n->from = cleared(s->chunks / s->plan->parts + 1, sizeof *n->from);
}

static void make_nodes(struct sim *s)
{
	uint32_t d = s->plan->parts;

	s->node = cleared(s->nodes, sizeof *s->node);
	for (uint32_t i = 0; i < s->nodes; i++)
		wants(s, i);
	for (uint32_t k = 0; k < s->chunks; k++) {
		uint32_t c = s->order[k];

		for (uint32_t i = c % d; i < s->nodes; i += d) {
			struct node *n = &s->node[i];
			uint32_t from = hp_plan_from(s->plan, i, c, UINT32_MAX,
						     lacks, NULL);

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
	struct event *e;

	for (uint32_t i = 0; i < s->nodes; i++) {
		hp_exchange_free(s->node[i].x);
		free(s->node[i].want);
		free(s->node[i].from);
	}
	while ((e = s->unused)) {
		memcpy(&s->unused, e, sizeof s->unused);
		free(e);
	}
	free(s->node);
	free(s->heap);
	free(s->order);
	free(s->weight);
	hpdsl_stage_plan_free(s->plan);
}

/* ---- Telling ---- */

struct largest {
	uint64_t received, sent, written, messages, tables;
	uint32_t in_streams, out_streams, buffers;
	uint64_t read; /* by all */
};

static void more(uint64_t *max, uint64_t n)
{
	if (n > *max)
		*max = n;
}

static void more32(uint32_t *max, uint32_t n)
{
	if (n > *max)
		*max = n;
}

static uint64_t tables(const struct node *n)
{
	const struct hp_exchange *x = n->x;

	return sizeof *x + x->buckets * sizeof *x->bucket +
	       n->n_want * (sizeof *x->want + 2 * sizeof *n->want) +
	       x->heap_room * (sizeof *x->heap + sizeof(struct hp_out));
}

static void look(const struct sim *s, struct largest *l)
{
	for (uint32_t i = 0; i < s->nodes; i++) {
		struct hp_exchange_counts k;

		hp_exchange_count(s->node[i].x, &k);
		if (!k.idle || k.ready != s->node[i].n_want) {
			fprintf(stderr, "sim_stage: node %u is not done\n", i);
			exit(1);
		}
		more(&l->received, k.received_bytes);
		more(&l->sent, k.sent_bytes);
		more(&l->written, k.received_bytes + k.read_bytes);
		more(&l->messages, k.messages);
		more(&l->tables, tables(&s->node[i]));
		more32(&l->in_streams, k.in_streams);
		more32(&l->out_streams, k.out_streams);
		more32(&l->buffers,
		       k.in_buffers + k.out_buffers + ORIGIN_BUFFERS);
		l->read += k.read_bytes;
	}
}

static const char *amount(uint64_t bytes, char buf[32])
{
	static const char unit[] = "kMGTP";
	double v = (double)bytes / 1000;
	int u = 0;

	for (; v >= 999.5 && unit[u + 1]; u++)
		v /= 1000;
	snprintf(buf, 32, v < 9.95 ? "%.1f %cB" : "%.0f %cB", v, unit[u]);
	return buf;
}

static double bound(const struct largest *l, const char **ret_name)
{
	double o = (double)l->read / origin_rate;
	double n = (double)l->written / link_rate;
	double w = (double)l->written / write_rate;

	*ret_name = o >= n && o >= w ? "origin" : n >= w ? "link" : "SSD";
	return o >= n && o >= w ? o : n >= w ? n : w;
}

/* As many as there would be with segments of 4 MiB. */
static uint64_t messages(const struct sim *s, const struct largest *l)
{
	return s->segment <= REAL_SEGMENT ?
		       l->messages :
		       l->messages * (s->segment / REAL_SEGMENT);
}

static void head(void)
{
	printf("%-9s %6s %7s %6s %7s %5s %8s %8s %-6s %8s %8s %3s %4s %8s %8s "
	       "%8s %6s\n",
	       "mode", "nodes", "dataset", "chunks", "segment", "parts",
	       "seconds", "bound", "by", "received", "sent", "in", "out",
	       "messages", "buffers", "tables", "took");
}

static void print(const struct sim *s, double seconds)
{
	struct largest l = { 0 };
	char a[6][32];
	const char *name;
	double least;

	look(s, &l);
	least = bound(&l, &name);
	printf("%-9s %6u %7s %6u %7s %5u %8.1f %8.1f %-6s %8s %8s %3u %4u "
	       "%8llu "
	       "%8s %8s %6.0f\n",
	       s->name, s->nodes, amount(s->chunks * s->chunk_bytes, a[0]),
	       s->chunks, amount(s->segment, a[1]), s->plan->parts, s->now,
	       least, name, amount(l.received, a[2]), amount(l.sent, a[3]),
	       l.in_streams, l.out_streams, (unsigned long long)messages(s, &l),
	       amount((uint64_t)l.buffers * REAL_SEGMENT, a[4]),
	       amount(l.tables, a[5]), seconds);
	fflush(stdout);
}

static void play(struct sim s)
{
	clock_t begin = clock();

	make_order(&s);
	if (make_plan(&s)) {
		make_nodes(&s);
		run(&s);
		print(&s, (double)(clock() - begin) / CLOCKS_PER_SEC);
		release(&s);
	}
}

/* nodes, bytes in all, chunks, segments a chunk. */
static struct sim game(const char *name, uint32_t nodes, uint64_t all,
		       uint32_t chunks, uint32_t segments)
{
	struct sim s = { .name = name,
			 .nodes = nodes,
			 .chunks = chunks,
			 .chunk_bytes = all / chunks,
			 .segment = (uint32_t)(all / chunks / segments) };

	s.mode = !strcmp(name, "replicate") ? HPDSL_STAGE_REPLICATE :
		 !strcmp(name, "partition") ? HPDSL_STAGE_PARTITION :
		 !strcmp(name, "copies=2")  ? HPDSL_STAGE_COPIES :
					      HPDSL_STAGE_AUTO;
	s.copies = 2;
	return s;
}

static const struct {
	const char *name;
	uint32_t nodes, chunks;
	uint64_t bytes;
} games[] = {
	{ "replicate", 10, 1024, 64 * GIB },
	{ "replicate", 100, 1024, 64 * GIB },
	{ "replicate", 1000, 1024, 64 * GIB },
	{ "replicate", 10000, 256, 16 * GIB },
	{ "partition", 10, 8000, 10 * TB },
	{ "partition", 100, 8000, 100 * TB },
	{ "partition", 1000, 8000, 1000 * TB },
	{ "partition", 10000, 40000, 1000 * TB },
	{ "copies=2", 10, 8000, 10 * TB },
	{ "copies=2", 100, 8000, 100 * TB },
	{ "copies=2", 1000, 8000, 1000 * TB },
	{ "copies=2", 10000, 40000, 1000 * TB },
	{ "auto", 10, 20000, 1000 * TB },
	{ "auto", 100, 20000, 1000 * TB },
	{ "auto", 1000, 20000, 1000 * TB },
	{ "auto", 10000, 20000, 1000 * TB },
};

/* sim_stage [MODE NODES BYTES CHUNKS SEGMENTS-A-CHUNK] */
int main(int argc, char **argv)
{
	head();
	if (argc == 6) {
		play(game(argv[1], (uint32_t)atoll(argv[2]),
			  strtoull(argv[3], NULL, 10), (uint32_t)atoll(argv[4]),
			  (uint32_t)atoll(argv[5])));
		return 0;
	}
	for (size_t i = 0; i < sizeof games / sizeof *games; i++)
		play(game(games[i].name, games[i].nodes, games[i].bytes,
			  games[i].chunks, 16));
	return 0;
}
