/* SPDX-License-Identifier: Apache-2.0 */
/* The list of those who wait for a chunk. */
#include "serve/waiters.h"

#include <stdlib.h>

bool hp_waiters_add(struct hp_waiter **all, struct hp_pieces *p,
		    const struct hp_waiter *w)
{
	struct hp_waiter *is = malloc(sizeof *is);

	if (!is)
		return false;
	*is = *w;
	is->next = *all;
	*all = is;
	if (p)
		hp_pieces_await(p, is->first, is->last);
	return true;
}

static struct hp_waiter *take(struct hp_waiter **at, struct hp_pieces *p,
			      struct hp_waiter *before)
{
	struct hp_waiter *w = *at;

	if (p)
		hp_pieces_let(p, w->first, w->last);
	*at = w->next;
	w->next = before;
	return w;
}

struct hp_waiter *hp_waiters_ready(struct hp_waiter **all, struct hp_pieces *p)
{
	struct hp_waiter *ret = NULL;

	while (*all)
		if (hp_pieces_have(p, (*all)->first, (*all)->last))
			ret = take(all, p, ret);
		else
			all = &(*all)->next;
	return ret;
}

struct hp_waiter *hp_waiters_old(struct hp_waiter **all, struct hp_pieces *p,
				 uint64_t came)
{
	struct hp_waiter *ret = NULL;

	while (*all)
		if ((*all)->came <= came)
			ret = take(all, p, ret);
		else
			all = &(*all)->next;
	return ret;
}

struct hp_waiter *hp_waiters_all(struct hp_waiter **all)
{
	struct hp_waiter *ret = *all;

	*all = NULL;
	return ret;
}

struct hp_waiter *hp_waiters_join(struct hp_waiter *a, struct hp_waiter *b)
{
	struct hp_waiter **end = &a;

	while (*end)
		end = &(*end)->next;
	*end = b;
	return a;
}

void hp_waiters_wake(struct hp_waiter *w)
{
	while (w) {
		struct hp_waiter *next = w->next;

		w->wake(w->arg);
		free(w);
		w = next;
	}
}
