/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the job's other nodes, answered with proof. */
#include "serve/private.h"

#include "base/error.h"
#include "hpdsl/stage.h"
#include "peers/whom.h"
#include "serve/adopt.h"
#include "serve/held.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t get(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

/* ---- What is known ---------------------------------------------------- */

static bool is_counted(const struct hp_stage_seen *seen)
{
	return seen->born && seen->counts;
}

/* One that was no more than coming may have come since the last look. */
static enum hp_chunk_state state_of(struct hpdsl_serve *s, uint32_t chunk)
{
	struct hp_stage_seen seen;

	hp_stage_watch_see(&s->ds->stage->watch, chunk, &seen);
	return is_counted(&seen) ? seen.state : HP_CHUNK_ABSENT;
}

bool hp_serve_know(struct hpdsl_serve *s, uint32_t chunk,
		   struct hpdsl_chunk *row, struct hp_serve_known *ret)
{
	*ret = (struct hp_serve_known){
		.chunks = s->chunks,
		.owes = __atomic_load_n(&s->count.owes, __ATOMIC_RELAXED),
		.queue = s->queue,
		.leaving = __atomic_load_n(&s->draining, __ATOMIC_RELAXED),
	};
	if (chunk >= s->chunks || hpdsl_chunk_get(s->ds, chunk, row, NULL) < 0)
		return false;
	ret->compressed = row->compressed;
	ret->bytes = row->bytes;
	ret->plain_bytes = row->plain_bytes;
	ret->state = state_of(s, chunk);
	return true;
}

/* Is somebody else planned to hold it, who lives as far as is known here? */
static bool others_hold(const struct hpdsl_serve *s, const struct hp_book *b,
			uint32_t chunk)
{
	const struct hp_book_head *h = &b->head;
	struct hpdsl_stage_span g =
		hpdsl_stage_group_of(h->nodes, h->parts, chunk % h->parts);

	if (b == &s->book->book)
		return hp_held_by_others(s, chunk);
	return g.first != h->node || g.last != h->node;
}

/* ---- The file --------------------------------------------------------- */

struct wanted {
	const struct hpdsl_serve *s;
	const struct hpdsl_chunk *row;
	bool plain;
};

static int open_chunk(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->s->io;
	char name[HP_STAGE_NAME];
	struct stat st;
	hp_auto_fd f = { io,
			 io->open(io, w->s->ds->dir,
				  hp_stage_chunk_name(w->row, w->plain, name),
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) };
	int fd = f.fd, r;

	if (fd < 0)
		return hp_fail_errno(err, fd, "%s", name);
	r = hp_io_fstat(io, fd, &st);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (!S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size !=
		    (w->plain ? w->row->plain_bytes : w->row->bytes))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: is not what was staged", name);
	f.fd = -1;
	return fd;
}

/*
 * Is it what its name means?  Staged anew, or repaired, it would go on giving
 * what was; removed, what nobody is to have any more.
 */
static bool is_named(const struct wanted *w, int fd)
{
	const struct hp_io *io = w->s->io;
	char name[HP_STAGE_NAME];
	struct stat is, was;

	return hp_io_stat(io, w->s->ds->dir,
			  hp_stage_chunk_name(w->row, w->plain, name), &is,
			  AT_SYMLINK_NOFOLLOW) == 0 &&
	       hp_io_fstat(io, fd, &was) == 0 && is.st_dev == was.st_dev &&
	       is.st_ino == was.st_ino;
}

int hp_serve_open_chunk(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
			bool plain)
{
	struct wanted w = { s, row, plain };
	uint64_t key = row->number | (uint64_t)plain << 32;
	struct hp_cached_fd fd;
	struct hpdsl_error err;
	int r = hp_fd_cache_get(s->files, key, open_chunk, &w, &fd, &err);

	if (r == 0 && !is_named(&w, fd.fd)) {
		hp_fd_cache_drop(s->files, &fd);
		r = hp_fd_cache_get(s->files, key, open_chunk, &w, &fd, &err);
	}
	if (r < 0)
		return r;
	r = s->io->dup(s->io, fd.fd);
	hp_fd_cache_put(s->files, &fd);
	return r;
}

/* ---- The answer ------------------------------------------------------- */

/* By which book, and what it asks for. */
struct asked {
	const struct hp_book *book; /* NULL: neither */
	struct hp_ask ask;
	int code;
};

static void by_book(const struct hp_book_file *f,
		    const struct hpdsl_serve_request *q, struct asked *a)
{
	const struct hp_asked what = { .method = q->method,
				       .path = q->path,
				       .range = q->range,
				       .proof = q->proof };

	if (!f || a->book)
		return;
	a->code = hp_asked(&f->book.head, &what, &a->ask);
	if (a->code != HP_ASKED_UNPROVEN)
		a->book = &f->book;
}

static void count(struct hpdsl_serve *s, unsigned status)
{
	hp_serve_add(&s->count.requests, 1);
	if (status == 404)
		hp_serve_add(&s->count.absent, 1);
	else if (status == 503)
		hp_serve_add(&s->count.busy, 1);
	else if (status != 200 && status != 206)
		hp_serve_add(&s->count.wrong, 1);
}

/* Bits of all chunks, as at the last look. */
static void give_have(struct hpdsl_serve *s, struct hpdsl_serve_answer *n)
{
	n->body = malloc(n->length + 1);
	if (n->body)
		memcpy(n->body, s->have, n->length);
	else
		n->status = 503, n->length = 0, n->retry = HP_SERVE_SOON;
}

static void give_status(const struct hpdsl_serve *s,
			struct hpdsl_serve_answer *n)
{
	char *text = NULL;
	int k = asprintf(&text, "%llu of %u chunks are here, %llu coming\n",
			 (unsigned long long)s->here, (unsigned)s->chunks,
			 (unsigned long long)s->coming);

	n->body = k < 0 ? NULL : text;
	n->length = k < 0 ? 0 : (uint64_t)k;
}

/* Out of descriptors: soon; else it is not here any more. */
static void give_none(int why, struct hpdsl_serve_answer *n)
{
	bool full = why == -EMFILE || why == -ENFILE || why == -ENOMEM;

	n->status = full ? 503 : 404;
	n->retry = full ? HP_SERVE_SOON : 0;
	n->length = 0;
}

static const struct hp_adopt_got *open_it(struct hpdsl_serve *s,
					  const struct hpdsl_chunk *row,
					  bool plain, struct hp_adopt_got *ret)
{
	ret->fd = hp_serve_open_chunk(s, row, plain);
	return ret;
}
static void give_chunk(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
		       const struct hp_serve_says *say,
		       const struct hp_adopt_got *got,
		       struct hpdsl_serve_answer *n)
{
	if (got->fd < 0 && !got->body) {
		give_none(got->fd, n);
		return;
	}
	n->fd = got->fd;
	n->body = got->body;
	n->chunk = row->number;
	n->plain = say->plain;
	n->offset = say->offset;
	snprintf(n->range, sizeof n->range, "bytes %llu-%llu/%llu",
		 (unsigned long long)say->offset,
		 (unsigned long long)(say->offset + say->length - 1),
		 (unsigned long long)(say->plain ? row->plain_bytes :
						   row->bytes));
	hp_answer_tag(s->pack, say->plain ? row->plain_checksum : row->checksum,
		      n->tag);
}

static void prove(const struct hp_book_head *h, const struct hp_ask *a,
		  uint64_t load, struct hpdsl_serve_answer *n)
{
	const struct hp_answer is = { .status = (uint16_t)n->status,
				      .length = n->length,
				      .load = load };
	uint8_t mac[HP_MAC];

	if (hp_answer_mac(h, a, &is, mac))
		hp_answer_proof(a, &is, mac, n->proof);
}

/*
 * It was not to be here, or is not any more: what was adopted, or is to be.
 * Then it is as good as any, and *ret has it.  False: it is being waited
 * for.
 */
static bool adopted(struct hpdsl_serve *s, const struct asked *a,
		    const struct hpdsl_serve_request *q,
		    const struct hpdsl_chunk *row, struct hp_serve_known *k,
		    struct hp_adopt_got *ret)
{
	struct hp_serve_known as = *k;
	struct hp_serve_says say;
	struct hp_adopt_want w = {
		.row = row,
		.first = a->ask.first,
		.last = a->ask.last,
		.begin = a->ask.adopt && q->wake && !k->leaving,
		.wake = q->waited ? NULL : q->wake,
		.arg = q->arg,
	};

	as.state = HP_CHUNK_READY;
	as.others = false;
	if (hp_serve_has(k, a->ask.kind == HP_ASK_PLAIN))
		return true;
	say = hp_serve_decide(&as, a->code, &a->ask);
	/* It has no time now, which is not to say that it will not have it. */
	if (say.status == 503 && w.begin)
		*k = as;
	if (say.status != 206)
		return true;
	switch (hp_adopt_ask(s, &w, ret)) {
	case HP_ADOPT_WAIT:
		return false;
	case HP_ADOPT_HERE:
		*k = as;
		break;
	case HP_ADOPT_LATER:
		*k = as;
		k->queue = 0;
		break;
	case HP_ADOPT_NOT:
		break;
	}
	return true;
}

/* What was adopted, and is not to be sent. */
static void drop(struct hpdsl_serve *s, struct hp_adopt_got *got)
{
	if (got->fd >= 0)
		s->io->close(s->io, got->fd);
	free(got->body);
	*got = (struct hp_adopt_got){ .fd = -1 };
}

/* When n bytes may be sent; false: not soon. */
static bool is_soon(struct hpdsl_serve *s, uint64_t n, uint64_t *ret)
{
	double now, wait = 0;
	bool soon;

	if (!get(&s->count.rate))
		return true;
	now = hp_now();
	pthread_mutex_lock(&s->pace_lock);
	soon = s->pace.next <= now + HP_SERVE_LINE;
	if (soon)
		wait = hp_pace_take(&s->pace, now, n);
	pthread_mutex_unlock(&s->pace_lock);
	if (wait > 0) {
		*ret = hp_monotonic() + (uint64_t)(wait * 1e9);
		hp_serve_add(&s->count.paced, 1);
		hp_serve_add(&s->count.paced_ns, (uint64_t)(wait * 1e9));
	}
	return soon;
}

static void answer(struct hpdsl_serve *s, const struct asked *a,
		   const struct hpdsl_serve_request *q,
		   struct hpdsl_serve_answer *n)
{
	struct hpdsl_chunk row;
	struct hp_serve_known k;
	struct hp_serve_says say;
	bool known = hp_serve_know(s, a->ask.chunk, &row, &k);
	struct hp_adopt_got got = { .fd = -1 };

	k.others = known && others_hold(s, a->book, a->ask.chunk);
	n->proven = true;
	if (known && !adopted(s, a, q, &row, &k, &got)) {
		n->status = 0;
		return;
	}
	say = hp_serve_decide(&k, a->code, &a->ask);
	n->head = a->ask.method == HP_ASK_HEAD;
	if (say.status == 206 && !n->head && !is_soon(s, say.length, &n->after))
		say = (struct hp_serve_says){ .status = 503,
					      .retry = HP_SERVE_SOON };
	if (say.status != 206)
		drop(s, &got);
	n->status = say.status;
	n->length = say.length;
	n->retry = say.retry;
	if (say.status == 206)
		give_chunk(s, &row, &say,
			   got.fd >= 0 || got.body ?
				   &got :
				   open_it(s, &row, say.plain, &got),
			   n);
	else if (say.status == 200 && a->ask.kind == HP_ASK_HAVE)
		give_have(s, n);
	else if (say.status == 200)
		give_status(s, n);
	if (n->status == 200)
		hp_answer_tag(s->pack, NULL, n->tag);
	n->owes = n->head ? 0 : n->length;
	prove(&a->book->head, &a->ask, k.owes + n->owes, n);
}

void hpdsl_serve_ask(struct hpdsl_serve *s, const struct hpdsl_serve_request *q,
		     struct hpdsl_serve_answer *ret)
{
	struct asked a = { .code = HP_ASKED_UNPROVEN };

	*ret = (struct hpdsl_serve_answer){ .status = 403,
					    .fd = -1,
					    .chunk = HP_NO_NODE };
	/* The secret stays what it is, and so does what is had. */
	pthread_rwlock_rdlock(&s->lock);
	by_book(s->book, q, &a);
	by_book(s->before, q, &a);
	if (a.book)
		answer(s, &a, q, ret);
	pthread_rwlock_unlock(&s->lock);
	if (!a.book) {
		hp_serve_add(&s->count.unproven, 1);
		return;
	}
	hp_serve_add(&s->count.owes, ret->owes);
	if (ret->status)
		count(s, ret->status);
	/* Who is sent away does not keep it. */
	if (ret->status != 503)
		__atomic_store_n(&s->count.asked, hp_monotonic(),
				 __ATOMIC_RELAXED);
}

void hpdsl_serve_quit(struct hpdsl_serve *s)
{
	__atomic_store_n(&s->quit, true, __ATOMIC_RELAXED);
	hp_adopt_quit(s);
}

void hpdsl_serve_done(struct hpdsl_serve *s, const struct hpdsl_serve_answer *a,
		      uint64_t sent)
{
	__atomic_fetch_sub(&s->count.owes, a->owes, __ATOMIC_RELAXED);
	hp_serve_add(a->proven ? &s->count.bytes : &s->count.local_bytes, sent);
	free(a->sum);
}

/* ---- Counted ---------------------------------------------------------- */

void hpdsl_serve_stats(struct hpdsl_serve *s, struct hpdsl_serve_stats *ret)
{
	const struct hpdsl_serve_stats *c = &s->count;

	*ret = (struct hpdsl_serve_stats){
		.chunks = s->chunks,
		.here = get(&s->here),
		.coming = get(&s->coming),
		.requests = get(&c->requests),
		.bytes = get(&c->bytes),
		.unproven = get(&c->unproven),
		.absent = get(&c->absent),
		.busy = get(&c->busy),
		.wrong = get(&c->wrong),
		.cold = get(&c->cold),
		.cold_bytes = get(&c->cold_bytes),
		.local_requests = get(&c->local_requests),
		.local_bytes = get(&c->local_bytes),
		.adopted = get(&c->adopted),
		.adopted_bytes = get(&c->adopted_bytes),
		.rehomed = get(&c->rehomed),
		.adopted_peer_bytes = get(&c->adopted_peer_bytes),
		.passed_bytes = get(&c->passed_bytes),
		.memory_bytes = get(&c->memory_bytes),
		.fetched_bytes = get(&c->fetched_bytes),
		.owes = get(&c->owes),
		.rate = get(&c->rate),
		.paced = get(&c->paced),
		.paced_ns = get(&c->paced_ns),
		.asked = get(&c->asked),
		.draining = __atomic_load_n(&s->draining, __ATOMIC_RELAXED),
	};
}
