/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole: temporary name, write, fsync, rename. */
#include "sys/outfile.h"

#include "base/error.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int fail(const struct hp_outfile *f, int code, const char *what,
		struct hpdsl_error *err)
{
	return hp_fail_errno(err, code, "%s: cannot %s", f->name, what);
}

/* Opens the temporary file; O_DIRECT only where it is to be had. */
static int create(struct hp_outfile *f, bool direct)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
	int fd = -EINVAL;

	if (direct)
		fd = f->io->open(f->io, f->dir, f->temp, flags | O_DIRECT,
				 f->mode);
	f->direct = fd >= 0;
	if (fd == -EINVAL) {
		/* Some file systems create the file before they refuse. */
		f->io->unlink(f->io, f->dir, f->temp, 0);
		fd = f->io->open(f->io, f->dir, f->temp, flags, f->mode);
	}
	return fd;
}

/* No space is an error now; that space cannot be reserved is none. */
static int reserve(struct hp_outfile *f, uint64_t size)
{
	int r = size ? f->io->allocate(f->io, f->fd, size) : 0;

	return r == -ENOSPC || r == -EDQUOT || r == -EFBIG || r == -EIO ? r : 0;
}

/* A name that leaves no room for dot and ".part" is cut, with its hash. */
void hp_outfile_temp(const char *name, char ret[HP_OUTFILE_NAME])
{
	size_t len = strlen(name), most = HP_OUTFILE_NAME - 1;
	unsigned hash;

	if (len + strlen("..part") <= most) {
		snprintf(ret, HP_OUTFILE_NAME, ".%.*s.part", (int)len, name);
		return;
	}
	hash = (unsigned)hp_hash64(name, len);
	snprintf(ret, HP_OUTFILE_NAME, ".%.*s-%08x.part",
		 (int)(most - strlen(".-01234567.part")), name, hash);
}

static int set_names(struct hp_outfile *f, const struct hp_io *io, int dir,
		     const char *name, struct hpdsl_error *err)
{
	*f = (struct hp_outfile){
		.io = io, .dir = dir, .fd = -1, .mode = 0666
	};
	if (strlen(name) >= sizeof f->name)
		return hp_fail_errno(err, -ENAMETOOLONG, "%s", name);
	strcpy(f->name, name);
	hp_outfile_temp(f->name, f->temp);
	return 0;
}

static int begin(struct hp_outfile *f, uint64_t size, bool direct,
		 struct hpdsl_error *err)
{
	int r = create(f, direct);

	if (r == -EEXIST) {
		f->io->unlink(f->io, f->dir, f->temp, 0);
		r = create(f, direct);
	}
	if (r < 0) {
		fail(f, r, "create", err);
		f->temp[0] = '\0';
		return r;
	}
	f->fd = r;
	r = reserve(f, size);
	if (r < 0) {
		fail(f, r, "reserve space", err);
		hp_outfile_abandon(f);
	}
	return r;
}

int hp_outfile_open(struct hp_outfile *f, const struct hp_io *io, int dir,
		    const char *name, uint64_t size, bool direct,
		    struct hpdsl_error *err)
{
	int r = set_names(f, io, dir, name, err);

	return r < 0 ? r : begin(f, size, direct, err);
}

/* ---- Alone ------------------------------------------------------------ */

enum { TRIES = 100 };

static int fail_busy(const struct hp_outfile *f, struct hpdsl_error *err)
{
	return hp_fail(err, -EBUSY, "%s: another process is writing it",
		       f->name);
}

/* Locks that a file system does not have are nobody's. */
static bool is_busy(const struct hp_io *io, int fd)
{
	return io->lock(io, fd) == -EWOULDBLOCK;
}

/* Is this still the file that has the temporary name?  1, 0 or -errno. */
static int is_named(const struct hp_outfile *f, int fd)
{
	struct stat a, b;
	int r = hp_io_fstat(f->io, fd, &a);

	if (r == 0)
		r = f->io->stat(f->io, f->dir, f->temp, &b,
				AT_SYMLINK_NOFOLLOW);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* NFS locks only what is open for writing. */
static int open_left(const struct hp_outfile *f)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = f->io->open(f->io, f->dir, f->temp, flags | O_RDWR, 0);

	return fd >= 0 ?
		       fd :
		       f->io->open(f->io, f->dir, f->temp, flags | O_RDONLY, 0);
}

/* Removes what a dead process left; -EBUSY: it is alive. */
static int remove_left(const struct hp_outfile *f)
{
	hp_auto_fd left = { f->io, open_left(f) };

	if (left.fd >= 0 && is_busy(f->io, left.fd))
		return -EBUSY;
	/* Between the two it may have got its name, and be another's now. */
	if (left.fd < 0 || is_named(f, left.fd) > 0)
		return f->io->unlink(f->io, f->dir, f->temp, 0);
	return 0;
}

static int create_alone(struct hp_outfile *f)
{
	int r = -EBUSY;

	for (int i = 0; i < TRIES; i++) {
		r = f->io->open(f->io, f->dir, f->temp,
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
		if (r == -EEXIST) {
			r = remove_left(f);
			if (r < 0 && r != -ENOENT)
				return r;
			continue;
		}
		/* Whoever holds it takes it for a dead one's, and away. */
		if (r < 0 || (!is_busy(f->io, r) && is_named(f, r) > 0))
			return r;
		f->io->close(f->io, r);
		r = -EBUSY;
	}
	return r < 0 ? r : -EBUSY;
}

int hp_outfile_open_alone(struct hp_outfile *f, const struct hp_io *io, int dir,
			  const char *name, struct hpdsl_error *err)
{
	int r = set_names(f, io, dir, name, err);

	if (r < 0)
		return r;
	r = create_alone(f);
	if (r >= 0) {
		f->fd = r;
		return 0;
	}
	f->temp[0] = '\0';
	return r == -EBUSY ? fail_busy(f, err) : fail(f, r, "create", err);
}

/* ---- One that is there ------------------------------------------------ */

int hp_outfile_reopen(struct hp_outfile *f, const struct hp_io *io, int dir,
		      const char *name, struct hpdsl_error *err)
{
	struct stat st;
	int r = set_names(f, io, dir, name, err);

	if (r < 0)
		return r;
	f->fd = io->open(io, dir, f->temp, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	r = f->fd < 0 ? f->fd : hp_io_fstat(io, f->fd, &st);
	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r == 0)
		return 0;
	if (f->fd >= 0)
		io->close(io, f->fd);
	f->fd = -1;
	return fail(f, r, "open", err);
}

int hp_outfile_pwrite(struct hp_outfile *f, const void *buf, size_t n,
		      uint64_t off, struct hpdsl_error *err)
{
	int r = hp_io_pwrite_full(f->io, f->fd, buf, n, off);

	if (r == -EINVAL && f->direct) {
		/* This file system wants another alignment: do without. */
		r = f->io->set_flags(f->io, f->fd, 0);
		if (r == 0)
			r = hp_io_pwrite_full(f->io, f->fd, buf, n, off);
	}
	return r < 0 ? fail(f, r, "write", err) : 0;
}

int hp_outfile_pwrite_tail(struct hp_outfile *f, const void *buf, size_t n,
			   uint64_t off, struct hpdsl_error *err)
{
	int r = f->direct ? f->io->set_flags(f->io, f->fd, 0) : 0;

	if (r < 0)
		return fail(f, r, "switch to buffered writing", err);
	f->direct = false;
	r = hp_io_pwrite_full(f->io, f->fd, buf, n, off);
	return r < 0 ? fail(f, r, "write", err) : 0;
}

int hp_outfile_resize(struct hp_outfile *f, uint64_t size,
		      struct hpdsl_error *err)
{
	int r = f->io->truncate(f->io, f->fd, size);

	return r < 0 ? fail(f, r, "resize", err) : 0;
}

int hp_outfile_close(struct hp_outfile *f, struct hpdsl_error *err)
{
	int r = f->io->close(f->io, f->fd);

	f->fd = -1;
	return r < 0 ? fail(f, r, "close", err) : 0;
}

int hp_outfile_sync(struct hp_outfile *f, struct hpdsl_error *err)
{
	int r = f->io->fsync(f->io, f->fd);
	int closed = f->io->close(f->io, f->fd);

	f->fd = -1;
	if (r < 0)
		return fail(f, r, "sync", err);
	return closed < 0 ? fail(f, closed, "close", err) : 0;
}

int hp_outfile_flush(struct hp_outfile *f, struct hpdsl_error *err)
{
	int r = f->io->fsync(f->io, f->fd);

	return r < 0 ? fail(f, r, "sync", err) : 0;
}

int hp_outfile_commit(struct hp_outfile *f, struct hpdsl_error *err)
{
	/* Where there are no locks, another process may have taken it away and
	 * be half through a file of its own. */
	int r = f->fd < 0 ? 1 : is_named(f, f->fd);

	if (r == 0) {
		f->temp[0] = '\0';
		return fail_busy(f, err);
	}
	if (r > 0)
		r = f->io->rename(f->io, f->dir, f->temp, f->dir, f->name, 0);
	if (r < 0)
		return fail(f, r, "rename into place", err);
	f->temp[0] = '\0';
	if (f->fd >= 0)
		f->io->close(f->io, f->fd); /* it is synced */
	f->fd = -1;
	return 0;
}

/* While it is open it may be locked: nobody else's loses its name here. */
void hp_outfile_abandon(struct hp_outfile *f)
{
	if (f->temp[0])
		f->io->unlink(f->io, f->dir, f->temp, 0);
	f->temp[0] = '\0';
	if (f->fd >= 0)
		f->io->close(f->io, f->fd);
	f->fd = -1;
}

/* Bytes of a file that was just begun, and all that follows. */
static int put(struct hp_outfile *f, const void *data, size_t n,
	       struct hpdsl_error *err)
{
	int r = hp_outfile_pwrite(f, data, n, 0, err);

	if (r == 0)
		r = hp_outfile_sync(f, err);
	if (r == 0)
		r = hp_outfile_commit(f, err);
	if (r == 0)
		r = hp_sync_dir(f->io, f->dir, err);
	hp_outfile_abandon(f);
	return r;
}

int hp_outfile_put(const struct hp_io *io, int dir, const char *name,
		   const void *data, size_t n, struct hpdsl_error *err)
{
	struct hp_outfile f;
	int r = hp_outfile_open(&f, io, dir, name, 0, false, err);

	return r < 0 ? r : put(&f, data, n, err);
}

int hp_outfile_put_private(const struct hp_io *io, int dir, const char *name,
			   const void *data, size_t n, struct hpdsl_error *err)
{
	struct hp_outfile f;
	int r = set_names(&f, io, dir, name, err);

	if (r < 0)
		return r;
	f.mode = 0600;
	r = begin(&f, 0, false, err);
	if (r < 0)
		return r;
	/* The umask may have taken the owner's rights as well. */
	r = io->chmod(io, f.fd, 0600);
	if (r < 0) {
		fail(&f, r, "set its mode", err);
		hp_outfile_abandon(&f);
		return r;
	}
	return put(&f, data, n, err);
}

int hp_sync_dir(const struct hp_io *io, int dir, struct hpdsl_error *err)
{
	int r = io->fsync(io, dir);

	/* Not every file system can sync a directory; those that cannot
	 * say so. */
	if (r < 0 && r != -EINVAL && r != -EROFS && r != -ENOTSUP)
		return hp_fail_errno(err, r, "cannot sync the directory");
	return 0;
}
