/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens next in a simulation: events by time, those of one time in the
 * order in which they were made.  Time is counted in whole picoseconds, so
 * that what is simulated is the same on every machine.
 */
#ifndef BENCH_SIM_EVENTS_H
#define BENCH_SIM_EVENTS_H

#include "spread/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum event_kind { ORIGIN, READ, HEAD, DATA, MESSAGE, WRITTEN, CHECKED };

struct event {
	uint64_t at, number;
	uint32_t node, peer;
	uint8_t kind;
	struct hp_message m;
	struct event *next; /* unused ones */
};

struct events {
	struct event **heap; /* each has four below it */
	uint64_t n, room, made;
	struct event *unused;
};

static inline void *cleared(uint64_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "sim_stage: out of memory\n");
		exit(3);
	}
	return p;
}

static inline bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static inline struct event *event_take(struct events *s)
{
	struct event *p = s->unused;

	if (!p)
		return cleared(1, sizeof *p);
	s->unused = p->next;
	return p;
}

static inline void event_put(struct events *s, struct event *p)
{
	p->next = s->unused;
	s->unused = p;
}

static inline void later(struct events *s, const struct event *e)
{
	struct event *p = event_take(s);
	uint64_t i = s->n++;

	*p = *e;
	p->number = s->made++;
	if (i == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->heap = realloc(s->heap, s->room * sizeof(struct event *));
		if (!s->heap)
			exit(3);
	}
	for (; i && before(p, s->heap[(i - 1) / 4]); i = (i - 1) / 4)
		s->heap[i] = s->heap[(i - 1) / 4];
	s->heap[i] = p;
}

/* There is one. */
static inline struct event soonest(struct events *s)
{
	struct event ret = *s->heap[0], *last = s->heap[--s->n];

	event_put(s, s->heap[0]);
	for (uint64_t i = 0, least; s->n; i = least) {
		least = 4 * i + 1;
		for (uint64_t k = least + 1; k < 4 * i + 5 && k < s->n; k++)
			if (before(s->heap[k], s->heap[least]))
				least = k;
		if (least >= s->n || before(last, s->heap[least])) {
			s->heap[i] = last;
			break;
		}
		s->heap[i] = s->heap[least];
	}
	return ret;
}

static inline void events_free(struct events *s)
{
	while (s->unused)
		free(event_take(s));
	free(s->heap);
	*s = (struct events){ 0 };
}

#endif
