/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopted chunks.  One lock over all of them; their threads read and write
 * without it.  Where a chunk cannot be fetched everybody who waits is sent
 * away, and it is not tried again for a second.
 */
#include "serve/adopt.h"

#include "base/error.h"
#include "base/file_digest.h"
#include "base/mem.h"
#include "serve/pieces.h"
#include "serve/private.h"
#include "sys/clock.h"
#include "sys/memory.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum {
	THREADS = 2,
	WAIT = 30, /* seconds, for an origin that says nothing */
	END = 5,   /* .. when the server ends */
};

struct waiter {
	struct waiter *next;
	uint64_t came; /* hp_monotonic */
	uint64_t first, last;
	void (*wake)(void *arg);
	void *arg;
};

enum state { COMING, WHOLE, FAILED };

struct adopted {
	struct adopted *next; /* of all that are coming */
	struct hpdsl_chunk row;
	enum state state;
	bool open;	 /* the copy and the origin are */
	bool failing;	 /* FAILED once nobody is at it any more */
	uint64_t failed; /* when; hp_monotonic */
	int fd;		 /* the copy; -1: none */
	int origin;
	unsigned busy; /* threads at it */
	struct hp_pieces pieces;
	struct waiter *waiters;
};

struct hp_adoption {
	pthread_mutex_t lock;
	pthread_cond_t work, woken;
	/* Under the lock. */
	struct adopted **of; /* by chunk; NULL: never asked for */
	struct adopted *coming;
	bool quit;
	unsigned waking; /* threads that wake those who have waited */
	double next;	 /* seconds: when the origin may be read again */
	pthread_t thread[THREADS];
	unsigned threads;
};

/* ---- Waiting ---------------------------------------------------------- */

static void wake_all(struct waiter *w)
{
	while (w) {
		struct waiter *next = w->next;

		w->wake(w->arg);
		free(w);
		w = next;
	}
}

/* Those who need not wait any longer; all of them, unless it is coming. */
static struct waiter *take_ready(struct adopted *a)
{
	struct waiter *ready = NULL, **at = &a->waiters;

	while (*at) {
		struct waiter *w = *at;

		if (a->state == COMING && !a->failing &&
		    !hp_pieces_have(&a->pieces, w->first, w->last)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		w->next = ready;
		ready = w;
		if (a->state == COMING)
			hp_pieces_let(&a->pieces, w->first, w->last);
	}
	return ready;
}

static bool add_waiter(struct adopted *a, const struct hp_adopt_want *want)
{
	struct waiter *w = want->wake ? malloc(sizeof *w) : NULL;

	if (!w)
		return false;
	*w = (struct waiter){ a->waiters, hp_monotonic(), want->first,
			      want->last, want->wake,	  want->arg };
	a->waiters = w;
	hp_pieces_await(&a->pieces, w->first, w->last);
	return true;
}

/* ---- The copy and the origin ------------------------------------------ */

/* What lies in memory is the job's: no more of it than staging would take. */
static uint64_t cap(struct hpdsl_serve *s, uint64_t unused)
{
	uint64_t type, left;

	if (s->io->fs_type(s->io, s->ds->dir, &type) < 0 ||
	    (type != TMPFS_MAGIC && type != RAMFS_MAGIC))
		return unused;
	left = hp_memory_left(s->io);
	return left < unused ? left : unused;
}

/* As staging has it: 5 % of what is free stays free. */
static bool has_room(struct hpdsl_serve *s, uint64_t bytes)
{
	struct statvfs fs;
	uint64_t unused;

	if (s->io->statvfs(s->io, s->ds->dir, &fs) < 0 ||
	    __builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize,
				   &unused))
		return false;
	unused = cap(s, unused);
	return bytes <= unused - unused / 20;
}

static int make_copy(struct hpdsl_serve *s, uint64_t bytes)
{
	hp_auto_fd f = { s->io, -1 };
	int r;

	if (!has_room(s, bytes))
		return -ENOSPC;
	f.fd = s->io->open(s->io, s->ds->dir, ".", O_TMPFILE | O_RDWR, 0600);
	if (f.fd < 0)
		return f.fd;
	r = s->io->allocate(s->io, f.fd, bytes);
	if (r == -EOPNOTSUPP)
		r = s->io->truncate(s->io, f.fd, bytes);
	if (r < 0)
		return r;
	r = f.fd;
	f.fd = -1;
	return r;
}

static int open_origin(struct hpdsl_serve *s, const struct hpdsl_chunk *row)
{
	struct hp_source o = hp_source_of(&hp_sources_files, HP_AT_ORIGIN,
					  s->io, row->number);
	hp_auto_free char *name =
		hp_stage_watch_origin(&s->ds->stage->watch, row->name);
	uint64_t size;
	int r;

	if (!name)
		return -ENOMEM;
	o.fd.fd = o.ops->open(s->io, s->ds->dir, name, 0);
	if (o.fd.fd < 0)
		return o.fd.fd;
	r = o.ops->identity(&o, row, &size);
	if (r == HP_SOURCE_IS_IT)
		return o.fd.fd;
	s->io->close(s->io, o.fd.fd);
	return r < 0 ? r : -ESTALE;
}

static void close_fd(struct hpdsl_serve *s, int *fd)
{
	if (*fd >= 0)
		s->io->close(s->io, *fd);
	*fd = -1;
}

static void give_up(struct hpdsl_serve *s, struct adopted *a)
{
	close_fd(s, &a->fd);
	close_fd(s, &a->origin);
	hp_pieces_end(&a->pieces);
	a->state = FAILED;
	a->failed = hp_monotonic();
}

/* Its threads open what it takes: the origin may take its time. */
static bool begin(struct hpdsl_serve *s, struct adopted *a)
{
	struct hp_adoption *all = s->adoption;

	if (!hp_pieces_begin(&a->pieces, a->row.bytes))
		return false;
	a->state = COMING;
	a->open = a->failing = false;
	a->next = all->coming;
	all->coming = a;
	return true;
}

/* ---- Its threads ------------------------------------------------------ */

/*
 * The next piece of any of them: awaited ones first.  HP_NO_PIECE: it is to be
 * opened.
 */
static struct adopted *find_work(struct hp_adoption *all, uint32_t *ret)
{
	for (int awaited = 1; awaited >= 0; awaited--)
		for (struct adopted *a = all->coming; a; a = a->next) {
			*ret = HP_NO_PIECE;
			if (!a->open && !a->busy)
				return a;
			if (a->open)
				*ret = hp_pieces_next(&a->pieces, awaited);
			if (*ret != HP_NO_PIECE)
				return a;
		}
	return NULL;
}

/* Under the lock, which it lets go; false: it is over. */
static bool wait_turn(struct hpdsl_serve *s, struct hp_adoption *all,
		      uint64_t n)
{
	double rate = (double)__atomic_load_n(&s->rate, __ATOMIC_RELAXED);
	double now = hp_now(), at;

	if (!(rate > 0))
		return !all->quit;
	at = all->next > now ? all->next : now;
	all->next = at + (double)n / rate;
	while (!all->quit && (now = hp_now()) < at) {
		struct timespec t = hp_deadline(at - now);

		pthread_cond_timedwait(&all->work, &all->lock, &t);
	}
	return !all->quit;
}

static int copy_piece(struct hpdsl_serve *s, const struct adopted *a,
		      uint32_t piece, uint8_t *buf)
{
	uint64_t at = (uint64_t)piece * HP_PIECE;
	size_t n = (size_t)hp_pieces_length(&a->pieces, piece);
	ssize_t got = hp_io_pread_full(s->io, a->origin, buf, n, at);

	if (got < 0)
		return (int)got;
	hp_serve_add(&s->count.adopted_bytes, (uint64_t)got);
	if ((size_t)got < n)
		return -ESTALE;
	return hp_io_pwrite_full(s->io, a->fd, buf, n, at);
}

/* The kept copy, read back. */
static bool is_right(struct hpdsl_serve *s, const struct adopted *a,
		     uint8_t *buf)
{
	struct hp_file_digest d;
	uint8_t digest[16];

	hp_file_digest_begin(&d);
	for (uint64_t at = 0; at < a->row.bytes; at += HP_PIECE) {
		uint64_t left = a->row.bytes - at;
		size_t n = left < HP_PIECE ? (size_t)left : HP_PIECE;

		if (hp_io_pread_full(s->io, a->fd, buf, n, at) != (ssize_t)n)
			return false;
		hp_file_digest_add(&d, buf, n);
	}
	hp_file_digest_end(&d, digest);
	return memcmp(digest, a->row.checksum, sizeof digest) == 0;
}

static void leave_list(struct hp_adoption *all, struct adopted *a)
{
	struct adopted **at = &all->coming;

	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
}

/* Under the lock, which it lets go. */
static bool check_whole(struct hpdsl_serve *s, struct adopted *a, uint8_t *buf)
{
	struct hp_adoption *all = s->adoption;
	bool right;

	leave_list(all, a);
	pthread_mutex_unlock(&all->lock);
	right = is_right(s, a, buf);
	pthread_mutex_lock(&all->lock);
	if (!right)
		return false;
	a->state = WHOLE;
	close_fd(s, &a->origin);
	hp_serve_add(&s->count.adopted, 1);
	return true;
}

/* Who else is at it still needs its descriptors. */
static void fail(struct hpdsl_serve *s, struct adopted *a)
{
	a->failing = true;
	leave_list(s->adoption, a);
	if (!a->busy)
		give_up(s, a);
}

/* Under the lock: a piece of it came. */
static int piece_came(struct hpdsl_serve *s, struct adopted *a, uint32_t piece,
		      uint8_t *buf)
{
	hp_pieces_came(&a->pieces, piece, true);
	if (a->failing)
		return -ECANCELED;
	return a->pieces.here < a->pieces.n || check_whole(s, a, buf) ?
		       0 :
		       HPDSL_ECORRUPT;
}

/* Without the lock: nobody else opens it. */
static int open_both(struct hpdsl_serve *s, struct adopted *a)
{
	a->origin = open_origin(s, &a->row);
	a->fd = a->origin < 0 ? a->origin : make_copy(s, a->row.bytes);
	return a->fd < 0 ? a->fd : 0;
}

/* Under the lock, which it lets go. */
static int do_work(struct hpdsl_serve *s, struct adopted *a, uint32_t piece,
		   uint8_t *buf)
{
	struct hp_adoption *all = s->adoption;
	bool opens = piece == HP_NO_PIECE;
	int r;

	if (!opens && !wait_turn(s, all, hp_pieces_length(&a->pieces, piece)))
		return -ECANCELED;
	pthread_mutex_unlock(&all->lock);
	r = opens ? open_both(s, a) : copy_piece(s, a, piece, buf);
	pthread_mutex_lock(&all->lock);
	if (r == 0 && opens)
		a->open = true;
	else if (r == 0)
		r = piece_came(s, a, piece, buf);
	return r;
}

/* Under the lock, which it lets go.  Nothing ends while they are woken. */
static void wake_unlocked(struct hp_adoption *all, struct waiter *ready)
{
	all->waking++;
	pthread_mutex_unlock(&all->lock);
	wake_all(ready);
	pthread_mutex_lock(&all->lock);
	if (!--all->waking)
		pthread_cond_broadcast(&all->woken);
}

static void *work(void *arg)
{
	struct hpdsl_serve *s = arg;
	struct hp_adoption *all = s->adoption;
	hp_auto_free uint8_t *buf = malloc(HP_PIECE);

	pthread_mutex_lock(&all->lock);
	while (!all->quit && buf) {
		uint32_t piece;
		struct adopted *a = find_work(all, &piece);
		int r;

		if (!a) {
			pthread_cond_wait(&all->work, &all->lock);
			continue;
		}
		a->busy++;
		r = do_work(s, a, piece, buf);
		a->busy--;
		if (r < 0 || (a->failing && !a->busy))
			fail(s, a);
		wake_unlocked(all, take_ready(a));
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* ---- Asked ------------------------------------------------------------ */

/* Under the lock. */
static bool start_threads(struct hpdsl_serve *s)
{
	struct hp_adoption *all = s->adoption;

	while (all->threads < THREADS &&
	       pthread_create(&all->thread[all->threads], NULL, work, s) == 0)
		all->threads++;
	return all->threads > 0;
}

static struct adopted *find(struct hpdsl_serve *s,
			    const struct hp_adopt_want *w)
{
	struct hp_adoption *all = s->adoption;
	struct adopted *a;

	if (!all->of && w->begin)
		all->of = calloc(s->chunks, sizeof(*all->of));
	if (!all->of)
		return NULL;
	a = all->of[w->row->number];
	if (a || !w->begin)
		return a;
	a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	a->row = *w->row;
	a->state = FAILED;
	a->fd = a->origin = -1;
	all->of[w->row->number] = a;
	return a;
}

/* It may be tried: never, or not for a while. */
static bool try_again(struct hpdsl_serve *s, struct adopted *a)
{
	if (a->failed && hp_monotonic() - a->failed < SECOND)
		return false;
	return start_threads(s) && begin(s, a);
}

static enum hp_adopt_is ask(struct hpdsl_serve *s,
			    const struct hp_adopt_want *w, int *ret_fd)
{
	struct hp_adoption *all = s->adoption;
	struct adopted *a = all->quit ? NULL : find(s, w);
	int fd;

	if (!a || (a->state == FAILED && (!w->begin || !try_again(s, a))))
		return HP_ADOPT_NOT;
	if (a->failing)
		return HP_ADOPT_NOT;
	if (a->state == COMING &&
	    !hp_pieces_have(&a->pieces, w->first, w->last)) {
		if (!w->begin || !add_waiter(a, w))
			return HP_ADOPT_NOT;
		pthread_cond_broadcast(&all->work);
		return HP_ADOPT_WAIT;
	}
	fd = s->io->dup(s->io, a->fd);
	if (fd < 0)
		return HP_ADOPT_NOT;
	*ret_fd = fd;
	return HP_ADOPT_HERE;
}

enum hp_adopt_is hp_adopt_ask(struct hpdsl_serve *s,
			      const struct hp_adopt_want *w, int *ret_fd)
{
	enum hp_adopt_is is;

	pthread_mutex_lock(&s->adoption->lock);
	is = ask(s, w, ret_fd);
	pthread_mutex_unlock(&s->adoption->lock);
	return is;
}

void hp_adopt_have(struct hpdsl_serve *s, uint8_t *have)
{
	struct hp_adoption *all = s->adoption;

	pthread_mutex_lock(&all->lock);
	for (uint32_t c = 0; all->of && c < s->chunks; c++)
		if (all->of[c] && all->of[c]->state == WHOLE)
			hp_have_set(have, c,
				    all->of[c]->row.compressed ?
					    HP_HAVE_STORED :
					    HP_HAVE_PLAIN);
	pthread_mutex_unlock(&all->lock);
}

/* An origin that hangs keeps its threads, but nobody else. */
static struct waiter *expire(struct hp_adoption *all, struct adopted *a,
			     uint64_t now)
{
	for (const struct waiter *w = a->waiters; w; w = w->next)
		if (now - w->came >= WAIT * SECOND) {
			a->failing = true;
			leave_list(all, a);
			return take_ready(a);
		}
	return NULL;
}

void hp_adopt_look(struct hpdsl_serve *s)
{
	struct hp_adoption *all = s->adoption;
	uint64_t now = hp_monotonic();
	struct adopted *a, *next;

	pthread_mutex_lock(&all->lock);
	for (a = all->coming; a; a = next) {
		struct waiter *ready;

		next = a->next;
		ready = expire(all, a, now);
		if (a->failing && !a->busy)
			give_up(s, a);
		if (!ready)
			continue;
		wake_unlocked(all, ready);
		next = all->coming;
	}
	pthread_mutex_unlock(&all->lock);
}

/* ---- Of a server ------------------------------------------------------ */

bool hp_adopt_new(struct hpdsl_serve *s)
{
	struct hp_adoption *all = calloc(1, sizeof *all);

	if (!all)
		return false;
	pthread_mutex_init(&all->lock, NULL);
	hp_cond_init(&all->work);
	hp_cond_init(&all->woken);
	s->adoption = all;
	return true;
}

void hp_adopt_quit(struct hpdsl_serve *s)
{
	struct hp_adoption *all = s->adoption;
	struct waiter *ready = NULL;

	pthread_mutex_lock(&all->lock);
	all->quit = true;
	pthread_cond_broadcast(&all->work);
	for (uint32_t c = 0; all->of && c < s->chunks; c++) {
		struct waiter **at;

		if (!all->of[c])
			continue;
		for (at = &all->of[c]->waiters; *at; at = &(*at)->next)
			;
		*at = ready;
		ready = all->of[c]->waiters;
		all->of[c]->waiters = NULL;
	}
	wake_unlocked(all, ready);
	while (all->waking)
		pthread_cond_wait(&all->woken, &all->lock);
	pthread_mutex_unlock(&all->lock);
}

/* One that reads an origin that hangs does not hold up the end. */
static bool join(struct hp_adoption *all)
{
	bool all_there = true;

	for (unsigned i = 0; i < all->threads; i++) {
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += END;
		if (pthread_timedjoin_np(all->thread[i], NULL, &t)) {
			pthread_detach(all->thread[i]);
			all_there = false;
		}
	}
	all->threads = 0;
	return all_there;
}

bool hp_adopt_free(struct hpdsl_serve *s)
{
	struct hp_adoption *all = s->adoption;

	if (!all)
		return true;
	hp_adopt_quit(s);
	if (!join(all))
		return false;
	for (uint32_t c = 0; all->of && c < s->chunks; c++) {
		struct adopted *a = all->of[c];

		if (!a)
			continue;
		close_fd(s, &a->fd);
		close_fd(s, &a->origin);
		hp_pieces_end(&a->pieces);
		free(a);
	}
	free(all->of);
	pthread_cond_destroy(&all->work);
	pthread_cond_destroy(&all->woken);
	pthread_mutex_destroy(&all->lock);
	free(all);
	s->adoption = NULL;
	return true;
}
