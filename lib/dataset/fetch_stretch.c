/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of one chunk's members: read as a whole, then each compared with
 * its checksum.  What is bad is read again member by member, so that one bad
 * place costs no more than the members that it is in.
 */
#include "dataset/fetch_private.h"

#include "base/error.h"
#include "dataset/member_source.h"
#include "index/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Reading ---------------------------------------------------------- */

/* Two reasons, of which the first counts; the second is there if r < 0. */
static int first_of(int first, int r, const struct hpdsl_error *why,
		    struct hpdsl_error *err)
{
	if (first || r == 0)
		return first;
	*err = *why;
	return r;
}

static int read_plain(struct hp_fetch_stretch *s, struct hp_fetch_file *k,
		      struct hpdsl_error *err)
{
	uint64_t at = s->begin;
	struct hpdsl_error why;
	int bad = 0;

	while (at < s->end) {
		uint8_t *page = hp_fetch_at(s, hp_fetch_page(at));
		uint64_t from = at;
		int r = hp_fetch_next(k, at, s->end, page, &at, &why);

		if (k->way == HP_FETCH_FROM_CACHE)
			s->cached += at - from;
		if (r < 0)
			return first_of(bad, r, &why, err);
		r = hp_fetch_verify(s, k, at, &why);
		bad = first_of(bad, r, &why, err);
	}
	return bad;
}

static int read_file(struct hp_fetch_stretch *s, const struct hp_source *file,
		     struct hpdsl_error *err)
{
	struct hp_fetch_file k;
	int r;

	hp_fetch_file_begin(&k, s->f, &s->chunk, file);
	s->next = 0;
	if (s->begin == s->end)
		r = hp_fetch_verify(s, &k, s->end, err);
	else if (hp_source_has_frames(file, &s->chunk))
		r = hp_fetch_expand(s, &k, err);
	else
		r = read_plain(s, &k, err);
	hp_fetch_file_end(&k);
	return r;
}

/*
 * Reads the file that there is; if what is here is bad, the origin's, unless
 * some of it was good: then the bad ones only are worth reading again.  Members
 * that stay pending may be good if they are read alone, if it returns 0.
 */
static int read_any(struct hp_fetch_stretch *s, struct hp_tried *tried,
		    struct hpdsl_error *err)
{
	for (;;) {
		const struct hpdsl_dataset *ds = s->f->ds;
		struct hp_sent sent = { 0 };
		struct hpdsl_error here;
		struct hp_source file;
		bool elsewhere;
		int r;

		tried->here.code = 0;
		r = hp_chunk_file_get(ds, &s->chunk, &s->f->quit, &file, tried,
				      err);
		if (tried->here.code)
			hp_fetch_tell(s->f, &s->chunk, &tried->here);
		/* Alone they may be good here. */
		if (r < 0 && ds->stage &&
		    hp_stage_has_rest(ds->stage, &s->chunk, &file.at))
			return 0;
		if (r < 0)
			return r;
		file.sent = &sent;
		r = read_file(s, &file, &here);
		/* Nothing was, of what others had sent. */
		if (s->good)
			hp_chunk_file_right(ds, &s->chunk, tried);
		elsewhere = r < 0 && hp_chunk_file_failed(ds, &s->chunk, &file,
							  r, tried);
		/* Also of those that others stood in for. */
		if (hp_source_is_peer(file.at))
			hp_fetch_tell_peers(s->f);
		else if (elsewhere)
			hp_fetch_tell(s->f, &s->chunk, &here);
		hp_chunk_file_put(ds, &file);
		if (elsewhere && s->good && sent.all == HP_SENT_SEVERAL)
			/* Alone they show who was wrong. */
			tried->asked = 0;
		if (!elsewhere || s->good)
			return 0;
	}
}

/* ---- One by one ------------------------------------------------------- */

/* "sample 12: why", and which member, if that does not say so. */
static int bad_sample(const struct hpdsl_member *m, int code, const char *why,
		      struct hpdsl_error *err)
{
	char path[HP_PRINTABLE], name[HP_PRINTABLE + 40];

	snprintf(name, sizeof name, "member %" PRIu64 " '%s': ", m->number,
		 hp_printable(m->path, m->path_len, path));
	return hp_fail(err, code, "sample %" PRIu64 ": %s%s", m->sample,
		       strstr(why, name) ? "" : name, why);
}

/* What came of a stretch as a whole. */
struct read {
	struct hp_tried tried;
	struct hpdsl_error file; /* none that could be read, and why */
};

/* A member that could not be read with its neighbours. */
static int read_alone(struct hp_fetch_stretch *s, struct hp_block_member *m,
		      struct read *was, struct hpdsl_error *err)
{
	uint8_t *p = hp_fetch_data(s, m);
	hp_auto_index_copy c;
	struct hpdsl_member row;
	struct hpdsl_error why;
	int r;

	hp_index_copy_begin(&c, s->f->ds->index, false);
	r = hp_index_member(&c.ix, m->number, &row, err);
	if (r < 0)
		return hp_dataset_blame(s->f->ds, r, err);
	if (was->file.code)
		return hp_dataset_blame(
			s->f->ds,
			bad_sample(&row, was->file.code, was->file.msg, err),
			err);
	if (row.offset != m->offset || row.size != m->size)
		return bad_sample(&row, HPDSL_ECORRUPT,
				  "the index changed while it was read", err);
	r = hp_member_read_on(s->f->ds, &row, &was->tried, p, &why);
	if (r < 0)
		return bad_sample(&row, r, why.msg, err);
	m->data = p;
	return 0;
}

void hp_fetch_stretch(struct hp_fetch_stretch *s, struct hpdsl_error *why)
{
	struct hpdsl_error ignored;
	struct read was;
	int r;

	for (uint32_t i = 0; i < s->n; i++) {
		s->m[i].code = HP_FETCH_PENDING;
		s->m[i].data = NULL;
	}
	was.tried.here.code = was.tried.origin.code = 0;
	was.tried.asked = 0;
	was.tried.suspect = HP_SENT_NOBODY;
	r = hpdsl_chunk_get(s->f->ds, s->m[0].chunk, &s->chunk, &was.file);
	if (r == 0)
		r = read_any(s, &was.tried, &was.file);
	was.file.code = r;
	for (uint32_t i = 0; s->good < s->n && i < s->n; i++) {
		struct hp_block_member *m = &s->m[i];

		if (m->code != HP_FETCH_PENDING)
			continue;
		m->code = read_alone(s, m, &was, why->code ? &ignored : why);
	}
}
