/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of chunks for which there is no room: each is fetched for those who
 * wait for it just now, and given to them.  So many of them at a time, of which
 * none is longer than a piece.
 */
#include "serve/adopt_private.h"

#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };
#define KEPT (2 * HP_TURN_SECOND) /* until who waited has come for it */

uint64_t hp_pass_bytes(const struct hp_passed *p)
{
	return p->last - p->first + 1;
}

static void free_pass(struct hp_adopting *all, struct hp_passed *p)
{
	all->passes--;
	free(p->buf);
	free(p);
}

static struct hp_passed **find(struct hp_adopting *all,
			       const struct hp_adoptee *a, uint64_t first,
			       uint64_t last)
{
	struct hp_passed **at = &all->pass;

	while (*at &&
	       ((*at)->of != a || (*at)->first != first || (*at)->last != last))
		at = &(*at)->next;
	return at;
}

/* At the list's end: the first come, the first served. */
static struct hp_passed *make(struct hp_adopting *all, struct hp_adoptee *a,
			      uint64_t first, uint64_t last)
{
	struct hp_passed **at = find(all, a, first, last);

	if (*at || all->passes >= MOST || last - first >= HP_PIECE)
		return *at;
	*at = calloc(1, sizeof **at);
	if (!*at)
		return NULL;
	(*at)->of = a;
	(*at)->first = first;
	(*at)->last = last;
	all->passes++;
	return *at;
}

/* ---- Asked ------------------------------------------------------------ */

static void unlink_it(struct hp_passed **at)
{
	*at = (*at)->next;
}

/* The last one of those who were woken gets the buffer itself. */
static enum hp_adopt_is give(struct hp_adopting *all, struct hp_passed **at,
			     bool waited, void **ret)
{
	struct hp_passed *p = *at;

	if (waited && p->takers && !--p->takers) {
		*ret = p->buf;
		p->buf = NULL;
		unlink_it(at);
		free_pass(all, p);
		return HP_ADOPT_HERE;
	}
	*ret = malloc(hp_pass_bytes(p));
	if (!*ret)
		return HP_ADOPT_LATER;
	memcpy(*ret, p->buf, hp_pass_bytes(p));
	return HP_ADOPT_HERE;
}

enum hp_adopt_is hp_pass_ask(struct hp_adopting *all, struct hp_adoptee *a,
			     const struct hp_adopt_want *w, void **ret_body)
{
	struct hp_passed **at = find(all, a, w->first, w->last), *p;
	const struct hp_waiter is = { .came = hp_monotonic(),
				      .wake = w->wake,
				      .arg = w->arg };

	if (!w->begin)
		return HP_ADOPT_NOT;
	if (*at && (*at)->is == HP_PASS_HERE)
		return give(all, at, !w->wake, ret_body);
	if (!w->wake)
		return HP_ADOPT_LATER;
	p = make(all, a, w->first, w->last);
	if (!p || !hp_waiters_add(&p->waiters, NULL, &is))
		return HP_ADOPT_LATER;
	all->pace.asked = is.came;
	pthread_cond_broadcast(&all->work);
	return HP_ADOPT_WAIT;
}

struct hp_waiter *hp_pass_move(struct hp_adopting *all, struct hp_adoptee *a,
			       struct hp_waiter *w)
{
	struct hp_waiter *left = NULL, *next;

	for (; w; w = next) {
		struct hp_passed *p = make(all, a, w->first, w->last);
		bool is = p && p->is != HP_PASS_HERE;

		next = w->next;
		if (p && !is)
			p->takers++;
		w->next = is ? p->waiters : left;
		*(is ? &p->waiters : &left) = w;
	}
	pthread_cond_broadcast(&all->work);
	return left;
}

/* ---- Fetched ---------------------------------------------------------- */

struct hp_passed *hp_pass_next(const struct hp_adopting *all)
{
	struct hp_passed *p = all->pass;

	while (p && p->is != HP_PASS_WANTED)
		p = p->next;
	return p;
}

static void take_out(struct hp_adopting *all, struct hp_passed *p)
{
	unlink_it(find(all, p->of, p->first, p->last));
}

struct hp_waiter *hp_pass_came(struct hp_adopting *all, struct hp_passed *p,
			       int code)
{
	struct hp_waiter *ready = hp_waiters_all(&p->waiters);

	p->is = HP_PASS_HERE;
	p->came = hp_monotonic();
	for (const struct hp_waiter *w = ready; w; w = w->next)
		p->takers++;
	if (p->of && (code < 0 || !ready))
		take_out(all, p);
	if (!p->of || code < 0 || !ready)
		free_pass(all, p);
	return ready;
}

/* ---- Over ------------------------------------------------------------- */

struct hp_waiter *hp_pass_drop(struct hp_adopting *all,
			       const struct hp_adoptee *a)
{
	struct hp_waiter *ready = NULL;

	for (struct hp_passed **at = &all->pass; *at;) {
		struct hp_passed *p = *at;

		if (a && p->of != a) {
			at = &p->next;
			continue;
		}
		unlink_it(at);
		ready = hp_waiters_join(hp_waiters_all(&p->waiters), ready);
		p->of = NULL;
		/* Who is at it does the same. */
		if (p->is != HP_PASS_COMING)
			free_pass(all, p);
	}
	return ready;
}

struct hp_waiter *hp_pass_look(struct hp_adopting *all, uint64_t now,
			       uint64_t before)
{
	struct hp_waiter *ready = NULL;

	for (struct hp_passed **at = &all->pass; *at;) {
		struct hp_passed *p = *at;
		bool over;

		ready = hp_waiters_join(
			hp_waiters_old(&p->waiters, NULL, before), ready);
		over = p->is == HP_PASS_HERE ?
			       now >= p->came + KEPT :
			       p->is == HP_PASS_WANTED && !p->waiters;
		if (!over) {
			at = &p->next;
			continue;
		}
		unlink_it(at);
		free_pass(all, p);
	}
	return ready;
}
