/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes and what happens to them. */
#include "play.h"

#include <stdlib.h>
#include <string.h>

uint64_t play_random(struct play *p)
{
	uint64_t z = p->seed += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

uint32_t play_below(struct play *p, uint32_t n)
{
	return (uint32_t)(play_random(p) % n);
}

static bool one_in(struct play *p, uint32_t n)
{
	bool hit = n && play_below(p, n) == 0;

	p->faults += hit;
	return hit;
}

void play_wrong(struct play *p, const char *what)
{
	if (!p->wrong)
		p->wrong = what;
}

static void *cleared(size_t n, size_t size)
{
	void *v = calloc(n ? n : 1, size);

	if (!v)
		abort();
	return v;
}

uint64_t play_bit(const struct play *p, uint64_t offset)
{
	return UINT64_C(1) << offset / p->c.segment;
}

uint64_t play_all(const struct play *p, uint32_t chunk, bool plain)
{
	uint64_t bytes = plain ? p->plain[chunk] : p->stored[chunk];
	uint64_t n = (bytes + p->c.segment - 1) / p->c.segment;

	return n ? UINT64_MAX >> (64 - n) : 0;
}

/* ---- The items of a node ---------------------------------------------- */

static void update_busy(struct play_node *n)
{
	struct play *p = n->p;
	bool is = n->items.n || n->more;

	if (is && !n->busy) {
		p->busy[p->n_busy] = n->number;
		n->busy = ++p->n_busy;
	} else if (!is && n->busy) {
		uint32_t last = p->busy[--p->n_busy];

		p->busy[n->busy - 1] = last;
		p->node[last].busy = n->busy;
		n->busy = 0;
	}
}

void play_push(struct play_node *n, const struct play_item *i)
{
	struct play_items *l = &n->items;

	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 8;
		l->v = realloc(l->v, l->room * sizeof *l->v);
		if (!l->v)
			abort();
	}
	l->v[l->n++] = *i;
	update_busy(n);
}

/* Which of the two must come first?  DATA and the rest are kept apart. */
static bool same_line(const struct play_item *a, const struct play_item *b)
{
	bool data = a->msg.kind == HP_MSG_DATA;

	if (a->kind != b->kind)
		return false;
	if (a->kind == PLAY_POST)
		return a->node == b->node &&
		       data == (b->msg.kind == HP_MSG_DATA);
	if (a->kind == PLAY_WIRE)
		return a->node == b->node;
	return a->kind == PLAY_WRITE && a->msg.chunk == b->msg.chunk;
}

static struct play_item pick(struct play_node *n)
{
	struct play_items *l = &n->items;
	uint32_t at = play_below(n->p, l->n);
	struct play_item ret;

	for (uint32_t i = 0; i < at; i++)
		if (same_line(&l->v[i], &l->v[at]))
			at = i;
	ret = l->v[at];
	l->n--;
	memmove(l->v + at, l->v + at + 1, (l->n - at) * sizeof *l->v);
	return ret;
}

/* ---- What happens ----------------------------------------------------- */

/* The file is read now: what is in it, in this form, at this moment? */
static void post(struct play_node *n, struct play_item *i)
{
	struct play_file *f = &n->file[i->msg.chunk];
	uint64_t bit = play_bit(n->p, i->msg.offset);
	struct play_node *to = &n->p->node[i->node];

	if (i->msg.kind == HP_MSG_DATA) {
		f->sending--;
		if (!f->ready &&
		    (!f->begun || f->attempt != i->attempt ||
		     f->plain != i->msg.plain || !((f->have | f->came) & bit)))
			play_wrong(n->p, "sent what is not here");
		if (f->ready &&
		    i->msg.plain != (f->closed ? f->kept : f->plain))
			play_wrong(n->p, "sent a form that is not there");
		i->bad = f->ready      ? false :
			 f->have & bit ? (f->bad & bit) != 0 :
					 (f->came_bad & bit) != 0;
		i->bad |= one_in(n->p, n->p->bad_wire);
		i->kind = PLAY_SENT;
		play_push(n, i);
	}
	i->kind = PLAY_WIRE;
	i->node = n->number;
	play_push(to, i);
}

static bool expected(const struct play_node *n, const struct play_item *i)
{
	const struct play_file *f = &n->file[i->msg.chunk];

	return n->place[i->msg.chunk] != UINT32_MAX &&
	       n->from[n->place[i->msg.chunk]] == i->node && f->asked;
}

static void promise_kept(struct play_node *n, const struct play_item *i)
{
	struct play_file *f = &n->file[i->msg.chunk];

	if (!f->promised)
		play_wrong(n->p, "more segments than credits");
	else
		f->promised--, n->in_used--;
}

static void promise_over(struct play_node *n, struct play_file *f)
{
	n->in_used -= f->promised;
	f->promised = 0;
}

/* In memory, as it is; with c.early it may be passed on from there. */
static void came(struct play_node *n, struct play_item *i)
{
	struct play_file *f = &n->file[i->msg.chunk];
	uint64_t bit = play_bit(n->p, i->msg.offset);

	i->kind = PLAY_WRITE;
	i->attempt = f->attempt;
	f->came |= n->p->c.early ? bit : 0;
	f->came_bad |= i->bad ? bit : 0;
	play_push(n, i);
}

static void take(struct play_node *n, struct play_item *i, int rc)
{
	struct play_file *f = &n->file[i->msg.chunk];
	uint64_t size = i->msg.plain ? n->p->plain[i->msg.chunk] :
				       n->p->stored[i->msg.chunk];

	if (!expected(n, i))
		play_wrong(n->p, "a segment that nobody asked for");
	promise_kept(n, i);
	if (i->msg.offset + i->msg.length == size)
		promise_over(n, f);
	if (!rc) {
		n->thrown_bytes += i->msg.length;
		return;
	}
	n->taken_bytes += i->msg.length;
	f->held++, n->in_used++;
	play_act_begin(n);
	if (!f->begun || f->attempt != i->msg.attempt)
		play_wrong(n->p, "a segment before BEGIN");
	came(n, i);
}

static void wire(struct play_node *n, struct play_item *i)
{
	int rc = hp_exchange_message(n->x, i->node, &i->msg);

	n->taken++;
	if (rc < 0)
		play_wrong(n->p, "a message was refused");
	else if (i->msg.kind == HP_MSG_DATA)
		take(n, i, rc);
	else if ((i->msg.kind == HP_MSG_SORRY || i->msg.kind == HP_MSG_LOST ||
		  i->msg.kind == HP_MSG_AGAIN) &&
		 expected(n, i)) {
		promise_over(n, &n->file[i->msg.chunk]);
		n->file[i->msg.chunk].asked = false;
		n->file[i->msg.chunk].lost = i->msg.kind == HP_MSG_LOST;
	}
}

static void tell(struct play_node *n, enum hp_event_kind kind,
		 const struct play_item *i, bool plain)
{
	hp_exchange_event(n->x, kind, i->msg.chunk, i->msg.offset,
			  i->msg.length, plain);
}

static void read_origin(struct play_node *n, struct play_item *i)
{
	struct play *p = n->p;

	if (i->msg.chunk == p->missing || one_in(p, p->fail_read)) {
		bool never = i->msg.chunk == p->missing;

		p->faults += never ? HP_ATTEMPTS : 0;
		n->read_used--;
		n->file[i->msg.chunk].held--;
		tell(n, never ? HP_EV_UNREADABLE : HP_EV_READ_FAILED, i, false);
		return;
	}
	n->read_bytes += i->msg.length;
	i->bad = i->msg.chunk == p->damaged || one_in(p, p->bad_read);
	came(n, i);
	tell(n, HP_EV_READ, i, false);
}

static void write_file(struct play_node *n, struct play_item *i)
{
	struct play_file *f = &n->file[i->msg.chunk];
	uint64_t bit = play_bit(n->p, i->msg.offset);

	if (!f->begun || f->finished || f->attempt != i->attempt ||
	    f->have != bit - 1)
		play_wrong(n->p, "written to another attempt's file");
	f->have |= bit;
	f->bad |= i->bad || one_in(n->p, n->p->bad_write) ? bit : 0;
	tell(n, HP_EV_WRITTEN, i, false);
	i->kind = PLAY_FREE;
	play_push(n, i);
}

static void free_buffer(struct play_node *n, struct play_item *i)
{
	n->file[i->msg.chunk].held--;
	if (i->node == n->number)
		n->read_used--;
	else
		n->in_used--;
	tell(n, HP_EV_FREE, i, false);
}

static void check(struct play_node *n, struct play_item *i)
{
	struct play_file *f = &n->file[i->msg.chunk];
	bool compressed = n->p->plain[i->msg.chunk] && !f->plain;

	if (f->bad) {
		f->asked = false;
		tell(n, HP_EV_DIFFERS, i, false);
		return;
	}
	f->ready = true;
	f->asked = false;
	f->kept = compressed ? !n->p->keep_compressed : f->plain;
	tell(n, HP_EV_VERIFIED, i, f->kept);
}

static void happen(struct play_node *n, struct play_item *i)
{
	switch (i->kind) {
	case PLAY_POST:
		post(n, i);
		break;
	case PLAY_WIRE:
		wire(n, i);
		break;
	case PLAY_READ:
		read_origin(n, i);
		break;
	case PLAY_WRITE:
		write_file(n, i);
		break;
	case PLAY_FREE:
		free_buffer(n, i);
		break;
	case PLAY_SENT:
		n->out_used--;
		tell(n, HP_EV_SENT, i, false);
		break;
	default:
		check(n, i);
	}
}

/* Who has stopped is not done before the last promise is taken back. */
static void check_stopped(struct play_node *n)
{
	struct hp_exchange_counts k;

	hp_exchange_count(n->x, &k);
	if (k.idle && (n->in_used || n->read_used))
		play_wrong(n->p, "idle with segments under way");
}

bool play_step(struct play *p)
{
	struct play_node *n;
	struct play_item i;

	if (!p->n_busy || p->wrong)
		return false;
	p->steps++;
	n = &p->node[p->busy[play_below(p, p->n_busy)]];
	if (n->items.n && (!n->more || play_below(p, 4))) {
		i = pick(n);
		happen(n, &i);
		n->more = true;
	} else {
		uint32_t k = play_below(p, 4) ? UINT32_MAX : 1;

		while (k-- && (n->more = play_act(n)))
			;
	}
	update_busy(n);
	if (n->stopped)
		check_stopped(n);
	return true;
}

void play_run(struct play *p)
{
	while (play_step(p))
		;
}

void play_stop(struct play *p, uint32_t node, bool at_once)
{
	struct play_node *n = &p->node[node];

	hp_exchange_stop(n->x, at_once);
	n->stopped = n->more = true;
	update_busy(n);
}

/* ---- Life ------------------------------------------------------------- */

static uint64_t bytes(void *arg, uint64_t chunk, bool plain)
{
	const struct play *p = ((struct play_node *)arg)->p;

	return plain ? p->plain[chunk] : p->stored[chunk];
}

static bool held(void *arg, uint64_t chunk, bool *ret_plain)
{
	const struct play_node *n = arg;
	const struct play_file *f = &n->file[chunk];

	*ret_plain = f->kept;
	return f->ready && n->place[chunk] == UINT32_MAX;
}

static bool lacks(void *arg, uint32_t node, uint64_t chunk)
{
	return !((struct play *)arg)->node[node].file[chunk].ready;
}

static void sizes(struct play *p)
{
	uint32_t s = p->c.segment;

	for (uint32_t c = 0; c < p->chunks; c++) {
		p->order[c] = c;
		p->stored[c] = 1 + play_below(p, 12 * s);
		if (play_below(p, 3) == 0)
			p->plain[c] = p->stored[c] + play_below(p, 12 * s);
		p->weight[c] = p->plain[c] ? p->plain[c] : p->stored[c];
		p->holder[c] = UINT32_MAX;
	}
	for (uint32_t c = p->chunks; c > 1; c--) {
		uint32_t at = play_below(p, c), was = p->order[at];

		p->order[at] = p->order[c - 1];
		p->order[c - 1] = was;
	}
}

/* A chunk that is held may be on any nodes, in either form. */
static void hold(struct play *p, uint32_t c)
{
	for (uint32_t k = 1 + play_below(p, 3); k; k--) {
		uint32_t node = play_below(p, p->nodes);
		struct play_file *f = &p->node[node].file[c];

		f->ready = f->closed = true;
		f->kept = f->plain = p->plain[c] && play_below(p, 2);
		p->holder[c] = node;
	}
}

static void make_plan(struct play *p, enum hpdsl_stage_mode mode)
{
	uint64_t *capacity = cleared(p->nodes, sizeof *capacity), all = 0;
	struct hpdsl_stage_wish w = {
		.mode = mode,
		.copies = 1 + play_below(p, p->nodes),
		.parts = play_below(p, 2 * p->nodes + 3),
		.nodes = p->nodes,
		.capacity = capacity,
		.chunks = p->chunks,
		.weight = p->weight,
		.order = p->order,
	};
	struct hpdsl_error err;

	for (uint32_t c = 0; c < p->chunks; c++)
		all += p->weight[c];
	for (uint32_t i = 0; i < p->nodes; i++)
		capacity[i] = mode == HPDSL_STAGE_AUTO ?
				      play_random(p) % (all + 1) :
				      all;
	if (hpdsl_stage_plan_new(&w, &p->plan, &err) < 0)
		abort();
	free(capacity);
}

void play_init(struct play *p, uint64_t seed, uint32_t nodes, uint32_t chunks,
	       uint32_t held_one_in, enum hpdsl_stage_mode mode)
{
	*p = (struct play){ .seed = seed,
			    .nodes = nodes,
			    .chunks = chunks,
			    .damaged = UINT32_MAX,
			    .missing = UINT32_MAX };
	p->c.segment = 1 + play_below(p, 1000);
	p->c.chunks = chunks;
	p->c.in_streams = 1 + play_below(p, 6);
	p->c.in_buffers = 1 + play_below(p, 20);
	p->c.origin_streams = 1 + play_below(p, 4);
	p->c.origin_buffers = 1 + play_below(p, 8);
	p->c.out_buffers = 1 + play_below(p, 8);
	p->c.early = play_below(p, 2);
	p->c.ahead = play_below(p, 2) ? 1 + play_below(p, 8) : 0;
	p->keep_compressed = play_below(p, 2);
	p->stored = cleared(chunks, sizeof *p->stored);
	p->plain = cleared(chunks, sizeof *p->plain);
	p->weight = cleared(chunks, sizeof *p->weight);
	p->order = cleared(chunks, sizeof *p->order);
	p->holder = cleared(chunks, sizeof *p->holder);
	p->origin_reads = cleared(chunks, sizeof *p->origin_reads);
	p->node = cleared(nodes, sizeof *p->node);
	p->busy = cleared(nodes, sizeof *p->busy);
	sizes(p);
	for (uint32_t i = 0; i < nodes; i++) {
		p->node[i].p = p;
		p->node[i].number = i;
		p->node[i].file = cleared(chunks, sizeof(struct play_file));
		p->node[i].place = cleared(chunks, sizeof(uint32_t));
	}
	for (uint32_t c = 0; held_one_in && c < chunks; c++)
		if (play_below(p, held_one_in) == 0)
			hold(p, c);
	make_plan(p, mode);
}

static void find_wants(struct play_node *n)
{
	struct play *p = n->p;

	n->want = cleared(p->chunks, sizeof *n->want);
	n->from = cleared(p->chunks, sizeof *n->from);
	for (uint32_t i = 0; i < p->chunks; i++) {
		uint32_t c = p->order[i];
		uint32_t from = hp_spread_from(p->plan, n->number, c,
					       p->holder[c], lacks, p);

		n->place[c] = UINT32_MAX;
		if (from == UINT32_MAX)
			continue;
		n->place[c] = n->n_want;
		n->want[n->n_want] = c;
		n->from[n->n_want++] = from;
	}
}

void play_begin(struct play *p)
{
	struct hpdsl_error err;

	for (uint32_t i = 0; i < p->nodes; i++) {
		struct play_node *n = &p->node[i];
		struct hp_exchange_config c = p->c;

		find_wants(n);
		c.node = i;
		c.want = n->want;
		c.from = n->from;
		c.n_want = n->n_want;
		c.bytes = bytes;
		c.held = held;
		c.arg = n;
		if (hp_exchange_new(&c, &n->x, &err) < 0)
			abort();
		n->more = true;
		update_busy(n);
	}
}

void play_release(struct play *p)
{
	for (uint32_t i = 0; i < p->nodes; i++) {
		struct play_node *n = &p->node[i];

		hp_exchange_free(n->x);
		free(n->file);
		free(n->want);
		free(n->from);
		free(n->place);
		free(n->items.v);
	}
	hpdsl_stage_plan_free(p->plan);
	free(p->stored);
	free(p->plain);
	free(p->weight);
	free(p->order);
	free(p->holder);
	free(p->origin_reads);
	free(p->node);
	free(p->busy);
}
