/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to an open chunk, plain or to be compressed: its segments are
 * hashed and come back, its file gets its name, and then it is no more.  And
 * how all of that ends when something failed.
 */
#include "write/engine.h"

#include "base/error.h"
#include "format/names.h"
#include "write/read_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hp_engine_fail(struct hp_engine *e, int code,
		    const struct hpdsl_error *err)
{
	if (!e->failed) {
		e->failed = code;
		e->err = *err;
	}
	pthread_cond_broadcast(&e->freed);
	pthread_cond_broadcast(&e->ready);
	pthread_cond_broadcast(&e->ended);
}

/* A part of a content that spans segments: parts come in order. */
static int hash_part(const struct hp_writing *p, const struct hp_segment *s,
		     const struct hp_segment_part *part,
		     struct hpdsl_error *err)
{
	struct hp_open_chunk *c = s->chunk;
	struct hp_content_hash h;
	int r;

	if (!part->file)
		return 0;
	if (p->list.sha256 && !c->of_content) {
		c->of_content = hp_sha256_new();
		if (!c->of_content)
			return hp_fail_nomem(err);
	}
	if (part->first) {
		hp_content_begin_sha256(&c->content, c->of_content);
		c->crc = 0;
	}
	hp_content_update(&c->content, s->buf + part->start, part->len);
	c->crc = hp_content_crc(part->file, c->crc, s->buf + part->start,
				part->len);
	if (!part->last)
		return 0;
	hp_content_end(&c->content, &h);
	r = hp_sha256_check(c->of_content, err);
	if (r == 0)
		r = hp_content_check_crc(p, part->file, c->crc, err);
	return r < 0 ? r : hp_content_set(p, part->file, &h, err);
}

int hp_hash_segment(const struct hp_writing *p, const struct hp_segment *s,
		    struct hpdsl_error *err)
{
	struct hp_open_chunk *c = s->chunk;
	int r = 0;

	if (s->offset == 0) {
		hp_file_digest_begin(&c->digest);
		/* A compressed one is another file. */
		if (p->list.sha256 && !c->zst)
			r = hp_file_digest_want_sha256(&c->digest, err);
	}
	if (r < 0)
		return r;
	hp_file_digest_add(&c->digest, s->buf, s->len);
	r = hash_part(p, s, &s->front, err);
	return r < 0 ? r : hash_part(p, s, &s->back, err);
}

/*
 * A resumed pack may meet a chunk in the other form, if another version of
 * zstd made it: it is not a second one of that number.
 */
static int remove_other(struct hp_engine *e, uint32_t chunk, bool compressed,
			struct hpdsl_error *err)
{
	const struct hp_writing *p = e->w;
	char name[HP_CHUNK_NAME];
	int r;

	if (!p->opt->zstd || !p->opt->resume)
		return 0;
	hp_chunk_name_of(chunk, !compressed, name);
	r = e->io->unlink(e->io, p->dir, name, 0);
	if (r == 0 || r == -ENOENT)
		return 0;
	return hp_fail_errno(err, r, "%s: cannot remove", name);
}

int hp_publish_chunk(struct hp_engine *e, struct hp_open_chunk *c,
		     struct hp_outfile *out, const struct hp_chunk_made *done,
		     struct hpdsl_error *err)
{
	int r = hp_outfile_sync(out, err);

	if (r == 0)
		r = hp_journal_add_made(e->w->journal, c->number, done, err);
	if (r == 0)
		r = remove_other(e, c->number, done->compressed, err);
	return r < 0 ? r : hp_outfile_commit(out, err);
}

void hp_free_chunk(struct hp_engine *e, struct hp_open_chunk *c)
{
	hp_file_digest_release(&c->digest);
	hp_sha256_free(c->of_content);
	hp_squeeze_end(e, c);
	free(c);
}

void hp_remove_chunk(struct hp_engine *e, struct hp_open_chunk *c)
{
	struct hp_open_chunk **p = &e->chunks;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	if (e->chunks_tail == &c->next)
		e->chunks_tail = p;
	hp_free_chunk(e, c);
}

struct hp_segment *hp_pop_segment(struct hp_open_chunk *c)
{
	struct hp_segment *s = c->head;

	c->head = s->next;
	if (!c->head)
		c->tail = &c->head;
	return s;
}

void hp_free_segment(struct hp_engine *e, struct hp_segment *s)
{
	s->next = e->free;
	e->free = s;
	pthread_cond_broadcast(&e->freed);
}
