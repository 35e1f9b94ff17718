/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From full segments to finished chunks: hashed in the chunk's order by one
 * writer at a time, written in any order by any number of them; the last one
 * syncs, notes the chunk in the journal and gives it its name.
 */
#include "write/engine.h"

#include "base/error.h"
#include "format/names.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 4096 };

static int open_chunk(struct hp_engine *e, struct hp_open_chunk *c,
		      struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];
	int r;

	hp_chunk_name(c->number, name);
	r = hp_outfile_open(&c->out, e->io, e->w->dir, name, c->bytes, true,
			    err);
	c->opened = r == 0;
	return r;
}

/* What is too short for O_DIRECT waits until all else is written. */
static int write_segment(struct hp_segment *s, struct hpdsl_error *err)
{
	struct hp_open_chunk *c = s->chunk;
	size_t tail = s->len % ALIGN;

	if (tail) {
		memcpy(c->tail_buf, s->buf + s->len - tail, tail);
		c->tail_len = tail;
	}
	if (s->len == tail)
		return 0;
	return hp_outfile_pwrite(&c->out, s->buf, s->len - tail, s->offset,
				 err);
}

static int finish_chunk(struct hp_engine *e, struct hp_open_chunk *c,
			struct hpdsl_error *err)
{
	struct hp_chunk_made *done = &e->w->done[c->number];
	int r = 0;

	if (c->tail_len)
		r = hp_outfile_pwrite_tail(&c->out, c->tail_buf, c->tail_len,
					   c->bytes - c->tail_len, err);
	if (r < 0)
		return r;
	done->bytes = c->bytes;
	hp_file_digest_end(&c->digest, done->checksum);
	memcpy(done->plain_checksum, done->checksum, sizeof done->checksum);
	r = hp_file_digest_end_sha256(&c->digest, done->sha256, err);
	if (r == 0)
		r = hp_publish_chunk(e, c, &c->out, done, err);
	done->done = r == 0;
	return r;
}

/* The first chunk whose next segment is full and waits to be hashed. */
static struct hp_open_chunk *find_ready(const struct hp_engine *e)
{
	struct hp_open_chunk *c = e->chunks;

	while (c && (c->hashing || !c->head || c->head->pending))
		c = c->next;
	return c;
}

bool hp_write_one(struct hp_engine *e)
{
	struct hp_open_chunk *c = find_ready(e);
	struct hpdsl_error err;
	struct hp_segment *s;
	int r;

	if (!c || e->failed)
		return false;
	s = hp_pop_segment(c);
	c->hashing = true;
	pthread_mutex_unlock(&e->lock);
	r = c->opened ? 0 : open_chunk(e, c, &err);
	if (r == 0)
		r = hp_hash_segment(e->w, s, &err);
	pthread_mutex_lock(&e->lock);
	c->hashing = r < 0; /* then nobody goes on with this chunk */
	pthread_cond_signal(&e->ready); /* its next one may be full */
	pthread_mutex_unlock(&e->lock);
	if (r == 0)
		r = write_segment(s, &err);
	pthread_mutex_lock(&e->lock);
	/* A chunk that lacks a segment is never finished. */
	if (r == 0)
		c->unwritten -= s->len;
	hp_free_segment(e, s);
	if (r == 0 && c->unwritten == 0) {
		pthread_mutex_unlock(&e->lock);
		r = finish_chunk(e, c, &err);
		pthread_mutex_lock(&e->lock);
		if (r == 0)
			hp_remove_chunk(e, c);
	}
	if (r < 0)
		hp_engine_fail(e, r, &err);
	/* The last one out lets the others go. */
	if (!e->chunks)
		pthread_cond_broadcast(&e->ready);
	return true;
}
