/* SPDX-License-Identifier: Apache-2.0 */
/* Who is watched, and how often one hears of him: pure functions. */
#include "peers.h"

#include <stdlib.h>

#define BEAT_EVERY 1.0
#define BEATS_A_SECOND 1000.0

static int by_rank(const void *a, const void *b)
{
	const struct stage_peer *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

void peers_sort(struct stage_peer *p, size_t n)
{
	if (n)
		qsort(p, n, sizeof(*p), by_rank);
}

struct stage_peer *peers_find(struct stage_peer *p, size_t n, int rank)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (p[middle].rank < rank)
			from = middle + 1;
		else
			to = middle;
	}
	return from < n && p[from].rank == rank ? &p[from] : NULL;
}

double peers_beat_every(uint32_t nodes, double patience)
{
	double every = (double)nodes / BEATS_A_SECOND, third = patience / 3;

	if (every < BEAT_EVERY)
		every = BEAT_EVERY;
	return every < third ? every : third;
}

double peers_first_beat(uint32_t node, uint32_t nodes, double every)
{
	return every * ((double)node / (double)nodes);
}

double peers_seen(double seen, double now, double gap, double every)
{
	double missed = gap > every ? gap - every : 0;

	return seen + missed < now ? seen + missed : now;
}
