/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page cache has not got, read by who may wait for a disk.  Where it
 * is to be had, with O_DIRECT if it is long: read once an epoch, it would only
 * push out what others need.  Short stretches are read as ever, for their
 * neighbours are likely to be asked for, too.
 */
#include "serve/private.h"

#include "base/error.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ALIGN = 4096,
	LONG = 1 << 20,	 /* bytes of a stretch, from which on it is direct */
	MOST = 16 << 20, /* .. and that is held in memory */
};

/* ---- Is it cold? ------------------------------------------------------ */

/* Kernels before 6.5 cannot say what is in memory of what is in memory. */
static bool is_in_memory(const struct hp_io *io, int fd)
{
	uint64_t type;

	return io->fs_type(io, fd, &type) == 0 &&
	       (type == TMPFS_MAGIC || type == RAMFS_MAGIC);
}

bool hpdsl_serve_is_cold(struct hpdsl_serve *s,
			 const struct hpdsl_serve_answer *a)
{
	int64_t have;

	if (a->fd < 0 || a->head || !a->length || a->length > MOST)
		return false;
	have = s->io->cached(s->io, a->fd, a->offset, a->length);
	return have < 0 ? !is_in_memory(s->io, a->fd) :
			  (uint64_t)have < a->length;
}

/* ---- Read ------------------------------------------------------------- */

/* The same file, open anew: flags of a duplicate would be everybody's. */
static int open_direct(const struct hp_io *io, int fd)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return io->open(io, AT_FDCWD, path, O_RDONLY | O_DIRECT, 0);
}

/* n bytes, whole blocks, of which the last ones may lie behind the end. */
static bool read_direct(const struct hp_io *io, int fd, char *buf, size_t n,
			size_t need, uint64_t at)
{
	hp_auto_fd f = { io, open_direct(io, fd) };
	size_t got = 0;

	while (f.fd >= 0 && got < need && got % ALIGN == 0) {
		ssize_t r = io->pread(io, f.fd, buf + got, n - got, at + got);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got >= need;
}

/* What O_DIRECT does not give, for whatever reason, comes as ever. */
static int fill(const struct hp_io *io, const struct hpdsl_serve_answer *a,
		char *buf, size_t skip)
{
	const uint64_t at = a->offset - skip;
	const size_t need = skip + (size_t)a->length;
	const size_t n = (need + ALIGN - 1) / ALIGN * ALIGN;
	ssize_t r;

	if (a->length >= LONG && read_direct(io, a->fd, buf, n, need, at))
		return 0;
	r = hp_io_pread_full(io, a->fd, buf + skip, (size_t)a->length,
			     a->offset);
	if (r < 0)
		return (int)r;
	return (uint64_t)r < a->length ? -EIO : 0;
}

int hpdsl_serve_read_cold(struct hpdsl_serve *s, struct hpdsl_serve_answer *a,
			  struct hpdsl_error *err)
{
	const size_t skip = (size_t)(a->offset % ALIGN);
	void *buf = NULL;
	int r = -posix_memalign(&buf, ALIGN,
				(skip + (size_t)a->length + ALIGN - 1) / ALIGN *
					ALIGN);

	if (r == 0)
		r = fill(s->io, a, buf, skip);
	s->io->close(s->io, a->fd);
	a->fd = -1;
	if (r < 0) {
		free(buf);
		return hp_fail_errno(err, r, "%s: chunk %u", s->ds->path,
				     (unsigned)a->chunk);
	}
	a->memory = buf;
	a->body = (char *)buf + skip;
	hp_serve_add(&s->count.cold, 1);
	hp_serve_add(&s->count.cold_bytes, a->length);
	return 0;
}
