/* SPDX-License-Identifier: Apache-2.0 */
/* From which file a member is read, and from which one next. */
#include "dataset/member_source.h"

#include "base/error.h"
#include "index/copy.h"

#include <inttypes.h>
#include <stdio.h>

int hp_member_source_fail(const struct hp_member_source *r, int code,
			  const char *why, struct hpdsl_error *err)
{
	char file[HP_CHUNK_FILE_TEXT], name[HP_PRINTABLE];

	return hp_source_fail(
		&r->file, err, code, "%s: member %" PRIu64 " '%s'%s%s",
		hp_chunk_file_text(r->ds, &r->chunk, r->file.at, file),
		r->m.number,
		hp_index_path_text(r->ds->index, r->m.number, name),
		why ? ": " : "", why ? why : "");
}

/* It is final: both reasons, where two files were read. */
static int fail(const struct hp_member_source *r, const struct hpdsl_error *why)
{
	if (r->rest)
		return hp_chunk_file_both(why, &r->tried.origin, r->err);
	if (r->tried.here.code)
		return hp_chunk_file_both(&r->tried.here, why, r->err);
	return hp_fail(r->err, why->code, "%s", why->msg);
}

static int check_place(const struct hp_member_source *r)
{
	uint64_t bytes =
		r->chunk.compressed ? r->chunk.plain_bytes : r->chunk.bytes;

	if (r->m.offset > bytes || r->m.size > bytes - r->m.offset)
		return hp_member_source_fail(
			r, HPDSL_ECORRUPT, "lies outside of its chunk", r->err);
	return 0;
}

void hp_member_source_end(struct hp_member_source *r)
{
	if (!r->open)
		return;
	hp_decoder_put(r->ds->frames, r->decoder);
	hp_chunk_file_put(r->ds, &r->file);
	r->open = false;
}

/* The file is there, in r->file. */
static void opened(struct hp_member_source *r)
{
	r->open = true;
	r->decoder = NULL;
	r->sent = (struct hp_sent){ 0 };
	r->file.sent = &r->sent;
}

/* The file has failed with this code. */
static enum hp_where_after after(const struct hp_member_source *r, int code)
{
	const struct hp_where_read was = {
		.staged = r->ds->stage,
		.at = r->file.at,
		.rest = r->rest,
		.looked = r->looked,
		.given = r->given,
	};

	return hp_where_after(&was, r->file.ops->blame(code));
}

/*
 * The origin is of no use, for this reason.  The chunk was found to be bad
 * here, but this member may be good: 1, on with that; 0, there is no such
 * thing.
 */
static int take_rest(struct hp_member_source *r, const struct hpdsl_error *why)
{
	hp_member_source_end(r);
	if (!hp_chunk_file_rest(r->ds, &r->chunk, &r->file))
		return 0;
	r->tried.origin = *why;
	r->rest = true;
	opened(r);
	return 1;
}

/* The origin cannot be opened, for this reason. */
static int open_rest(struct hp_member_source *r, const struct hpdsl_error *why)
{
	int e = take_rest(r, why);

	if (e == 0)
		return hp_chunk_file_nowhere(r->ds, &r->chunk, &r->tried.here,
					     why, r->err);
	return e < 0 ? e : 0;
}

/* The one that is to be read; what is left here if that cannot be opened. */
static int open_file(struct hp_member_source *r)
{
	struct hpdsl_error why;
	int e = hp_chunk_file_try(r->ds, &r->chunk, NULL, &r->file, &r->tried,
				  &why);

	r->rest = false;
	if (e == 0) {
		opened(r);
		return 0;
	}
	if (r->file.at != HP_AT_ORIGIN)
		return hp_fail(r->err, e, "%s", why.msg);
	if (after(r, e) == HP_AFTER_REST)
		return open_rest(r, &why);
	return hp_chunk_file_nowhere(r->ds, &r->chunk, &r->tried.here, &why,
				     r->err);
}

/* What the read that it is part of has found out. */
static void take_tried(struct hp_member_source *r, const struct hp_tried *tried)
{
	struct hp_tried *t = &r->tried;

	t->here.code = 0;
	t->asked = tried ? tried->asked : 0;
	t->suspect = tried ? tried->suspect : HP_SENT_NOBODY;
	t->suspect_at = tried ? tried->suspect_at : HP_AT_PEER;
	t->origin.code = 0;
	if (tried && tried->origin.code)
		t->origin = tried->origin;
}

int hp_member_source_begin(struct hp_member_source *r,
			   const struct hpdsl_dataset *ds,
			   const struct hpdsl_member *m,
			   const struct hp_tried *tried,
			   struct hpdsl_error *err)
{
	int e;

	r->ds = ds;
	r->m = *m;
	r->open = false;
	r->file.at = HP_AT_HERE;
	take_tried(r, tried);
	r->changes = 0;
	r->looked = r->rest = r->given = false;
	r->err = err;
	e = hpdsl_chunk_get(ds, m->chunk, &r->chunk, err);
	if (e == 0)
		e = check_place(r);
	if (e < 0)
		return e;
	return r->tried.origin.code ? open_rest(r, &r->tried.origin) :
				      open_file(r);
}

int hp_member_source_begin_same(struct hp_member_source *r,
				const struct hpdsl_dataset *ds,
				const struct hpdsl_member *m,
				const struct hp_tried *tried,
				struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	int e;

	r->open = false;
	hp_index_copy_begin_later(&c, ds->index);
	do
		e = hp_index_copy_same(&c, m, err);
	while (hp_index_copy_again(&c, &e, err));
	return e == 0 ? hp_member_source_begin(r, ds, m, tried, err) : e;
}

int hp_member_source_next(struct hp_member_source *r,
			  const struct hpdsl_member *m)
{
	int e;

	r->m = *m;
	/* Of the last member; who was asked in vain is not asked again. */
	r->tried.here.code = r->tried.origin.code = 0;
	r->tried.suspect = HP_SENT_NOBODY;
	r->sent = (struct hp_sent){ 0 };
	r->looked = false;
	e = check_place(r);
	if (e < 0 || !r->rest)
		return e;
	/* The origin may have this one. */
	hp_member_source_end(r);
	return open_file(r);
}

int hp_member_source_go_on(struct hp_member_source *r,
			   const struct hpdsl_error *why)
{
	int e = 0;

	switch (after(r, why->code)) {
	case HP_AFTER_END:
		return fail(r, why);
	case HP_AFTER_REST:
		r->changes++;
		e = take_rest(r, why);
		return e ? e : fail(r, why);
	case HP_AFTER_OTHER:
		if (!hp_chunk_file_failed(r->ds, &r->chunk, &r->file, why->code,
					  &r->tried))
			return fail(r, why);
		break;
	}
	if (!r->tried.here.code)
		r->tried.here = *why;
	r->looked = r->looked || !hp_source_is_peer(r->file.at);
	r->changes++;
	hp_member_source_end(r);
	e = open_file(r);
	return e < 0 ? e : 1;
}
