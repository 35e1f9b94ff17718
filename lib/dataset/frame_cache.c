/* SPDX-License-Identifier: Apache-2.0 */
/* Reading plain bytes from compressed chunks, frame by frame. */
#include "dataset/frame_cache.h"

#include "base/error.h"
#include "chunk/frame_stream.h"
#include "index/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	PIECE = 256 *
		1024, /* of larger ones: read, or passed over, at a time */
	FEW = 8,      /* idle decoders: with less, a new one is made */
	MOST = 32,
	MOST_BYTES = 64 << 20, /* of idle decoders, unless there is one only */
};

/* Memory that grows. */
struct room {
	uint8_t *p;
	size_t n;
};

struct hp_decoder {
	struct hp_decoder *next; /* idle: the one used before */
	ZSTD_DCtx *zstd;
	struct room plain, stored;
	/* The frame at hand, if any. */
	bool has;
	uint64_t file;
	uint32_t number;
	struct hp_frame frame;
	/* Of a large one all before plain_at has been decoded, and what has
	 * been read, to stored_at, is the stream's. */
	bool large;
	uint64_t plain_at, stored_at;
	struct hp_frame_stream stream;
	struct hp_decoder_source *src; /* while it is read from */
};

struct hp_frame_cache {
	pthread_mutex_t lock;
	struct hp_decoder *idle; /* the one used last first */
	unsigned n;
	uint64_t bytes; /* of the idle ones */
};

/* ---- Decoders that wait for work -------------------------------------- */

struct hp_frame_cache *hp_frame_cache_new(void)
{
	struct hp_frame_cache *cache = calloc(1, sizeof *cache);

	if (cache && pthread_mutex_init(&cache->lock, NULL)) {
		free(cache);
		return NULL;
	}
	return cache;
}

static void decoder_free(struct hp_decoder *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	free(d->plain.p);
	free(d->stored.p);
	free(d);
}

void hp_frame_cache_free(struct hp_frame_cache *cache)
{
	if (!cache)
		return;
	while (cache->idle) {
		struct hp_decoder *d = cache->idle;

		cache->idle = d->next;
		decoder_free(d);
	}
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static struct hp_decoder *decoder_new(void)
{
	struct hp_decoder *d = calloc(1, sizeof *d);

	if (d)
		d->zstd = hp_frame_decoder();
	if (d && d->zstd)
		return d;
	decoder_free(d);
	return NULL;
}

static uint64_t size_of(const struct hp_decoder *d)
{
	return ZSTD_sizeof_DCtx(d->zstd) + d->plain.n + d->stored.n;
}

/* Can it give the byte without decoding what it has decoded before? */
static bool serves(const struct hp_decoder *d, uint64_t file, uint64_t offset)
{
	return d->has && d->file == file && offset >= d->frame.plain &&
	       offset < d->frame.plain_end &&
	       (!d->large || offset >= d->plain_at);
}

/* Locked. */
static struct hp_decoder *unlink_idle(struct hp_frame_cache *cache,
				      struct hp_decoder **at)
{
	struct hp_decoder *d = *at;

	*at = d->next;
	cache->n--;
	cache->bytes -= size_of(d);
	return d;
}

static struct hp_decoder **oldest(struct hp_frame_cache *cache)
{
	struct hp_decoder **at = &cache->idle;

	while ((*at)->next)
		at = &(*at)->next;
	return at;
}

struct hp_decoder *hp_decoder_get(struct hp_frame_cache *cache, uint64_t file,
				  uint64_t offset)
{
	struct hp_decoder **at, *d = NULL;

	pthread_mutex_lock(&cache->lock);
	for (at = &cache->idle; *at; at = &(*at)->next) {
		if (serves(*at, file, offset))
			break;
	}
	if (*at)
		d = unlink_idle(cache, at);
	else if (cache->n >= FEW)
		d = unlink_idle(cache, oldest(cache));
	pthread_mutex_unlock(&cache->lock);
	return d ? d : decoder_new();
}

void hp_decoder_put(struct hp_frame_cache *cache, struct hp_decoder *d)
{
	struct hp_decoder *drop = NULL;

	if (!d)
		return;
	pthread_mutex_lock(&cache->lock);
	d->next = cache->idle;
	cache->idle = d;
	cache->n++;
	cache->bytes += size_of(d);
	while (cache->n > 1 && (cache->n > MOST || cache->bytes > MOST_BYTES)) {
		d = unlink_idle(cache, oldest(cache));
		d->next = drop;
		drop = d;
	}
	pthread_mutex_unlock(&cache->lock);
	while (drop) {
		d = drop->next;
		decoder_free(drop);
		drop = d;
	}
}

/* ---- Decoding --------------------------------------------------------- */

static int make_room(struct room *r, size_t n)
{
	uint8_t *p;

	if (r->n >= n)
		return 0;
	p = malloc(n);
	if (!p)
		return -ENOMEM;
	free(r->p);
	r->p = p;
	r->n = n;
	return 0;
}

/* "frame 3: why" */
static int fail(const struct hp_decoder *d, int code, const char *why,
		struct hpdsl_error *err)
{
	if (code == -ENOMEM)
		return hp_fail_nomem(err);
	if (code != HPDSL_ECORRUPT)
		return hp_source_fail(d->src->from, err, code, "frame %" PRIu32,
				      d->number);
	return hp_fail(err, code, "frame %" PRIu32 ": %s", d->number, why);
}

/* n bytes of the file, or fewer where it was cut off, but some. */
static int read_stored(struct hp_decoder *d, uint64_t offset, size_t *n,
		       struct hpdsl_error *why)
{
	ssize_t k;

	if (make_room(&d->stored, *n) < 0)
		return -ENOMEM;
	k = hp_source_read(d->src->from, d->stored.p, *n, offset);
	if (k < 0)
		return (int)k;
	d->src->read += (uint64_t)k;
	*n = (size_t)k;
	return k ? 0 : hp_fail(why, HPDSL_ECORRUPT, "the chunk ends in it");
}

static int decode_whole(struct hp_decoder *d, struct hpdsl_error *why)
{
	const struct hp_frame *f = &d->frame;
	size_t plain = (size_t)(f->plain_end - f->plain);
	size_t stored = (size_t)(f->stored_end - f->stored), n = stored;
	int r;

	if (stored > ZSTD_compressBound(plain))
		return hp_fail(why, HPDSL_ECORRUPT, "is too large");
	r = read_stored(d, f->stored, &n, why);
	if (r < 0)
		return r;
	if (n != stored)
		return hp_fail(why, HPDSL_ECORRUPT, "the chunk ends in it");
	r = make_room(&d->plain, plain);
	return r < 0 ? r :
		       hp_frame_decode(d->zstd, d->stored.p, stored, d->plain.p,
				       plain, why);
}

/* More bytes of a large frame. */
static int refill(void *arg, const uint8_t **ret, size_t *ret_n,
		  struct hpdsl_error *why)
{
	struct hp_decoder *d = arg;
	uint64_t left = d->frame.stored_end - d->stored_at;
	size_t n = left < PIECE ? (size_t)left : PIECE;
	int r;

	if (!n)
		return hp_fail(why, HPDSL_ECORRUPT, "goes on too long");
	r = read_stored(d, d->stored_at, &n, why);
	if (r < 0)
		return r;
	d->stored_at += n;
	*ret = d->stored.p;
	*ret_n = n;
	return 0;
}

static int begin_large(struct hp_decoder *d, struct hpdsl_error *why)
{
	struct hp_frame_stream *s = &d->stream;
	uint64_t plain;
	int r;

	d->plain_at = d->frame.plain;
	d->stored_at = d->frame.stored;
	ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
	*s = (struct hp_frame_stream){ .decoder = d->zstd,
				       .more = refill,
				       .arg = d };
	r = refill(d, &s->at, &s->have, why);
	if (r == 0)
		r = hp_frame_head(s->at, s->have, &plain, why);
	if (r == 0 && plain != d->frame.plain_end - d->frame.plain)
		r = hp_fail(why, HPDSL_ECORRUPT, "has another size");
	return r;
}

/*
 * The next n bytes of a large frame; with its last byte its checksum is read
 * and compared.
 */
static int decode_next(struct hp_decoder *d, void *buf, size_t n,
		       struct hpdsl_error *err)
{
	ZSTD_outBuffer out = { buf, n, 0 };
	bool to_end = d->plain_at + n == d->frame.plain_end;
	struct hpdsl_error why;
	int r = hp_frame_stream_next(&d->stream, &out, to_end, &why);

	if (r > 0 && (!to_end || out.pos < n || d->stream.have ||
		      d->stored_at != d->frame.stored_end))
		r = hp_fail(&why, HPDSL_ECORRUPT, "ends early");
	d->plain_at += n;
	return r < 0 ? fail(d, r, why.msg, err) : 0;
}

/* Up to byte offset, into nowhere. */
static int pass_over(struct hp_decoder *d, uint64_t offset,
		     struct hpdsl_error *err)
{
	int r = make_room(&d->plain, PIECE);

	if (r < 0)
		return hp_fail_nomem(err);
	while (r == 0 && d->plain_at < offset) {
		uint64_t left = offset - d->plain_at;

		r = decode_next(d, d->plain.p,
				left < PIECE ? (size_t)left : PIECE, err);
	}
	return r;
}

static int load(struct hp_decoder *d, uint64_t offset, struct hpdsl_error *err)
{
	const struct hp_decoder_source *s = d->src;
	hp_auto_index_copy c;
	struct hpdsl_error why;
	int r;

	hp_index_copy_begin(&c, s->index, false);
	d->has = false;
	d->file = s->file;
	r = hp_index_frame_find(&c.ix, s->row, offset, &d->number, err);
	if (r == 0)
		r = hp_index_frame(&c.ix, s->row, d->number, &d->frame, err);
	if (r < 0)
		return r;
	d->large = d->frame.plain_end - d->frame.plain > HP_FRAME_WHOLE;
	r = d->large ? begin_large(d, &why) : decode_whole(d, &why);
	d->has = r == 0;
	return r < 0 ? fail(d, r, why.msg, err) : 0;
}

/* n bytes that lie in the frame at hand. */
static int copy(struct hp_decoder *d, uint64_t offset, void *buf, size_t n,
		struct hpdsl_error *err)
{
	int r;

	if (!d->large) {
		memcpy(buf, d->plain.p + (offset - d->frame.plain), n);
		return 0;
	}
	r = pass_over(d, offset, err);
	if (r == 0)
		r = decode_next(d, buf, n, err);
	d->has = r == 0;
	return r;
}

int hp_decoder_read(struct hp_decoder *d, struct hp_decoder_source *src,
		    uint64_t offset, void *buf, size_t n,
		    struct hpdsl_error *err)
{
	d->src = src;
	while (n) {
		size_t k = n;
		int r = serves(d, src->file, offset) ? 0 : load(d, offset, err);

		if (r == 0 && k > d->frame.plain_end - offset)
			k = (size_t)(d->frame.plain_end - offset);
		if (r == 0)
			r = copy(d, offset, buf, k, err);
		if (r < 0)
			return r;
		buf = (char *)buf + k;
		offset += k;
		n -= k;
	}
	return 0;
}
