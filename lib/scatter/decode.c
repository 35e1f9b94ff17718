/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compressed archive is read a second time, in the order of the first; each
 * content goes to a buffer for all the places that name it.  What comes must be
 * what the scan saw.
 */
#include "scatter/private.h"

#include "archive/archive.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
	struct hp_scatter *s;
	struct hp_stream *stream;
	struct hp_archive *archive;
	struct hp_scatter_buffer *buf;
	uint64_t spot;	  /* the next one */
	uint64_t ordinal; /* files met so far */
	struct hp_content_state hash;
};

static int fail_changed(const struct decoder *d, struct hpdsl_error *err)
{
	char name[HP_INPUT_NAME];

	return hp_fail(err, HPDSL_ECHANGED, "%s: changed since it was scanned",
		       hp_input_name(d->stream->root, "", 0, name));
}

static bool same_archive(const struct hp_root *root, const struct stat *st)
{
	return (uint64_t)st->st_size == root->size &&
	       st->st_mtim.tv_sec == root->mtime &&
	       st->st_mtim.tv_nsec == (long)root->nsec &&
	       hp_file_stamp(st) == root->stamp;
}

/* What the archive's name leads to now. */
static bool still_same(const struct decoder *d)
{
	const struct hp_io *io = d->s->w->io;
	struct stat st;

	return io->stat(io, AT_FDCWD, d->stream->root->name, &st, 0) == 0 &&
	       same_archive(d->stream->root, &st);
}

/* Hands the buffer over; offset bytes of the next file are in it. */
static void flush(struct decoder *d, uint64_t offset)
{
	if (!d->buf)
		return;
	d->buf->files = d->ordinal;
	d->buf->file_bytes = offset;
	hp_scatter_submit(d->s, d->buf);
	d->buf = NULL;
}

/* 1: there is room for n bytes and one piece more. */
static int make_room(struct decoder *d, uint64_t n, uint64_t offset)
{
	if (d->buf && (d->buf->n == HP_SCATTER_PIECES ||
		       n > d->s->buffer_size - d->buf->used))
		flush(d, offset);
	if (!d->buf && hp_stopped(hp_scatter_watch(d->s)))
		return HPDSL_ESTOPPED;
	if (!d->buf)
		d->buf = hp_scatter_get(d->s, d->stream);
	return d->buf ? 1 : -ECANCELED;
}

/* Bytes [0, len) of what is left, or an error. */
static int read_bytes(struct decoder *d, uint8_t *to, size_t len,
		      struct hpdsl_error *err)
{
	while (len) {
		ssize_t n = hp_archive_read(d->archive, to, len, err);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return fail_changed(d, err);
		hp_content_update(&d->hash, to, (size_t)n);
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Was this there before an earlier run was stopped? */
static bool came_before(const struct decoder *d, uint64_t end)
{
	const struct hp_journal_position *p = &d->stream->before;

	return d->ordinal < p->files ||
	       (d->ordinal == p->files && end <= p->bytes);
}

/* The next piece of the content: *offset moves behind it. */
static int read_piece(struct decoder *d, struct hp_scatter_piece *piece,
		      uint64_t size, uint64_t room, struct hpdsl_error *err)
{
	uint64_t left = size - piece->offset, rest;
	struct hp_scatter_buffer *b;
	int r;

	/* Small files are not cut. */
	rest = left <= d->s->buffer_size / 4 ? left : HP_TAR_BLOCK;
	r = make_room(d, room + hp_tar_padded(rest), piece->offset);
	if (r < 0)
		return r;
	b = d->buf;
	piece->at = b->used + (uint32_t)room;
	rest = d->s->buffer_size - piece->at; /* whole blocks */
	piece->len = (uint32_t)(left < rest ? left : rest);
	piece->compare = came_before(d, piece->offset + piece->len);
	r = read_bytes(d, b->data + piece->at, piece->len, err);
	if (r < 0)
		return r;
	b->used = piece->at + (uint32_t)hp_tar_padded(piece->len);
	memset(b->data + piece->at + piece->len, 0,
	       b->used - piece->at - piece->len);
	b->bytes += piece->len * piece->n;
	b->piece[b->n++] = *piece;
	return 0;
}

/* The spots of the current file: how many there are, and their headers. */
static int find_spots(struct decoder *d, uint64_t size, uint64_t *ret_n,
		      uint64_t *ret_room, struct hpdsl_error *err)
{
	const struct hp_list *list = &d->s->w->list;
	const struct hp_stream *t = d->stream;
	uint64_t i = d->spot, room = 0;

	for (; i < t->n_spots && t->spots[i].ordinal == d->ordinal; i++) {
		struct hp_tar_member m;
		size_t n;

		if (list->files[t->spots[i].file].size != size)
			return fail_changed(d, err);
		hp_plan_header(list, t->spots[i].file, &m);
		n = hp_tar_header_size(&m);
		room = n > room ? n : room;
	}
	*ret_n = i - d->spot;
	*ret_room = room;
	return 0;
}

/* Until the archive says that the content ends: it has a checksum maybe. */
static int end_content(struct decoder *d, struct hpdsl_error *err)
{
	uint8_t byte;
	ssize_t n = hp_archive_read(d->archive, &byte, 1, err);

	return n > 0 ? fail_changed(d, err) : (int)n;
}

static void keep_hash(struct decoder *d, uint64_t n)
{
	struct hp_content_hash h;

	hp_content_end(&d->hash, &h);
	for (; n; n--, d->spot++) {
		uint64_t file = d->stream->spots[d->spot].file;

		d->s->w->list.files[file].low64 = h.low64;
	}
}

static int decode_file(struct decoder *d, uint64_t size,
		       struct hpdsl_error *err)
{
	struct hp_scatter_piece piece = { 0 };
	uint64_t room;
	int r = find_spots(d, size, &piece.n, &room, err);

	if (r < 0 || piece.n == 0)
		return r;
	piece.spots = d->stream->spots + d->spot;
	hp_content_begin(&d->hash);
	do {
		r = read_piece(d, &piece, size, room, err);
		if (r == HPDSL_ESTOPPED)
			flush(d, piece.offset);
		if (r < 0)
			return r;
		piece.offset += piece.len;
		room = 0;
	} while (piece.offset < size);
	r = end_content(d, err);
	if (r == 0)
		keep_hash(d, piece.n);
	return r;
}

static int decode_all(struct decoder *d, struct hpdsl_error *err)
{
	struct hp_archive_entry entry;
	int r;

	while ((r = hp_archive_next(d->archive, &entry, err)) > 0) {
		if (entry.type != HP_ARCHIVE_FILE)
			continue;
		if (entry.ordinal != d->ordinal)
			return fail_changed(d, err);
		r = decode_file(d, entry.size, err);
		if (r < 0)
			return r;
		d->ordinal++;
	}
	if (r == 0 && d->spot < d->stream->n_spots)
		r = fail_changed(d, err);
	return r;
}

/* The end: an empty buffer says so, too. */
static int end_stream(struct decoder *d)
{
	int r = make_room(d, 0, 0);

	if (r > 0)
		flush(d, 0);
	return r < 0 ? r : 0;
}

static int decode_archive(struct decoder *d, struct hpdsl_error *err)
{
	const struct hp_writing *p = d->s->w;
	int r = hp_archive_open(p->io, AT_FDCWD, d->stream->root->name,
				p->opt->nested, &d->archive, err);

	if (r < 0)
		return r;
	hp_archive_set_stop(d->archive, p->opt->watch.stop);
	if (!same_archive(d->stream->root, hp_archive_stat(d->archive)))
		r = fail_changed(d, err);
	if (r == 0)
		r = decode_all(d, err);
	hp_archive_close(d->archive);
	return r;
}

static int decode(struct decoder *d, struct hpdsl_error *err)
{
	int r = decode_archive(d, err);

	/* Whatever it looked like: that is why. */
	if (r != HPDSL_ESTOPPED && r != -ECANCELED && !still_same(d))
		r = fail_changed(d, err);
	return r == 0 ? end_stream(d) : r;
}

int hp_scatter_decode(struct hp_scatter *s, struct hp_stream *stream,
		      struct hpdsl_error *err)
{
	struct decoder *d;
	int r;

	if (stream->n_spots == 0)
		return 0;
	d = hp_aligned(sizeof *d);
	if (!d)
		return hp_fail_nomem(err);
	d->s = s;
	d->stream = stream;
	r = decode(d, err);
	flush(d, 0);
	if (r == HPDSL_ESTOPPED) {
		pthread_mutex_lock(&s->lock);
		s->stopped = true;
		pthread_mutex_unlock(&s->lock);
		r = 0;
	}
	free(d);
	/* Somebody else has failed, and said why. */
	return r == -ECANCELED ? 0 : r;
}
