/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers on their way from the decoders to the chunks.  They are written in
 * any order; a stream's position moves when all before it are written.
 */
#include "scatter/private.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BUFFER_MAX = 1 << 20,
	BUFFER_MIN = 64 << 10,
	BUFFERS_MAX = 64,
	/* Of each decoder: one is filled while others are written. */
	BUFFERS_EACH = 6,
	COMPARED = 32 << 10, /* read back at a time */
};

static const uint64_t memory_default = 512 << 20;

int hp_scatter_buffers(struct hp_scatter *s, uint32_t decoders,
		       struct hpdsl_error *err)
{
	uint64_t memory = s->w->opt->memory, size, n;
	void *p;

	memory = (memory ? memory : memory_default) / 2;
	size = memory / BUFFERS_EACH / decoders / BUFFER_MIN * BUFFER_MIN;
	size = size < BUFFER_MIN ? BUFFER_MIN : size;
	size = size > BUFFER_MAX ? BUFFER_MAX : size;
	n = (uint64_t)BUFFERS_EACH * decoders;
	n = n > memory / size ? memory / size : n;
	n = n > BUFFERS_MAX ? BUFFERS_MAX : n;
	p = mmap(NULL, size * n, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return hp_fail_nomem(err);
	s->memory = p;
	s->buffer_size = (uint32_t)size;
	s->n_buffers = (uint32_t)n;
	s->buffers = calloc(n, sizeof *s->buffers);
	if (!s->buffers)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < n; i++) {
		s->buffers[i].data = s->memory + i * size;
		s->buffers[i].next = s->free;
		s->free = &s->buffers[i];
	}
	s->queue_end = &s->queue;
	return 0;
}

void hp_scatter_buffers_free(struct hp_scatter *s)
{
	if (s->memory)
		munmap(s->memory, (size_t)s->buffer_size * s->n_buffers);
	free(s->buffers);
	s->memory = NULL;
	s->buffers = NULL;
}

struct hp_scatter_buffer *hp_scatter_get(struct hp_scatter *s,
					 struct hp_stream *stream)
{
	struct hp_scatter_buffer *b = NULL;

	pthread_mutex_lock(&s->lock);
	while (!s->free && !s->failed)
		pthread_cond_wait(&s->freed, &s->lock);
	if (!s->failed) {
		b = s->free;
		s->free = b->next;
		b->next = b->behind = NULL;
		b->stream = stream;
		b->used = b->n = 0;
		b->bytes = 0;
		b->written = false;
	}
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* ---- One piece -------------------------------------------------------- */

/* Is it there already? */
static bool same_bytes(struct hp_outfile *f, const uint8_t *data, size_t n,
		       uint64_t off)
{
	uint8_t there[COMPARED];

	while (n) {
		size_t k = n < sizeof there ? n : sizeof there;

		if (hp_io_pread_full(f->io, f->fd, there, k, off) !=
			    (ssize_t)k ||
		    memcmp(there, data, k) != 0)
			return false;
		data += k;
		off += k;
		n -= k;
	}
	return true;
}

/* 1: they were there. */
static int put_bytes(struct hp_scatter *s, const struct hp_stream_spot *spot,
		     const uint8_t *data, size_t n, uint64_t off, bool compare,
		     struct hpdsl_error *err)
{
	struct hp_outfile *f;
	bool write;
	int r = hp_parts_get(&s->parts, spot->chunk, &f, err);

	if (r < 0)
		return r;
	write = !compare || !hp_parts_old(&s->parts, spot->chunk) ||
		!same_bytes(f, data, n, off);
	if (write)
		r = hp_outfile_pwrite(f, data, n, off, err);
	hp_parts_put(&s->parts, spot->chunk, write);
	return write ? r : 1;
}

int hp_scatter_put(struct hp_scatter *s, const struct hp_stream_spot *spot,
		   const struct hp_scatter_piece *piece, uint8_t *data,
		   struct hpdsl_error *err)
{
	const struct hp_list *list = &s->w->list;
	uint8_t header[HP_TAR_HEADER_MAX];
	size_t before = 0, n = piece->len;
	uint64_t off = spot->header;
	struct hp_tar_member m;
	bool last;
	int r;

	hp_plan_header(list, spot->file, &m);
	if (piece->offset == 0) {
		before = hp_tar_header_write(&m, header);
		memcpy(data - before, header, before);
	} else {
		off += hp_tar_header_size(&m) + piece->offset;
	}
	last = piece->offset + n == list->files[spot->file].size;
	if (last)
		n = hp_tar_padded(n);
	r = put_bytes(s, spot, data - before, before + n, off, piece->compare,
		      err);
	if (r > 0 && last)
		__atomic_fetch_add(&s->w->report->resumed_members, 1,
				   __ATOMIC_RELAXED);
	return r < 0 ? r : 0;
}

/* ---- Whole buffers ---------------------------------------------------- */

static int write_buffer(struct hp_scatter *s, struct hp_scatter_buffer *b,
			struct hpdsl_error *err)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct hp_scatter_piece *piece = &b->piece[i];

		for (uint64_t k = 0; k < piece->n; k++) {
			int r = hp_scatter_put(s, &piece->spots[k], piece,
					       b->data + piece->at, err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Under the lock: the stream's buffers that are written, in order. */
static void retire(struct hp_scatter *s, struct hp_stream *t)
{
	struct hp_scatter_buffer *b;

	while (t->first && t->first->written) {
		b = t->first;
		t->first = b->behind;
		if (!t->first)
			t->last = &t->first;
		t->at.files = b->files;
		t->at.bytes = b->file_bytes;
		b->next = s->free;
		s->free = b;
	}
	pthread_cond_broadcast(&s->freed);
}

/* Under the lock, which it gives up meanwhile. */
static void handle(struct hp_scatter *s, struct hp_scatter_buffer *b)
{
	struct hpdsl_error err;
	int r;

	pthread_mutex_unlock(&s->lock);
	r = write_buffer(s, b, &err);
	if (r == 0)
		hp_meter_add(&s->meter, b->bytes);
	else
		hp_scatter_fail(s, r, &err);
	pthread_mutex_lock(&s->lock);
	b->written = r == 0;
	retire(s, b->stream);
}

void hp_scatter_submit(struct hp_scatter *s, struct hp_scatter_buffer *b)
{
	struct hp_stream *t = b->stream;

	pthread_mutex_lock(&s->lock);
	*t->last = b;
	t->last = &b->behind;
	if (s->writers) {
		*s->queue_end = b;
		s->queue_end = &b->next;
		pthread_cond_signal(&s->ready);
	} else if (!s->failed) {
		handle(s, b);
	}
	pthread_mutex_unlock(&s->lock);
	if (!s->syncing)
		hp_scatter_sync_if_due(s);
}

void *hp_scatter_writer(void *arg)
{
	struct hp_scatter *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct hp_scatter_buffer *b = s->queue;

		if (s->failed || (!b && s->ended))
			break;
		if (!b) {
			pthread_cond_wait(&s->ready, &s->lock);
			continue;
		}
		s->queue = b->next;
		if (!s->queue)
			s->queue_end = &s->queue;
		b->next = NULL;
		handle(s, b);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
