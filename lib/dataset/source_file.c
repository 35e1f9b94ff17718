/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are files: here in both forms, and the origin's. */
#include "dataset/source.h"

#include <errno.h>
#include <stdio.h>

static int file_open(const struct hp_io *io, int dir, const char *name,
		     int flags)
{
	return io->open(io, dir, name, O_RDONLY | O_NONBLOCK | flags, 0);
}

/* Not by its name: that may stand for another file by now, and to look it up
 * costs a shared file system more than to open it. */
static int file_again(const struct hp_source *s, int flags)
{
	char same[sizeof "/proc/self/fd/" + 10];

	snprintf(same, sizeof same, "/proc/self/fd/%d", s->fd.fd);
	return file_open(s->io, AT_FDCWD, same, flags);
}

static int file_identity(const struct hp_source *s, const struct hpdsl_chunk *c,
			 uint64_t *ret_size)
{
	struct stat st;
	int r = hp_io_fstat(s->io, s->fd.fd, &st);

	if (r < 0)
		return r;
	*ret_size = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode))
		return HP_SOURCE_IS_ODD;
	return *ret_size == hp_source_size(s, c) ? HP_SOURCE_IS_IT :
						   HP_SOURCE_IS_SIZED;
}

/* The kernel knows no deadline; who asks watches over what does not return. */
static ssize_t file_read(const struct hp_source *s, void *buf, size_t n,
			 uint64_t offset)
{
	return hp_io_pread_full(s->io, s->fd.fd, buf, n, offset);
}

static int64_t file_cached(const struct hp_source *s, uint64_t offset,
			   uint64_t n)
{
	return s->io->cached(s->io, s->fd.fd, offset, n);
}

static unsigned file_blame(int code)
{
	switch (code) {
	case -ENOMEM:
		return HP_BLAME_SELF | HP_BLAME_PASSES;
	case -EMFILE:
	case -ENFILE:
		return HP_BLAME_SELF;
	case -EIO:
	case -EAGAIN:
	case -EINTR:
	case -ESTALE:
	case -ETIMEDOUT:
		return HP_BLAME_PASSES;
	default:
		return 0;
	}
}

static void text_here(const char *path, const char *name, char *buf,
		      size_t room)
{
	snprintf(buf, room, "%s/%.690s", path, name);
}

/* The name is a whole path. */
static void text_origin(const char *path, const char *name, char *buf,
			size_t room)
{
	(void)path;
	snprintf(buf, room, "%.690s", name);
}

static const struct hp_source_ops here = {
	.open = file_open,
	.again = file_again,
	.identity = file_identity,
	.read = file_read,
	.cached = file_cached,
	.blame = file_blame,
	.text = text_here,
};

static const struct hp_source_ops expanded = {
	.plain = true,
	.open = file_open,
	.again = file_again,
	.identity = file_identity,
	.read = file_read,
	.cached = file_cached,
	.blame = file_blame,
	.text = text_here,
};

static const struct hp_source_ops origin = {
	.open = file_open,
	.again = file_again,
	.identity = file_identity,
	.read = file_read,
	.cached = file_cached,
	.blame = file_blame,
	.text = text_origin,
};

const struct hp_sources hp_sources_files = {
	.of = { [HP_AT_HERE] = &here,
		[HP_AT_EXPANDED] = &expanded,
		[HP_AT_ORIGIN] = &origin },
};
