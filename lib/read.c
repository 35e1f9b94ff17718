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
	struct hp_decoder *decoder; /* NULL: the chunk is not compressed */
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
static int check_place(const struct reading *r)
{
	uint64_t bytes =
		r->chunk.compressed ? r->chunk.plain_bytes : r->chunk.bytes;

	if (r->m->offset > bytes || r->m->size > bytes - r->m->offset)
		return bad_member(r, HPDSL_ECORRUPT,
				  "lies outside of its chunk");
	return 0;
}

static void end(const struct reading *r)
{
	hp_decoder_put(r->ds->frames, r->decoder);
	hp_chunk_file_put(r->ds, &r->file);
}

static int begin(struct reading *r, const struct hpdsl_dataset *ds,
		 const struct hpdsl_member *m, struct hpdsl_error *err)
{
	int e;

	r->ds = ds;
	r->m = m;
	r->decoder = NULL;
	r->err = err;
	e = hpdsl_chunk_get(ds, m->chunk, &r->chunk, err);
	if (e == 0)
		e = check_place(r);
	if (e == 0)
		e = hp_chunk_file_get(ds, &r->chunk, &r->file, err);
	if (e < 0 || !r->chunk.compressed)
		return e;
	r->decoder = hp_decoder_get(ds->frames, m->chunk, m->offset);
	if (r->decoder)
		return 0;
	end(r);
	return hp_fail_nomem(err);
}

static int decode_at(const struct reading *r, uint64_t offset, void *buf,
		     size_t size)
{
	const struct hp_decoder_source src = { r->ds->io, r->ds->index,
					       &r->chunk, r->file.fd };
	struct hpdsl_error why;
	char name[HP_PRINTABLE];
	int e = hp_decoder_read(r->decoder, &src, r->m->offset + offset, buf,
				size, &why);

	if (e == 0)
		return 0;
	return hp_fail(r->err, e, "%s/%s: member %" PRIu64 " '%s': %s",
		       r->ds->path, r->chunk.name, r->m->number,
		       hp_printable(r->m->path, r->m->path_len, name), why.msg);
}

static int read_at(const struct reading *r, uint64_t offset, void *buf,
		   size_t size)
{
	ssize_t n;

	if (r->decoder)
		return decode_at(r, offset, buf, size);
	n = hp_io_pread_full(r->ds->io, r->file.fd, buf, size,
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

/* Size bytes from offset; all of the member is compared with its checksum. */
static int read_checked(const struct reading *r, uint64_t offset, void *buf,
			size_t size)
{
	int e = read_at(r, offset, buf, size);

	if (e == 0 && size == r->m->size)
		e = check(r, hp_hash64(buf, size));
	return e;
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
	e = read_checked(&r, offset, buf, size);
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

/* Members one behind the other, with one reading as long as that goes. */
static int read_members(const struct hpdsl_dataset *ds,
			const struct hpdsl_sample *s, char *buf, uint64_t size,
			struct hpdsl_error *err)
{
	struct hpdsl_member m;
	struct reading k;
	bool open = false;
	int r = 0;

	for (uint64_t i = 0; i < s->members && r == 0; i++) {
		r = hpdsl_member_get(ds, s->first_member + i, &m, err);
		if (r == 0 && m.size > size)
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "%s/%s: changed while it was read",
				    ds->path, HP_INDEX_NAME);
		if (r < 0)
			break;
		if (open && m.chunk == k.chunk.number) {
			k.m = &m;
			r = check_place(&k);
		} else {
			if (open)
				end(&k);
			r = begin(&k, ds, &m, err);
			open = r == 0;
		}
		if (r == 0)
			r = read_checked(&k, 0, buf, (size_t)m.size);
		buf += m.size;
		size -= m.size;
	}
	if (open)
		end(&k);
	return r;
}

int hpdsl_sample_read(const struct hpdsl_dataset *ds,
		      const struct hpdsl_sample *s, void *buf, size_t cap,
		      size_t *ret_bytes, struct hpdsl_error *err)
{
	struct hpdsl_sample own;
	uint64_t size = 0;
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
	r = read_members(ds, &own, buf, size, err);
	if (r == 0)
		*ret_bytes = (size_t)size;
	return r;
}
