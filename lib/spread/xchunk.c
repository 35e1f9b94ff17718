/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange's chunks: found by number, and in the lists of what is to do. */
#include "spread/private.h"

#include <stdlib.h>

static uint64_t bucket_of(uint64_t chunk, uint64_t buckets)
{
	return (chunk * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (buckets - 1);
}

struct hp_xchunk *hp_xchunk_find(const struct hp_exchange *x, uint64_t chunk)
{
	struct hp_xchunk *k = x->bucket[bucket_of(chunk, x->buckets)];

	while (k && k->chunk != chunk)
		k = k->next;
	return k;
}

static void put_into(struct hp_xchunk **bucket, uint64_t buckets,
		     struct hp_xchunk *k)
{
	struct hp_xchunk **b = bucket + bucket_of(k->chunk, buckets);

	k->next = *b;
	*b = k;
}

/* Without memory for more of them the lists grow longer: no harm. */
static void more_buckets(struct hp_exchange *x)
{
	struct hp_xchunk **bucket, *k, *next;

	if (x->chunks < x->buckets || x->buckets >= UINT32_MAX / 2)
		return;
	bucket = calloc(x->buckets * 2, sizeof *bucket);
	if (!bucket)
		return;
	for (uint64_t i = 0; i < x->buckets; i++)
		for (k = x->bucket[i]; k; k = next) {
			next = k->next;
			put_into(bucket, x->buckets * 2, k);
		}
	free(x->bucket);
	x->bucket = bucket;
	x->buckets *= 2;
}

void hp_xchunk_insert(struct hp_exchange *x, struct hp_xchunk *k)
{
	more_buckets(x);
	put_into(x->bucket, x->buckets, k);
	x->chunks++;
}

/* One that this node has from before is ready, any other gone. */
struct hp_xchunk *hp_xchunk_get(struct hp_exchange *x, uint64_t chunk)
{
	struct hp_xchunk *k = hp_xchunk_find(x, chunk);
	bool plain = false;

	if (k)
		return k;
	k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	k->chunk = (uint32_t)chunk;
	k->place = HP_NOT_WANTED;
	k->state = HP_COMING_GONE;
	if (x->c.held(x->c.arg, chunk, &plain)) {
		k->state = HP_COMING_READY;
		k->plain = k->kept = plain;
		k->size = x->c.bytes(x->c.arg, chunk, plain);
	}
	hp_xchunk_insert(x, k);
	return k;
}

void hp_xchunk_put(struct hp_exchange *x, struct hp_xchunk *k)
{
	struct hp_xchunk **p = x->bucket + bucket_of(k->chunk, x->buckets);

	if (k->place != HP_NOT_WANTED || k->outs || k->ended || k->out ||
	    k->queued)
		return;
	while (*p != k)
		p = &(*p)->next;
	*p = k->next;
	x->chunks--;
	free(k);
}

void hp_chunks_push(struct hp_exchange *x, int list, struct hp_xchunk *k)
{
	struct hp_chunks *l = &x->list[list];

	k->link[list] = NULL;
	*(l->first ? &l->last->link[list] : &l->first) = k;
	l->last = k;
}

struct hp_xchunk *hp_chunks_pop(struct hp_exchange *x, int list)
{
	struct hp_xchunk *k = x->list[list].first;

	if (k)
		x->list[list].first = k->link[list];
	return k;
}

void hp_exchange_todo(struct hp_exchange *x, struct hp_xchunk *k, int what)
{
	k->todo |= (uint8_t)what;
	if (k->queued)
		return;
	k->queued = true;
	hp_chunks_push(x, HP_LIST_TODO, k);
}
