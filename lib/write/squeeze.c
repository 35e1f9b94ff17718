/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From full segments to finished chunks that are compressed.  A writer takes a
 * segment in the chunk's order, hashes it and cuts it into frames; compresses
 * them while others are at the next segments; and if all segments before it
 * are in the file, writes it and those behind it that are waiting.
 */
#include "write/engine.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "write/parts.h"

#include <errno.h>

/* Has the chunk a context for a frame that crosses a border, or gets it one? */
static bool may_cut(const struct hp_engine *e, const struct hp_open_chunk *c)
{
	return c->zst->frames.stream ||
	       e->streams.idle > (c == e->chunks ? 0u : 1u);
}

static struct hp_open_chunk *find_ready(const struct hp_engine *e)
{
	struct hp_open_chunk *c = e->chunks;

	while (c &&
	       (c->hashing || !c->head || c->head->pending || !may_cut(e, c)))
		c = c->next;
	return c;
}

/* Serial in the chunk: digest, and where frames end. */
static int cut(struct hp_engine *e, struct hp_segment *s,
	       struct hpdsl_error *err)
{
	struct hp_open_chunk *c = s->chunk;
	struct hp_squeeze *q = c->zst;
	int r = 0;

	if (s->offset == 0)
		r = hp_zst_open(&q->file, e->io, e->w->dir, c->number, err);
	if (r == 0 && s->offset == 0 && e->w->list.sha256)
		r = hp_file_digest_want_sha256(&q->file.digest, err);
	if (r == 0)
		r = hp_hash_segment(e->w, s, err);
	if (r < 0)
		return r;
	s->stretch.offset = s->offset;
	s->stretch.len = s->len;
	return hp_frames_cut(&q->frames, &s->stretch, err);
}

static int expand(struct hp_engine *e, struct hp_open_chunk *c,
		  struct hp_chunk_made *done, struct hpdsl_error *err)
{
	struct hp_zst_file *f = &c->zst->file;
	char name[HP_CHUNK_NAME];
	int r;

	hp_chunk_name(c->number, name);
	/* It would be in the way, under the same name. */
	if (e->w->parts)
		hp_parts_drop(e->w->parts, c->number);
	pthread_mutex_lock(&e->expand_lock);
	r = hp_outfile_open(&c->out, e->io, e->w->dir, name, c->bytes, false,
			    err);
	c->opened = r == 0;
	if (r == 0)
		r = hp_zst_expand(f, c->bytes, done->plain_checksum, &c->out,
				  done, err);
	if (r == 0)
		r = hp_zst_discard(f, err);
	hp_zst_release(f);
	pthread_mutex_unlock(&e->expand_lock);
	return r;
}

static int finish(struct hp_engine *e, struct hp_open_chunk *c,
		  struct hpdsl_error *err)
{
	struct hp_chunk_made *done = &e->w->done[c->number];
	struct hp_zst_file *f = &c->zst->file;
	bool saves = hp_zst_saves(f, c->bytes);
	int r;

	hp_file_digest_end(&c->digest, done->plain_checksum);
	r = saves ? hp_zst_finish(f, done, err) : expand(e, c, done, err);
	if (r == 0)
		r = hp_publish_chunk(e, c, saves ? &f->out : &c->out, done,
				     err);
	done->done = r == 0;
	if (r == 0 && e->w->parts)
		hp_parts_drop(e->w->parts, c->number);
	return r;
}

/*
 * Under the lock: writes what is compressed and next in the file.  Whoever
 * writes the last segment finishes the chunk.
 */
static int write_ready(struct hp_engine *e, struct hp_open_chunk *c,
		       struct hpdsl_error *err)
{
	struct hp_squeeze *q = c->zst;
	struct hp_segment *s;
	int r = 0;

	if (q->writing)
		return 0;
	q->writing = true;
	while (r == 0 && (s = q->head) && s->squeezed) {
		q->head = s->next;
		if (!q->head)
			q->tail = &q->head;
		pthread_mutex_unlock(&e->lock);
		r = hp_zst_add(&q->file, &s->stretch, err);
		pthread_mutex_lock(&e->lock);
		if (r == 0)
			c->unwritten -= s->len;
		hp_free_segment(e, s);
	}
	/* Nobody goes on with a chunk that lacks a segment. */
	q->writing = r < 0;
	if (r < 0 || c->unwritten)
		return r;
	pthread_mutex_unlock(&e->lock);
	r = finish(e, c, err);
	pthread_mutex_lock(&e->lock);
	if (r == 0)
		hp_remove_chunk(e, c);
	return r;
}

/* Under the lock: takes the next segment of the chunk, to be written. */
static struct hp_segment *take(struct hp_engine *e, struct hp_open_chunk *c)
{
	struct hp_segment *s = hp_pop_segment(c);
	struct hp_squeeze *q = c->zst;

	s->next = NULL;
	s->squeezed = false;
	*q->tail = s;
	q->tail = &s->next;
	c->hashing = true;
	if (!q->frames.stream)
		q->frames.stream = hp_zstds_borrow(&e->streams);
	return s;
}

/* Under the lock: the next segment may be cut. */
static void cut_done(struct hp_engine *e, struct hp_open_chunk *c)
{
	struct hp_frames *f = &c->zst->frames;

	c->hashing = false;
	if (!f->streaming) {
		hp_zstds_give_back(&e->streams, f->stream);
		f->stream = NULL;
	}
	pthread_cond_signal(&e->ready);
}

bool hp_squeeze_one(struct hp_engine *e)
{
	struct hp_open_chunk *c = find_ready(e);
	struct hpdsl_error err;
	struct hp_segment *s;
	struct hp_zstd *zstd;
	int r;

	if (!c || e->failed || !e->zstds.idle)
		return false;
	zstd = hp_zstds_borrow(&e->zstds);
	s = take(e, c);
	pthread_mutex_unlock(&e->lock);
	r = cut(e, s, &err);
	pthread_mutex_lock(&e->lock);
	if (r == 0) {
		cut_done(e, c);
		pthread_mutex_unlock(&e->lock);
		r = hp_stretch_compress(zstd, c->number, &s->stretch, &err);
		pthread_mutex_lock(&e->lock);
	}
	hp_zstds_give_back(&e->zstds, zstd);
	pthread_cond_signal(&e->ready);
	s->squeezed = r == 0;
	if (r == 0)
		r = write_ready(e, c, &err);
	if (r < 0)
		hp_engine_fail(e, r, &err);
	/* The last one out lets the others go. */
	if (!e->chunks)
		pthread_cond_broadcast(&e->ready);
	return true;
}
