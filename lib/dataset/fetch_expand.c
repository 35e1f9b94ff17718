/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of compressed chunks.  Frames are read many at a time and expanded
 * in place; those at the ends beside it, and what the stretch has of them is
 * copied.  Frames that are large, or much larger than the stretch, so that the
 * next one may need them as well, go by the dataset's decoders, which keep what
 * they decoded last.
 */
#include "dataset/fetch_private.h"

#include "base/error.h"
#include "index/copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What is stored, and behind it a frame that is expanded. */
enum {
	STORED = HP_FETCH_READ + 2 * HP_FETCH_PAGE,
	DESK = STORED + HP_FETCH_READ,
};

static_assert(DESK == (8 << 20) + (8 << 10), "as hpdsl/loader.h says");

/* ---- Desks ------------------------------------------------------------ */

static void desk_free(struct hp_fetch_desk *d)
{
	if (!d)
		return;
	if (d->buf)
		munmap(d->buf, DESK);
	ZSTD_freeDCtx(d->zstd);
	free(d);
}

static struct hp_fetch_desk *desk_new(void)
{
	struct hp_fetch_desk *d = calloc(1, sizeof *d);
	void *p;

	if (!d)
		return NULL;
	p = mmap(NULL, DESK, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	d->buf = p == MAP_FAILED ? NULL : p;
	d->zstd = hp_frame_decoder();
	if (d->buf && d->zstd)
		return d;
	desk_free(d);
	return NULL;
}

static struct hp_fetch_desk *desk_get(struct hp_fetch *f)
{
	struct hp_fetch_desk *d;

	pthread_mutex_lock(&f->lock);
	d = f->idle;
	if (d)
		f->idle = d->next;
	pthread_mutex_unlock(&f->lock);
	return d ? d : desk_new();
}

static void desk_put(struct hp_fetch *f, struct hp_fetch_desk *d)
{
	pthread_mutex_lock(&f->lock);
	d->next = f->idle;
	f->idle = d;
	pthread_mutex_unlock(&f->lock);
}

void hp_fetch_desks_free(struct hp_fetch *f)
{
	while (f->idle) {
		struct hp_fetch_desk *d = f->idle;

		f->idle = d->next;
		desk_free(d);
	}
}

/* ---- Frames ----------------------------------------------------------- */

struct expand {
	struct hp_fetch_stretch *s;
	struct hp_fetch_file *k;
	struct hp_fetch_desk *desk;
	const struct hp_index *ix; /* a copy, for its frames */
	uint32_t number;	   /* of the frame that comes next */
	uint64_t at;		   /* all before it is expanded, or bad */
	int bad;
	struct hpdsl_error *err; /* the first reason */
};

static void note(struct expand *x, int r, const struct hpdsl_error *why)
{
	if (r == 0 || x->bad)
		return;
	x->bad = r;
	*x->err = *why;
}

/* What was expanded up to here is good, or not; with r < 0 it is not there. */
static void go_on(struct expand *x, uint64_t to, int r,
		  const struct hpdsl_error *why)
{
	struct hpdsl_error differs;

	note(x, r, why);
	x->at = to;
	if (r < 0)
		hp_fetch_skip(x->s, to);
	else
		note(x, hp_fetch_verify(x->s, x->k, to, &differs), &differs);
}

/* "chunk-000017.tar.zst: frame 3: why" */
static int bad_frame(const struct expand *x, uint32_t number, int code,
		     const char *text, struct hpdsl_error *err)
{
	char why[400];

	snprintf(why, sizeof why, "frame %" PRIu32 ": %.300s", number, text);
	return hp_fetch_file_fail(x->k, code, why, err);
}

static bool is_inside(const struct expand *x, const struct hp_frame *f)
{
	return f->plain >= x->at && f->plain_end <= x->s->end;
}

/* Is the stretch not much smaller, so that nobody comes for the rest soon? */
static bool is_small(const struct expand *x, const struct hp_frame *f)
{
	uint64_t all = f->plain_end - f->plain;

	return all <= HP_FETCH_READ && all / 2 <= x->s->end - x->s->begin;
}

/*
 * Frames go on where the one before ended, as long as the index is right: what
 * is wrong goes by a decoder, which knows how to say so.
 */
static bool is_whole(const struct expand *x, const struct hp_frame *f)
{
	bool first = x->at == x->s->begin && f->plain <= x->at &&
		     f->plain_end > x->at;

	if (f->stored_end - f->stored > HP_FETCH_READ ||
	    (f->plain != x->at && !first))
		return false;
	return is_inside(x, f) || is_small(x, f);
}

/* By a decoder: of frame f what the stretch has of it. */
static void expand_part(struct expand *x, const struct hp_frame *f)
{
	const struct hpdsl_dataset *ds = x->s->f->ds;
	uint64_t key = hp_chunk_file_key(&x->s->chunk, x->k->file.at);
	uint64_t to = f->plain_end < x->s->end ? f->plain_end : x->s->end;
	struct hp_decoder *d = hp_decoder_get(ds->frames, key, x->at);
	struct hp_decoder_source src = {
		.from = &x->k->file,
		.index = ds->index,
		.row = &x->s->chunk,
		.file = key,
	};
	struct hpdsl_error why, text;
	int r;

	r = d ? hp_decoder_read(d, &src, x->at, hp_fetch_at(x->s, x->at),
				(size_t)(to - x->at), &text) :
		hp_fail_nomem(&text);
	hp_decoder_put(ds->frames, d);
	if (src.read)
		hp_fetch_file_count(x->k, src.read, false);
	if (r < 0)
		hp_fetch_file_fail(x->k, r, text.msg, &why);
	go_on(x, to, r, &why);
	x->number++;
}

/* Where those of the frames from f on end that can be read at once. */
static uint64_t end_of_read(const struct expand *x, const struct hp_frame *f)
{
	struct hp_frame last = *f, next;

	for (uint32_t i = x->number + 1; i < x->s->chunk.frames; i++) {
		if (last.plain_end >= x->s->end ||
		    hp_index_frame(x->ix, &x->s->chunk, i, &next, NULL) < 0 ||
		    next.plain != last.plain_end ||
		    next.plain_end <= next.plain ||
		    (next.plain_end > x->s->end && !is_small(x, &next)) ||
		    next.stored_end - f->stored > HP_FETCH_READ)
			break;
		last = next;
	}
	return last.stored_end;
}

/* The stored bytes, onto the desk. */
static int read_stored(struct expand *x, uint64_t begin, uint64_t end,
		       struct hpdsl_error *err)
{
	uint64_t at = begin;
	int r = 0;

	while (r == 0 && at < end) {
		uint64_t page = hp_fetch_page(at) - hp_fetch_page(begin);

		r = hp_fetch_next(x->k, at, end, x->desk->buf + page, &at, err);
	}
	return r;
}

/* A frame, whose bytes are on the desk from byte base of the file on. */
static void expand_one(struct expand *x, const struct hp_frame *f,
		       uint64_t base)
{
	bool inside = is_inside(x, f);
	uint64_t to =
		inside || f->plain_end < x->s->end ? f->plain_end : x->s->end;
	uint8_t *beside = x->desk->buf + STORED;
	struct hpdsl_error why, text;
	int r = hp_frame_decode(
		x->desk->zstd, x->desk->buf + (f->stored - hp_fetch_page(base)),
		(size_t)(f->stored_end - f->stored),
		inside ? hp_fetch_at(x->s, f->plain) : beside,
		(size_t)(f->plain_end - f->plain), &text);

	if (r < 0)
		bad_frame(x, x->number, r, text.msg, &why);
	else if (!inside)
		memcpy(hp_fetch_at(x->s, x->at), beside + (x->at - f->plain),
		       (size_t)(to - x->at));
	go_on(x, to, r, &why);
	x->number++;
}

static void expand_whole(struct expand *x, const struct hp_frame *first)
{
	uint64_t end = end_of_read(x, first);
	struct hp_frame f = *first;
	struct hpdsl_error why;
	int r = read_stored(x, f.stored, end, &why);

	if (r < 0) {
		/* No use in going on: members are read one by one. */
		go_on(x, x->s->end, r, &why);
		return;
	}
	do
		expand_one(x, &f, first->stored);
	while (x->at < x->s->end &&
	       hp_index_frame(x->ix, &x->s->chunk, x->number, &f, NULL) == 0 &&
	       is_whole(x, &f) && f.stored >= first->stored &&
	       f.stored_end <= end);
}

static void expand_all(struct expand *x)
{
	const struct hp_index *ix = x->ix;
	const struct hpdsl_chunk *c = &x->s->chunk;
	struct hpdsl_error why;
	struct hp_frame f;
	int r = hp_index_frame_find(ix, c, x->at, &x->number, &why);

	while (r == 0 && x->at < x->s->end) {
		r = hp_index_frame(ix, c, x->number, &f, &why);
		if (r < 0)
			break;
		if (is_whole(x, &f))
			expand_whole(x, &f);
		else
			expand_part(x, &f);
	}
	note(x, r, &why);
}

int hp_fetch_expand(struct hp_fetch_stretch *s, struct hp_fetch_file *k,
		    struct hpdsl_error *err)
{
	struct expand x = { .s = s, .k = k, .at = s->begin, .err = err };
	hp_auto_index_copy c;

	hp_index_copy_begin(&c, s->f->ds->index, true);
	x.ix = &c.ix;
	x.desk = desk_get(s->f);
	if (!x.desk)
		return hp_fail_nomem(err);
	expand_all(&x);
	desk_put(s->f, x.desk);
	return x.bad;
}
