/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adopted chunk from when it is begun to when it is whole, has failed, or
 * has no room.  Under the lock of all of them.
 */
#include "serve/adopt_private.h"

#include "serve/held.h"

#include <errno.h>
#include <stdio.h>

/* Until room is looked for again. */
#define ROOM_AGAIN (10 * HP_TURN_SECOND)
/* .. for what nobody has asked for. */
#define REHOME_AGAIN (60 * HP_TURN_SECOND)

/* ---- Its end ---------------------------------------------------------- */

static void close_fd(struct hpdsl_serve *s, int *fd)
{
	if (*fd >= 0)
		s->io->close(s->io, *fd);
	*fd = -1;
}

void hp_adoptee_give_up(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	close_fd(s, &a->fd);
	close_fd(s, &a->origin);
	hp_adoptee_forget(s, a);
	hp_pieces_end(&a->coming.pieces);
	a->state = HP_ADOPT_FAILED;
	a->failing = false;
}

/* What it takes is given back, and the pieces are nobody's. */
struct hp_waiter *hp_adoptee_pass(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	struct hp_waiter *w = hp_waiters_all(&a->waiters);

	hp_adoptee_unlist(s->adoption, a);
	hp_adoptee_give_up(s, a);
	a->state = HP_ADOPT_PASSING;
	a->again.at = hp_monotonic() + ROOM_AGAIN;
	if (a->coming.unasked)
		s->adoption->rehome_after = hp_monotonic() + REHOME_AGAIN;
	return hp_pass_move(s->adoption, a, w);
}

void hp_adoptee_unlist(struct hp_adopting *all, struct hp_adoptee *a)
{
	struct hp_turn_chunk **at = &all->coming;

	while (*at && *at != &a->coming)
		at = &(*at)->next;
	if (*at)
		*at = a->coming.next;
}

static void tell_wrong(struct hp_adopting *all, const struct hp_adoptee *a)
{
	snprintf(all->told, sizeof all->told,
		 "%.200s: what the origin has of it is not what was packed",
		 a->row.name);
}

/* Some of it came from other nodes: it need not be the origin's fault. */
static bool doubt(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	a->doubted = true;
	hp_held_bad(s, a->sender - 1, a->row.number);
	return false;
}

/* Who else is at it still needs its descriptors. */
struct hp_waiter *hp_adoptee_fail(struct hpdsl_serve *s, struct hp_adoptee *a,
				  bool wrong)
{
	a->failing = true;
	if (wrong && a->sent)
		wrong = doubt(s, a);
	if (wrong && !a->again.wrong)
		tell_wrong(s->adoption, a);
	hp_again_failed(&a->again, wrong, hp_monotonic());
	hp_adoptee_unlist(s->adoption, a);
	return hp_waiters_join(hp_waiters_all(&a->waiters),
			       hp_pass_drop(s->adoption, a));
}

/* ---- Its beginning ---------------------------------------------------- */

static void list(struct hp_adopting *all, struct hp_adoptee *a)
{
	struct hp_turn_chunk **at = &all->coming;

	while (*at)
		at = &(*at)->next;
	a->coming.next = NULL;
	*at = &a->coming;
}

bool hp_adoptee_is_to_begin(const struct hp_adoptee *a)
{
	return (a->state == HP_ADOPT_FAILED || a->state == HP_ADOPT_PASSING) &&
	       hp_again_may(&a->again, hp_monotonic());
}

/* Its threads open what it takes: the origin may take its time. */
int hp_adoptee_begin(struct hpdsl_serve *s, struct hp_adoptee *a, bool unasked)
{
	if (!hp_pieces_begin(&a->coming.pieces, a->row.bytes))
		return -ENOMEM;
	a->state = HP_ADOPT_COMING;
	a->coming.open = a->failing = a->sent = false;
	a->own = a->doubted;
	a->coming.unasked = unasked;
	list(s->adoption, a);
	return 0;
}

bool hp_adoptee_may_begin(const struct hp_adopting *all, uint32_t chunk)
{
	const struct hp_adoptee *a = all->of ? all->of[chunk] : NULL;

	return !a || (!a->failing && a->state == HP_ADOPT_FAILED &&
		      hp_again_may(&a->again, hp_monotonic()));
}

/* ---- Who waited ------------------------------------------------------- */

void hp_adopting_wake(struct hp_adopting *all, struct hp_waiter *ready)
{
	if (!ready)
		return;
	all->waking++;
	pthread_mutex_unlock(&all->lock);
	hp_waiters_wake(ready);
	pthread_mutex_lock(&all->lock);
	if (!--all->waking)
		pthread_cond_broadcast(&all->woken);
}
