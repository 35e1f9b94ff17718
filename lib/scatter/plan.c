/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks are scattered, and where each file of a stream goes. */
#include "scatter/private.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* Streams with files in chunks that are not done may turn out to have none. */
static int find_streams(struct hp_scatter *s, struct hpdsl_error *err)
{
	struct hp_list *list = &s->w->list;
	uint64_t n = 0;

	s->streams =
		calloc(list->n_roots ? list->n_roots : 1, sizeof *s->streams);
	if (!s->streams)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < list->n_files; i++)
		n += hp_scatter_streamed(list, &list->files[i]);
	for (size_t i = 0; i < list->n_roots; i++)
		if (list->roots[i].kind == HP_ROOT_STREAM)
			s->streams[s->n_streams++].root = &list->roots[i];
	s->spots = hp_array(n, sizeof *s->spots);
	s->chunks = hp_array(s->w->plan.n_chunks, sizeof *s->chunks);
	return s->spots && s->chunks ? 0 : hp_fail_nomem(err);
}

/* Adds the chunk's files of streams; were there any? */
static bool add_spots(struct hp_scatter *s, uint32_t c, uint64_t *n)
{
	const struct hp_plan *plan = &s->w->plan;
	const struct hp_list *list = plan->list;
	uint64_t others = 0, had = *n;
	struct hp_plan_place place;
	struct hp_plan_walk w;

	hp_plan_walk_chunk(&w, plan, c);
	while (hp_plan_walk_next(&w, &place)) {
		const struct hp_file *f = &list->files[place.file];

		if (!hp_scatter_streamed(list, f)) {
			others += f->size;
			continue;
		}
		s->spots[(*n)++] =
			(struct hp_stream_spot){ .ordinal = f->source,
						 .header = place.header,
						 .file = place.file,
						 .chunk = c };
		s->stream_bytes += f->size;
	}
	if (*n > had)
		s->other_bytes += others;
	return *n > had;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct hp_stream_spot *x = a, *y = b;
	const struct hp_file *files = arg;
	uint16_t p = files[x->file].root, q = files[y->file].root;

	if (p != q)
		return p < q ? -1 : 1;
	if (x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static int compare_ordinals(const void *a, const void *b)
{
	const struct hp_stream_spot *x = a, *y = b;

	if (x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* By stream and ordinal; then each stream gets its own. */
static void deal_spots(struct hp_scatter *s, uint64_t n)
{
	struct hp_list *list = &s->w->list;
	uint64_t at = 0;

	/* Asking each file for its root would take most of the time. */
	if (s->n_streams == 1)
		qsort(s->spots, n, sizeof *s->spots, compare_ordinals);
	else
		qsort_r(s->spots, n, sizeof *s->spots, compare, list->files);
	for (uint32_t i = 0; i < s->n_streams; i++) {
		struct hp_stream *t = &s->streams[i];
		uint16_t root = (uint16_t)(t->root - list->roots);

		t->spots = s->spots + at;
		while (at < n && list->files[s->spots[at].file].root == root)
			at++;
		t->n_spots = (uint64_t)(s->spots + at - t->spots);
		t->last = &t->first;
	}
}

static void find_positions(struct hp_scatter *s)
{
	const struct hp_journal *j = s->w->journal;

	for (uint32_t i = 0; i < s->n_streams; i++) {
		struct hp_stream *t = &s->streams[i];
		uint32_t root = (uint32_t)(t->root - s->w->list.roots);
		const struct hp_journal_position *p =
			hp_journal_position(j, root);

		t->at.root = root;
		t->at.archive = hp_journal_archive(t->root);
		if (p)
			t->before = t->noted = *p;
	}
}

int hp_scatter_plan(struct hp_scatter *s, struct hpdsl_error *err)
{
	uint64_t n = 0;
	int r = find_streams(s, err);

	if (r < 0)
		return r;
	for (uint32_t c = 0; c < s->w->plan.n_chunks; c++)
		if (!s->w->done[c].done && add_spots(s, c, &n))
			s->chunks[s->n_chunks++] = c;
	deal_spots(s, n);
	find_positions(s);
	return 0;
}
