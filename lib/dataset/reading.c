/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member that is read in parts.  What has passed of it from its start on is
 * hashed, so that who reads to its end in sequence has it verified, though
 * nothing is read twice.
 */
#include "dataset/member_source.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>

struct hpdsl_reading {
	XXH3_state_t hash; /* of as many bytes as have passed */
	uint64_t passed;
	struct hpdsl_member m; /* its path is not used */
	enum hp_chunk_at at;   /* where the last of them came from */
	uint32_t sent;	       /* who sent them: HP_SENT_.. */
	bool of_two;	       /* they are of more than one source */
	bool rest_good;	       /* what is left of a bad chunk has it */
	/* Of struct hp_tried, for the next read. */
	uint8_t asked;
	uint32_t suspect;
	enum hp_chunk_at suspect_at;
	struct hpdsl_error bad; /* code 0: as far as is known it is not */
};

int hpdsl_reading_new(const struct hpdsl_member *m, struct hpdsl_reading **ret,
		      struct hpdsl_error *err)
{
	struct hpdsl_reading *r = hp_aligned(sizeof *r);

	if (!r)
		return hp_fail_nomem(err);
	r->m = *m;
	r->m.path = NULL;
	XXH3_64bits_reset(&r->hash);
	*ret = r;
	return 0;
}

void hpdsl_reading_free(struct hpdsl_reading *r)
{
	free(r);
}

/* From the start.  If it was bad, those who sent it are not asked again. */
static void begin_pass(struct hpdsl_reading *r)
{
	XXH3_64bits_reset(&r->hash);
	r->passed = 0;
	r->sent = HP_SENT_NOBODY;
	r->of_two = false;
	if (!r->bad.code) {
		r->asked = 0;
		r->suspect = HP_SENT_NOBODY;
	}
}

static void note_source(struct hpdsl_reading *r,
			const struct hp_member_source *s)
{
	if (r->passed && r->at != s->file.at)
		r->of_two = true;
	r->at = s->file.at;
	if (!r->passed || r->sent == HP_SENT_NOBODY)
		r->sent = s->sent.all;
	else if (s->sent.all != r->sent && s->sent.all != HP_SENT_NOBODY)
		r->sent = HP_SENT_SEVERAL;
}

/* All of it was handed over, but for what was read just now. */
static int settle(struct hpdsl_reading *r, struct hp_member_source *s)
{
	int e;

	s->given = true;
	s->sent.all = r->sent;
	e = hp_member_source_check_given(s, XXH3_64bits_digest(&r->hash),
					 r->of_two);
	r->bad.code = 0;
	if (e < 0) {
		r->bad = *s->err;
		r->passed = 0;
	}
	return e;
}

/* Bytes from offset on were read: those that are next in sequence pass. */
static int pass(struct hpdsl_reading *r, struct hp_member_source *s,
		uint64_t offset, const char *buf, size_t size)
{
	uint64_t end = offset + size;

	if (offset > r->passed || end <= r->passed)
		return 0;
	note_source(r, s);
	XXH3_64bits_update(&r->hash, buf + (r->passed - offset),
			   (size_t)(end - r->passed));
	r->passed = end;
	return end < r->m.size ? 0 : settle(r, s);
}

static int read_source(struct hpdsl_reading *r, struct hp_member_source *s,
		       uint64_t offset, void *buf, size_t size)
{
	int e;

	do {
		e = hp_member_source_read(s, offset, buf, size);
		if (e == 0 && s->rest && !r->rest_good) {
			e = hp_member_source_check_rest(s);
			r->rest_good = e == 0;
		}
	} while (e > 0);
	return e;
}

static int read_part(struct hpdsl_reading *r, const struct hpdsl_dataset *ds,
		     uint64_t offset, void *buf, size_t size,
		     struct hpdsl_error *err)
{
	struct hp_tried tried = {
		.asked = r->asked,
		.suspect = r->suspect,
		.suspect_at = r->suspect_at,
	};
	struct hp_member_source s = { .tried = tried };
	int e = hp_member_source_begin_same(&s, ds, &r->m, &tried, err);

	if (e == 0)
		e = read_source(r, &s, offset, buf, size);
	if (e == 0)
		e = pass(r, &s, offset, buf, size);
	r->asked = s.tried.asked;
	r->suspect = s.tried.suspect;
	r->suspect_at = s.tried.suspect_at;
	hp_member_source_end(&s);
	return hp_dataset_blame(ds, e, err);
}

static int read_whole(struct hpdsl_reading *r, const struct hpdsl_dataset *ds,
		      void *buf, struct hpdsl_error *err)
{
	int e = hpdsl_member_read(ds, &r->m, 0, buf, (size_t)r->m.size, err);

	begin_pass(r);
	r->bad.code = 0;
	if (e == 0)
		r->passed = r->m.size;
	else if (e == HPDSL_ECORRUPT)
		r->bad = *err;
	return e;
}

int64_t hpdsl_reading_read(struct hpdsl_reading *r,
			   const struct hpdsl_dataset *ds, uint64_t offset,
			   void *buf, size_t size, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	uint64_t left = offset < r->m.size ? r->m.size - offset : 0;
	int e;

	if (size > left)
		size = (size_t)left;
	if (r->bad.code && offset > r->passed)
		return hp_fail(err, r->bad.code, "%s", r->bad.msg);
	if (!size && r->m.size)
		return 0;
	if (!offset)
		begin_pass(r);
	e = size == r->m.size ? read_whole(r, ds, buf, &why) :
				read_part(r, ds, offset, buf, size, &why);
	return e < 0 ? hp_fail(err, e, "%s", why.msg) : (int64_t)size;
}
