/* SPDX-License-Identifier: Apache-2.0 */
/* The client as its callers see it, in any thread of any process. */
#include "peers/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "http/curl.h"
#include "peers/holders.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The gate --------------------------------------------------------- */

static bool is_off(void)
{
	const char *s = getenv("HPDSL_PEERS");

	return s && strcmp(s, "off") == 0;
}

/* Nobody has said that there are others: no word of it. */
static bool is_silent(int code)
{
	return code == -ENOENT || code == -ESTALE;
}

static int open_both(const struct hp_io *io, int dir, const char *path,
		     const struct hp_client_facts *facts, struct hp_client *c,
		     struct hpdsl_error *err)
{
	const struct hp_book_head *h;
	int r = hp_book_load(io, dir, path, &c->book, err);

	if (r < 0)
		return r;
	h = &c->book->book.head;
	if (h->nodes < 2 || memcmp(h->pack, facts->pack, sizeof h->pack) != 0)
		return -ENOENT;
	return hp_table_find(io, dir, path, h, &c->table, err);
}

int hp_client_open(const struct hp_io *io, int dir, const char *path,
		   const struct hp_client_facts *facts, struct hp_client **ret,
		   struct hpdsl_error *err)
{
	struct hp_client *c;
	int r;

	*ret = NULL;
	if (err)
		*err = (struct hpdsl_error){ 0 };
	if (is_off())
		return 0;
	c = calloc(1, sizeof *c);
	if (!c)
		return hp_fail_nomem(err);
	c->facts = *facts;
	c->facts.pack = NULL;
	r = open_both(io, dir, path, facts, c, err);
	if (r == 0) {
		*ret = c;
		return 0;
	}
	hp_client_close(c);
	if (err && is_silent(r))
		*err = (struct hpdsl_error){ 0 };
	return r == -ENOMEM ? r : 0;
}

/* ---- A process's ------------------------------------------------------ */

/* Without an engine there is no thread that would. */
static void count_mute(struct hp_peers *p)
{
	struct hp_table_tally *c = NULL;

	if (p->mute)
		c = hp_table_count(&p->table, p->nodes);
	if (!c)
		return;
	c->origin[HP_CLIENT_NO_ENGINE] += p->mute;
	hp_table_add(&p->table, true);
}

static void free_peers(struct hp_peers *p)
{
	count_mute(p);
	for (uint32_t i = 0; p->peer && i < p->nodes; i++)
		hp_haves_free(p->peer[i].have.list);
	for (unsigned i = 0; i < p->n_notes; i++)
		free(p->notes[i]);
	hp_table_close(&p->table);
	pthread_mutex_destroy(&p->lock);
	free(p->peer);
	free(p);
}

static struct hp_peers *make_peers(struct hp_client *c, struct hp_peers *before)
{
	const struct hp_book_head *h = &c->book->book.head;
	struct hp_peers *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->user.turn = hp_peers_turn;
	p->user.leave = hp_peers_leave;
	/* Where there are few each may have several. */
	p->at_once = h->nodes < 8 ? 4 : 1;
	p->user.connections = p->at_once * (h->nodes < 128 ? h->nodes : 128);
	p->client = c;
	p->before = before;
	p->pid = getpid();
	p->self = h->node;
	p->nodes = h->nodes;
	p->listed = HP_NO_NODE;
	p->inbox_end = &p->inbox;
	p->waits_end = &p->waits;
	p->ended_end = &p->ended;
	pthread_mutex_init(&p->lock, NULL);
	p->peer = calloc(p->nodes, sizeof *p->peer);
	if (p->peer && hp_table_open(&c->table, &p->table) == 0)
		return p;
	free_peers(p);
	return NULL;
}

/* A child of fork() has its own; its parent's is never touched. */
static struct hp_peers *peers_of(struct hp_client *c)
{
	struct hp_peers *is = atomic_load(&c->peers), *p;

	if (is && is->pid == getpid())
		return is;
	p = make_peers(c, is);
	if (!p)
		return NULL;
	if (atomic_compare_exchange_strong(&c->peers, &is, p)) {
		/* It would keep its parent's locks. */
		if (p->before)
			hp_table_disown(&p->before->table);
		return p;
	}
	free_peers(p);
	return is;
}

void hp_client_close(struct hp_client *c)
{
	struct hp_peers *p;

	if (!c)
		return;
	p = atomic_load(&c->peers);
	if (p && p->pid == getpid()) {
		if (p->joined)
			hp_http_leave(p->engine, &p->user);
		free_peers(p);
	}
	hp_table_leave(&c->table);
	hp_book_unload(c->book);
	free(c);
}

const struct hp_book *hp_client_book(const struct hp_client *c)
{
	return &c->book->book;
}

/* ---- A request -------------------------------------------------------- */

static struct hp_client_job *make_job(struct hp_client *c, struct hp_peers *p,
				      const struct hp_client_want *want,
				      uint64_t n)
{
	const uint64_t parts = (n - 1) / HP_ASK_MOST + 1;
	struct hp_client_job *j;

	if (parts > UINT32_MAX)
		return NULL;
	j = calloc(1, sizeof *j + parts * sizeof *j->part);
	if (!j)
		return NULL;
	j->peers = p;
	j->want = *want;
	j->deadline = want->deadline ? want->deadline :
				       hp_monotonic() + HP_CLIENT_PATIENCE;
	j->got = (struct hp_client_got){ .n = (ssize_t)n };
	j->blamed = HP_NO_NODE;
	j->left = j->parts = (uint32_t)parts;
	hp_holders(&c->book->book.head, want->chunk, &j->first, &j->last);
	for (uint32_t i = 0; i < j->parts; i++) {
		const uint64_t at = (uint64_t)i * HP_ASK_MOST, left = n - at;

		j->part[i].job = j;
		j->part[i].first = want->offset + at;
		j->part[i].n = left < HP_ASK_MOST ? left : HP_ASK_MOST;
		j->part[i].buf = (uint8_t *)want->buf + at;
	}
	return j;
}

static void end_now(hp_client_done *done, void *arg, ssize_t n,
		    enum hp_client_why why)
{
	const struct hp_client_got got = { .n = n,
					   .why = why,
					   .node = HP_NO_NODE };

	done(arg, &got);
}

/*
 * libcrypto registers what it does at exit when it is first used.  That must be
 * before the engine does the same, so that it comes after the engine's end.
 */
static void use_crypto(const struct hp_client *c)
{
	const struct hp_ask a = { .method = HP_ASK_GET, .kind = HP_ASK_STATUS };
	uint8_t mac[HP_MAC];

	hp_ask_mac(&c->book->book.head, &a, mac);
}

static bool is_joined(struct hp_peers *p)
{
	const char *why = NULL;
	int r;

	if (p->joined || p->dead || p->closed)
		return p->joined;
	if (hp_http_is_over()) {
		p->dead = true;
		atomic_store(&p->exits, true);
		return false;
	}
	use_crypto(p->client);
	r = hp_http_join(&p->user, &p->engine, &why);
	p->joined = r == 0;
	p->dead = r == -ENOSYS || r == -ESHUTDOWN;
	return p->joined;
}

/* 0, or why not; the job is the inbox's then. */
static int post(struct hp_peers *p, struct hp_client_job *j)
{
	int r = 0;

	pthread_mutex_lock(&p->lock);
	if (p->closed)
		r = p->exits ? -EHOSTUNREACH : -ECANCELED;
	else if (!is_joined(p))
		r = -EHOSTUNREACH;
	if (r == 0) {
		j->next = NULL;
		*p->inbox_end = j;
		p->inbox_end = &j->next;
		/* Without the lock it may be done, and p be closed. */
		hp_http_poke(p->engine);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static void no_engine(struct hp_peers *p)
{
	const char *why = NULL;
	char text[HP_CLIENT_NOTE];

	atomic_fetch_add(&p->to_origin, 1);
	atomic_fetch_add(&p->failed[HP_CLIENT_NO_ENGINE], 1);
	if (atomic_fetch_add(&p->mute, 1) || p->exits)
		return;
	hp_curl(&why);
	snprintf(text, sizeof text, "read from the origin: %s",
		 why ? why : hp_client_why_text(HP_CLIENT_NO_ENGINE));
	hp_peers_note_text(p, text);
}

void hp_client_submit(struct hp_client *c, const struct hp_client_want *want,
		      hp_client_done *done, void *arg)
{
	struct hp_client_form form;
	struct hp_peers *p = peers_of(c);
	struct hp_client_job *j;
	uint64_t n = want->n;
	int r = -EHOSTUNREACH;

	if (want->chunk >= c->facts.chunks ||
	    !c->facts.form(c->facts.arg, want->chunk, want->kind, &form)) {
		end_now(done, arg, -EHOSTUNREACH, HP_CLIENT_NO_HOLDER);
		return;
	}
	if (want->offset >= form.size || !n) {
		end_now(done, arg, 0, HP_CLIENT_WELL);
		return;
	}
	if (n > form.size - want->offset)
		n = form.size - want->offset;
	j = p ? make_job(c, p, want, n) : NULL;
	if (j) {
		j->form = form;
		j->done = done;
		j->arg = arg;
		r = post(p, j);
	}
	if (r == 0)
		return;
	free(j);
	if (p && r == -EHOSTUNREACH)
		no_engine(p);
	end_now(done, arg, r, HP_CLIENT_NO_ENGINE);
}

void hp_client_bad(struct hp_client *c, uint32_t node, uint32_t chunk)
{
	struct hp_peers *p = peers_of(c);
	struct hp_bad *b = malloc(sizeof *b);
	bool posted = false;

	if (p && b && node < p->nodes && chunk < c->facts.chunks) {
		pthread_mutex_lock(&p->lock);
		posted = p->joined && !p->closed;
		if (posted) {
			*b = (struct hp_bad){ p->bads, node, chunk };
			p->bads = b;
			hp_http_poke(p->engine);
		}
		pthread_mutex_unlock(&p->lock);
	}
	if (!posted)
		free(b);
}

/* ---- Seeing it -------------------------------------------------------- */

void hp_client_stats(const struct hp_client *c, struct hp_client_stats *ret)
{
	const struct hp_peers *p = atomic_load(&c->peers);

	*ret = (struct hp_client_stats){ 0 };
	if (!p || p->pid != getpid())
		return;
	ret->bytes = atomic_load(&p->bytes);
	ret->reads = atomic_load(&p->reads);
	ret->to_origin = atomic_load(&p->to_origin);
	ret->hedged = atomic_load(&p->hedged);
	ret->won = atomic_load(&p->won);
	ret->adopted = atomic_load(&p->adopted);
	for (int i = 0; i < HP_CLIENT_WHYS; i++)
		ret->failed[i] = atomic_load(&p->failed[i]);
}

bool hp_client_note(struct hp_client *c, char buf[HP_CLIENT_NOTE])
{
	struct hp_peers *p = atomic_load(&c->peers);
	char *line = NULL;

	if (!p || p->pid != getpid())
		return false;
	pthread_mutex_lock(&p->lock);
	if (p->n_notes) {
		line = p->notes[0];
		p->n_notes--;
		memmove(p->notes, p->notes + 1, p->n_notes * sizeof *p->notes);
	}
	pthread_mutex_unlock(&p->lock);
	if (!line)
		return false;
	snprintf(buf, HP_CLIENT_NOTE, "%s", line);
	free(line);
	return true;
}
