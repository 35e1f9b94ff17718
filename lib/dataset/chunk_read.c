/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of chunks as plain tars: headers, contents and all, whatever form a
 * chunk has and wherever it is.
 */
#include "dataset/fetch.h"
#include "dataset/member_behind.h"
#include "dataset/member_source.h"

#include "base/error.h"
#include "base/hash.h"
#include "index/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of frames that are elsewhere many are fetched at a time, for so many bytes or
 * more. */
enum { MANY = 256 << 10 };

struct stretch {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_chunk *chunk;
	uint64_t begin, end; /* of the plain tar */
	uint8_t *buf;
};

/* One that is wrong is read anew, alone, which knows where else to look. */
static int check_member(const struct stretch *s, const struct hpdsl_member *m,
			struct hpdsl_error *err)
{
	uint8_t *p = s->buf + (m->offset - s->begin);

	if (hp_hash64(p, (size_t)m->size) == m->checksum)
		return 0;
	return hp_member_read(s->ds, m, p, err);
}

/* Those that are there whole. */
static int check(const struct stretch *s, struct hpdsl_error *err)
{
	const uint64_t end = s->chunk->first_member + s->chunk->members;
	hp_auto_index_copy c;
	struct hpdsl_member m;
	uint64_t i;
	int r;

	hp_index_copy_begin(&c, s->ds->index, false);
	r = hp_member_behind(&c.ix, s->chunk, s->begin, &i, err);
	for (; r == 0 && i < end; i++) {
		r = hp_index_place(&c.ix, i, &m, err);
		if (r < 0 || m.offset >= s->end)
			break;
		if (m.size && m.offset >= s->begin &&
		    hp_within(m.offset, m.size, s->end))
			r = check_member(s, &m, err);
	}
	return r;
}

/* As if it were a member; one of the chunk's stands for it in messages. */
static int read_bytes(const struct stretch *s, struct hpdsl_error *err)
{
	const struct hpdsl_member m = {
		.number = s->chunk->first_member,
		.chunk = s->chunk->number,
		.offset = s->begin,
		.size = s->end - s->begin,
	};
	struct hp_member_source r;
	int e = hp_member_source_begin(&r, s->ds, &m, NULL, err);

	if (e == 0)
		e = hp_member_source_read(&r, 0, s->buf, (size_t)m.size);
	hp_member_source_end(&r);
	return e;
}

/* Does each read of it take a while, however little it is? */
static bool is_far(const struct stretch *s)
{
	enum hp_chunk_at at;

	return s->ds->stage && !hp_stage_is_here(s->ds->stage, s->chunk, &at);
}

/*
 * Compressed, and more than a frame or two: as if it were a member, too, whose
 * checksum nobody compares.  False: not so, and who reads less at a time knows
 * why.
 */
static bool read_frames(const struct stretch *s)
{
	const struct hp_fetch_options opt = { .cache = HPDSL_CACHE_KEEP,
					      .unchecked = true };
	struct hp_block_member m = {
		.number = s->chunk->first_member,
		.chunk = s->chunk->number,
		.offset = s->begin,
		.size = s->end - s->begin,
	};
	struct hp_block b = { .member = &m, .n = 1 };
	struct hp_fetch *f;
	bool good;

	if (!s->chunk->compressed || m.size < MANY || !is_far(s))
		return false;
	f = hp_fetch_new(s->ds, &opt);
	b.room = hp_fetch_room(&m, 1);
	b.buf = aligned_alloc(HP_FETCH_PAGE, b.room);
	good = f && b.buf && hp_fetch(f, &b) == 0;
	if (good)
		memcpy(s->buf, m.data, (size_t)m.size);
	free(b.buf);
	hp_fetch_free(f);
	return good;
}

int hpdsl_chunk_read(const struct hpdsl_dataset *ds, uint32_t number,
		     uint64_t offset, void *buf, size_t size,
		     struct hpdsl_error *err)
{
	struct hpdsl_chunk chunk;
	struct stretch s = { ds, &chunk, offset, offset + size, buf };
	int r = hpdsl_chunk_get(ds, number, &chunk, err);

	if (r < 0)
		return r;
	if (!hp_within(offset, size, chunk.plain_bytes))
		return hp_fail(err, -ERANGE,
			       "%s has %" PRIu64 " bytes as a plain tar",
			       chunk.name, chunk.plain_bytes);
	if (!size)
		return 0;
	r = read_frames(&s) ? 0 : read_bytes(&s, err);
	if (r == 0)
		r = check(&s, err);
	return hp_dataset_blame(ds, r, err);
}

/* ---- The file --------------------------------------------------------- */

/* Its name, if it is to be here in that form. */
static bool name_of(const struct hpdsl_dataset *ds, const struct hpdsl_chunk *c,
		    char *ret, size_t room)
{
	enum hp_chunk_at at = HP_AT_HERE;
	char staged[HP_STAGE_NAME];
	const char *name = c->name;

	if (ds->stage && !hp_stage_is_here(ds->stage, c, &at))
		return false;
	if (c->compressed && at != HP_AT_EXPANDED)
		return false;
	if (ds->stage)
		name = hp_stage_chunk_name(c, true, staged);
	if (strlen(name) >= room)
		return false;
	strcpy(ret, name);
	return true;
}

int hpdsl_chunk_plain_file(const struct hpdsl_dataset *ds, uint32_t number,
			   char *ret, size_t room, struct hpdsl_error *err)
{
	struct hpdsl_chunk c;
	struct stat st;
	int r = hpdsl_chunk_get(ds, number, &c, err);

	if (r < 0)
		return r;
	return name_of(ds, &c, ret, room) &&
	       hp_io_stat(ds->io, ds->dir, ret, &st, 0) == 0 &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == c.plain_bytes;
}
