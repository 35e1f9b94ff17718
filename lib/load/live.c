/* SPDX-License-Identifier: Apache-2.0 */
/* A sum over turns, kept as its differences. */
#include "load/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hp_load_live_at(struct hp_load_live *l, uint64_t turn)
{
	uint64_t gone = turn - l->turn;
	int64_t sum = 0;

	if (!gone)
		return;
	l->turn = turn;
	for (size_t i = 0; i < l->n && i <= gone; i++)
		sum += l->v[i];
	if (gone >= l->n) {
		l->n = l->n ? 1 : 0;
		if (l->n)
			l->v[0] = sum;
		return;
	}
	memmove(l->v, l->v + gone, (l->n - gone) * sizeof *l->v);
	l->n -= gone;
	l->v[0] = sum;
}

/* Turns that may always be looked at; more of them have to be worth it. */
enum { TURNS = 4096 };

/* 1; 0: so far ahead that the sums would take too much of the limit. */
static int grow(struct hp_load_live *l, uint64_t last, uint64_t limit)
{
	uint64_t n = last + 1 - l->turn;
	int64_t *v;

	if (n <= l->n)
		return 1;
	if (n > TURNS && n > limit / 128)
		return 0;
	if (n > l->room) {
		v = realloc(l->v, 2 * n * sizeof *v);
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->room = 2 * n;
	}
	memset(l->v + l->n, 0, (n - l->n) * sizeof *l->v);
	l->n = n;
	return 1;
}

/* last: the turn in which the last of it goes. */
static void add(struct hp_load_live *l, const struct hp_load_unit *u,
		uint64_t last, size_t slot, int sign)
{
	/* Its arrays are there from now on. */
	l->v[0] += (int64_t)u->bytes * sign;
	l->v[last - l->turn] -= (int64_t)u->bytes * sign;
	for (uint32_t i = 0; i < u->blocks; i++) {
		const struct hp_load_block *b = &u->block[i];
		int64_t cost = (int64_t)hp_slots_cost(slot, b->b.room) * sign;

		l->v[b->first - l->turn] += cost;
		/* Those of its last turn may be out in the next one. */
		l->v[b->last + 2 - l->turn] -= cost;
	}
}

static uint64_t most(const struct hp_load_live *l)
{
	int64_t sum = 0, max = 0;

	for (size_t i = 0; i < l->n; i++) {
		sum += l->v[i];
		if (sum > max)
			max = sum;
	}
	return (uint64_t)max;
}

int hp_load_live_add(struct hp_load_live *l, const struct hp_load_unit *u,
		     size_t slot, uint64_t limit)
{
	uint64_t last = l->turn;
	int r;

	for (uint32_t i = 0; i < u->blocks; i++)
		if (u->block[i].last > last)
			last = u->block[i].last;
	last += 2;
	r = grow(l, last, limit);
	if (r <= 0)
		return r;
	add(l, u, last, slot, 1);
	if (most(l) <= limit)
		return 1;
	add(l, u, last, slot, -1);
	return 0;
}

void hp_load_live_release(struct hp_load_live *l)
{
	free(l->v);
	*l = (struct hp_load_live){ 0 };
}
