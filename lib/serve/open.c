/* SPDX-License-Identifier: Apache-2.0 */
/* A stage directory in the hands of the node's server. */
#include "serve/private.h"

#include "base/error.h"
#include "format/names.h"

#include "peers/whom.h"
#include "serve/adopt.h"
#include "serve/held.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUEUE = 256 << 20 };

/* ---- Opened ----------------------------------------------------------- */

/* What others may write into is not served in this user's name. */
static int check_dir(struct hpdsl_serve *s, struct hpdsl_error *err)
{
	const char *path = s->ds->path;
	int r = hp_io_fstat(s->io, s->ds->dir, &s->dir);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	if (s->dir.st_uid != geteuid())
		return hp_fail(err, -EPERM,
			       "%s: belongs to user %u, not to the caller",
			       path, (unsigned)s->dir.st_uid);
	if (s->dir.st_mode & 022)
		return hp_fail(err, -EPERM,
			       "%s: others may write into it (mode %04o)", path,
			       (unsigned)s->dir.st_mode & 07777);
	return 0;
}

static int fill(struct hpdsl_serve *s, const char *dir, struct hpdsl_error *err)
{
	struct hpdsl_counts n;
	int r = hp_dataset_open(dir, 0, s->io, &s->ds, err);

	if (r < 0)
		return r;
	r = check_dir(s, err);
	if (r < 0)
		return r;
	if (!s->ds->stage || s->ds->stage->watch.fd < 0)
		return hp_fail(err, -ENOENT,
			       "%s: not a stage directory (no " HP_STATE_NAME
			       ")",
			       s->ds->path);
	r = hp_io_stat(s->io, s->ds->dir, HP_INDEX_NAME, &s->index, 0);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/" HP_INDEX_NAME, s->ds->path);
	hpdsl_count(s->ds, &n);
	hpdsl_pack_id(s->ds, s->pack);
	s->chunks = (uint32_t)n.chunks;
	s->state = calloc(n.chunks + 1, 1);
	s->have = calloc(hp_have_size(s->chunks) + 1, 1);
	s->files = hp_fd_cache_new(s->io, HP_CHUNK_FILES);
	return s->state && s->have && s->files && hp_adopt_new(s) ?
		       0 :
		       hp_fail_nomem(err);
}

/* Who looks once a second is not to wait for a lull in requests. */
static void init_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

int hpdsl_serve_open(const char *dir, const struct hpdsl_serve_options *opt,
		     struct hpdsl_serve **ret, struct hpdsl_error *err)
{
	struct hpdsl_serve *s = calloc(1, sizeof *s);
	struct hpdsl_error ignored;
	int r;

	if (!s)
		return hp_fail_nomem(err);
	s->io = hp_io_or_system(opt ? opt->io : NULL);
	s->queue = opt && opt->queue ? opt->queue : QUEUE;
	s->memory = opt ? opt->memory : 0;
	init_lock(&s->lock);
	pthread_mutex_init(&s->pace_lock, NULL);
	r = fill(s, dir, err);
	if (r < 0) {
		hpdsl_serve_close(s);
		return r;
	}
	/* What is wrong with a book is told when it is looked at again. */
	hpdsl_serve_look(s, &ignored);
	s->told[0] = '\0';
	*ret = s;
	return 0;
}

void hpdsl_serve_close(struct hpdsl_serve *s)
{
	if (!s || !hp_adopt_free(s))
		return;
	hp_held_free(s);
	if (s->table.file)
		hp_table_down(&s->table, hp_monotonic());
	hp_table_close(&s->table);
	hp_book_unload(s->book);
	hp_book_unload(s->before);
	hp_table_leave(&s->table_file);
	hp_fd_cache_free(s->files);
	hpdsl_close(s->ds);
	pthread_rwlock_destroy(&s->lock);
	pthread_mutex_destroy(&s->pace_lock);
	free(s->state);
	free(s->have);
	free(s);
}

/* ---- Looked at -------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int look_at_dir(const struct hpdsl_serve *s, struct hpdsl_error *err)
{
	const char *path = s->ds->path;
	struct stat st;

	if (hp_io_stat(s->io, AT_FDCWD, path, &st, 0) < 0 ||
	    !is_same(&st, &s->dir))
		return hp_fail(err, -ENOENT, "%s: is gone", path);
	if (hp_io_stat(s->io, s->ds->dir, HP_STATE_NAME, &st, 0) < 0)
		return hp_fail(err, -ENOENT,
			       "%s: is no stage directory any more", path);
	if (hp_io_stat(s->io, s->ds->dir, HP_INDEX_NAME, &st, 0) == 0 &&
	    (!is_same(&st, &s->index) || st.st_size != s->index.st_size))
		return hp_fail(err, HPDSL_ECHANGED, "%s: was staged anew",
			       path);
	return 0;
}

/* One that is of this dataset, and the table that goes with it. */
static int load_book(struct hpdsl_serve *s, struct hp_book_file **ret,
		     struct hp_table_file *ret_table, struct hpdsl_error *err)
{
	const struct hpdsl_dataset *ds = s->ds;
	int r = hp_book_load(s->io, ds->dir, ds->path, ret, err);

	if (r < 0)
		return r;
	if (memcmp((*ret)->book.head.pack, s->pack, sizeof s->pack) != 0)
		r = hp_fail(err, HPDSL_EDIFFERS,
			    "%s/" HP_BOOK_NAME ": is of another dataset",
			    ds->path);
	if (r == 0)
		r = hp_table_make(s->io, ds->dir, ds->path, &(*ret)->book.head,
				  ret_table, err);
	if (r < 0)
		hp_book_unload(*ret);
	return r;
}

/*
 * Under the lock.  When this server was up: others may be a little later.  Once
 * it goes no reader is to wait for those.
 */
static void say_up(struct hpdsl_serve *s)
{
	if (__atomic_load_n(&s->draining, __ATOMIC_RELAXED))
		hp_table_down(&s->table, hp_monotonic());
	else
		hp_table_up(&s->table, s->up);
	if (s->port && s->book)
		hp_table_found(&s->table, s->book->book.head.node,
			       hp_monotonic(), s->port);
}

/* Under the lock.  Without memory it is as if nobody had seen anything. */
static void turn_table(struct hpdsl_serve *s, const struct hp_table_file *file)
{
	hp_table_close(&s->table);
	hp_table_leave(&s->table_file);
	s->table_file = *file;
	s->up = hp_monotonic();
	if (hp_table_open(&s->table_file, &s->table) == 0)
		say_up(s);
}

/* Which of the two was the one before is of interest to who has read it. */
static void turn_page(struct hpdsl_serve *s, struct hp_book_file *now,
		      const struct hp_table_file *table)
{
	struct hp_book_file *old;

	pthread_rwlock_wrlock(&s->lock);
	old = s->book ? s->before : NULL;
	if (s->book)
		s->before = s->book;
	s->book = now;
	turn_table(s, table);
	__atomic_store_n(&s->rate, now->book.head.rate, __ATOMIC_RELAXED);
	pthread_rwlock_unlock(&s->lock);
	hp_book_unload(old);
}

void hpdsl_serve_listens(struct hpdsl_serve *s, uint16_t port)
{
	pthread_rwlock_wrlock(&s->lock);
	s->port = port;
	if (s->table.file)
		say_up(s);
	pthread_rwlock_unlock(&s->lock);
}

/* What is new of it, in *err. */
static void tell(struct hpdsl_serve *s, const struct hpdsl_error *why,
		 struct hpdsl_error *err)
{
	memcpy(s->told, why->msg, sizeof s->told);
	if (err)
		memcpy(err->msg, why->msg, sizeof err->msg);
}

/* What readers have seen is lost with it, and no more than that. */
static void look_at_table(struct hpdsl_serve *s, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_table_mend(&s->table_file, &why);

	pthread_rwlock_wrlock(&s->lock);
	if (s->table.file)
		hp_table_look(&s->table, hp_monotonic(), NULL);
	if (s->table.file && r > 0)
		say_up(s);
	pthread_rwlock_unlock(&s->lock);
	if (r > 0)
		hp_fail(&why, 0,
			"%s: was removed, cut or spoilt, and is made anew",
			s->table_file.name);
	if (r > 0 || (r < 0 && strcmp(s->told, why.msg) != 0))
		tell(s, &why, err);
}

/* Only this thread changes s->book. */
static void look_at_book(struct hpdsl_serve *s, struct hpdsl_error *err)
{
	struct hp_table_file table = { 0 };
	struct hp_book_file *now;
	struct hpdsl_error why;
	int r;

	if (s->book && hp_book_is_still(s->io, s->ds->dir, s->book)) {
		look_at_table(s, err);
		return;
	}
	r = load_book(s, &now, &table, &why);
	if (r == 0) {
		turn_page(s, now, &table);
		hp_held_turn(s);
		s->told[0] = '\0';
		return;
	}
	if (r != -ENOENT && strcmp(s->told, why.msg) != 0)
		tell(s, &why, err);
}

static void look_at_chunks(struct hpdsl_serve *s)
{
	struct hp_stage_watch *w = &s->ds->stage->watch;
	uint64_t here = 0, coming = 0;
	bool alive;

	hp_stage_watch_renew(w, 0);
	alive = hp_stage_watch_alive(w);
	pthread_rwlock_wrlock(&s->lock);
	hp_stage_watch_all(w, s->state);
	for (uint32_t c = 0; c < s->chunks; c++) {
		struct hpdsl_chunk row = { .compressed = false };
		enum hp_chunk_state is = hp_state_of(s->state[c]);

		/* Nobody brings it any more. */
		if (is == HP_CHUNK_COMING && !alive)
			is = HP_CHUNK_ABSENT;
		if (is == HP_CHUNK_READY)
			hpdsl_chunk_get(s->ds, c, &row, NULL);
		hp_have_set(s->have, c, hp_serve_have(row.compressed, is));
		here += is == HP_CHUNK_READY || is == HP_CHUNK_EXPANDED;
		coming += is == HP_CHUNK_COMING;
	}
	hp_adopt_have(s, s->have);
	pthread_rwlock_unlock(&s->lock);
	__atomic_store_n(&s->here, here, __ATOMIC_RELAXED);
	__atomic_store_n(&s->coming, coming, __ATOMIC_RELAXED);
}

int hpdsl_serve_look(struct hpdsl_serve *s, struct hpdsl_error *err)
{
	int r = look_at_dir(s, err);

	if (r < 0)
		return r;
	if (err)
		*err = (struct hpdsl_error){ 0 };
	look_at_book(s, err);
	look_at_chunks(s);
	hp_adopt_look(s, err ? err->msg : NULL, err ? sizeof err->msg : 0);
	return 0;
}

void hpdsl_serve_rate(struct hpdsl_serve *s, uint64_t bytes)
{
	pthread_mutex_lock(&s->pace_lock);
	s->pace.rate = (double)bytes;
	pthread_mutex_unlock(&s->pace_lock);
	__atomic_store_n(&s->count.rate, bytes, __ATOMIC_RELAXED);
}

void hpdsl_serve_drain(struct hpdsl_serve *s, bool on)
{
	__atomic_store_n(&s->draining, on, __ATOMIC_RELAXED);
	pthread_rwlock_wrlock(&s->lock);
	if (s->table.file)
		say_up(s);
	pthread_rwlock_unlock(&s->lock);
}

/* ---- The book --------------------------------------------------------- */

void hpdsl_serve_book(struct hpdsl_serve *s, struct hpdsl_serve_book *ret)
{
	*ret = (struct hpdsl_serve_book){ .any = false };
	pthread_rwlock_rdlock(&s->lock);
	if (s->book) {
		const struct hp_book_head *h = &s->book->book.head;

		ret->any = true;
		memcpy(ret->id, h->id, sizeof ret->id);
		ret->nodes = h->nodes;
		ret->node = h->node;
		ret->port = h->port;
		ret->ports = HP_BOOK_PORTS;
		memcpy(ret->job, h->job, sizeof ret->job);
		ret->addresses = hp_book_addresses(&s->book->book, h->node);
		if (ret->addresses)
			ret->mbits = hp_book_address(&s->book->book, h->node, 0)
					     .mbits;
		for (uint32_t i = 0; i < ret->addresses; i++)
			memcpy(ret->ip[i],
			       hp_book_address(&s->book->book, h->node, i).ip,
			       16);
	}
	pthread_rwlock_unlock(&s->lock);
}

static bool is_in(const struct hp_book_file *f, const uint8_t ip[16])
{
	return f && hp_book_find(&f->book, ip) != HP_NO_NODE;
}

bool hpdsl_serve_knows(struct hpdsl_serve *s, const uint8_t ip[16])
{
	bool is;

	pthread_rwlock_rdlock(&s->lock);
	is = is_in(s->book, ip) || is_in(s->before, ip);
	pthread_rwlock_unlock(&s->lock);
	return is;
}
