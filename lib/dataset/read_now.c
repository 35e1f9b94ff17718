/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a member that are at hand: for who may not wait.  What is not as it
 * should be is left to who may.
 */
#include "base/error.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "index/copy.h"

#include <errno.h>
#include <unistd.h>

static int not_now(struct hpdsl_error *err)
{
	return hp_fail(err, -EAGAIN, "not at hand");
}

static int check_member(const struct hpdsl_dataset *ds,
			const struct hpdsl_member *m, struct hpdsl_chunk *ret,
			struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	int r;

	hp_index_copy_begin_later(&c, ds->index);
	do
		r = hp_index_copy_same(&c, m, err);
	while (hp_index_copy_again(&c, &r, err));
	return r == 0 ? hpdsl_chunk_get(ds, m->chunk, ret, err) : r;
}

static uint64_t bytes_of(const struct hpdsl_chunk *c)
{
	return c->compressed ? c->plain_bytes : c->bytes;
}

/* The page cache has it all; a part of a page is there with the page. */
static bool is_cached(const struct hp_source *s, uint64_t offset, size_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t begin = offset / page * page;
	uint64_t n = (offset + size - begin + page - 1) / page * page;

	return s->ops->cached(s, begin, n) == (int64_t)n;
}

static bool take(const struct hpdsl_dataset *ds, const struct hp_source *s,
		 const struct hpdsl_member *m, uint64_t offset, void *buf,
		 size_t size)
{
	uint64_t at = m->offset + offset;

	if (!is_cached(s, at, size) ||
	    s->ops->read(s, buf, size, at) != (ssize_t)size)
		return false;
	if (ds->stage)
		hp_stage_count(ds->stage, s->at, size);
	return size < m->size || hp_hash64(buf, size) == m->checksum;
}

int hpdsl_member_read_now(const struct hpdsl_dataset *ds,
			  const struct hpdsl_member *m, uint64_t offset,
			  void *buf, size_t size, struct hpdsl_error *err)
{
	enum hp_chunk_at at = HP_AT_HERE;
	struct hpdsl_chunk c;
	struct hp_source s;
	bool good;

	if (offset > m->size || size > m->size - offset || !size ||
	    check_member(ds, m, &c, err) < 0 ||
	    !hp_within(m->offset, m->size, bytes_of(&c)) ||
	    (ds->stage && !hp_stage_is_here(ds->stage, &c, &at)))
		return not_now(err);
	s = hp_source_of(ds->sources, at, ds->io, c.number);
	if (hp_source_has_frames(&s, &c) ||
	    !hp_fd_cache_find(ds->files, hp_chunk_file_key(&c, at), &s.fd))
		return not_now(err);
	good = take(ds, &s, m, offset, buf, size);
	hp_chunk_file_put(ds, &s);
	return good ? 0 : not_now(err);
}
