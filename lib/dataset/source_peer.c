/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks at the job's other nodes. */
#include "dataset/source_peer.h"

#include "dataset/dataset.h"
#include "peers/book_file.h"
#include "peers/table.h"
#include "peers/whom.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct hp_peer_client *now_of(const struct hp_peer_source *p)
{
	return __atomic_load_n(&p->now, __ATOMIC_ACQUIRE);
}

static struct hp_client *client_of(const struct hp_peer_source *p)
{
	const struct hp_peer_client *now = now_of(p);

	return now ? now->client : NULL;
}

/* ---- The gate --------------------------------------------------------- */

static bool form(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		 struct hp_client_form *ret)
{
	const struct hp_peer_source *p = arg;
	struct hpdsl_chunk c;
	bool plain = kind == HP_ASK_PLAIN;

	if (hp_index_chunk(p->ds->index, chunk, &c, NULL) < 0 ||
	    (!plain && !c.compressed))
		return false;
	ret->size = plain ? c.plain_bytes : c.bytes;
	memcpy(ret->digest, plain ? c.plain_checksum : c.checksum,
	       sizeof ret->digest);
	return true;
}

/* Who looks is alone. */
static bool take(struct hp_peer_source *p, struct hp_client *client,
		 const struct stat *book)
{
	struct hp_peer_client *now = malloc(sizeof *now);

	if (!now)
		return false;
	*now = (struct hp_peer_client){ now_of(p), client, book->st_ino,
					book->st_ctim };
	__atomic_store_n(&p->now, now, __ATOMIC_RELEASE);
	return true;
}

static void open_by(struct hp_peer_source *p, const struct stat *book)
{
	const struct hpdsl_dataset *ds = p->ds;
	struct hp_client_facts facts = { .form = form, .arg = p };
	struct hp_client *client = NULL;
	struct hpdsl_error err;
	struct hpdsl_counts n;
	uint8_t pack[16];

	hp_index_count(ds->index, &n);
	hp_index_pack_id(ds->index, pack);
	facts.pack = pack;
	facts.chunks = (uint32_t)n.chunks;
	/* What is wrong with the book is the server's to say. */
	if (hp_client_open(ds->io, ds->dir, ds->path, &facts, &client, &err) ==
		    0 &&
	    client && !take(p, client, book))
		hp_client_close(client);
}

static bool is_other(const struct hp_peer_client *now, const struct stat *book)
{
	return !now || now->book != book->st_ino ||
	       now->made.tv_sec != book->st_ctim.tv_sec ||
	       now->made.tv_nsec != book->st_ctim.tv_nsec;
}

static bool is_there(const struct hp_peer_source *p, const char *name,
		     struct stat *ret)
{
	return hp_io_stat(p->ds->io, p->ds->dir, name, ret,
			  AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * That nobody serves here is found out by one look for a name.  Staged again, a
 * job has another book, and whoever goes by the one before it is refused.
 */
static void find(struct hp_peer_source *p)
{
	struct stat table, book;

	if (is_there(p, HP_TABLE_NAME, &table) &&
	    is_there(p, HP_BOOK_NAME, &book) && is_other(now_of(p), &book))
		open_by(p, &book);
}

/* A server may be started at any time; it is looked for once a second. */
static bool is_due(const struct hp_peer_source *p)
{
	uint64_t looked = __atomic_load_n(&p->looked, __ATOMIC_ACQUIRE);

	return !looked || hp_monotonic() - looked >= SECOND;
}

/* One of all who come at a time. */
static bool is_first(struct hp_peer_source *p)
{
	pid_t no = 0;

	return __atomic_compare_exchange_n(&p->looking, &no, getpid(), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void look(struct hp_peer_source *p)
{
	__atomic_store_n(&p->in_vain, false, __ATOMIC_RELAXED);
	if (is_due(p))
		find(p);
	__atomic_store_n(&p->looked, hp_monotonic(), __ATOMIC_RELEASE);
	__atomic_store_n(&p->looking, 0, __ATOMIC_RELEASE);
}

/*
 * What somebody else is about to find is worth a moment: the origin gives each
 * byte once.  In a child of a fork it is nobody, and after a while it is over.
 */
static void await(struct hp_peer_source *p)
{
	pid_t who = 0;

	for (int i = 0; i < 1000; i++) {
		who = __atomic_load_n(&p->looking, __ATOMIC_ACQUIRE);
		if (!who)
			return;
		hp_sleep(1000000);
	}
	if (who != getpid())
		__atomic_store_n(&p->looking, 0, __ATOMIC_RELEASE);
}

static bool there(void *arg)
{
	struct hp_peer_source *p = arg;
	bool any = now_of(p);

	if (any && !__atomic_load_n(&p->in_vain, __ATOMIC_RELAXED))
		return true;
	if (p->off || !is_due(p))
		return any;
	if (is_first(p))
		look(p);
	else if (!any)
		await(p);
	return now_of(p);
}

/* ---- A stretch -------------------------------------------------------- */

/* A stretch under way. */
struct asked {
	struct hp_peer_source *p;
	struct hp_source_stretch *s;
	hp_source_done *done;
	void *arg;
};

/* Who fetched it for all may have been given wrong bytes himself. */
static uint32_t sender_of(const struct hp_client_got *got)
{
	if (got->n < 0 || got->adopted)
		return HP_SENT_NOBODY;
	return got->node == HP_NO_NODE ? HP_SENT_SEVERAL : got->node + 1;
}

static void answered(void *arg, const struct hp_client_got *got)
{
	struct asked *a = arg;

	a->s->got = got->n == -EHOSTUNREACH && got->other_form ? HP_OTHER_FORM :
								 got->n;
	if (got->n == -EHOSTUNREACH && !got->other_form)
		__atomic_store_n(&a->p->in_vain, true, __ATOMIC_RELAXED);
	a->s->sent = sender_of(got);
	a->done(a->arg, a->s);
	free(a);
}

static enum hp_ask_kind kind(const struct hp_source *s)
{
	const struct hp_peer_source *p = s->arg;
	struct hpdsl_chunk c = { .compressed = false };

	hp_index_chunk(p->ds->index, s->chunk, &c, NULL);
	return c.compressed && !s->ops->plain ? HP_ASK_STORED : HP_ASK_PLAIN;
}

static void submit_one(const struct hp_source *s, struct hp_source_stretch *v,
		       uint64_t deadline, hp_source_done *done, void *arg)
{
	struct hp_peer_source *p = s->arg;
	struct asked *a = malloc(sizeof *a);
	const struct hp_client_want want = {
		.chunk = s->chunk,
		.kind = kind(s),
		.offset = v->offset,
		.n = v->n,
		.buf = v->buf,
		.deadline = deadline,
	};

	if (!a) {
		v->got = -ENOMEM;
		done(arg, v);
		return;
	}
	*a = (struct asked){ p, v, done, arg };
	hp_client_submit(client_of(p), &want, answered, a);
}

static void submit(const struct hp_source *s, struct hp_source_stretch *v,
		   size_t n, uint64_t deadline, hp_source_done *done, void *arg)
{
	for (size_t i = 0; i < n; i++)
		submit_one(s, &v[i], deadline, done, arg);
}

/* The answer's tag says that it is of this chunk. */
static int identity(const struct hp_source *s, const struct hpdsl_chunk *c,
		    uint64_t *ret_size)
{
	*ret_size = hp_source_size(s, c);
	return HP_SOURCE_IS_IT;
}

static int64_t cached(const struct hp_source *s, uint64_t offset, uint64_t n)
{
	(void)s;
	(void)offset;
	(void)n;
	return -EOPNOTSUPP;
}

/* Which others there are to be asked, the client has found out. */
static unsigned blame(int code)
{
	return code == -ENOMEM || code == -ECANCELED ? HP_BLAME_SELF : 0;
}

static void bad(const struct hp_source *s, uint32_t sent)
{
	hp_client_bad(client_of(s->arg), sent - 1, s->chunk);
}

static void text(const char *path, const char *name, char *buf, size_t room)
{
	snprintf(buf, room, "%s/%.600s, from other nodes", path, name);
}

static const struct hp_source_ops stored = {
	.there = there,
	.identity = identity,
	.submit = submit,
	.cached = cached,
	.blame = blame,
	.bad = bad,
	.text = text,
};

static const struct hp_source_ops plain = {
	.plain = true,
	.there = there,
	.identity = identity,
	.submit = submit,
	.cached = cached,
	.blame = blame,
	.bad = bad,
	.text = text,
};

/* ---- Of a dataset ----------------------------------------------------- */

void hp_peer_source_init(struct hp_peer_source *p,
			 const struct hpdsl_dataset *ds,
			 struct hp_sources *sources)
{
	*p = (struct hp_peer_source){
		.ds = ds,
		.off = ds->flags & HPDSL_OPEN_NO_PEERS,
	};
	sources->of[HP_AT_PEER] = &stored;
	sources->of[HP_AT_PEER_PLAIN] = &plain;
	sources->arg[HP_AT_PEER] = sources->arg[HP_AT_PEER_PLAIN] = p;
}

void hp_peer_source_release(struct hp_peer_source *p)
{
	struct hp_peer_client *now = p->now;

	while (now) {
		struct hp_peer_client *before = now->before;

		hp_client_close(now->client);
		free(now);
		now = before;
	}
}

void hp_peer_source_count(const struct hp_peer_source *p,
			  struct hpdsl_sources *ret)
{
	for (const struct hp_peer_client *c = now_of(p); c; c = c->before) {
		struct hp_client_stats s;

		hp_client_stats(c->client, &s);
		ret->peer_reads += s.reads;
		ret->peer_failed += s.to_origin;
		ret->hedged += s.hedged;
		ret->adopted += s.adopted;
	}
}

bool hp_peer_source_sender(const struct hp_peer_source *p, uint32_t sent,
			   char *buf, size_t room)
{
	const struct hp_client *client = client_of(p);

	if (!client || sent == HP_SENT_NOBODY || sent == HP_SENT_SEVERAL ||
	    sent > hp_client_book(client)->head.nodes)
		return false;
	snprintf(buf, room, "node %u (%s)", (unsigned)(sent - 1),
		 hp_book_host(hp_client_book(client), sent - 1));
	return true;
}

bool hpdsl_peer_note(const struct hpdsl_dataset *ds, char ret[HPDSL_PEER_NOTE])
{
	return ds && ds->stage && hp_peer_source_note(&ds->stage->peers, ret);
}

bool hp_peer_source_note(struct hp_peer_source *p, char buf[HP_PEER_NOTE])
{
	struct hp_client *client = client_of(p);
	char note[HP_CLIENT_NOTE];

	if (!client || !hp_client_note(client, note))
		return false;
	snprintf(buf, HP_PEER_NOTE, "%.390s: %s", p->ds->path, note);
	return true;
}
