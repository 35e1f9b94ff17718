/* SPDX-License-Identifier: Apache-2.0 */
/* Making files below a directory, whole or not at all, never outside it. */
#include "unpack/restore.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/*
 * Temporary files lie beside members, which may have any names: theirs are
 * such as no member's name can be made to be.
 */
static uint64_t random_tag(void)
{
	struct timespec now = { 0 };
	uint64_t tag;

	if (getrandom(&tag, sizeof tag, GRND_NONBLOCK) == sizeof tag)
		return tag;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
}

void hp_restore_init(struct hp_restore *r, const struct hp_io *io, int root)
{
	r->io = io;
	r->root = r->folder = root;
	r->tag = random_tag();
	r->counter = 0;
	r->folder_len = 0;
	r->fd = -1;
}

/* Back to the root. */
static void leave(struct hp_restore *r)
{
	if (r->folder != r->root)
		r->io->close(r->io, r->folder);
	r->folder = r->root;
	r->folder_len = 0;
}

void hp_restore_release(struct hp_restore *r)
{
	hp_restore_abandon(r);
	leave(r);
}

static int open_folder(const struct hp_io *io, int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | HP_O_BENEATH;
	int fd = io->open(io, dir, name, flags, 0), k;

	if (fd != -ENOENT)
		return fd;
	k = io->mkdir(io, dir, name, 0777);
	/* Another thread may have been quicker. */
	if (k < 0 && k != -EEXIST)
		return k;
	return io->open(io, dir, name, flags, 0);
}

/* One folder down from where r stands. */
static int descend(struct hp_restore *r, const char *name)
{
	int fd = open_folder(r->io, r->folder, name);

	if (r->folder != r->root)
		r->io->close(r->io, r->folder);
	r->folder = fd < 0 ? r->root : fd;
	return fd;
}

static int folder_failed(int code, const char *path, size_t len,
			 struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];

	hp_printable(path, len, text);
	if (code == -ENOTDIR || code == -ELOOP)
		return hp_fail(err, -EEXIST, "'%s' is no folder, but is there",
			       text);
	return hp_fail_errno(err, code, "'%s'", text);
}

/* Goes to the folder of len bytes of path; 0 for the root. */
static int enter(struct hp_restore *r, const char *path, size_t len,
		 struct hpdsl_error *err)
{
	char name[HPDSL_PATH_MAX + 1];

	if (len == r->folder_len && memcmp(path, r->folder_path, len) == 0)
		return 0;
	leave(r);
	for (size_t at = 0; at < len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash ? (size_t)(slash - path) : len;
		int fd;

		memcpy(name, path + at, end - at);
		name[end - at] = '\0';
		fd = descend(r, name);
		if (fd < 0)
			return folder_failed(fd, path, end, err);
		at = end + 1;
	}
	memcpy(r->folder_path, path, len);
	r->folder_len = len;
	return 0;
}

static const char *base_name(const struct hpdsl_member *m)
{
	const char *slash = memrchr(m->path, '/', m->path_len);

	return slash ? slash + 1 : m->path;
}

static int failed(const struct hpdsl_member *m, int code,
		  struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];

	return hp_fail_errno(err, code, "'%s'",
			     hp_printable(m->path, m->path_len, text));
}

int hp_restore_open(struct hp_restore *r, const struct hpdsl_member *m,
		    struct hpdsl_error *err)
{
	const int flags =
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | HP_O_BENEATH;
	const char *base = base_name(m);
	size_t folder = base == m->path ? 0 : (size_t)(base - m->path) - 1;
	int k;

	if (!hp_path_valid(m->path, m->path_len))
		return failed(m, -EINVAL, err);
	k = enter(r, m->path, folder, err);
	if (k < 0)
		return k;
	/* Where the name is taken all the same: the next. */
	do {
		snprintf(r->temp, sizeof r->temp,
			 ".hpdsl-%016" PRIx64 "-%06" PRIx64 ".part", r->tag,
			 r->counter++);
		k = r->io->open(r->io, r->folder, r->temp, flags, 0600);
	} while (k == -EEXIST);
	if (k < 0)
		return failed(m, k, err);
	r->fd = k;
	return 0;
}

/* Where a file system cannot refuse by itself, ask first. */
static int rename_asking(struct hp_restore *r, const char *name)
{
	struct stat st;
	int k = r->io->stat(r->io, r->folder, name, &st, AT_SYMLINK_NOFOLLOW);

	if (k != -ENOENT)
		return k < 0 ? k : -EEXIST;
	return r->io->rename(r->io, r->folder, r->temp, r->folder, name, 0);
}

static int finish(struct hp_restore *r, const struct hpdsl_member *m)
{
	struct timespec t = { .tv_sec = m->mtime, .tv_nsec = m->mtime_nsec };
	struct timespec times[2] = { t, t };
	int k = r->io->chmod(r->io, r->fd, m->mode & 0777), closed;

	if (k == 0)
		k = r->io->set_times(r->io, r->fd, times);
	closed = r->io->close(r->io, r->fd);
	r->fd = -1;
	return k < 0 ? k : closed;
}

int hp_restore_commit(struct hp_restore *r, const struct hpdsl_member *m,
		      struct hpdsl_error *err)
{
	const char *name = base_name(m);
	int k = finish(r, m);

	if (k == 0) {
		k = r->io->rename(r->io, r->folder, r->temp, r->folder, name,
				  RENAME_NOREPLACE);
		if (k == -EINVAL || k == -ENOSYS)
			k = rename_asking(r, name);
	}
	if (k == 0)
		return 0;
	r->io->unlink(r->io, r->folder, r->temp, 0);
	return failed(m, k, err);
}

void hp_restore_abandon(struct hp_restore *r)
{
	if (r->fd < 0)
		return;
	r->io->close(r->io, r->fd);
	r->io->unlink(r->io, r->folder, r->temp, 0);
	r->fd = -1;
}
