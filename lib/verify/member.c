/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a chunk against the index: each header is the one that its row
 * gives, contents match their checksums, padding is zeros.
 */
#include "verify/chunk.h"

#include "base/error.h"
#include "verify/order.h"

#include <errno.h>

/* Contents up to this size are brought together for hashing in one call. */
#define TOGETHER 8192

static int misplaced(struct hp_checking *k, const struct hpdsl_member *m)
{
	hp_checking_member(k, m, "is not where the index puts it");
	return HP_HOPELESS;
}

/* What the index makes the member's header. */
static int tar_member(struct hp_checking *k, const struct hpdsl_member *m,
		      struct hp_tar_member *ret, struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	const char *stored;
	size_t len;

	if (hp_index_stored(k->v->index, m->number, &stored, &len, &row_err) <
	    0)
		return hp_checking_bad_row(k, &row_err, err);
	*ret = (struct hp_tar_member){
		.path = stored ? stored : m->path,
		.path_len = stored ? len : m->path_len,
		.size = m->size,
		.mtime = m->mtime,
		.mode = m->mode,
	};
	return 0;
}

int hp_checking_header(struct hp_checking *k, const struct hpdsl_member *m,
		       struct hpdsl_error *err)
{
	struct hp_tar_member t;
	bool same;
	size_t n;
	int r = tar_member(k, m, &t, err);

	if (r)
		return r;
	n = hp_tar_header_write(&t, k->header);
	if (k->pass.offset + n != m->offset)
		return misplaced(k, m);
	k->sample = m->sample;
	r = hp_chunk_walk_same(&k->walk, k->header, n, &same, err);
	if (!r && !same)
		hp_checking_member(k, m, "header differs");
	return r;
}

static int check_content(struct hp_checking *k, const struct hpdsl_member *m,
			 struct hpdsl_error *err)
{
	struct hp_content_hash hash;
	int r = 0;

	k->sample = m->sample;
	if (m->size <= TOGETHER)
		r = hp_chunk_walk_need(&k->walk, (size_t)m->size, err);
	if (!r)
		r = hp_chunk_walk_content(&k->walk, m->size, &hash, err);
	if (r)
		return r;
	if (hash.low64 != m->checksum)
		hp_checking_member(k, m, "checksum differs");
	else if (!hp_check_sha256_member(&k->sha256, k->v, m->number,
					 hash.sha256))
		hp_checking_member(k, m, "SHA-256 differs");
	hp_verify_order_content(k->v, m->number, hash.full);
	return 0;
}

static int check_padding(struct hp_checking *k, const struct hpdsl_member *m,
			 struct hpdsl_error *err)
{
	bool odd = false;
	int r = hp_chunk_walk_zeros(&k->walk, hp_tar_padded(m->size) - m->size,
				    &odd, err);

	if (!r && odd)
		hp_checking_member(k, m, "padding is not zeros");
	return r;
}

/* The content; what lies before it is for the file's checksum. */
static int check_foreign(struct hp_checking *k, const struct hpdsl_member *m,
			 struct hpdsl_error *err)
{
	int r;

	if (k->pass.offset > m->offset)
		return misplaced(k, m);
	r = hp_checking_read_to(k, m->offset, m->sample, err);
	return r ? r : check_content(k, m, err);
}

static int check_member(struct hp_checking *k, uint64_t number,
			struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	struct hpdsl_member m;
	int r = hp_index_member(k->v->index, number, &m, &row_err);

	if (r < 0)
		return hp_checking_bad_row(k, &row_err, err);
	if (hp_checking_is_foreign(k))
		return check_foreign(k, &m, err);
	r = hp_checking_header(k, &m, err);
	if (!r)
		r = check_content(k, &m, err);
	if (!r)
		r = check_padding(k, &m, err);
	return r;
}

/* Member number, and where its header begins; of an adopted tar, its content.
 */
static int find_header(struct hp_checking *k, uint64_t number,
		       struct hpdsl_member *ret, uint64_t *ret_header,
		       struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	struct hp_tar_member t;
	int r = hp_index_member(k->v->index, number, ret, &row_err);

	if (r < 0)
		return hp_checking_bad_row(k, &row_err, err);
	*ret_header = ret->offset;
	if (hp_checking_is_foreign(k))
		return 0;
	r = tar_member(k, ret, &t, err);
	if (!r)
		*ret_header -= hp_tar_header_size(&t);
	return r;
}

/*
 * Tells the members that have bytes in the damaged frame, from *at on, and
 * finds where what follows them begins: a header, or the trailer.
 */
static int tell_frame(struct hp_checking *k, uint64_t *at, uint64_t *ret_next,
		      struct hpdsl_error *err)
{
	uint64_t end = k->row->first_member + k->row->members;
	struct hpdsl_member m;

	for (; *at < end; ++*at) {
		int r = find_header(k, *at, &m, ret_next, err);

		if (r || *ret_next >= k->frame.plain_end)
			return r;
		hp_checking_member(k, &m, hp_pass_why(&k->pass));
		*ret_next = m.offset + hp_tar_padded(m.size);
	}
	return 0;
}

/*
 * A frame is damaged: what lies in it is told, and what is at hand next is the
 * header of the member that *at then is, or the trailer.
 */
static int pass_over(struct hp_checking *k, uint64_t *at,
		     struct hpdsl_error *err)
{
	uint64_t next = k->pass.offset;
	int r = HP_FRAME_LOST;

	/* More frames of a large sample may be damaged. */
	while (r == HP_FRAME_LOST) {
		r = tell_frame(k, at, &next, err);
		if (!r)
			r = hp_checking_skip_frame(k, err);
		if (!r)
			r = hp_checking_read_to(k, next, k->last, err);
	}
	return r;
}

int hp_checking_members(struct hp_checking *k, struct hpdsl_error *err)
{
	uint64_t end = k->row->first_member + k->row->members;
	uint64_t i = k->row->first_member;

	while (i < end) {
		int r = check_member(k, i, err);

		if (r == HP_FRAME_LOST)
			r = pass_over(k, &i, err);
		else
			i++;
		if (r)
			return r;
	}
	return 0;
}
