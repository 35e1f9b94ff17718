/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for stretches of a chunk that is on its way, and who has waited
 * enough.  Over memory; times are passed in.  Those who are taken out are the
 * caller's, to be woken where no lock is held.
 */
#ifndef HP_SERVE_WAITERS_H
#define HP_SERVE_WAITERS_H

#include "serve/pieces.h"

struct hp_waiter {
	struct hp_waiter *next;
	uint64_t came;
	uint64_t first, last; /* both inclusive */
	void (*wake)(void *arg);
	void *arg;
};

/*
 * *w is copied, but for next.  False: no memory.  p NULL, here and below: all
 * of them wait for one thing.
 */
bool hp_waiters_add(struct hp_waiter **all, struct hp_pieces *p,
		    const struct hp_waiter *w);
/* Those whose bytes are here. */
struct hp_waiter *hp_waiters_ready(struct hp_waiter **all, struct hp_pieces *p);
/* Those who came so early, or earlier. */
struct hp_waiter *hp_waiters_old(struct hp_waiter **all, struct hp_pieces *p,
				 uint64_t came);
/* All of them; nobody looks at the pieces any more. */
struct hp_waiter *hp_waiters_all(struct hp_waiter **all);

/* Both, as one list. */
struct hp_waiter *hp_waiters_join(struct hp_waiter *a, struct hp_waiter *b);

/* NULL is nobody. */
void hp_waiters_wake(struct hp_waiter *w);

#endif
