/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

enum {
	SLACK = 1 << 20, /* requests of one reader are no further apart */
	/* So many requests later, for each window that there may be, nobody
	 * comes any more for the rest: as many as it has of 128 KiB. */
	LONG = 8,
};

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* Where that reader is known, else the one of whom nothing was heard longest.
 */
static struct mount_stream *stream_of(struct mount_windows *w, uint32_t chunk,
				      uint64_t offset, bool *ret_known)
{
	struct mount_stream *oldest = &w->stream[0];

	*ret_known = true;
	for (int i = 0; i < MOUNT_STREAMS; i++) {
		struct mount_stream *s = &w->stream[i];

		if (s->any && s->chunk == chunk &&
		    apart(s->next, offset) <= SLACK)
			return s;
		if (s->used < oldest->used)
			oldest = s;
	}
	*ret_known = false;
	return oldest;
}

bool mount_windows_goes_on(struct mount_windows *w, uint32_t chunk,
			   uint64_t offset, size_t n)
{
	bool known;
	struct mount_stream *s = stream_of(w, chunk, offset, &known);

	*s = (struct mount_stream){ true, chunk, offset + n, ++w->count };
	return known;
}

int mount_windows_find(const struct mount_windows *w, uint32_t chunk,
		       uint64_t number)
{
	for (int i = 0; i < (int)w->n; i++)
		if (w->v[i].is != MOUNT_WINDOW_FREE && w->v[i].chunk == chunk &&
		    w->v[i].number == number)
			return i;
	return MOUNT_WINDOW_NONE;
}

/* Nobody needs what is in it, as far as can be told. */
static bool is_done(const struct mount_windows *w, const struct mount_window *v)
{
	if (v->is == MOUNT_WINDOW_FREE)
		return true;
	return !v->users && v->is != MOUNT_WINDOW_COMING &&
	       (v->ended || v->given >= v->size ||
		w->count - v->used > LONG * (uint64_t)w->n);
}

int mount_windows_take(struct mount_windows *w, uint32_t chunk, uint64_t number,
		       size_t size)
{
	int best = MOUNT_WINDOW_NONE;

	for (int i = 0; i < (int)w->n; i++)
		if (is_done(w, &w->v[i]) && (best == MOUNT_WINDOW_NONE ||
					     w->v[i].used < w->v[best].used))
			best = i;
	if (best == MOUNT_WINDOW_NONE)
		return best;
	w->v[best] = (struct mount_window){
		.is = MOUNT_WINDOW_COMING,
		.chunk = chunk,
		.number = number,
		.size = size,
		.used = w->count,
	};
	return best;
}

void mount_windows_given(struct mount_windows *w, int i, size_t offset,
			 size_t n)
{
	w->v[i].given += n;
	w->v[i].ended = w->v[i].ended || offset + n >= w->v[i].size;
	w->v[i].used = w->count;
}
