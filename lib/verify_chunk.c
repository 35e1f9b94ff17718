/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One chunk against the index, every byte of it: each header is the one that
 * the index row gives, contents match their checksums, all else is zeros, and
 * the file as a whole has its checksum.  Of a compressed chunk a frame that is
 * damaged is passed over, the samples in it being lost.  Without an index only
 * the last; of an adopted tar, whose headers may be anybody's, contents and the
 * last.
 */
#include "verify.h"

#include "error.h"
#include "pass.h"
#include "tar.h"
#include "verify_sha256.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Contents up to this size are brought together for hashing in one call. */
#define TOGETHER 8192

struct check {
	struct hp_verify *v;
	const struct hpdsl_chunk *row;
	struct hp_pass pass;
	struct hp_frame frame; /* the damaged one, after FRAME_LOST */
	bool damaged;
	uint64_t last;	   /* sample that was told last */
	uint64_t reported; /* bytes that the meter knows of */
	uint8_t header[HP_TAR_HEADER_MAX];
	XXH3_state_t hash; /* of a large content */
	struct hp_check_sha256 sha256;
};

/*
 * What check_ functions return besides 0 and errors: the rest is no use, or
 * that of a frame is.
 */
enum { HOPELESS = 1, FRAME_LOST = 2 };

/* Bytes of the tar. */
static uint64_t plain_bytes(const struct hpdsl_chunk *row)
{
	return row->compressed ? row->plain_bytes : row->bytes;
}

static void count_damage(struct check *k, uint64_t samples)
{
	struct hp_verify *v = k->v;

	pthread_mutex_lock(&v->meter.lock);
	v->report->damaged_samples += samples;
	v->bad[k->row - v->chunks] = true;
	if (!k->damaged) {
		v->report->damaged_chunks++;
		v->report->damaged_files++;
	}
	pthread_mutex_unlock(&v->meter.lock);
	k->damaged = true;
}

/* Each sample is told once, with its first reason; members come in order. */
static void member_damage(struct check *k, const struct hpdsl_member *m,
			  const char *reason)
{
	if (k->last == m->sample)
		return;
	count_damage(k, 1);
	k->last = m->sample;
	hp_verify_tell(k->v,
		       (struct hp_spot){ k->row->name, m->sample, m->path },
		       "%s", reason);
}

/* Damage that is in no particular sample. */
static void chunk_damage(struct check *k, const char *reason)
{
	count_damage(k, 0);
	hp_verify_tell(k->v, (struct hp_spot){ k->row->name, UINT64_MAX, NULL },
		       "%s", reason);
}

/* " (samples 3-7)", or nothing. */
static void range_text(uint64_t first, uint64_t end, char out[64])
{
	out[0] = '\0';
	if (end == first + 1)
		snprintf(out, 64, " (sample %" PRIu64 ")", first);
	else if (end > first)
		snprintf(out, 64, " (samples %" PRIu64 "-%" PRIu64 ")", first,
			 end - 1);
}

/* One line for the chunk's samples from first on: they are lost. */
static int lost(struct check *k, uint64_t first, const char *reason)
{
	uint64_t end = k->row->first_sample + k->row->samples;
	char range[64];

	range_text(first, end, range);
	/* One that was told before is counted already. */
	count_damage(k, end - first - (k->last == first));
	k->last = end - 1;
	hp_verify_tell(k->v, (struct hp_spot){ k->row->name, UINT64_MAX, NULL },
		       "%s%s", reason, range);
	return HOPELESS;
}

/* There are only got bytes; sample is the first that lacks something. */
static int cut_off(struct check *k, uint64_t got, uint64_t sample)
{
	char reason[96];

	snprintf(reason, sizeof reason,
		 "is %" PRIu64 " bytes, %" PRIu64 " expected", got,
		 k->row->bytes);
	return lost(k, sample, reason);
}

/* What cannot be decoded; sample is the first that lacks something. */
static int not_decoded(struct check *k, uint64_t sample)
{
	if (k->pass.read == k->pass.size && k->pass.size < k->row->bytes)
		return cut_off(k, k->pass.size, sample);
	if (hp_pass_damaged_frame(&k->pass, &k->frame))
		return FRAME_LOST;
	if (!k->v->index)
		return lost(k, sample, hp_pass_why(&k->pass));
	chunk_damage(k, hp_pass_why(&k->pass));
	return HOPELESS;
}

/* n bytes at hand or fewer at the end, unless it cannot be read. */
static int fill(struct check *k, size_t n, uint64_t sample,
		struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r;

	if (hp_stopped(&k->v->opt->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	if (k->pass.read - k->reported >= HP_METER_STEP &&
	    k->pass.read <= k->row->bytes) {
		hp_meter_add(&k->v->meter, k->pass.read - k->reported);
		k->reported = k->pass.read;
	}
	r = hp_pass_need(&k->pass, n);
	if (r == HPDSL_ECORRUPT)
		return not_decoded(k, sample);
	if (r < 0 && !hp_verify_is_damage(r))
		return hp_fail_errno(err, r, "%s: %s", k->v->path,
				     k->row->name);
	if (r < 0) {
		hp_fail_errno(&why, r, "cannot be read");
		return lost(k, sample, why.msg);
	}
	return 0;
}

/* n bytes at hand, unless the file ends or cannot be read. */
static int need(struct check *k, size_t n, uint64_t sample,
		struct hpdsl_error *err)
{
	int r;

	if (k->pass.have >= n)
		return 0;
	r = fill(k, n, sample, err);
	if (r)
		return r;
	return k->pass.have < n ? cut_off(k, k->pass.read, sample) : 0;
}

/* n bytes, at most 511, that must be zeros. */
static bool zeros(const uint8_t *p, size_t n)
{
	static const uint8_t zero[HP_TAR_BLOCK];

	return memcmp(p, zero, n) == 0;
}

/* An index row that cannot be had; only where the index was not checked. */
static int bad_row(struct check *k, const struct hpdsl_error *row_err,
		   struct hpdsl_error *err)
{
	if (row_err->code != HPDSL_ECORRUPT)
		return hp_fail(err, row_err->code, "%s: %s", k->v->path,
			       row_err->msg);
	chunk_damage(k, row_err->msg);
	return HOPELESS;
}

/* Is the chunk an adopted tar? */
static bool is_foreign(const struct check *k)
{
	return k->v->index && hp_index_flags(k->v->index) & HP_INDEX_FOREIGN;
}

/* To the end, or to where the next content begins: for the checksum alone. */
static int read_to(struct check *k, uint64_t end, uint64_t sample,
		   struct hpdsl_error *err)
{
	while (k->pass.offset < end) {
		uint64_t left = end - k->pass.offset;
		int r = need(k, 1, sample, err);

		if (r)
			return r;
		hp_pass_take(&k->pass,
			     left < k->pass.have ? left : k->pass.have);
	}
	return 0;
}

static int misplaced(struct check *k, const struct hpdsl_member *m)
{
	member_damage(k, m, "is not where the index puts it");
	return HOPELESS;
}

/* What the index makes the member's header. */
static int tar_member(struct check *k, const struct hpdsl_member *m,
		      struct hp_tar_member *ret, struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	const char *stored;
	size_t len;

	if (hp_index_stored(k->v->index, m->number, &stored, &len, &row_err) <
	    0)
		return bad_row(k, &row_err, err);
	*ret = (struct hp_tar_member){
		.path = stored ? stored : m->path,
		.path_len = stored ? len : m->path_len,
		.size = m->size,
		.mtime = m->mtime,
		.mode = m->mode,
	};
	return 0;
}

static int check_header(struct check *k, const struct hpdsl_member *m,
			struct hpdsl_error *err)
{
	struct hp_tar_member t;
	size_t n;
	int r = tar_member(k, m, &t, err);

	if (r)
		return r;
	n = hp_tar_header_write(&t, k->header);
	if (k->pass.offset + n != m->offset)
		return misplaced(k, m);
	r = need(k, n, m->sample, err);
	if (r)
		return r;
	if (memcmp(k->pass.at, k->header, n) != 0)
		member_damage(k, m, "header differs");
	hp_pass_take(&k->pass, n);
	return 0;
}

static int hash_in_pieces(struct check *k, const struct hpdsl_member *m,
			  uint64_t *ret, struct hpdsl_error *err)
{
	uint64_t left = m->size;

	XXH3_64bits_reset(&k->hash);
	while (left) {
		int r = need(k, 1, m->sample, err);
		size_t n = k->pass.have;

		if (r)
			return r;
		if (n > left)
			n = (size_t)left;
		XXH3_64bits_update(&k->hash, k->pass.at, n);
		hp_check_sha256_add(&k->sha256, k->pass.at, n);
		hp_pass_take(&k->pass, n);
		left -= n;
	}
	*ret = XXH3_64bits_digest(&k->hash);
	return 0;
}

static int check_content(struct check *k, const struct hpdsl_member *m,
			 struct hpdsl_error *err)
{
	uint64_t hash = 0;
	int r = 0;

	hp_check_sha256_content(&k->sha256);
	if (m->size <= TOGETHER)
		r = need(k, (size_t)m->size, m->sample, err);
	if (r)
		return r;
	if (m->size <= k->pass.have) {
		hash = hp_hash64(k->pass.at, (size_t)m->size);
		hp_check_sha256_add(&k->sha256, k->pass.at, (size_t)m->size);
		hp_pass_take(&k->pass, (size_t)m->size);
	} else {
		r = hash_in_pieces(k, m, &hash, err);
	}
	if (!r && hash != m->checksum)
		member_damage(k, m, "checksum differs");
	else if (!r && !hp_check_sha256_member(&k->sha256, k->v, m->number))
		member_damage(k, m, "SHA-256 differs");
	return r;
}

static int check_padding(struct check *k, const struct hpdsl_member *m,
			 struct hpdsl_error *err)
{
	size_t n = (size_t)(hp_tar_padded(m->size) - m->size);
	int r = need(k, n, m->sample, err);

	if (r)
		return r;
	if (!zeros(k->pass.at, n))
		member_damage(k, m, "padding is not zeros");
	hp_pass_take(&k->pass, n);
	return 0;
}

/* The content; what lies before it is for the file's checksum. */
static int check_foreign(struct check *k, const struct hpdsl_member *m,
			 struct hpdsl_error *err)
{
	int r;

	if (k->pass.offset > m->offset)
		return misplaced(k, m);
	r = read_to(k, m->offset, m->sample, err);
	return r ? r : check_content(k, m, err);
}

static int check_member(struct check *k, uint64_t number,
			struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	struct hpdsl_member m;
	int r = hp_index_member(k->v->index, number, &m, &row_err);

	if (r < 0)
		return bad_row(k, &row_err, err);
	if (is_foreign(k))
		return check_foreign(k, &m, err);
	r = check_header(k, &m, err);
	if (!r)
		r = check_content(k, &m, err);
	if (!r)
		r = check_padding(k, &m, err);
	return r;
}

/* Member number, and where its header begins; of an adopted tar, its content.
 */
static int find_header(struct check *k, uint64_t number,
		       struct hpdsl_member *ret, uint64_t *ret_header,
		       struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	struct hp_tar_member t;
	int r = hp_index_member(k->v->index, number, ret, &row_err);

	if (r < 0)
		return bad_row(k, &row_err, err);
	*ret_header = ret->offset;
	if (is_foreign(k))
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
static int tell_frame(struct check *k, uint64_t *at, uint64_t *ret_next,
		      struct hpdsl_error *err)
{
	uint64_t end = k->row->first_member + k->row->members;
	struct hpdsl_member m;

	for (; *at < end; ++*at) {
		int r = find_header(k, *at, &m, ret_next, err);

		if (r || *ret_next >= k->frame.plain_end)
			return r;
		member_damage(k, &m, hp_pass_why(&k->pass));
		*ret_next = m.offset + hp_tar_padded(m.size);
	}
	return 0;
}

static int skip_frame(struct check *k, struct hpdsl_error *err)
{
	int r = hp_pass_skip_frame(&k->pass);

	return r < 0 ? hp_fail_errno(err, r, "%s: %s", k->v->path,
				     k->row->name) :
		       0;
}

/*
 * A frame is damaged: what lies in it is told, and what is at hand next is the
 * header of the member that *at then is, or the trailer.
 */
static int pass_over(struct check *k, uint64_t *at, struct hpdsl_error *err)
{
	uint64_t next = k->pass.offset;
	int r = FRAME_LOST;

	/* More frames of a large sample may be damaged. */
	while (r == FRAME_LOST) {
		r = tell_frame(k, at, &next, err);
		if (!r)
			r = skip_frame(k, err);
		if (!r)
			r = read_to(k, next, k->last, err);
	}
	return r;
}

static int check_members(struct check *k, struct hpdsl_error *err)
{
	uint64_t end = k->row->first_member + k->row->members;
	uint64_t i = k->row->first_member;

	while (i < end) {
		int r = check_member(k, i, err);

		if (r == FRAME_LOST)
			r = pass_over(k, &i, err);
		else
			i++;
		if (r)
			return r;
	}
	return 0;
}

/* Zeros from the last member to the end that the index gives. */
static int check_trailer(struct check *k, struct hpdsl_error *err)
{
	uint64_t none = k->row->first_sample + k->row->samples;
	uint64_t end = plain_bytes(k->row);
	bool good = true;

	if (hp_tar_total(k->pass.offset) != end) {
		chunk_damage(k, "has another size than its members make");
		return HOPELESS;
	}
	while (k->pass.offset < end) {
		int r = need(k, HP_TAR_BLOCK, none, err);

		if (r)
			return r;
		good &= zeros(k->pass.at, HP_TAR_BLOCK);
		hp_pass_take(&k->pass, HP_TAR_BLOCK);
	}
	if (!good)
		chunk_damage(k, "the blocks behind the last member are not "
				"zeros");
	return 0;
}

static void digest_damage(struct check *k)
{
	if (is_foreign(k))
		chunk_damage(k, "headers or padding differ");
	else if (k->v->index)
		chunk_damage(k, "checksum differs, but nothing inside does");
	else
		lost(k, k->row->first_sample, "checksum differs");
}

static void check_digest(struct check *k)
{
	uint8_t digest[16];

	hp_pass_stored_digest(&k->pass, digest);
	if (memcmp(digest, k->row->checksum, sizeof digest) != 0) {
		digest_damage(k);
		return;
	}
	hp_pass_digest(&k->pass, digest);
	if (k->row->compressed &&
	    memcmp(digest, k->row->plain_checksum, sizeof digest) != 0)
		chunk_damage(k, "the checksum of the plain tar differs");
	if (hp_check_sha256_chunk(&k->sha256, k->v, k->row->number))
		return;
	if (k->v->index)
		chunk_damage(k, "SHA-256 differs");
	else
		lost(k, k->row->first_sample, "SHA-256 differs");
}

/* With an index it is known that all that was meant to be there is. */
static void too_long(struct check *k)
{
	if (k->v->index)
		chunk_damage(k, "is longer than it should be");
	else
		lost(k, k->row->first_sample, "is longer than it should be");
}

/* Behind the trailer of a compressed chunk: its seek table, and the end. */
static int check_end(struct check *k, struct hpdsl_error *err)
{
	uint64_t none = k->row->first_sample + k->row->samples;
	int r;

	if (!k->row->compressed || k->pass.size > k->row->bytes)
		return 0;
	r = fill(k, 1, k->v->index ? none : k->row->first_sample, err);
	if (!r && k->pass.have)
		too_long(k);
	return r;
}

static int check_plain(struct check *k, struct hpdsl_error *err)
{
	uint64_t end = k->row->first_sample + k->row->samples;
	int r;

	if (!k->v->index)
		return read_to(k, plain_bytes(k->row), k->row->first_sample,
			       err);
	r = check_members(k, err);
	if (!r)
		r = is_foreign(k) ? read_to(k, plain_bytes(k->row), end, err) :
				    check_trailer(k, err);
	/* What is in no member. */
	while (r == FRAME_LOST) {
		chunk_damage(k, hp_pass_why(&k->pass));
		r = skip_frame(k, err);
		if (!r)
			r = read_to(k, plain_bytes(k->row), end, err);
	}
	return r;
}

static int check_bytes(struct check *k, struct hpdsl_error *err)
{
	int r = check_plain(k, err);

	if (!r)
		r = check_end(k, err);
	if (r)
		return r;
	if (k->pass.size > k->row->bytes)
		too_long(k);
	else if (!k->damaged)
		check_digest(k);
	return 0;
}

/* The size, and the first header. */
static int check_quickly(struct check *k, struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	struct hpdsl_member m;
	int r;

	if (k->pass.size < k->row->bytes)
		return cut_off(k, k->pass.size, k->row->first_sample);
	if (k->pass.size > k->row->bytes)
		too_long(k);
	if (!k->v->index || !k->row->members || is_foreign(k))
		return 0;
	r = hp_index_member(k->v->index, k->row->first_member, &m, &row_err);
	if (r < 0)
		return bad_row(k, &row_err, err);
	r = check_header(k, &m, err);
	if (r == FRAME_LOST)
		member_damage(k, &m, hp_pass_why(&k->pass));
	return r;
}

static int check_open(struct check *k, struct hpdsl_error *err)
{
	const struct hp_verify *v = k->v;
	struct hpdsl_error why;
	int r;

	if (k->row->compressed)
		r = hp_pass_begin_zst(&k->pass, v->io, v->dir, k->row->name,
				      v->index, k->row, &why);
	else
		r = hp_pass_begin(&k->pass, v->io, v->dir, k->row->name, &why);
	if (r == -ENOENT)
		return lost(k, k->row->first_sample, "is missing");
	if (r < 0 && hp_verify_is_damage(r))
		return lost(k, k->row->first_sample,
			    hp_verify_reason(&why, k->row->name));
	if (r < 0)
		return hp_fail(err, r, "%s: %s", v->path, why.msg);
	return 0;
}

static int check_chunk(struct check *k, struct hpdsl_error *err)
{
	int r = check_open(k, err);

	if (!r) {
		k->pass.sha256 = k->sha256.file;
		r = k->v->opt->quick ? check_quickly(k, err) :
				       check_bytes(k, err);
	}
	hp_pass_end(&k->pass);
	return r;
}

int hp_verify_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct check k;
	int r, ended;

	k.v = arg;
	k.row = &k.v->chunks[number];
	k.damaged = false;
	k.last = UINT64_MAX;
	k.reported = 0;
	r = hp_check_sha256_begin(&k.sha256, k.v, err);
	if (r == 0)
		r = check_chunk(&k, err);
	ended = hp_check_sha256_end(&k.sha256, r < 0 ? NULL : err);
	if (r < 0 || ended < 0)
		return r < 0 ? r : ended;
	hp_meter_add(&k.v->meter, k.row->bytes - k.reported);
	hp_verify_count(k.v, k.row, k.pass.read);
	return 0;
}
