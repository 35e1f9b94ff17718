/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read, to be read again from memory, whatever file system it came
 * from: reads of the same members begin and end at the same bytes.
 */
#include "dataset/fetch_private.h"

#include <stdlib.h>
#include <string.h>

enum { LISTS = 4096 };

struct read {
	struct read *next;
	uint64_t key, at, size;
	uint8_t bytes[];
};

struct hp_fetch_store {
	pthread_mutex_t lock;
	struct read *list[LISTS];
};

static struct read **list_of(struct hp_fetch_store *s, uint64_t key,
			     uint64_t at)
{
	uint64_t h = (key ^ at * UINT64_C(0x9e3779b97f4a7c15)) *
		     UINT64_C(0xff51afd7ed558ccd);

	return &s->list[h >> 52];
}

struct hp_fetch_store *hp_fetch_store_new(void)
{
	struct hp_fetch_store *s = calloc(1, sizeof *s);

	if (s)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

void hp_fetch_store_free(struct hp_fetch_store *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < LISTS; i++)
		for (struct read *r = s->list[i], *next; r; r = next) {
			next = r->next;
			free(r);
		}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* They stay until the store goes: no lock is needed to look into one. */
static struct read *find(struct hp_fetch_store *s, uint64_t key, uint64_t at)
{
	struct read *r;

	pthread_mutex_lock(&s->lock);
	r = *list_of(s, key, at);
	while (r && (r->key != key || r->at != at))
		r = r->next;
	pthread_mutex_unlock(&s->lock);
	return r;
}

uint64_t hp_fetch_store_get(struct hp_fetch_store *s, uint64_t key, uint64_t at,
			    uint64_t most, uint8_t *to)
{
	struct read *r = find(s, key, at);

	if (!r || r->size > most)
		return 0;
	memcpy(to, r->bytes, r->size);
	return r->size;
}

void hp_fetch_store_put(struct hp_fetch_store *s, uint64_t key, uint64_t at,
			const uint8_t *bytes, uint64_t size)
{
	struct read *r, **list = list_of(s, key, at);

	if (find(s, key, at))
		return;
	r = malloc(sizeof *r + size);
	if (!r)
		return;
	r->key = key;
	r->at = at;
	r->size = size;
	memcpy(r->bytes, bytes, size);
	pthread_mutex_lock(&s->lock);
	r->next = *list;
	*list = r;
	pthread_mutex_unlock(&s->lock);
}
