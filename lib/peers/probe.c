/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/probe.h"

#include "base/error.h"
#include "base/mem.h"
#include "http/engine.h"
#include "peers/carry.h"
#include "sys/clock.h"

#include <errno.h>
#include <pthread.h>

enum {
	SLOTS = 128,	   /* nodes that are looked for at a time */
	SMALL = 256 << 10, /* bytes */
};
#define SECOND UINT64_C(1000000000)
#define FIND_MOST (10 * SECOND)	 /* to find one */
#define PLACE_MOST (SECOND / 2)	 /* for a word, at each of its places */
#define SMALL_MOST (2 * SECOND)	 /* for an answer, from its request on */
#define LARGE_MOST (10 * SECOND) /* the same, of a large one */

/* A request under way. */
struct slot {
	struct hp_transfer t; /* the first, so that one is the other */
	struct prober *p;
	uint32_t node;
	enum { IDLE, SENT, ENDED } at;
	enum hp_probe_came came;
	bool heard, good; /* a whole head; what was asked for */
	bool retried;
	uint64_t node_until, until, sent, ended;
	uint64_t n, got;
	struct hp_ask what;
	struct hp_client_form form;
	char url[HP_CARRY_URL], range[HP_CARRY_RANGE];
	char proof[HP_ASK_PROOF + 16];
};

struct prober {
	struct hp_http_user user;
	struct hp_http *engine;
	const struct hp_book *book;
	const struct hp_client_facts *facts;
	struct hp_probing *node;
	uint64_t until;
	uint32_t next;	  /* to be looked for */
	uint32_t measure; /* to be measured */
	struct slot *slots;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over; /* under the lock */
};

static uint64_t answer_most(const struct slot *s)
{
	return s->n < SMALL ? SMALL_MOST : LARGE_MOST;
}

/* ---- An answer -------------------------------------------------------- */

static bool on_head(struct hp_transfer *t, const struct hp_head *h)
{
	struct slot *s = (struct slot *)t;
	const bool chunk = s->what.chunk != HP_ASK_NO_CHUNK;
	const struct hp_expected expected = {
		.size = s->form.size,
		.digest = chunk ? s->form.digest : NULL,
	};
	struct hp_answer answer = { 0 };
	const enum hp_answer_is is = hp_carry_answered(
		&s->p->book->head, &s->what, &expected, h, &answer);

	s->heard = true;
	s->ended = hp_monotonic();
	s->until = s->sent + answer_most(s);
	s->good = is == HP_ANSWER_GOOD;
	s->came = s->good		   ? HP_CAME_WELL :
		  is != HP_ANSWER_UNPROVEN ? HP_CAME_NOT :
		  h->status == 403	   ? HP_CAME_DENIED :
					     HP_CAME_OTHER;
	if (s->good && s->what.kind == HP_ASK_STATUS)
		s->n = answer.length;
	return s->good;
}

static bool on_body(struct hp_transfer *t, const void *p, size_t n)
{
	struct slot *s = (struct slot *)t;
	struct prober *all = s->p;

	if (n > s->n - s->got) {
		s->came = HP_CAME_NOT;
		return false;
	}
	if (s->what.kind == HP_ASK_HAVE)
		hp_probe_pick(&all->node[s->node].pick, all->facts, s->got, p,
			      n);
	s->got += n;
	return true;
}

static enum hp_probe_came came_of(const struct slot *s,
				  enum hp_transfer_end how)
{
	switch (how) {
	case HP_TRANSFER_ANSWERED:
		return s->good && s->got != s->n ? HP_CAME_CLOSED :
		       s->heard			 ? s->came :
						   HP_CAME_OTHER;
	case HP_TRANSFER_STOPPED:
		return s->heard ? s->came : HP_CAME_OTHER;
	case HP_TRANSFER_REFUSED:
		return HP_CAME_REFUSED;
	case HP_TRANSFER_SILENT:
		return HP_CAME_SILENT;
	case HP_TRANSFER_SELF:
		return HP_CAME_SELF;
	default:
		/* what is no HTTP, or half an answer */
		return s->t.began && !s->good ? HP_CAME_OTHER : HP_CAME_CLOSED;
	}
}

static bool send_it(struct slot *s);

static void on_end(struct hp_transfer *t, enum hp_transfer_end how)
{
	struct slot *s = (struct slot *)t;

	if (how == HP_TRANSFER_STALE && !s->retried) {
		s->retried = true;
		if (send_it(s))
			return;
		how = HP_TRANSFER_SELF;
	}
	s->came = came_of(s, how);
	/* a ping is over with its head */
	if (s->what.kind != HP_ASK_STATUS || !s->heard)
		s->ended = hp_monotonic();
	s->at = ENDED;
}

/* ---- A request -------------------------------------------------------- */

static bool send_it(struct slot *s)
{
	struct prober *p = s->p;
	const struct hp_probing *is = &p->node[s->node];

	s->heard = s->good = false;
	s->got = 0;
	hp_carry_url(&s->what,
		     hp_book_address(p->book, s->node, is->address).ip,
		     is->port, s->url);
	if (!hp_carry_sign(&p->book->head, &s->what, s->proof, s->range))
		return false;
	s->t = (struct hp_transfer){
		.url = s->url,
		.fields = { s->proof, *s->range ? s->range : NULL },
		.most = s->n,
		.fresh = s->what.kind == HP_ASK_HAVE || s->retried,
		.head = on_head,
		.body = on_body,
		.ended = on_end,
	};
	s->sent = hp_monotonic();
	return hp_transfer_start(p->engine, &s->t) == 0;
}

/* What its node's step asks for. */
static void fill(struct slot *s)
{
	struct prober *p = s->p;
	const struct hp_probing *is = &p->node[s->node];
	const struct hp_probe_pick *k = &is->pick;

	s->what = (struct hp_ask){ .method = HP_ASK_GET,
				   .node = s->node,
				   .chunk = HP_ASK_NO_CHUNK,
				   .last = HP_ASK_NO_LAST };
	s->form = (struct hp_client_form){ .size = 0 };
	if (is->step == HP_PROBE_FIND) {
		s->what.kind = HP_ASK_HAVE;
		s->n = s->form.size = hp_have_size(p->facts->chunks);
	} else if (is->step == HP_PROBE_PING) {
		s->what.kind = HP_ASK_STATUS;
		s->n = 0; /* what its head says */
	} else {
		s->n = hp_probing_bytes(is);
		s->what.kind = k->kind;
		s->what.chunk = k->chunk;
		s->what.first = 0;
		s->what.last = s->n - 1;
		p->facts->form(p->facts->arg, k->chunk, k->kind, &s->form);
	}
}

static void ask(struct slot *s, uint64_t now)
{
	fill(s);
	s->retried = false;
	s->at = SENT;
	/* That fits into FIND_MOST for all ports, where others listen there. */
	s->until = now + (s->p->node[s->node].step == HP_PROBE_FIND ?
				  PLACE_MOST :
				  answer_most(s));
	if (send_it(s))
		return;
	s->came = HP_CAME_SELF;
	s->at = ENDED;
}

/* ---- A turn ----------------------------------------------------------- */

static void leave(struct slot *s)
{
	hp_transfer_stop(s->p->engine, &s->t);
	s->at = IDLE;
}

/* Its node goes on, or the slot is another one's. */
static void go_on(struct slot *s, uint64_t now)
{
	struct hp_probing *is = &s->p->node[s->node];

	hp_probing_came(is, s->came, (double)(s->ended - s->sent) / SECOND);
	if (is->step == HP_PROBE_FIND && now >= s->node_until)
		hp_probing_stop(is);
	if (is->step == HP_PROBE_WAITS || is->step == HP_PROBE_OVER)
		leave(s);
	else
		ask(s, now);
}

static void look_at(struct slot *s, uint64_t now)
{
	/* Without a connection it comes to its end by itself. */
	if (s->at == SENT && now >= s->until &&
	    !hp_transfer_is_sent(s->p->engine, &s->t))
		s->until = now + PLACE_MOST;
	if (s->at == SENT && now >= s->until) {
		hp_transfer_stop(s->p->engine, &s->t);
		s->came = HP_CAME_MUTE;
		s->ended = now;
		s->at = ENDED;
	}
	while (s->at == ENDED)
		go_on(s, now);
}

static uint32_t skip_own(const struct prober *p, uint32_t node)
{
	return node + (node == p->book->head.node);
}

static void take(struct slot *s, uint32_t node, uint64_t now)
{
	s->node = node;
	s->node_until = now + FIND_MOST;
	ask(s, now);
	look_at(s, now);
}

static void find_next(struct prober *p, struct slot *s, uint64_t now)
{
	while (s->at == IDLE &&
	       (p->next = skip_own(p, p->next)) < p->book->head.nodes) {
		struct hp_probing *is = &p->node[p->next];

		is->addresses = hp_book_addresses(p->book, p->next);
		is->first = p->book->head.port;
		hp_probing_begin(is);
		if (is->step == HP_PROBE_FIND)
			take(s, p->next, now);
		p->next++;
	}
}

/* Alone, and when all that are there were found. */
static void measure_next(struct prober *p, uint64_t now)
{
	struct slot *s = &p->slots[0];

	for (; s->at == IDLE && p->measure < p->book->head.nodes;
	     p->measure++) {
		struct hp_probing *is = &p->node[p->measure];

		if (is->step != HP_PROBE_WAITS)
			continue;
		hp_probing_turn(is);
		take(s, p->measure, now);
	}
}

static bool is_busy(const struct prober *p)
{
	for (int i = 0; i < SLOTS; i++)
		if (p->slots[i].at != IDLE)
			return true;
	return false;
}

static void finish(struct prober *p)
{
	for (int i = 0; i < SLOTS; i++)
		leave(&p->slots[i]);
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static uint64_t turn(struct hp_http_user *u, uint64_t now, uint64_t away)
{
	struct prober *p = (struct prober *)u;
	uint64_t next = p->until;

	(void)away;
	if (p->over)
		return UINT64_MAX;
	for (int i = 0; i < SLOTS && now < p->until; i++) {
		look_at(&p->slots[i], now);
		find_next(p, &p->slots[i], now);
	}
	if (!is_busy(p))
		measure_next(p, now);
	if (!is_busy(p) || now >= p->until) {
		finish(p);
		return UINT64_MAX;
	}
	for (int i = 0; i < SLOTS; i++)
		if (p->slots[i].at != IDLE && p->slots[i].until < next)
			next = p->slots[i].until;
	return next;
}

static void on_leave(struct hp_http_user *u)
{
	finish((struct prober *)u);
}

/* ---- All of it -------------------------------------------------------- */

static int run(struct prober *p, struct hpdsl_error *err)
{
	const char *why = NULL;
	int r = hp_http_join(&p->user, &p->engine, &why);

	if (r < 0)
		return hp_fail(err, r, "%s", why ? why : strerror(-r));
	pthread_mutex_lock(&p->lock);
	hp_http_poke(p->engine);
	while (!p->over)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	hp_http_leave(p->engine, &p->user);
	return 0;
}

int hp_probe(const struct hp_book *book, const struct hp_client_facts *facts,
	     double seconds, struct hp_probing *ret, struct hpdsl_error *err)
{
	const uint32_t n = book->head.nodes;
	const struct hp_ask any = { .method = HP_ASK_GET,
				    .kind = HP_ASK_STATUS };
	hp_auto_free struct slot *slots = calloc(SLOTS, sizeof *slots);
	struct prober p = {
		.user = { .turn = turn,
			  .leave = on_leave,
			  .connections = n < SLOTS ? n : SLOTS },
		.book = book,
		.facts = facts,
		.node = ret,
		.until = hp_monotonic() + (uint64_t)(seconds * SECOND),
		.slots = slots,
	};
	uint8_t mac[HP_MAC];
	int r;

	if (!slots)
		return hp_fail_nomem(err);
	for (int i = 0; i < SLOTS; i++)
		slots[i].p = &p;
	/* libcrypto is to be used before the engine is: see client.c */
	hp_ask_mac(&book->head, &any, mac);
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.changed, NULL);
	r = run(&p, err);
	pthread_cond_destroy(&p.changed);
	pthread_mutex_destroy(&p.lock);
	return r;
}
