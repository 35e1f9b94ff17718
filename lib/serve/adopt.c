/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopted chunks, and who asks for them.  One lock over all of them; the
 * threads that fetch read and write without it.  Where a chunk cannot be
 * fetched everybody who waits for it is sent away, and it is not tried again
 * for a while.
 */
#include "serve/adopt_private.h"

#include "serve/held.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* That bytes may take to come, and somebody may wait for his. */
#define PATIENCE (30 * HP_TURN_SECOND)

/* ---- Asked ------------------------------------------------------------ */

static int begin(struct hpdsl_serve *s, struct hp_adoptee *a, bool unasked)
{
	return hp_fetchers_start(s) ? hp_adoptee_begin(s, a, unasked) : -EAGAIN;
}

static struct hp_adoptee *find(struct hpdsl_serve *s,
			       const struct hp_adopt_want *w)
{
	struct hp_adopting *all = s->adoption;
	struct hp_adoptee *a;

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
	a->state = HP_ADOPT_FAILED;
	a->fd = a->origin = -1;
	all->of[w->row->number] = a;
	return a;
}

static void begin_unasked(struct hpdsl_serve *s, const struct hpdsl_chunk *row)
{
	const struct hp_adopt_want w = { .row = row, .begin = true };
	struct hp_adoptee *a = find(s, &w);

	if (a && begin(s, a, true) == 0)
		pthread_cond_broadcast(&s->adoption->work);
}

static enum hp_adopt_is await(struct hp_adopting *all, struct hp_adoptee *a,
			      const struct hp_adopt_want *w)
{
	const struct hp_waiter is = { .came = hp_monotonic(),
				      .first = w->first,
				      .last = w->last,
				      .wake = w->wake,
				      .arg = w->arg };

	if (!w->begin)
		return HP_ADOPT_NOT;
	if (!w->wake || !hp_waiters_add(&a->waiters, &a->coming.pieces, &is))
		return HP_ADOPT_LATER;
	all->pace.asked = is.came;
	pthread_cond_broadcast(&all->work);
	return HP_ADOPT_WAIT;
}

static enum hp_adopt_is ask(struct hpdsl_serve *s,
			    const struct hp_adopt_want *w,
			    struct hp_adopt_got *ret)
{
	struct hp_adopting *all = s->adoption;
	struct hp_adoptee *a = all->quit ? NULL : find(s, w);

	if (!a || a->failing)
		return HP_ADOPT_NOT;
	if (w->begin && w->wake && hp_adoptee_is_to_begin(a) &&
	    begin(s, a, false) < 0)
		return HP_ADOPT_NOT;
	if (w->begin)
		a->coming.unasked = false;
	if (a->state == HP_ADOPT_FAILED)
		return HP_ADOPT_NOT;
	if (a->state == HP_ADOPT_PASSING)
		return hp_pass_ask(all, a, w, &ret->body);
	if (a->state == HP_ADOPT_COMING &&
	    !hp_pieces_have(&a->coming.pieces, w->first, w->last))
		return await(all, a, w);
	ret->fd = s->io->dup(s->io, a->fd);
	return ret->fd < 0 ? HP_ADOPT_NOT : HP_ADOPT_HERE;
}

enum hp_adopt_is hp_adopt_ask(struct hpdsl_serve *s,
			      const struct hp_adopt_want *w,
			      struct hp_adopt_got *ret)
{
	enum hp_adopt_is is;

	*ret = (struct hp_adopt_got){ .fd = -1 };

	pthread_mutex_lock(&s->adoption->lock);
	is = ask(s, w, ret);
	pthread_mutex_unlock(&s->adoption->lock);
	return is;
}

void hp_adopt_have(struct hpdsl_serve *s, uint8_t *have)
{
	struct hp_adopting *all = s->adoption;

	pthread_mutex_lock(&all->lock);
	for (uint32_t c = 0; all->of && c < s->chunks; c++)
		if (all->of[c] && all->of[c]->state == HP_ADOPT_WHOLE)
			hp_have_set(have, c,
				    all->of[c]->row.compressed ?
					    HP_HAVE_STORED :
					    HP_HAVE_PLAIN);
	pthread_mutex_unlock(&all->lock);
}

/* ---- Looked at -------------------------------------------------------- */

/* Those who have waited too long go alone: the chunk comes all the same. */
static void let_go(struct hp_adopting *all, uint64_t now)
{
	struct hp_waiter *ready = NULL;
	uint64_t before = now - all->patience;

	if (now < all->patience)
		return;
	for (struct hp_turn_chunk *c = all->coming; c; c = c->next) {
		struct hp_adoptee *a = (struct hp_adoptee *)c;

		ready = hp_waiters_join(
			hp_waiters_old(&a->waiters, &c->pieces, before), ready);
	}
	ready = hp_waiters_join(hp_pass_look(all, now, before), ready);
	hp_adopting_wake(all, ready);
}

void hp_adopt_look(struct hpdsl_serve *s, char *told, size_t room)
{
	struct hp_adopting *all = s->adoption;
	uint64_t now = hp_monotonic();
	struct hpdsl_chunk row;

	pthread_mutex_lock(&all->lock);
	hp_fetchers_look(s, now);
	let_go(all, now);
	if (hp_adopt_rehome(s, now, &row))
		begin_unasked(s, &row);
	if (told && !*told) {
		snprintf(told, room, "%s", all->told);
		all->told[0] = '\0';
	}
	pthread_mutex_unlock(&all->lock);
}

/* ---- Of a server ------------------------------------------------------ */

bool hp_adopt_new(struct hpdsl_serve *s)
{
	struct hp_adopting *all = calloc(1, sizeof *all);

	if (!all)
		return false;
	pthread_mutex_init(&all->lock, NULL);
	hp_cond_init(&all->work);
	hp_cond_init(&all->woken);
	all->patience = PATIENCE;
	all->ask_others = hp_held_read;
	all->pace.slow = 1;
	s->adoption = all;
	return true;
}

void hp_adopt_quit(struct hpdsl_serve *s)
{
	struct hp_adopting *all = s->adoption;
	struct hp_waiter *ready = NULL;

	pthread_mutex_lock(&all->lock);
	all->quit = true;
	pthread_cond_broadcast(&all->work);
	for (uint32_t c = 0; all->of && c < s->chunks; c++)
		if (all->of[c])
			ready = hp_waiters_join(
				hp_waiters_all(&all->of[c]->waiters), ready);
	ready = hp_waiters_join(hp_pass_drop(all, NULL), ready);
	hp_adopting_wake(all, ready);
	while (all->waking)
		pthread_cond_wait(&all->woken, &all->lock);
	pthread_mutex_unlock(&all->lock);
}

bool hp_adopt_free(struct hpdsl_serve *s)
{
	struct hp_adopting *all = s->adoption;

	if (!all)
		return true;
	hp_adopt_quit(s);
	if (!hp_fetchers_join(all))
		return false;
	for (uint32_t c = 0; all->of && c < s->chunks; c++) {
		struct hp_adoptee *a = all->of[c];

		if (!a)
			continue;
		hp_adoptee_give_up(s, a);
		free(a);
	}
	hp_rehome_end(&all->rehome);
	free(all->of);
	pthread_cond_destroy(&all->work);
	pthread_cond_destroy(&all->woken);
	pthread_mutex_destroy(&all->lock);
	free(all);
	s->adoption = NULL;
	return true;
}
