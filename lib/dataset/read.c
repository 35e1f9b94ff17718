/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of members and samples, read with pread from the chunk files and
 * compared with their checksums.
 */
#include "dataset/member_source.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "index/copy.h"

#include <errno.h>
#include <inttypes.h>

enum {
	PIECE = 1 << 20,
	HELD = 16 << 20, /* of what comes over a network */
};

/* ---- Bytes ------------------------------------------------------------ */

static int decode_at(struct hp_member_source *r, uint64_t offset, void *buf,
		     size_t size, struct hpdsl_error *err)
{
	struct hp_decoder_source src = {
		.from = &r->file,
		.index = r->ds->index,
		.row = &r->chunk,
		.file = hp_chunk_file_key(&r->chunk, r->file.at),
	};
	struct hpdsl_error why;
	int e;

	/* One that has come this far, if there is one. */
	if (!r->decoder)
		r->decoder = hp_decoder_get(r->ds->frames, src.file,
					    r->m.offset + offset);
	if (!r->decoder)
		return hp_fail_nomem(err);
	e = hp_decoder_read(r->decoder, &src, r->m.offset + offset, buf, size,
			    &why);
	if (r->ds->stage)
		hp_stage_count(r->ds->stage, r->file.at, src.read);
	if (e == 0)
		return 0;
	hp_member_source_fail(r, HPDSL_ECORRUPT, why.msg, err);
	err->code = e;
	return e;
}

static int read_file_at(struct hp_member_source *r, uint64_t offset, void *buf,
			size_t size, struct hpdsl_error *err)
{
	ssize_t n;

	if (hp_source_has_frames(&r->file, &r->chunk))
		return decode_at(r, offset, buf, size, err);
	n = hp_source_read(&r->file, buf, size, r->m.offset + offset);
	if (n < 0)
		return hp_member_source_fail(r, (int)n, NULL, err);
	if (r->ds->stage)
		hp_stage_count(r->ds->stage, r->file.at, (uint64_t)n);
	if ((size_t)n != size)
		return hp_member_source_fail(r, HPDSL_ECORRUPT,
					     "the chunk ends in it", err);
	return 0;
}

int hp_member_source_read(struct hp_member_source *r, uint64_t offset,
			  void *buf, size_t size)
{
	struct hpdsl_error why;
	int e;

	while ((e = read_file_at(r, offset, buf, size, &why)) < 0) {
		e = hp_member_source_go_on(r, &why);
		if (e < 0)
			break;
	}
	return e;
}

/* 1: not so, but now there is another file to be read. */
static int check(struct hp_member_source *r, uint64_t hash)
{
	struct hpdsl_error why;

	if (hash == r->m.checksum) {
		hp_chunk_file_right(r->ds, &r->chunk, &r->tried);
		return 0;
	}
	hp_member_source_fail(r, HPDSL_ECORRUPT, "checksum differs", &why);
	return hp_member_source_go_on(r, &why);
}

static size_t piece_at(const struct hp_member_source *r, uint64_t at)
{
	return r->m.size - at < PIECE ? (size_t)(r->m.size - at) : PIECE;
}

/* The member, piece by piece: what is of two sources says nothing of either. */
static int hash_all(struct hp_member_source *r, void *buf, uint64_t *ret)
{
	unsigned of = r->changes;
	XXH3_state_t hash;
	uint64_t at = 0;

	XXH3_64bits_reset(&hash);
	while (at < r->m.size) {
		size_t n = piece_at(r, at);
		int e = hp_member_source_read(r, at, buf, n);

		if (e < 0)
			return e;
		if (r->changes != of && at) {
			XXH3_64bits_reset(&hash);
			at = 0;
		} else {
			XXH3_64bits_update(&hash, buf, n);
			at += n;
		}
		of = r->changes;
	}
	*ret = XXH3_64bits_digest(&hash);
	return 0;
}

int hp_member_source_check_rest(struct hp_member_source *r)
{
	hp_auto_free char *buf = hp_array(PIECE, 1);
	uint64_t hash;
	int e;

	if (!buf)
		return hp_fail_nomem(r->err);
	e = hash_all(r, buf, &hash);
	return e == 0 ? check(r, hash) : e;
}

/* Size bytes from offset; all of the member is compared with its checksum. */
static int read_checked(struct hp_member_source *r, uint64_t offset, void *buf,
			size_t size)
{
	int e;

	do {
		e = hp_member_source_read(r, offset, buf, size);
		if (e == 0 && size == r->m.size)
			e = check(r, hp_hash64(buf, size));
		else if (e == 0 && r->rest)
			e = hp_member_source_check_rest(r);
	} while (e > 0);
	return e;
}

int hpdsl_member_read(const struct hpdsl_dataset *ds,
		      const struct hpdsl_member *m, uint64_t offset, void *buf,
		      size_t size, struct hpdsl_error *err)
{
	char name[HP_PRINTABLE];
	struct hp_member_source r;
	int e;

	if (offset > m->size || size > m->size - offset)
		return hp_fail(err, -ERANGE,
			       "member %" PRIu64 " '%s' has %" PRIu64 " bytes",
			       m->number,
			       hp_index_path_text(ds->index, m->number, name),
			       m->size);
	e = hp_member_source_begin_same(&r, ds, m, NULL, err);
	if (e == 0)
		e = read_checked(&r, offset, buf, size);
	hp_member_source_end(&r);
	return hp_dataset_blame(ds, e, err);
}

static int read_all(struct hp_member_source *r, int begun, void *buf)
{
	int e = begun;

	if (e == 0)
		e = read_checked(r, 0, buf, (size_t)r->m.size);
	hp_member_source_end(r);
	return hp_dataset_blame(r->ds, e, r->err);
}

int hp_member_read(const struct hpdsl_dataset *ds, const struct hpdsl_member *m,
		   void *buf, struct hpdsl_error *err)
{
	struct hp_member_source r;
	int e = hp_member_source_begin(&r, ds, m, NULL, err);

	return read_all(&r, e, buf);
}

int hp_member_read_on(const struct hpdsl_dataset *ds,
		      const struct hpdsl_member *m, struct hp_tried *tried,
		      void *buf, struct hpdsl_error *err)
{
	struct hp_member_source r = { .ds = ds, .err = err };
	int e = hp_member_source_begin_same(&r, ds, m, tried, err);

	e = read_all(&r, e, buf);
	/* Whoever was blamed is so once. */
	if (e == 0)
		tried->suspect = HP_SENT_NOBODY;
	return e;
}

/*
 * What a sink has got cannot be taken back, so what lies in a stage directory,
 * or comes from other nodes, is read twice: if it is bad, there is the origin.
 * What is small is held back instead; over a network, what is not so small.
 */
static int check_here(struct hp_member_source *r, void *buf)
{
	uint64_t hash;
	int e;

	/* 1: it was bad, and what is read now may be, too. */
	do {
		if (!r->ds->stage || r->file.at == HP_AT_ORIGIN)
			return 0;
		e = hash_all(r, buf, &hash);
		if (e == 0)
			e = check(r, hash);
	} while (e > 0);
	return e;
}

int hp_member_source_check_given(struct hp_member_source *r, uint64_t hash,
				 bool of_two)
{
	struct hpdsl_error why;
	int e;

	if (hash == r->m.checksum) {
		hp_chunk_file_right(r->ds, &r->chunk, &r->tried);
		return 0;
	}
	hp_member_source_fail(r, HPDSL_ECORRUPT,
			      of_two ? "checksum differs, of what two sources "
				       "gave" :
				       "checksum differs",
			      &why);
	e = of_two ? 1 : hp_member_source_go_on(r, &why);
	return e > 0 ? hp_fail(r->err, HPDSL_ECORRUPT, "%s", why.msg) : e;
}

struct sink {
	int (*take)(void *arg, const void *buf, size_t n,
		    struct hpdsl_error *err);
	void *arg;
};

static uint64_t most_held(const struct hp_member_source *r)
{
	return !r->ds->stage ? 0 : hp_source_is_peer(r->file.at) ? HELD : PIECE;
}

static int stream_small(struct hp_member_source *r, void *buf,
			const struct sink *sink)
{
	size_t size = (size_t)r->m.size;
	int e = read_checked(r, 0, buf, size);

	return e == 0 && size ? sink->take(sink->arg, buf, size, r->err) : e;
}

/* What was found to be good, to the sink. */
static int pass_on(struct hp_member_source *r, void *buf,
		   const struct sink *sink)
{
	bool of_two = false;
	XXH3_state_t hash;
	uint64_t at = 0;

	XXH3_64bits_reset(&hash);
	while (at < r->m.size) {
		unsigned of = r->changes;
		size_t n = piece_at(r, at);
		int e = hp_member_source_read(r, at, buf, n);

		if (e == 0 && r->changes != of) {
			/* Of the next one this is not known yet. */
			of_two = of_two || at;
			e = check_here(r, buf);
		} else if (e == 0) {
			XXH3_64bits_update(&hash, buf, n);
			e = sink->take(sink->arg, buf, n, r->err);
			at += n;
		}
		if (e)
			return e;
	}
	return hp_member_source_check_given(r, XXH3_64bits_digest(&hash),
					    of_two);
}

static int stream(struct hp_member_source *r, const struct sink *sink)
{
	uint64_t size = r->m.size, held = most_held(r);
	hp_auto_free char *buf =
		hp_array(size <= held || size < PIECE ? size : PIECE, 1);
	int e;

	if (!buf)
		return hp_fail_nomem(r->err);
	if (size <= held)
		return stream_small(r, buf, sink);
	e = check_here(r, buf);
	r->given = true;
	return e == 0 ? pass_on(r, buf, sink) : e;
}

/* The caller's sink: what it says of itself is not about the dataset. */
struct given {
	int (*take)(void *arg, const void *buf, size_t n,
		    struct hpdsl_error *err);
	void *arg;
	int failed;
};

static int give(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	struct given *g = arg;

	g->failed = g->take(g->arg, buf, n, err);
	return g->failed;
}

int hpdsl_member_stream(const struct hpdsl_dataset *ds,
			const struct hpdsl_member *m,
			int (*sink)(void *arg, const void *buf, size_t n,
				    struct hpdsl_error *err),
			void *arg, struct hpdsl_error *err)
{
	struct hp_member_source r;
	struct given given = { sink, arg, 0 };
	int e = hp_member_source_begin_same(&r, ds, m, NULL, err);

	if (e == 0)
		e = stream(&r, &(struct sink){ give, &given });
	hp_member_source_end(&r);
	return given.failed ? given.failed : hp_dataset_blame(ds, e, err);
}

/* ---- Samples ---------------------------------------------------------- */

/* Its members, first to end, and how much they are. */
static int sample_size(const struct hp_index *ix, uint64_t number,
		       struct hp_sample_row *s, uint64_t *ret,
		       struct hpdsl_error *err)
{
	uint64_t sum = 0;
	int r;

	if (number >= ix->count.samples)
		return hp_index_out_of_range(ix, "sample", number,
					     ix->count.samples, err);
	r = hp_index_sample_row(ix, number, s, err);
	for (uint64_t i = s->first; r == 0 && i < s->end; i++) {
		struct hpdsl_member m;

		r = hp_index_place(ix, i, &m, err);
		if (r < 0)
			break;
		if (m.sample != number)
			return hp_index_bad_row(
				ix, "sample", number,
				"has a member of another sample", err);
		if (__builtin_add_overflow(sum, m.size, &sum) || sum > SIZE_MAX)
			return hp_fail(err, HPDSL_ECORRUPT,
				       "%s: sample %" PRIu64
				       ": has an impossible size",
				       ix->name, number);
	}
	*ret = sum;
	return r;
}

/*
 * Members one behind the other, with one reading as long as that goes.  Their
 * rows, if they are looked at twice, are the same: both are what was written.
 */
static int read_members(const struct hpdsl_dataset *ds,
			const struct hp_index *ix,
			const struct hp_sample_row *s, char *buf,
			struct hpdsl_error *err)
{
	struct hpdsl_member m;
	struct hp_member_source k = { .open = false };
	int r = 0;

	for (uint64_t i = s->first; i < s->end && r == 0; i++) {
		r = hp_index_place(ix, i, &m, err);
		if (r < 0)
			break;
		if (k.open && m.chunk == k.chunk.number) {
			r = hp_member_source_next(&k, &m);
		} else {
			hp_member_source_end(&k);
			r = hp_member_source_begin(&k, ds, &m, NULL, err);
		}
		if (r == 0)
			r = read_checked(&k, 0, buf, (size_t)m.size);
		buf += m.size;
	}
	hp_member_source_end(&k);
	return r;
}

struct sample_room {
	uint64_t number;
	char *buf;
	size_t cap;
	uint64_t size; /* that it takes */
};

static int sample_read(const struct hpdsl_dataset *ds,
		       const struct hp_index *ix, struct sample_room *room,
		       struct hpdsl_error *err)
{
	struct hp_sample_row s = { 0 };
	int r = sample_size(ix, room->number, &s, &room->size, err);

	if (r < 0)
		return r;
	if (room->size > room->cap)
		return hp_fail(err, -ENOSPC,
			       "sample %" PRIu64 " takes %" PRIu64
			       " bytes, there is room for %zu",
			       room->number, room->size, room->cap);
	return read_members(ds, ix, &s, room->buf, err);
}

int hpdsl_sample_read(const struct hpdsl_dataset *ds,
		      const struct hpdsl_sample *s, void *buf, size_t cap,
		      size_t *ret_bytes, struct hpdsl_error *err)
{
	struct sample_room room = { s->number, buf, cap, 0 };
	hp_auto_index_copy c;
	int r;

	hp_index_copy_begin_later(&c, ds->index);
	do
		r = sample_read(ds, &c.ix, &room, err);
	while (hp_index_copy_again(&c, &r, err));
	if (r == 0 || r == -ENOSPC)
		*ret_bytes = (size_t)room.size;
	return hp_dataset_blame(ds, r, err);
}
