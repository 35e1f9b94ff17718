/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an archive's bytes come from: a part of the archive file, a member of
 * the archive around it as that is decoded, or memory.  What they are is told
 * by their beginning, never by a name.
 */
#include "archive/private.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "chunk/tar_tail.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum {
	STEP_FIRST = 4 << 10, /* after a jump: a header and little more */
	STEP_MAX = 256 << 10,
	SKIP_MIN = 64 << 10,
	KEEP_MAX = 64 << 20,
};

static ssize_t ahead_take(struct hp_ahead *h, const uint8_t **ret)
{
	size_t n = h->len - h->at;

	if (n) {
		*ret = h->head + h->at;
		h->at = h->len;
		return (ssize_t)n;
	}
	n = h->rest_len;
	*ret = h->rest;
	h->rest_len = 0;
	return (ssize_t)n;
}

static bool asked_to_stop(struct hp_archive *a)
{
	if (!a->stop || !__atomic_load_n(a->stop, __ATOMIC_RELAXED))
		return false;
	hp_fail(&a->failed, HPDSL_ESTOPPED, "stopped");
	return true;
}

static ssize_t region_take(struct hp_feed *f, const uint8_t **ret)
{
	struct hp_archive *a = f->a;
	uint64_t left = f->len - f->at, at = f->base + f->at;
	size_t n = left < f->step ? (size_t)left : f->step;
	ssize_t r;

	do
		r = n ? a->io->pread(a->io, a->fd, f->buf, n, at) : 0;
	while (r == -EINTR);
	if (r < 0)
		return hp_fail_errno(&a->failed, (int)r, "read");
	if (r == 0 && n)
		return hp_fail(&a->failed, HPDSL_ECHANGED,
			       "shrank while it was read");
	if (f->step < STEP_MAX)
		f->step *= 2;
	if (f->one_at && f->one_at >= f->at && f->one_at - f->at < (uint64_t)r)
		f->buf[f->one_at - f->at] = 1;
	f->at += (uint64_t)r;
	*ret = f->buf;
	return r;
}

static ssize_t memory_take(struct hp_feed *f, const uint8_t **ret)
{
	uint64_t left = f->len - f->at;
	size_t n = left < STEP_MAX ? (size_t)left : STEP_MAX;

	*ret = f->memory + f->at;
	f->at += n;
	return (ssize_t)n;
}

/* A reader's own text for its failure, and which kind it is. */
static ssize_t reader_failed(struct hp_archive *a, struct archive *reader)
{
	const char *why = archive_error_string(reader);

	if (a->failed.code)
		return a->failed.code;
	if (archive_errno(reader) == ENOMEM)
		return hp_fail_nomem(&a->failed);
	return hp_fail(&a->failed, HPDSL_ECORRUPT, "%s",
		       why ? why : "is damaged");
}

/*
 * The end comes before a hole that a file ends with, and who asks again gets
 * the zeros.
 */
ssize_t hp_reader_take(struct archive *reader, void *buf, size_t n, bool sparse)
{
	la_ssize_t k = archive_read_data(reader, buf, n);

	return k == 0 && sparse ? archive_read_data(reader, buf, n) : k;
}

static ssize_t member_take(struct hp_feed *f, const uint8_t **ret)
{
	ssize_t n = hp_reader_take(f->from, f->buf, STEP_MAX, f->sparse);

	*ret = f->buf;
	return n < 0 ? reader_failed(f->a, f->from) : n;
}

static ssize_t take_raw(struct hp_feed *f, const uint8_t **ret)
{
	ssize_t n = ahead_take(&f->raw, ret);

	if (n)
		return n;
	if (asked_to_stop(f->a))
		return HPDSL_ESTOPPED;
	if (f->kind == HP_FEED_MEMORY)
		return memory_take(f, ret);
	if (!f->buf)
		f->buf = malloc(STEP_MAX);
	if (!f->buf)
		return hp_fail_nomem(&f->a->failed);
	if (f->kind == HP_FEED_MEMBER)
		return member_take(f, ret);
	if (!f->step)
		f->step = STEP_FIRST;
	return region_take(f, ret);
}

ssize_t hp_feed_take(struct hp_feed *f, const uint8_t **ret)
{
	ssize_t n;

	if (!f->decoder)
		return take_raw(f, ret);
	n = ahead_take(&f->plain, ret);
	if (n)
		return n;
	n = hp_filter_take(f->decoder, ret);
	if (n > 0)
		f->a->decoded += (uint64_t)n;
	return n;
}

bool hp_feed_seekable(const struct hp_feed *f)
{
	return !f->decoder && f->kind != HP_FEED_MEMBER;
}

void hp_feed_seek(struct hp_feed *f, uint64_t to)
{
	f->at = to < f->len ? to : f->len;
	f->step = STEP_FIRST;
	f->raw = (struct hp_ahead){ .len = 0 };
}

uint64_t hp_feed_skip(struct hp_feed *f, uint64_t n)
{
	uint64_t left = f->len - f->at;

	/* Short ways are gone faster by reading on. */
	if (n < SKIP_MIN || !hp_feed_seekable(f) || f->raw.at < f->raw.len ||
	    f->raw.rest_len)
		return 0;
	if (n > left)
		n = left;
	if (n)
		hp_feed_seek(f, f->at + n);
	return n;
}

ssize_t hp_feed_peek(struct hp_feed *f, void *buf, size_t n, uint64_t at)
{
	struct hp_archive *a = f->a;
	ssize_t r;

	if (at >= f->len)
		return 0;
	if (n > f->len - at)
		n = (size_t)(f->len - at);
	if (f->kind == HP_FEED_MEMORY) {
		memcpy(buf, f->memory + at, n);
		return (ssize_t)n;
	}
	r = hp_io_pread_full(a->io, a->fd, buf, n, f->base + at);
	return r < 0 ? hp_fail_errno(&a->failed, (int)r, "read") : r;
}

int hp_feed_keep(struct hp_feed *f, uint64_t n)
{
	struct hp_archive *a = f->a;
	const uint8_t *p = NULL;
	uint64_t at = 0;
	ssize_t k;

	if (n > KEEP_MAX - a->memory)
		return hp_fail(&a->failed, -EFBIG,
			       "zips of more than 64 MiB inside a compressed "
			       "archive cannot be read: unpack it first");
	f->memory = malloc((size_t)n + 1);
	if (!f->memory)
		return hp_fail_nomem(&a->failed);
	while ((k = take_raw(f, &p)) > 0) {
		if ((uint64_t)k > n - at)
			return hp_fail(&a->failed, HPDSL_ECORRUPT,
				       "is longer than its header says");
		memcpy(f->memory + at, p, (size_t)k);
		at += (uint64_t)k;
	}
	if (k < 0)
		return (int)k;
	free(f->buf);
	f->buf = NULL;
	f->kind = HP_FEED_MEMORY;
	f->len = f->kept = at;
	f->at = 0;
	a->memory += at;
	return 0;
}

void hp_feed_release(struct hp_feed *f)
{
	hp_filter_free(f->decoder);
	if (f->kind == HP_FEED_MEMORY)
		f->a->memory -= f->kept;
	free(f->memory);
	free(f->buf);
	memset(f, 0, sizeof *f);
}

/* ---- What is it? ------------------------------------------------------ */

/* Takes pieces until the head is full, or the end. */
static int look(struct hp_feed *f, struct hp_ahead *h, hp_feed_taker *take)
{
	struct hp_ahead got = { .len = 0 };

	while (got.len < sizeof got.head) {
		const uint8_t *p = NULL;
		size_t room = sizeof got.head - got.len;
		ssize_t n = take(f, &p);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		if ((size_t)n < room)
			room = (size_t)n;
		memcpy(got.head + got.len, p, room);
		got.len += room;
		got.rest = p + room;
		got.rest_len = (size_t)n - room;
	}
	*h = got;
	return 0;
}

static bool is_zip(const uint8_t *p, size_t n)
{
	return n >= 22 && (!memcmp(p, "PK\3\4", 4) || !memcmp(p, "PK\5\6", 4));
}

static bool is_seven(const uint8_t *p, size_t n)
{
	return n >= 32 && !memcmp(p, "7z\xbc\xaf\x27\x1c", 6);
}

/* Where its directory lies; libarchive takes one of no bytes for an archive
 * without files, before it looks at this. */
static bool has_sound_head(const uint8_t *seven)
{
	return hp_get32(seven + 8) == crc32_z(0, seven + 12, 20);
}

static bool is_tar(const uint8_t *p, size_t n)
{
	if (n < 512)
		return false;
	for (size_t i = 0; i < 512; i++)
		if (p[i])
			return hp_tar_looks_like(p);
	return true; /* the end mark: there is nothing in it */
}

int hp_feed_recognise(struct hp_feed *f)
{
	int r = look(f, &f->raw, take_raw);
	bool tar;

	if (r == 0)
		r = hp_filter_new(f, take_raw, f->raw.head, f->raw.len,
				  &f->decoder);
	if (r < 0)
		return r;
	if (f->decoder) {
		r = look(f, &f->plain, hp_feed_take);
		if (r < 0)
			return r;
		if (!is_tar(f->plain.head, f->plain.len))
			return hp_fail(&f->a->failed, HPDSL_ENOTOURS,
				       HP_NO_TAR_INSIDE);
		return 1;
	}
	f->zip = is_zip(f->raw.head, f->raw.len);
	/* A tar's header has a checksum, and its first name any bytes. */
	tar = !f->zip && is_tar(f->raw.head, f->raw.len);
	f->seven = !tar && !f->a->top && is_seven(f->raw.head, f->raw.len);
	if (!f->zip && !f->seven && !tar)
		return 0;
	if (f->seven && !has_sound_head(f->raw.head))
		return hp_fail(&f->a->failed, HPDSL_ECORRUPT,
			       "a 7z whose head is damaged: copy it again");
	if (f->kind != HP_FEED_MEMBER)
		hp_feed_seek(f, 0);
	return 1;
}
