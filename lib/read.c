/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of members and samples, read with pread from the chunk files and
 * compared with their checksums.
 */
#include "dataset.h"
#include "error.h"
#include "hash.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { PIECE = 1 << 20 };

/* A member being read. */
struct reading {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_member *m;
	struct hpdsl_chunk chunk;
	struct hp_cached_fd file;
	struct hpdsl_error *err;
};

/* "out/chunk-000017.tar: member 42 'a/b.jpg': why" */
static int bad_member(const struct reading *r, int code, const char *why)
{
	char buf[HP_PRINTABLE];

	return hp_fail_errno(r->err, code, "%s/%s: member %" PRIu64 " '%s'%s%s",
			     r->ds->path, r->chunk.name, r->m->number,
			     hp_printable(r->m->path, r->m->path_len, buf),
			     why ? ": " : "", why ? why : "");
}

/* What the caller hands in is compared with the chunk, not believed. */
static int begin(struct reading *r, const struct hpdsl_dataset *ds,
		 const struct hpdsl_member *m, struct hpdsl_error *err)
{
	int e;

	r->ds = ds;
	r->m = m;
	r->err = err;
	e = hpdsl_chunk_get(ds, m->chunk, &r->chunk, err);
	if (e < 0)
		return e;
	if (m->offset > r->chunk.bytes || m->size > r->chunk.bytes - m->offset)
		return bad_member(r, HPDSL_ECORRUPT,
				  "lies outside of its chunk");
	return hp_chunk_file_get(ds, &r->chunk, &r->file, err);
}

static void end(const struct reading *r)
{
	hp_chunk_file_put(r->ds, &r->file);
}

static int read_at(const struct reading *r, uint64_t offset, void *buf,
		   size_t size)
{
	ssize_t n = hp_io_pread_full(r->ds->io, r->file.fd, buf, size,
				     r->m->offset + offset);

	if (n < 0)
		return bad_member(r, (int)n, NULL);
	if ((size_t)n != size)
		return bad_member(r, HPDSL_ECORRUPT, "the chunk ends in it");
	return 0;
}

static int check(const struct reading *r, uint64_t hash)
{
	if (hash == r->m->checksum)
		return 0;
	return bad_member(r, HPDSL_ECORRUPT, "checksum differs");
}

int hpdsl_member_read(const struct hpdsl_dataset *ds,
		      const struct hpdsl_member *m, uint64_t offset, void *buf,
		      size_t size, struct hpdsl_error *err)
{
	char name[HP_PRINTABLE];
	struct reading r;
	int e;

	if (offset > m->size || size > m->size - offset)
		return hp_fail(err, -ERANGE,
			       "member %" PRIu64 " '%s' has %" PRIu64 " bytes",
			       m->number,
			       hp_printable(m->path, m->path_len, name),
			       m->size);
	e = begin(&r, ds, m, err);
	if (e < 0)
		return e;
	e = read_at(&r, offset, buf, size);
	if (e == 0 && size == m->size)
		e = check(&r, hp_hash64(buf, size));
	end(&r);
	return e;
}

static int stream(const struct reading *r,
		  int (*sink)(void *arg, const void *buf, size_t n,
			      struct hpdsl_error *err),
		  void *arg)
{
	uint64_t size = r->m->size, at = 0;
	hp_auto_free char *buf = hp_array(size < PIECE ? size : PIECE, 1);
	XXH3_state_t hash;

	if (!buf)
		return hp_fail_nomem(r->err);
	XXH3_64bits_reset(&hash);
	while (at < size) {
		size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
		int e = read_at(r, at, buf, n);

		if (e < 0)
			return e;
		XXH3_64bits_update(&hash, buf, n);
		e = sink(arg, buf, n, r->err);
		if (e)
			return e;
		at += n;
	}
	return check(r, XXH3_64bits_digest(&hash));
}

int hpdsl_member_stream(const struct hpdsl_dataset *ds,
			const struct hpdsl_member *m,
			int (*sink)(void *arg, const void *buf, size_t n,
				    struct hpdsl_error *err),
			void *arg, struct hpdsl_error *err)
{
	struct reading r;
	int e = begin(&r, ds, m, err);

	if (e < 0)
		return e;
	e = stream(&r, sink, arg);
	end(&r);
	return e;
}

/* ---- Samples ---------------------------------------------------------- */

static int sample_size(const struct hpdsl_dataset *ds,
		       const struct hpdsl_sample *s, uint64_t *ret,
		       struct hpdsl_error *err)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->members; i++) {
		struct hpdsl_member m;
		int r = hpdsl_member_get(ds, s->first_member + i, &m, err);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, m.size, &sum) || sum > SIZE_MAX)
			return hp_fail(err, HPDSL_ECORRUPT,
				       "%s/%s: sample %" PRIu64
				       ": has an impossible size",
				       ds->path, HP_INDEX_NAME, s->number);
	}
	*ret = sum;
	return 0;
}

int hpdsl_sample_read(const struct hpdsl_dataset *ds,
		      const struct hpdsl_sample *s, void *buf, size_t cap,
		      size_t *ret_bytes, struct hpdsl_error *err)
{
	struct hpdsl_sample own;
	uint64_t size = 0, at = 0;
	int r = hpdsl_sample_get(ds, s->number, &own, err);

	if (r == 0)
		r = sample_size(ds, &own, &size, err);
	if (r < 0)
		return r;
	if (size > cap) {
		*ret_bytes = (size_t)size;
		return hp_fail(err, -ENOSPC,
			       "sample %" PRIu64 " takes %" PRIu64
			       " bytes, there is room for %zu",
			       s->number, size, cap);
	}
	for (uint64_t i = 0; i < own.members; i++) {
		struct hpdsl_member m;

		r = hpdsl_member_get(ds, own.first_member + i, &m, err);
		if (r == 0 && m.size > size - at)
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "%s/%s: changed while it was read",
				    ds->path, HP_INDEX_NAME);
		if (r == 0)
			r = hpdsl_member_read(ds, &m, 0, (char *)buf + at,
					      (size_t)m.size, err);
		if (r < 0)
			return r;
		at += m.size;
	}
	*ret_bytes = (size_t)size;
	return 0;
}
