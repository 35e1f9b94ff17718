/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of members: stretch by stretch. */
#include "dataset/fetch_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct hp_fetch *hp_fetch_new(const struct hpdsl_dataset *ds,
			      const struct hp_fetch_options *opt)
{
	struct hp_fetch *f = calloc(1, sizeof *f);
	struct hpdsl_counts n;

	if (!f)
		return NULL;
	hpdsl_count(ds, &n);
	f->ds = ds;
	f->opt = *opt;
	f->told = calloc(n.chunks ? n.chunks : 1, 1);
	f->files = hp_fd_cache_new(ds->io, HP_CHUNK_FILES);
	if (f->told && f->files && pthread_mutex_init(&f->lock, NULL) == 0)
		return f;
	hp_fd_cache_free(f->files);
	free(f->told);
	free(f);
	return NULL;
}

void hp_fetch_quit(struct hp_fetch *f)
{
	if (f)
		__atomic_store_n(&f->quit, true, __ATOMIC_RELAXED);
}

void hp_fetch_free(struct hp_fetch *f)
{
	if (!f)
		return;
	hp_fetch_desks_free(f);
	hp_fetch_store_free(f->store);
	hp_fd_cache_free(f->files);
	pthread_mutex_destroy(&f->lock);
	free(f->told);
	free(f);
}

/* Is it read with those that the stretch has?  Where an empty one lies is of
 * no interest. */
static bool joins(const struct hp_fetch_stretch *s,
		  const struct hp_block_member *m)
{
	return m->chunk == s->m->chunk && (!m->size || s->begin == s->end ||
					   hp_fetch_joins(s->begin, s->end, m));
}

/* The next stretch: from m[0] of at most n, into page. */
static void find_stretch(struct hp_fetch_stretch *s, struct hp_block_member *m,
			 uint32_t n)
{
	s->m = m;
	s->begin = s->end = m->offset;
	s->good = 0;
	for (s->n = 0; s->n < n && joins(s, &m[s->n]); s->n++) {
		const struct hp_block_member *is = &m[s->n];
		uint64_t end = is->offset + is->size;

		if (!is->size)
			continue;
		if (s->begin == s->end)
			s->begin = s->end = is->offset;
		s->end = end > s->end ? end : s->end;
	}
}

int hp_fetch(struct hp_fetch *f, struct hp_block *b)
{
	struct hp_fetch_stretch s = { .f = f, .page = b->buf };
	uint64_t all = 0;

	assert((uintptr_t)b->buf % HP_FETCH_PAGE == 0);
	b->why.code = 0;
	for (uint32_t i = 0; i < b->n; i += s.n) {
		size_t bytes;

		find_stretch(&s, &b->member[i], b->n - i);
		bytes = (size_t)hp_fetch_pages(s.begin, s.end);
		assert(s.page + bytes <= (uint8_t *)b->buf + b->room);
		hp_fetch_stretch(&s, &b->why);
		s.page += bytes;
		all += s.end - s.begin;
	}
	b->cached = s.cached > all / 2;
	return b->why.code;
}

void hp_fetch_count(const struct hp_fetch *f, struct hp_fetch_counts *ret)
{
	const uint64_t *from = (const uint64_t *)&f->count;
	uint64_t *to = (uint64_t *)ret;

	for (size_t i = 0; i < sizeof *ret / sizeof *to; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	ret->median_read = hp_sizes_median(&f->sizes);
}

int hp_fetch_from(struct hp_fetch *f, enum hp_fetch_from from)
{
	if (from == HP_FETCH_FROM_MEMORY && !f->store)
		f->store = hp_fetch_store_new();
	if (from == HP_FETCH_FROM_MEMORY && !f->store)
		return -ENOMEM;
	__atomic_store_n(&f->from, from, __ATOMIC_RELEASE);
	return 0;
}

void hp_fetch_was_cached(const struct hp_fetch *f, struct hp_fetch_cached *ret)
{
	ret->asked = __atomic_load_n(&f->cached.asked, __ATOMIC_RELAXED);
	ret->there = __atomic_load_n(&f->cached.there, __ATOMIC_RELAXED);
	ret->unknown = __atomic_load_n(&f->cached.unknown, __ATOMIC_RELAXED);
}
