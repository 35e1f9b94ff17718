/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One chunk against the index, every byte of it: each header is the one that
 * the index row gives, contents match their checksums, all else is zeros, and
 * the file as a whole has its checksum.  Of a compressed chunk a frame that is
 * damaged is passed over, the samples in it being lost.  Without an index only
 * the last; of an adopted tar, whose headers may be anybody's, contents and the
 * last.
 */
#include "verify/chunk.h"

#include "base/error.h"

#include <errno.h>

/* Zeros from the last member to the end that the index gives. */
static int check_trailer(struct hp_checking *k, struct hpdsl_error *err)
{
	uint64_t end = hp_checking_plain_bytes(k->row);
	bool odd = false;
	int r;

	if (hp_tar_total(k->pass.offset) != end) {
		hp_checking_damage(k, "has another size than its members make");
		return HP_HOPELESS;
	}
	k->sample = k->row->first_sample + k->row->samples;
	r = hp_chunk_walk_zeros(&k->walk, end - k->pass.offset, &odd, err);
	if (!r && odd)
		hp_checking_damage(k,
				   "the blocks behind the last member are not "
				   "zeros");
	return r;
}

static void digest_damage(struct hp_checking *k)
{
	if (hp_checking_is_foreign(k))
		hp_checking_damage(k, "headers or padding differ");
	else if (k->v->index)
		hp_checking_damage(k,
				   "checksum differs, but nothing inside does");
	else
		hp_checking_lost(k, k->row->first_sample, "checksum differs");
}

static void check_digest(struct hp_checking *k)
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
		hp_checking_damage(k, "the checksum of the plain tar differs");
	/* Of a plain tar that was made of a compressed one nobody has it. */
	if (k->source && k->source->ops->plain)
		return;
	if (hp_check_sha256_chunk(&k->sha256, k->v, k->row->number))
		return;
	if (k->v->index)
		hp_checking_damage(k, "SHA-256 differs");
	else
		hp_checking_lost(k, k->row->first_sample, "SHA-256 differs");
}

/* Behind the trailer of a compressed chunk: its seek table, and the end. */
static int check_end(struct hp_checking *k, struct hpdsl_error *err)
{
	uint64_t none = k->row->first_sample + k->row->samples;
	int r;

	if (!k->row->compressed || k->pass.size > k->row->bytes)
		return 0;
	k->sample = k->v->index ? none : k->row->first_sample;
	r = hp_checking_fill(k, 1, err);
	if (!r && k->pass.have)
		hp_checking_too_long(k);
	return r;
}

static int check_plain(struct hp_checking *k, struct hpdsl_error *err)
{
	uint64_t end = k->row->first_sample + k->row->samples;
	int r;

	if (!k->v->index)
		return hp_checking_read_to(k, hp_checking_plain_bytes(k->row),
					   k->row->first_sample, err);
	r = hp_checking_members(k, err);
	if (!r)
		r = hp_checking_is_foreign(k) ?
			    hp_checking_read_to(k,
						hp_checking_plain_bytes(k->row),
						end, err) :
			    check_trailer(k, err);
	/* What is in no member. */
	while (r == HP_FRAME_LOST) {
		hp_checking_damage(k, hp_pass_why(&k->pass));
		r = hp_checking_skip_frame(k, err);
		if (!r)
			r = hp_checking_read_to(
				k, hp_checking_plain_bytes(k->row), end, err);
	}
	return r;
}

static int check_bytes(struct hp_checking *k, struct hpdsl_error *err)
{
	int r = check_plain(k, err);

	if (!r)
		r = check_end(k, err);
	if (r)
		return r;
	if (k->pass.size > k->row->bytes)
		hp_checking_too_long(k);
	else if (!k->damaged)
		check_digest(k);
	return 0;
}

/* The size, and the first header. */
static int check_quickly(struct hp_checking *k, struct hpdsl_error *err)
{
	struct hpdsl_error row_err;
	struct hpdsl_member m;
	int r;

	if (k->pass.size < k->row->bytes)
		return hp_checking_cut_off(k, k->pass.size,
					   k->row->first_sample);
	if (k->pass.size > k->row->bytes)
		hp_checking_too_long(k);
	if (!k->v->index || !k->row->members || hp_checking_is_foreign(k))
		return 0;
	r = hp_index_member(k->v->index, k->row->first_member, &m, &row_err);
	if (r < 0)
		return hp_checking_bad_row(k, &row_err, err);
	r = hp_checking_header(k, &m, err);
	if (r == HP_FRAME_LOST)
		hp_checking_member(k, &m, hp_pass_why(&k->pass));
	return r;
}

static int check_open(struct hp_checking *k, struct hpdsl_error *err)
{
	const struct hp_verify *v = k->v;
	struct hpdsl_error why;
	int r;

	if (k->source)
		return hp_pass_begin_at(&k->pass, k->source, v->index, k->row,
					err);
	if (k->row->compressed)
		r = hp_pass_begin_zst(&k->pass, v->io, v->dir, k->row->name,
				      v->index, k->row, &why);
	else
		r = hp_pass_begin(&k->pass, v->io, v->dir, k->row->name, &why);
	if (r == -ENOENT && hp_verify_absent(k->v, k->row->number))
		return HP_HOPELESS;
	if (r == -ENOENT)
		return hp_checking_lost(k, k->row->first_sample, "is missing");
	if (r < 0 && hp_verify_is_damage(r))
		return hp_checking_lost(k, k->row->first_sample,
					hp_verify_reason(&why, k->row->name));
	if (r < 0)
		return hp_fail(err, r, "%s: %s", v->path, why.msg);
	return 0;
}

static int check_chunk(struct hp_checking *k, struct hpdsl_error *err)
{
	int r = check_open(k, err);

	if (!r) {
		k->pass.sha256 = k->sha256.file;
		k->walk.sha256 = k->sha256.content;
		r = k->v->opt->quick ? check_quickly(k, err) :
				       check_bytes(k, err);
	}
	hp_pass_end(&k->pass);
	return r;
}

static int count_absent(struct hp_verify *v)
{
	pthread_mutex_lock(&v->meter.lock);
	v->report->absent_chunks++;
	pthread_mutex_unlock(&v->meter.lock);
	return 0;
}

int hp_checking_run(struct hp_checking *k, struct hpdsl_error *err)
{
	int r, ended;

	hp_chunk_walk_begin(&k->walk, &k->pass, &hp_checking_walk, k);
	r = hp_check_sha256_begin(&k->sha256, k->v, err);
	if (r == 0)
		r = check_chunk(k, err);
	ended = hp_check_sha256_end(&k->sha256, r < 0 ? NULL : err);
	return r < 0 || ended == 0 ? r : ended;
}

int hp_verify_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_verify *v = arg;
	struct hp_checking k = {
		.v = v,
		.row = &v->chunks[number],
		.last = UINT64_MAX,
	};
	int r;

	if (hp_verify_absent(v, k.row->number))
		return count_absent(v);
	r = hp_checking_run(&k, err);
	if (r < 0)
		return r;
	/* It may have been taken away just now. */
	if (!k.pass.read && hp_verify_absent(v, k.row->number))
		return count_absent(v);
	hp_meter_add(&v->meter, k.row->bytes - k.reported);
	hp_verify_count(v, k.row, k.pass.read);
	return 0;
}
