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
	bool open;
	struct hp_chunk_file file;
	struct hp_decoder *decoder; /* NULL: the file is not compressed */
	/* Why what a stage directory has of the chunk is of no use; code 0: it
	 * has not been found to be so. */
	struct hpdsl_error here;
	struct hpdsl_error *err;
};

/* "out/chunk-000017.tar: member 42 'a/b.jpg': why" */
static int bad_member(const struct reading *r, int code, const char *why,
		      struct hpdsl_error *err)
{
	char file[HP_CHUNK_FILE_TEXT], name[HP_PRINTABLE];

	return hp_fail_errno(
		err, code, "%s: member %" PRIu64 " '%s'%s%s",
		hp_chunk_file_text(r->ds, &r->chunk, r->file.at, file),
		r->m->number, hp_printable(r->m->path, r->m->path_len, name),
		why ? ": " : "", why ? why : "");
}

/* It is final: both reasons, where two files were read. */
static int fail(const struct reading *r, const struct hpdsl_error *why)
{
	if (r->here.code)
		return hp_chunk_file_both(&r->here, why, r->err);
	return hp_fail(r->err, why->code, "%s", why->msg);
}

/* What the caller hands in is compared with the chunk, not believed. */
static int check_place(const struct reading *r)
{
	uint64_t bytes =
		r->chunk.compressed ? r->chunk.plain_bytes : r->chunk.bytes;

	if (r->m->offset > bytes || r->m->size > bytes - r->m->offset)
		return bad_member(r, HPDSL_ECORRUPT,
				  "lies outside of its chunk", r->err);
	return 0;
}

static void end(struct reading *r)
{
	if (!r->open)
		return;
	hp_decoder_put(r->ds->frames, r->decoder);
	hp_chunk_file_put(r->ds, &r->file);
	r->open = false;
}

static int open_file(struct reading *r, struct hpdsl_error *err)
{
	int e = hp_chunk_file_get(r->ds, &r->chunk, &r->file, &r->here, err);

	if (e < 0)
		return e;
	r->open = true;
	r->decoder = NULL;
	if (!r->chunk.compressed || r->file.at == HP_AT_EXPANDED)
		return 0;
	r->decoder = hp_decoder_get(r->ds->frames,
				    hp_chunk_file_key(&r->chunk, r->file.at),
				    r->m->offset);
	if (r->decoder)
		return 0;
	end(r);
	return hp_fail_nomem(err);
}

static int begin(struct reading *r, const struct hpdsl_dataset *ds,
		 const struct hpdsl_member *m, struct hpdsl_error *err)
{
	int e;

	r->ds = ds;
	r->m = m;
	r->open = false;
	r->file.at = HP_AT_HERE;
	r->here.code = 0;
	r->err = err;
	e = hpdsl_chunk_get(ds, m->chunk, &r->chunk, err);
	if (e == 0)
		e = check_place(r);
	return e == 0 ? open_file(r, err) : e;
}

/*
 * The file was found to be bad: 1, on with the origin's, or why->code, with
 * that in the reader's error.
 */
static int go_to_origin(struct reading *r, const struct hpdsl_error *why)
{
	int e;

	if (!hp_chunk_file_failed(r->ds, &r->chunk, &r->file, why->code))
		return fail(r, why);
	r->here = *why;
	end(r);
	e = open_file(r, r->err);
	return e < 0 ? e : 1;
}

/* ---- Bytes -------------------------------------------------------------- */

static int decode_at(struct reading *r, uint64_t offset, void *buf, size_t size,
		     struct hpdsl_error *err)
{
	struct hp_decoder_source src = {
		.io = r->ds->io,
		.index = r->ds->index,
		.row = &r->chunk,
		.file = hp_chunk_file_key(&r->chunk, r->file.at),
		.fd = r->file.fd.fd,
	};
	struct hpdsl_error why;
	int e = hp_decoder_read(r->decoder, &src, r->m->offset + offset, buf,
				size, &why);

	if (r->ds->stage)
		hp_stage_count(r->ds->stage, r->file.at, src.read);
	if (e == 0)
		return 0;
	bad_member(r, HPDSL_ECORRUPT, why.msg, err);
	err->code = e;
	return e;
}

static int read_file_at(struct reading *r, uint64_t offset, void *buf,
			size_t size, struct hpdsl_error *err)
{
	ssize_t n;

	if (r->decoder)
		return decode_at(r, offset, buf, size, err);
	n = hp_io_pread_full(r->ds->io, r->file.fd.fd, buf, size,
			     r->m->offset + offset);
	if (n < 0)
		return bad_member(r, (int)n, NULL, err);
	if (r->ds->stage)
		hp_stage_count(r->ds->stage, r->file.at, (uint64_t)n);
	if ((size_t)n != size)
		return bad_member(r, HPDSL_ECORRUPT, "the chunk ends in it",
				  err);
	return 0;
}

static int read_at(struct reading *r, uint64_t offset, void *buf, size_t size)
{
	struct hpdsl_error why;
	int e;

	while ((e = read_file_at(r, offset, buf, size, &why)) < 0) {
		e = go_to_origin(r, &why);
		if (e < 0)
			break;
	}
	return e;
}

/* 1: not so, but now the origin's file is to be read. */
static int check(struct reading *r, uint64_t hash)
{
	struct hpdsl_error why;

	if (hash == r->m->checksum)
		return 0;
	bad_member(r, HPDSL_ECORRUPT, "checksum differs", &why);
	return go_to_origin(r, &why);
}

/* Size bytes from offset; all of the member is compared with its checksum. */
static int read_checked(struct reading *r, uint64_t offset, void *buf,
			size_t size)
{
	int e;

	do {
		e = read_at(r, offset, buf, size);
		if (e == 0 && size == r->m->size)
			e = check(r, hp_hash64(buf, size));
	} while (e > 0);
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

struct sink {
	int (*take)(void *arg, const void *buf, size_t n,
		    struct hpdsl_error *err);
	void *arg;
};

/* The member, piece by piece, to the sink, or nowhere without one. */
static int pass(struct reading *r, void *buf, const struct sink *sink,
		uint64_t *ret_hash)
{
	uint64_t size = r->m->size, at = 0;
	XXH3_state_t hash;

	XXH3_64bits_reset(&hash);
	while (at < size) {
		size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
		int e = read_at(r, at, buf, n);

		if (e < 0)
			return e;
		XXH3_64bits_update(&hash, buf, n);
		e = sink ? sink->take(sink->arg, buf, n, r->err) : 0;
		if (e)
			return e;
		at += n;
	}
	*ret_hash = XXH3_64bits_digest(&hash);
	return 0;
}

/*
 * What a sink has got cannot be taken back, so what lies in a stage directory
 * is read twice: if it is bad, there is the origin.  What is small is held back
 * instead.
 */
static int check_here(struct reading *r, void *buf)
{
	uint64_t hash;
	int e;

	if (!r->ds->stage || r->file.at == HP_AT_ORIGIN)
		return 0;
	e = pass(r, buf, NULL, &hash);
	if (e == 0)
		e = check(r, hash);
	return e < 0 ? e : 0;
}

static int stream_small(struct reading *r, void *buf, const struct sink *sink)
{
	size_t size = (size_t)r->m->size;
	int e = read_checked(r, 0, buf, size);

	return e == 0 && size ? sink->take(sink->arg, buf, size, r->err) : e;
}

static int stream(struct reading *r, const struct sink *sink)
{
	uint64_t size = r->m->size, hash = 0;
	hp_auto_free char *buf = hp_array(size < PIECE ? size : PIECE, 1);
	int e;

	if (!buf)
		return hp_fail_nomem(r->err);
	if (r->ds->stage && size <= PIECE)
		return stream_small(r, buf, sink);
	e = check_here(r, buf);
	if (e == 0)
		e = pass(r, buf, sink, &hash);
	if (e)
		return e;
	e = check(r, hash);
	/* It has become bad just now; the next read goes to the origin. */
	return e > 0 ? hp_fail(r->err, HPDSL_ECORRUPT, "%s", r->here.msg) : e;
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
	e = stream(&r, &(struct sink){ sink, arg });
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
	struct reading k = { .open = false };
	int r = 0;

	for (uint64_t i = 0; i < s->members && r == 0; i++) {
		r = hpdsl_member_get(ds, s->first_member + i, &m, err);
		if (r == 0 && m.size > size)
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "%s/%s: changed while it was read",
				    ds->path, HP_INDEX_NAME);
		if (r < 0)
			break;
		if (k.open && m.chunk == k.chunk.number) {
			k.m = &m;
			r = check_place(&k);
		} else {
			end(&k);
			r = begin(&k, ds, &m, err);
		}
		if (r == 0)
			r = read_checked(&k, 0, buf, (size_t)m.size);
		buf += m.size;
		size -= m.size;
	}
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
