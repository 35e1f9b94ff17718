/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that fetch adopted chunks.  One that hangs in a read is left
 * alone, and another one takes its place; what it was at fails, and when it
 * comes back nobody wants what it has.
 */
#include "serve/adopt_private.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS = HP_FETCHERS + HP_FETCHERS_HUNG };
#define END 5 /* seconds that all of them have to end */

/* ---- A turn ----------------------------------------------------------- */

/* Under the lock, which it lets go: those who need not wait do not wait for
 * the checksum either. */
static int check_whole(struct hp_fetcher *f, struct hp_adoptee *a, uint8_t *buf)
{
	struct hpdsl_serve *s = f->s;
	struct hp_adopting *all = s->adoption;
	struct hp_waiter *ready;
	bool right;

	hp_adoptee_unlist(all, a);
	ready = hp_waiters_ready(&a->waiters, &a->coming.pieces);
	hp_adopting_wake(all, ready);
	pthread_mutex_unlock(&all->lock);
	right = hp_adoptee_is_right(s, a, buf, &f->moved);
	pthread_mutex_lock(&all->lock);
	if (a->failing)
		return -ECANCELED;
	if (!right)
		return HPDSL_ECORRUPT;
	s->io->close(s->io, a->origin);
	a->origin = -1;
	a->state = HP_ADOPT_WHOLE;
	hp_serve_add(&s->count.adopted, 1);
	hp_serve_add(&s->count.rehomed, a->coming.unasked);
	return 0;
}

/* Under the lock. */
static int piece_came(struct hp_fetcher *f, struct hp_adoptee *a,
		      uint32_t piece, uint8_t *buf)
{
	struct hp_pieces *p = &a->coming.pieces;

	hp_pieces_came(p, piece, true);
	hp_adoptee_unreserve(f->s->adoption, a, hp_pieces_length(p, piece));
	return p->here < p->n ? 0 : check_whole(f, a, buf);
}

/* The same, which it lets go. */
static int try_it(struct hp_fetcher *f, struct hp_adoptee *a, uint32_t piece,
		  uint8_t *buf)
{
	struct hpdsl_serve *s = f->s;
	pthread_mutex_t *lock = &s->adoption->lock;
	bool opens = piece == HP_NO_PIECE;
	int r;

	pthread_mutex_unlock(lock);
	r = opens ? hp_adoptee_open(s, a) :
		    hp_adoptee_fetch(s, a, piece, buf, &f->moved);
	pthread_mutex_lock(lock);
	if (a->failing)
		return -ECANCELED;
	if (r == 0 && opens)
		a->coming.open = true;
	else if (r == 0)
		r = piece_came(f, a, piece, buf);
	return r;
}

static void enter(struct hp_fetcher *f, struct hp_adoptee *a)
{
	a->coming.busy++;
	f->at = a;
	hp_fetcher_moves(&f->moved);
}

static void leave(struct hp_fetcher *f, struct hp_adoptee *a)
{
	f->at = NULL;
	if (f->is == HP_FETCHER_HANGS)
		f->is = HP_FETCHER_RUNS;
	a->coming.busy--;
}

/* Others were to give it, and did not: it was the origin's after all. */
static void see_whose(struct hp_adopting *all, struct hp_adoptee *a,
		      uint32_t piece)
{
	if (!a->coming.held || !a->own)
		return;
	a->coming.held = false;
	hp_turn_owe(&all->pace, hp_pieces_length(&a->coming.pieces, piece),
		    hp_monotonic());
}

static bool is_full(int code)
{
	return code == -ENOSPC || code == -EDQUOT;
}

static void do_turn(struct hp_fetcher *f, struct hp_adoptee *a, uint32_t piece,
		    uint8_t *buf)
{
	struct hpdsl_serve *s = f->s;
	struct hp_waiter *ready;
	int r;

	enter(f, a);
	r = try_it(f, a, piece, buf);
	leave(f, a);
	if (piece != HP_NO_PIECE)
		see_whose(s->adoption, a, piece);
	if (is_full(r) && !a->failing && !a->coming.busy)
		ready = hp_adoptee_pass(s, a);
	else if (r < 0 && !a->failing)
		ready = hp_adoptee_fail(s, a, r == HPDSL_ECORRUPT);
	else
		ready = hp_waiters_ready(&a->waiters, &a->coming.pieces);
	if (a->failing && !a->coming.busy)
		hp_adoptee_give_up(s, a);
	hp_adopting_wake(s->adoption, ready);
}

/* A stretch of what there is no room for. */
static void pass_on(struct hp_fetcher *f, struct hp_passed *p)
{
	struct hpdsl_serve *s = f->s;
	struct hp_adoptee *a = p->of;
	struct hp_waiter *ready;
	int r;

	p->is = HP_PASS_COMING;
	enter(f, a);
	pthread_mutex_unlock(&s->adoption->lock);
	r = hp_adoptee_pass_on(s, a, p, &f->moved);
	pthread_mutex_lock(&s->adoption->lock);
	leave(f, a);
	ready = hp_pass_came(s->adoption, p, r);
	if (r < 0 && !a->failing && a->state == HP_ADOPT_PASSING)
		ready = hp_waiters_join(hp_adoptee_fail(s, a, false), ready);
	if (a->failing && !a->coming.busy)
		hp_adoptee_give_up(s, a);
	hp_adopting_wake(s->adoption, ready);
}

/* ---- A thread --------------------------------------------------------- */

static unsigned running(const struct hp_adopting *all)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		n += all->fetcher[i].is == HP_FETCHER_RUNS;
	return n;
}

static void sleep_until(struct hp_adopting *all, uint64_t at, uint64_t now)
{
	struct timespec t;

	if (at == UINT64_MAX) {
		pthread_cond_wait(&all->work, &all->lock);
		return;
	}
	t = hp_deadline((double)(at - now) / 1e9);
	pthread_cond_timedwait(&all->work, &all->lock, &t);
}

/* Under the lock, which it lets go. */
static void next_turn(struct hp_fetcher *f, uint8_t *buf)
{
	struct hp_adopting *all = f->s->adoption;
	struct hp_passed *p = hp_pass_next(all);
	uint64_t now = hp_monotonic();
	struct hp_turn t;

	all->pace.rate = __atomic_load_n(&f->s->rate, __ATOMIC_RELAXED);
	if (p && hp_turn_take(&all->pace, hp_pass_bytes(p), now)) {
		pass_on(f, p);
		return;
	}
	t = hp_turn_next(all->coming, &all->pace, now);
	if (p && t.until > all->pace.next)
		t.until = all->pace.next;
	if (t.of)
		do_turn(f, (struct hp_adoptee *)t.of, t.piece, buf);
	else
		sleep_until(all, t.until, now);
}

static void *work(void *arg)
{
	struct hp_fetcher *f = arg;
	struct hp_adopting *all = f->s->adoption;
	hp_auto_free uint8_t *buf = malloc(HP_PIECE);

	pthread_mutex_lock(&all->lock);
	/* One that hung, and came back, has been replaced. */
	while (!all->quit && buf && running(all) <= HP_FETCHERS)
		next_turn(f, buf);
	f->is = HP_FETCHER_ENDED;
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

static bool start_one(struct hpdsl_serve *s)
{
	struct hp_fetcher *f = s->adoption->fetcher;
	unsigned i = 0;

	while (i < SLOTS &&
	       (f[i].is == HP_FETCHER_RUNS || f[i].is == HP_FETCHER_HANGS))
		i++;
	if (i == SLOTS)
		return false;
	/* It has let the lock go for the last time. */
	if (f[i].is == HP_FETCHER_ENDED)
		pthread_join(f[i].thread, NULL);
	f[i] = (struct hp_fetcher){ .s = s };
	if (pthread_create(&f[i].thread, NULL, work, &f[i]) != 0)
		f[i].s = NULL;
	else
		f[i].is = HP_FETCHER_RUNS;
	return f[i].s;
}

bool hp_fetchers_start(struct hpdsl_serve *s)
{
	while (running(s->adoption) < HP_FETCHERS && start_one(s))
		;
	return running(s->adoption) > 0;
}

/* ---- Watched ---------------------------------------------------------- */

static bool hangs(const struct hp_adopting *all, const struct hp_fetcher *f,
		  uint64_t now)
{
	uint64_t moved = __atomic_load_n(&f->moved, __ATOMIC_RELAXED);

	return f->is == HP_FETCHER_RUNS && f->at && now > moved &&
	       now - moved >= all->patience;
}

void hp_fetchers_look(struct hpdsl_serve *s, uint64_t now)
{
	struct hp_adopting *all = s->adoption;

	for (unsigned i = 0; i < SLOTS; i++) {
		struct hp_fetcher *f = &all->fetcher[i];
		struct hp_waiter *ready = NULL;

		if (!hangs(all, f, now))
			continue;
		f->is = HP_FETCHER_HANGS;
		if (!f->at->failing)
			ready = hp_adoptee_fail(s, f->at, false);
		if (!all->quit)
			hp_fetchers_start(s);
		hp_adopting_wake(all, ready);
	}
}

bool hp_fetchers_join(struct hp_adopting *all)
{
	bool all_there = true;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += END;
	for (unsigned i = 0; i < SLOTS; i++) {
		struct hp_fetcher *f = &all->fetcher[i];

		/* Its slot is the caller's: nobody starts any more. */
		if (!f->s)
			continue;
		if (pthread_timedjoin_np(f->thread, NULL, &t)) {
			pthread_detach(f->thread);
			all_there = false;
		}
		f->s = NULL;
	}
	return all_there;
}
