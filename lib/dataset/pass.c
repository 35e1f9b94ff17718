/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a file, front to back, hashed as it is read. */
#include "dataset/pass.h"

#include "base/error.h"
#include "base/sha256.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

static void clear(struct hp_pass *p, const struct hp_io *io)
{
	hp_pass_init(p);
	p->io = io;
	p->source = NULL;
	p->at = NULL;
	p->have = 0;
	p->read = p->offset = p->size = 0;
	p->sha256 = NULL;
}

static int make_room(struct hp_pass *p, struct hpdsl_error *err)
{
	p->buf = aligned_alloc(PAGE, HP_PASS_PIECE);
	if (!p->buf)
		return hp_fail_nomem(err);
	p->at = p->buf;
	XXH3_128bits_reset(&p->hash);
	return 0;
}

int hp_pass_begin(struct hp_pass *p, const struct hp_io *io, int dir,
		  const char *name, struct hpdsl_error *err)
{
	struct stat st;
	int r;

	clear(p, io);
	p->fd = io->open(io, dir, name, O_RDONLY | O_NONBLOCK, 0);
	if (p->fd < 0)
		return hp_fail_errno(err, p->fd, "%s", name);
	r = hp_io_fstat(io, p->fd, &st);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: not a regular file",
			       name);
	p->size = (uint64_t)st.st_size;
	return make_room(p, err);
}

int hp_pass_begin_zst(struct hp_pass *p, const struct hp_io *io, int dir,
		      const char *name, const struct hp_index *index,
		      const struct hpdsl_chunk *row, struct hpdsl_error *err)
{
	int r = hp_pass_begin(p, io, dir, name, err);

	return r < 0 ? r : hp_pass_zst_new(p, index, row, err);
}

int hp_pass_begin_at(struct hp_pass *p, const struct hp_source *source,
		     const struct hp_index *index,
		     const struct hpdsl_chunk *row, struct hpdsl_error *err)
{
	int r;

	clear(p, source->io);
	p->source = source;
	p->size = hp_source_size(source, row);
	r = make_room(p, err);
	if (r < 0 || !hp_source_has_frames(source, row))
		return r;
	return hp_pass_zst_new(p, index, row, err);
}

/*
 * What is left moves to the front.  Reads end at a page of the file, so that
 * whole pages are copied.
 */
static int fill(struct hp_pass *p)
{
	size_t room = HP_PASS_PIECE - p->have;
	uint8_t *end = p->buf + p->have;
	ssize_t n;

	memmove(p->buf, p->at, p->have);
	p->at = p->buf;
	room -= (size_t)((p->read + room) % PAGE);
	do
		n = hp_pass_pread(p, end, room);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	XXH3_128bits_update(&p->hash, end, (size_t)n);
	if (p->sha256)
		hp_sha256_update(p->sha256, end, (size_t)n);
	p->read += (size_t)n;
	p->have += (size_t)n;
	return n > 0;
}

int hp_pass_need(struct hp_pass *p, size_t n)
{
	assert(n <= HP_PASS_PIECE / 2);
	while (p->have < n) {
		int r = p->zst ? hp_pass_zst_fill(p) : fill(p);

		if (r <= 0)
			return r;
	}
	return 0;
}

void hp_pass_stored_digest(const struct hp_pass *p, uint8_t ret[16])
{
	hp_hash_canonical(XXH3_128bits_digest(&p->hash), ret);
}

void hp_pass_digest(const struct hp_pass *p, uint8_t ret[16])
{
	if (p->zst)
		hp_pass_zst_digest(p, ret);
	else
		hp_pass_stored_digest(p, ret);
}

int hp_pass_made(const struct hp_pass *p, struct hp_chunk_made *ret)
{
	ret->bytes = p->read;
	ret->plain_bytes = p->offset;
	hp_pass_stored_digest(p, ret->checksum);
	hp_pass_digest(p, ret->plain_checksum);
	ret->compressed = p->zst;
	return p->zst ? hp_pass_zst_frames(p, ret) : 0;
}

void hp_pass_end(struct hp_pass *p)
{
	hp_pass_zst_end(p);
	if (p->fd >= 0)
		p->io->close(p->io, p->fd);
	free(p->buf);
	hp_pass_init(p);
}
