/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a tar, read a second time by our own reader from the bytes
 * that libarchive took: it gives a sparse file's size out as what is stored,
 * and a content is read in place only where both say where it lies and how long
 * it is.  What they read differently is refused.
 */
#include "archive/private.h"

#include "chunk/tar_foreign.h"
#include "chunk/tar.h"
#include "chunk/tar_tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_FIRST = 4 << 10, KEPT_MAX = 64 << 20 };

struct hp_headers {
	struct hp_foreign foreign;
	struct hp_foreign_member m; /* the last one, but for a sparse file */
	struct hp_tar_seen seen;
	/* What libarchive took and has not gone past. */
	uint8_t *kept;
	size_t n, room;
	uint64_t from;	 /* offset of the first of these bytes */
	bool inside;	 /* it reads headers: none of it is dropped */
	bool sparse;	 /* the last member, which has a map */
	uint64_t stored; /* bytes behind its headers, and map */
};

enum hp_archive_type hp_entry_type(struct archive_entry *e)
{
	if (archive_entry_hardlink(e))
		return HP_ARCHIVE_HARDLINK;
	switch (archive_entry_filetype(e)) {
	case AE_IFREG:
		return HP_ARCHIVE_FILE;
	case AE_IFDIR:
		return HP_ARCHIVE_FOLDER;
	case AE_IFLNK:
		return HP_ARCHIVE_SYMLINK;
	default:
		return HP_ARCHIVE_SPECIAL;
	}
}

int hp_headers_new(struct hp_layer *l)
{
	l->headers = calloc(1, sizeof *l->headers);
	if (!l->headers)
		return -ENOMEM;
	hp_foreign_begin(&l->headers->foreign);
	return 0;
}

void hp_headers_free(struct hp_headers *h)
{
	if (h)
		free(h->kept);
	free(h);
}

/* ---- The bytes -------------------------------------------------------- */

static void drop(struct hp_headers *h, uint64_t to)
{
	uint64_t gone = to > h->from ? to - h->from : 0;

	if (gone > h->n)
		gone = h->n;
	h->n -= (size_t)gone;
	if (gone && h->n)
		memmove(h->kept, h->kept + gone, h->n);
	h->from = h->n ? h->from + gone : to;
}

static int reserve(struct hp_layer *l, size_t n)
{
	struct hp_headers *h = l->headers;
	struct hpdsl_error *err = &l->feed.a->failed;
	size_t room = h->room ? h->room : KEPT_FIRST;
	uint8_t *more;

	if (n <= h->room)
		return 0;
	if (n > KEPT_MAX)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "a member's headers are too large");
	while (room < n)
		room *= 2;
	more = realloc(h->kept, room);
	if (!more)
		return hp_fail_nomem(err);
	h->kept = more;
	h->room = room;
	return 0;
}

/* Keeps what the piece has from there on, up to an offset. */
static int keep(struct hp_layer *l, uint64_t end)
{
	struct hp_headers *h = l->headers;
	uint64_t begin = l->given - l->piece_len, at = h->from + h->n;
	int r;

	if (end <= at || !l->piece_len)
		return 0;
	if (at < begin || end > l->given)
		return hp_fail(&l->feed.a->failed, HPDSL_ECORRUPT,
			       "a member's headers cannot be followed");
	r = reserve(l, h->n + (size_t)(end - at));
	if (r < 0)
		return r;
	memcpy(h->kept + h->n, l->piece + (at - begin), (size_t)(end - at));
	h->n += (size_t)(end - at);
	return 0;
}

int hp_headers_next_piece(struct hp_layer *l)
{
	struct hp_headers *h = l->headers;
	int64_t at;

	if (!h)
		return 0;
	at = h->inside ? 0 : archive_filter_bytes(l->reader, 0);
	if (at > 0)
		drop(h, (uint64_t)at);
	return keep(l, l->given);
}

void hp_headers_begin(struct hp_layer *l)
{
	if (!l->headers)
		return;
	drop(l->headers, l->next);
	l->headers->inside = true;
}

void hp_headers_add_tail(const struct hp_layer *l, uint64_t at,
			 struct hp_tar_tail *t)
{
	const struct hp_headers *h = l->headers;
	uint64_t end = h->from + h->n, begin = l->given - l->piece_len;

	t->seen_before = &h->seen;
	t->mark = l->next;
	t->at = at;
	if (at < end)
		hp_tar_tail_add(t, h->kept + (at - h->from),
				(size_t)(end - at));
	at = at < end ? end : at;
	if (at >= begin && at < l->given)
		hp_tar_tail_add(t, l->piece + (at - begin),
				(size_t)(l->given - at));
}

/* ---- What they say ---------------------------------------------------- */

static int refuse(struct hp_layer *l, int code, const char *why)
{
	const char *name = l->headers->foreign.name;
	char text[HP_PRINTABLE];

	return hp_fail(&l->feed.a->failed, code, "member '%s': is %s",
		       hp_printable(name, strlen(name), text), why);
}

/* A sparse file's header, and what libarchive took of its map behind it. */
static int parse_sparse(struct hp_layer *l, const uint8_t *block, size_t n)
{
	struct hp_headers *h = l->headers;
	uint64_t map = n - HP_TAR_BLOCK;

	/* Our reader stops here, and libarchive knows no such header. */
	if (h->foreign.global.path_len || h->foreign.global.has_mtime)
		return refuse(l, -EOPNOTSUPP,
			      "a sparse file behind a pax header with a path "
			      "or time for all members");
	h->sparse = true;
	h->stored = h->foreign.stored;
	/* Of type S it does not count. */
	if (block[156] == 'S')
		return 0;
	if (map > h->stored)
		return refuse(l, HPDSL_ECORRUPT, "behind a damaged header");
	h->stored -= map;
	return 0;
}

/* Our reader at the n bytes: *ret is the member that they end with. */
static int parse(struct hp_layer *l, size_t n, struct hp_foreign_member *ret)
{
	struct hp_headers *h = l->headers;
	struct hpdsl_error why, *err = &l->feed.a->failed;
	size_t at = 0;

	do {
		int r;

		if (n - at < HP_TAR_BLOCK)
			return hp_fail(err, HPDSL_ECORRUPT, "damaged header");
		hp_tar_seen_add(&h->seen, h->from + at, h->kept + at);
		r = hp_foreign_header(&h->foreign, h->kept + at, ret, &why);
		if (r == -EOPNOTSUPP && h->foreign.mapped)
			return parse_sparse(l, h->kept + at, n - at);
		if (r < 0)
			return r == -EOPNOTSUPP ?
				       refuse(l, r, why.msg) :
				       hp_fail(err, r, "%s", why.msg);
		at += HP_TAR_BLOCK;
		if (ret->kind != HP_FOREIGN_EXTRA)
			break;
		if (ret->size > n - at)
			return hp_fail(err, HPDSL_ECORRUPT, "damaged header");
		r = hp_foreign_extra(&h->foreign, h->kept + at,
				     (size_t)ret->size, &why);
		if (r < 0)
			return hp_fail(err, r, "%s", why.msg);
		at += (size_t)hp_tar_padded(ret->size);
	} while (at <= n);
	return at == n ? 0 :
			 refuse(l, HPDSL_ECORRUPT, "behind a damaged header");
}

static enum hp_foreign_kind kind_of(struct archive_entry *e)
{
	switch (hp_entry_type(e)) {
	case HP_ARCHIVE_FILE:
		return HP_FOREIGN_FILE;
	case HP_ARCHIVE_FOLDER:
		return HP_FOREIGN_FOLDER;
	case HP_ARCHIVE_SYMLINK:
	case HP_ARCHIVE_HARDLINK:
		return HP_FOREIGN_LINK;
	default:
		return HP_FOREIGN_SPECIAL;
	}
}

/* Do both say the same of the member that libarchive is at? */
static int compare(struct hp_layer *l, const struct hp_foreign_member *m)
{
	bool file = kind_of(l->entry) == HP_FOREIGN_FILE;

	if (l->headers->sparse)
		return file ? 0 :
			      refuse(l, HPDSL_ECORRUPT,
				     "a sparse file that is no file");
	if (m->kind != kind_of(l->entry))
		return refuse(l, HPDSL_ECORRUPT, "not the same to all readers");
	if (file && ((uint64_t)archive_entry_size(l->entry) != m->size ||
		     archive_entry_sparse_count(l->entry)))
		return refuse(l, HPDSL_ECORRUPT, "not as long to all readers");
	return 0;
}

int hp_headers_end(struct hp_layer *l)
{
	struct hp_headers *h = l->headers;
	struct hp_foreign_member m = { .size = 0 };
	int r;

	if (!h)
		return 0;
	r = keep(l, l->content);
	if (r < 0)
		return r;
	h->inside = h->sparse = false;
	if (h->from != l->next || l->content - l->next > h->n)
		return hp_fail(&l->feed.a->failed, HPDSL_ECORRUPT,
			       "a member's headers cannot be followed");
	r = parse(l, (size_t)(l->content - l->next), &m);
	if (r == 0)
		r = compare(l, &m);
	if (!h->sparse)
		h->stored = m.size;
	h->m = m;
	drop(h, l->content);
	return r;
}

/* ---- What is behind them ---------------------------------------------- */

/* Bytes that the map of a sparse file says are stored. */
static int add_map(struct archive_entry *e, uint64_t *ret)
{
	uint64_t sum = 0, size = (uint64_t)archive_entry_size(e);
	la_int64_t offset, len;

	/* A map of one that has no holes is not told. */
	if (!archive_entry_sparse_reset(e))
		sum = size;
	while (archive_entry_sparse_next(e, &offset, &len) == ARCHIVE_OK)
		if (offset < 0 || len < 0 || (uint64_t)offset > size ||
		    (uint64_t)len > size - (uint64_t)offset ||
		    __builtin_add_overflow(sum, (uint64_t)len, &sum))
			return -EINVAL;
	*ret = sum;
	return 0;
}

int hp_headers_check_room(struct hp_layer *l, uint64_t used)
{
	struct hp_headers *h = l->headers;
	uint64_t sum = 0;

	if (!h)
		return 0;
	if (used != hp_tar_padded(h->stored))
		return refuse(l, HPDSL_ECORRUPT,
			      "not stored with as many bytes as its size says");
	/* What is missing would be zeros. */
	if (h->sparse && (add_map(l->entry, &sum) < 0 || h->stored != sum))
		return refuse(l, HPDSL_ECORRUPT,
			      "a sparse file whose map does not fit its "
			      "content");
	return 0;
}

void hp_headers_say(const struct hp_layer *l, struct hp_archive_entry *ret,
		    const char **path, size_t *len)
{
	const struct hp_headers *h = l->headers;

	if (!h || h->sparse)
		return;
	ret->mtime = h->m.mtime;
	ret->nsec = h->m.nsec;
	if (!h->foreign.global.path_len)
		return;
	*path = h->m.name;
	*len = h->m.name_len;
}

bool hp_headers_sparse(const struct hp_layer *l)
{
	return l->headers && l->headers->sparse;
}
