/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of side files, read from the origin: one open, one pass a file, and
 * zeros in the place of what cannot be had, so that the stream keeps its length
 * and nobody takes the file for what it is not.
 */
#include "stage/sides_stream.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static struct hp_side_row *row_at(const struct hpdsl_stage_sides *t)
{
	return &t->s->sides.row[t->side[t->in.at]];
}

static int open_file(struct hpdsl_stage_sides *t, const struct hp_side_row *row,
		     uint64_t *ret_bytes)
{
	const struct hp_io *io = t->s->io;
	char name[HP_SIDE_NAME];
	struct stat st;
	int fd, r;

	if (!t->in.tried)
		t->in.dir = io->open(io, AT_FDCWD, t->s->origin,
				     O_RDONLY | O_DIRECTORY, 0);
	t->in.tried = true;
	if (t->in.dir < 0)
		return t->in.dir;
	hp_side_row_name(row, name);
	fd = io->open(io, t->in.dir, name, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	r = hp_io_fstat(io, fd, &st);
	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r < 0) {
		io->close(io, fd);
		return r;
	}
	*ret_bytes = (uint64_t)st.st_size;
	return fd;
}

static void begin_file(struct hpdsl_stage_sides *t)
{
	struct hp_side_row *row = row_at(t);
	uint64_t bytes = 0;

	t->in.off = 0;
	t->in.open = true;
	XXH3_128bits_reset(&t->in.hash);
	t->in.fd = open_file(t, row, &bytes);
	row->unread = t->in.fd < 0	  ? t->in.fd :
		      bytes != row->bytes ? HPDSL_ECORRUPT :
					    0;
}

static void end_file(struct hpdsl_stage_sides *t)
{
	struct hp_side_row *row = row_at(t);
	uint8_t hash[16];

	hp_hash_canonical(XXH3_128bits_digest(&t->in.hash), hash);
	if (!row->unread && memcmp(hash, row->checksum, 16) != 0)
		row->unread = HPDSL_ECORRUPT;
	hp_sides_close_in(t);
	t->in.at++;
}

void hp_sides_close_in(struct hpdsl_stage_sides *t)
{
	if (t->in.fd >= 0)
		t->s->io->close(t->s->io, t->in.fd);
	t->in.fd = -1;
	t->in.open = false;
}

/* Of this file; bytes read. */
static size_t read_some(struct hpdsl_stage_sides *t, uint8_t *buf, size_t n)
{
	struct hp_side_row *row = row_at(t);
	ssize_t got = 0;

	if (!row->unread) {
		got = hp_io_pread_full(t->s->io, t->in.fd, buf, n, t->in.off);
		if (got < 0)
			row->unread = (int)got;
		else if ((size_t)got < n)
			row->unread = HPDSL_ECORRUPT;
		got = got < 0 ? 0 : got;
	}
	hp_stage_touch(t->s);
	memset(buf + got, 0, n - (size_t)got);
	XXH3_128bits_update(&t->in.hash, buf, n);
	t->in.off += n;
	return (size_t)got;
}

size_t hpdsl_stage_sides_read(struct hpdsl_stage_sides *t, void *buf, size_t n)
{
	size_t done = 0, got = 0;

	/* Also files of no bytes, behind the last byte. */
	while (t->in.at < t->sides) {
		uint64_t left;
		size_t some;

		if (!t->in.open)
			begin_file(t);
		left = row_at(t)->bytes - t->in.off;
		some = n - done < left ? n - done : (size_t)left;
		if (left && !some)
			break;
		got += read_some(t, (uint8_t *)buf + done, some);
		done += some;
		if (some == left)
			end_file(t);
	}
	return got;
}

/* ---- Why one could not be had ----------------------------------------- */

static int fail(const struct hpdsl_stage *s, const struct hp_side_row *row,
		int code, struct hpdsl_error *err)
{
	char name[HP_SIDE_NAME];
	struct hpdsl_error why;

	hp_side_row_name(row, name);
	if (code == -ENOENT)
		return hp_fail(err, HPDSL_ECORRUPT, "%s/%s: is missing",
			       s->origin, name);
	if (code == -EINVAL)
		return hp_fail(err, HPDSL_ECORRUPT, "%s/%s: is no regular file",
			       s->origin, name);
	if (code == HPDSL_ECORRUPT)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s/%s: is damaged: its checksum differs",
			       s->origin, name);
	if (code == 0)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: what came of it differed, each time", name);
	hp_fail_errno(&why, code, "%s/%s: cannot be read", s->origin, name);
	return hp_fail(err, HPDSL_ECORRUPT, "%s", why.msg);
}

int hpdsl_stage_side_why(const struct hpdsl_stage *s, uint32_t side,
			 struct hpdsl_error *err)
{
	char name[HP_SIDE_NAME];
	const struct hp_side_row *row;
	struct stat st;
	hp_auto_fd dir = { s->io, -1 };

	if (!s->origin || side >= s->sides.n)
		return hp_fail(err, HPDSL_EUSAGE, "%s: no such side file",
			       s->path);
	row = &s->sides.row[side];
	hp_side_row_name(row, name);
	/* What is there now; of one that has another size that is worth more.
	 */
	dir.fd = s->io->open(s->io, AT_FDCWD, s->origin, O_RDONLY | O_DIRECTORY,
			     0);
	if (row->unread != HPDSL_ECORRUPT || dir.fd < 0 ||
	    s->io->stat(s->io, dir.fd, name, &st, 0) < 0 ||
	    (uint64_t)st.st_size == row->bytes)
		return fail(s, row, row->unread, err);
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s/%s: is %" PRIu64 " bytes, %" PRIu64 " expected",
		       s->origin, name, (uint64_t)st.st_size, row->bytes);
}
